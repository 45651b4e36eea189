"""A model on an engine: requests → prompts, and which parts of the requests are in them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from templatelint import matrix
from templatelint.bounded import ChildFailed
from templatelint.cases import to_form
from templatelint.model import Observation, RenderError
from templatelint.replay.parts import marked
from templatelint.replay.presence import shows

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.engines import Engine
    from templatelint.model import Model, Request, Template
    from templatelint.replay.parts import Part

# what is written the same in every form
_PLAIN = re.compile(r"\w[\w ./:,-]*", re.ASCII)
_LONG = 4  # characters; shorter words are part of too many others
_AT_ONCE = 128  # requests that share a child
_TRIES = 4  # with what follows a request that took all of the time


class Rendered(NamedTuple):
    """A request and its prompt.

    Attributes:
        template: the source of what rendered it.
    """

    request: Request
    prompt: str
    template: str


def rendered(request: Request, template: Template | None, observation: Observation) -> Rendered:
    """A request with what became of it."""
    return Rendered(request, observation.prompt or "", "" if template is None else template.source)


@dataclass(frozen=True)
class Side:
    """One side of a comparison."""

    model: Model
    engine: Engine

    def observe(self, requests: Sequence[Request]) -> list[tuple[Template | None, Observation]]:
        """What becomes of requests, each in the form in which clients of the engine send it.

        Raises:
            TemplatelintError: what the engine runs on does not work any more.
        """
        sent = [to_form(request, self.engine.client_form) for request in requests]
        found: list[tuple[Template | None, Observation]] = []
        for start in range(0, len(sent), _AT_ONCE):
            found += self._observe(sent[start : start + _AT_ONCE])
        return found

    def _observe(self, sent: Sequence[Request]) -> list[tuple[Template | None, Observation]]:
        """A request on which we fail ourselves keeps no other from being judged."""
        try:
            return self._observe_in_time(sent)
        except ChildFailed as failure:
            if len(sent) > 1:
                half = len(sent) // 2
                return self._observe(sent[:half]) + self._observe(sent[half:])
            last = str(failure).strip().rpartition("\n")[2]
            return [(None, Observation(error=RenderError("unsupported", f"templatelint itself fails on it: {last}")))]

    def _observe_in_time(self, sent: Sequence[Request]) -> list[tuple[Template | None, Observation]]:
        found = matrix.observe_requests(self.model, self.engine, sent)
        for _ in range(_TRIES):
            out = [row for row, (_, seen) in enumerate(found) if seen.error is not None and seen.error.out_of_budget]
            again = out[1:]  # the first one is what held the others up
            if not again:
                break
            for row, seen in zip(
                again, matrix.observe_requests(self.model, self.engine, [sent[row] for row in again]), strict=True
            ):
                found[row] = seen
        return found

    def render(self, requests: Sequence[Request]) -> list[Observation]:
        """The same, without the templates."""
        return [observation for _, observation in self.observe(requests)]

    def reached(self, asked: Sequence[tuple[Rendered, Sequence[Part]]]) -> list[Mapping[Part, bool | None]]:
        """Which parts of requests are in their prompts; None where that is not known.

        A part that does not stand there as it is, or may stand there for other reasons, is looked for by a mark: the
        request is rendered once more with one at the end of each such part.
        """
        answers: list[dict[Part, bool | None]] = []
        unsure: list[tuple[int, list[Part], tuple[str, ...]]] = []
        copies: list[Request] = []
        for row, (seen, parts) in enumerate(asked):
            answers.append(dict.fromkeys(_certain(seen, parts), True))
            if rest := [part for part in parts if part not in answers[row]]:
                copy, marks = marked(seen.request, rest)
                copies.append(copy)
                unsure.append((row, rest, marks))
        for (row, rest, marks), observation in zip(unsure, self.render(copies), strict=True):
            if observation.prompt is None:  # the marks are in the way
                answers[row] |= {part: shows(asked[row][0].prompt, part.text) or None for part in rest}
            else:
                prompt = observation.prompt.lower()
                answers[row] |= {part: mark in prompt for part, mark in zip(rest, marks, strict=True)}
        return [{part: own[part] for part in parts} for own, (_, parts) in zip(answers, asked, strict=True)]


def _certain(seen: Rendered, parts: Sequence[Part]) -> Iterator[Part]:
    """The parts of which the prompt as it is says that they are in it."""
    data = ""
    known: dict[str, bool] = {}
    for part in parts:
        text = part.text.strip()
        if part.telling:
            if text not in seen.template and shows(seen.prompt, text):
                yield part
        elif _PLAIN.fullmatch(text):
            # as often as the request holds it: none of those places is missing
            data = data or json.dumps([seen.request.messages, seen.request.tools], ensure_ascii=False)
            if text not in known:
                known[text] = not _count(text, seen.template) and _count(text, seen.prompt) >= _count(text, data)
            if known[text]:
                yield part


def _count(word: str, text: str) -> int:
    """How often it stands in the text, a short one not as part of a longer word."""
    if len(word) >= _LONG:
        return text.count(word)
    count, at = 0, text.find(word)
    while at >= 0:
        count += not _in_word(text, at - 1) and not _in_word(text, at + len(word))
        at = text.find(word, at + 1)
    return count


def _in_word(text: str, at: int) -> bool:
    return 0 <= at < len(text) and (text[at].isalnum() or text[at] == "_")
