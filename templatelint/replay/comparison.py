"""Some requests on two sides → what becomes of each when the second takes the first one's place."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from templatelint.errors import clip
from templatelint.outcomes import BY_ID
from templatelint.outcomes.messages import AS_STRINGS
from templatelint.predictions import Prediction, Span
from templatelint.reading import around, common
from templatelint.replay import printed, variables
from templatelint.replay.causes import causes
from templatelint.replay.losses import LOSSES, subject_of
from templatelint.replay.parts import WITHOUT_MEDIA, has_media, parts, without_media
from templatelint.replay.presence import find
from templatelint.replay.side import rendered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.model import Observation, RenderError, Request, Template
    from templatelint.predictions import Verdict
    from templatelint.replay.causes import Found
    from templatelint.replay.parts import Part
    from templatelint.replay.side import Rendered, Side

_WORDS = 160  # characters of what a template says
_USERS = frozenset({"user-messages", "content-parts"})
_PRINTS_DATA = "a list of parts is printed as data"
# subject → what is printed
_PRINTED = {
    "content-parts": "a list of parts",
    "tool-results-parts": "a tool result with a list of parts",
    # engines make a list of parts of these
    "system": "a system message",
    "string-content": "a message",
}
# kind of an error → what becomes of several things, and of one
_HOW = {
    "refused": ("are refused", "is refused"),
    "invalid-request": ("are rejected by the engine", "is rejected by the engine"),
    "raised": ("make the template raise", "makes the template raise"),
}
_PROJECTOR = "images, sounds and films need a server with a model that takes them (--media)"
# kinds of errors that are the same whatever is asked
_LOADS = frozenset({"syntax", "no-start"})


class _Change(NamedTuple):
    """What becomes otherwise with a request, before it is told of two models: members are those of `Prediction`.

    Attributes:
        part: the text that stands for it in the prompts.
        error: how it is refused, where that is not how the whole request is.
        at: where to look in the prompts, where no part shows it.
    """

    need: str
    subject: str
    verdict: Verdict
    before: str
    after: str
    message: str
    help: str = ""
    follows: str = ""
    part: Part | None = None
    error: str = ""
    at: tuple[int, int] | None = None


class Comparison:
    """Some requests on one pair of engines, rendered on both.

    Attributes:
        unknown: row of a request → why nothing is known of it.
        failing: rows of requests that both sides refuse.
    """

    def __init__(self, a: Side, b: Side, requests: Sequence[Request]) -> None:
        self.requests = requests
        self._a, self._b = _Answered(a, requests), _Answered(b, requests)
        self.unknown: dict[int, str] = {
            row: why
            for row in range(len(requests))
            if (why := _unknown(self._a.error(row)) or _unknown(self._b.error(row)))
        }
        for side in (self._a, self._b):
            self.unknown |= side.without_projector(self.unknown)
        self.failing = frozenset(
            row
            for row in range(len(requests))
            if row not in self.unknown and self._a.prompt(row) is None and self._b.prompt(row) is None
        )

    def predictions(self) -> Iterator[tuple[int, Prediction]]:
        """What becomes otherwise, with the row of its request."""
        for row, change in self._changes():
            part = change.part or self._example(row, change.subject)
            before, after = (
                answered.span(row, part, self._parts[row], change.at and change.at[side])
                for side, answered in enumerate((self._a, self._b))
            )
            if change.error and after.failed:
                after = Span(after.ref, after.engine, after.case, change.error, failed=True)
            yield (
                row,
                Prediction(
                    a=self._a.side.model.ref,
                    b=self._b.side.model.ref,
                    need=change.need,
                    subject=change.subject,
                    verdict=change.verdict,
                    before=change.before,
                    after=change.after,
                    engines=(self._b.side.engine.name,),
                    message=change.message,
                    help=change.help,
                    evidence=(before, after),
                    follows=change.follows,
                ),
            )

    def _changes(self) -> Iterator[tuple[int, _Change]]:
        both: list[int] = []
        refused: list[int] = []
        taken: list[int] = []
        for row in range(len(self.requests)):
            before, after = self._a.prompt(row), self._b.prompt(row)
            if row in self.unknown or before == after:  # as those are that have none
                continue
            (taken if before is None else refused if after is None else both).append(row)
        for row, change, _ in self._of_refused(refused, self._b, self._a):
            yield row, change
        lost = self._lost(taken, self._b)
        for row, change, thing in self._of_refused(taken, self._a, self._b):
            yield row, _turned(change, thing, lost[row])
        yield from self._of_prompts(both)
        yield from self._of_media([row for row in both if _has_media(self.requests[row])])
        yield from self._of_values(both)
        # equal prompts may be so because neither shows what the variables ask for
        prompted = [row for row in range(len(self.requests)) if self._a.prompt(row) and self._b.prompt(row)]
        yield from self._of_variables([row for row in prompted if row not in self.unknown])

    @cached_property
    def _parts(self) -> list[tuple[Part, ...]]:
        return [parts(request) for request in self.requests]

    def _example(self, row: int, subject: str) -> Part | None:
        """A part of the request that stands for the subject, else its last user message."""
        for part in self._parts[row]:
            if part.subject == subject:
                return part
        return next((part for part in reversed(self._parts[row]) if part.subject in _USERS), None)

    # ------------------------------------------------------------------------------- one has no prompt

    def _of_refused(
        self, rows: Sequence[int], refuses: _Answered, takes: _Answered
    ) -> Iterator[tuple[int, _Change, str]]:
        """What is refused of requests that one side takes, and what that is called."""
        failed = {row: error for row in rows if (error := refuses.error(row)) is not None}
        search = {row: (self.requests[row], error) for row, error in failed.items() if error.kind not in _LOADS}
        told = causes(refuses.side.render, search)
        lost = self._lost(rows, takes, _USERS)
        for row, error in failed.items():
            if error.kind in _LOADS:
                said = f"the template does not load: {clip(error.message, _WORDS)}"
                yield row, _Change("chat", "template", "breaks", "loads", "does not load", said), "the template"
                continue
            # each is necessary: none brings another with it
            for found in dict.fromkeys(told.get(row, ())):
                change, thing = _refusal(found)
                if lost[row]:  # it does not work there either
                    said = f"{change.message}; with the other {lost[row]}"
                    change = change._replace(verdict="changes", before="dropped", message=said)
                yield row, change, thing

    def _lost(self, rows: Sequence[int], takes: _Answered, subjects: frozenset[str] = frozenset()) -> dict[int, str]:
        """A clause on what is lost, of some subjects or of all, where requests are taken; empty where nothing is."""
        asked = [
            (takes.rendered(row), [part for part in self._parts[row] if not subjects or part.subject in subjects])
            for row in rows
        ]
        found = {}
        for row, told in zip(rows, takes.side.reached(asked), strict=True):
            gone = next((part for part, reached in told.items() if reached is False), None)
            found[row] = "" if gone is None else f"{LOSSES[gone.subject].says} does not reach the prompt"
            if takes.prints_data(row):
                found[row] = _PRINTS_DATA
        return found

    # ------------------------------------------------------------------------------ both have a prompt

    def _of_prompts(self, rows: Sequence[int]) -> Iterator[tuple[int, _Change]]:
        with_a, with_b = (
            answered.side.reached([(answered.rendered(row), self._parts[row]) for row in rows])
            for answered in (self._a, self._b)
        )
        for row, had, has in zip(rows, with_a, with_b, strict=True):
            lost = [part for part in self._parts[row] if had[part] is True and has[part] is False]
            gained = [part for part in self._parts[row] if had[part] is False and has[part] is True]
            for change in (*_of_parts(lost, "breaks"), *_of_parts(gained, "improves")):
                yield row, change
            before, after = self._a.prints_data(row), self._b.prints_data(row)
            for subject, what in _PRINTED.items():
                if subject in after - before and not gained:
                    yield row, self._now_printed(row, subject)
                elif subject in before - after and not lost:
                    said = f"{what} is no longer printed as data"
                    yield row, _Change(BY_ID[subject].need, subject, "improves", "printed", "shown", said)

    def _now_printed(self, row: int, subject: str) -> _Change:
        cure = BY_ID[subject].cure
        if subject == "content-parts" and _has_media(self.requests[row]):
            cure = WITHOUT_MEDIA
        elif subject in {"system", "string-content"}:
            cure = AS_STRINGS.get(self._b.side.engine.name, "")
        said = f"{_PRINTED[subject]} is printed as data"
        return _Change(BY_ID[subject].need, subject, "breaks", "shown", "printed", said, cure)

    def _of_media(self, rows: Sequence[int]) -> Iterator[tuple[int, _Change]]:
        """Parts that are no text have a place in a prompt where it is another without them."""
        bare = [without_media(self.requests[row]) for row in rows]
        had, has = (
            [
                None if without.prompt is None else without.prompt != answered.prompt(row)
                for row, without in zip(rows, answered.side.render(bare), strict=True)
            ]
            for answered in (self._a, self._b)
        )
        loss = LOSSES["media"]
        for row, before, after in zip(rows, had, has, strict=True):
            if before and after is False:
                said = f"{loss.says} leaves no trace in the prompt"
                yield row, _Change(loss.need, "media", "breaks", "shown", "dropped", said, loss.cure)
            elif after and before is False:
                said = f"{loss.says} has a place in the prompt"
                yield row, _Change(loss.need, "media", "improves", "dropped", "shown", said)

    def _of_values(self, rows: Sequence[int]) -> Iterator[tuple[int, _Change]]:
        """Arguments of calls that are written as Python writes them."""
        bare = {row: plain for row in rows if (plain := printed.without_words(self.requests[row])) is not None}
        words: list[dict[int, str]] = []
        for answered in (self._a, self._b):
            prompts = zip(bare, answered.side.render([*bare.values()]), strict=True) if bare else ()
            words.append(
                {
                    row: printed.python_word(answered.prompt(row) or "", seen.prompt, self.requests[row])
                    for row, seen in prompts
                    if seen.prompt is not None
                }
            )
        had, has = words
        for row in rows:
            before, after = self._a.python_mapping(row), self._b.python_mapping(row)
            if bool(before) != bool(after):
                yield row, self._in_python(row, _MAPPING, before, after)
            elif row in had and row in has and bool(had[row]) != bool(has[row]):
                yield row, self._in_python(row, _VALUE, had[row], has[row])

    def _in_python(self, row: int, written: _Literal, before: str, after: str) -> _Change:
        prompts = self._a.prompt(row) or "", self._b.prompt(row) or ""
        at = max(0, prompts[0].rfind(before or after)), max(0, prompts[1].rfind(after or before))
        if not after:
            said = f"{written.says} no longer written as Python writes it"
            return _Change("tools", written.subject, "improves", "python", "fine", said, at=at)
        said = f"{written.says} written as Python writes it"
        return _Change("tools", written.subject, written.verdict, "fine", "python", said, _LITERALS, at=at)

    def _of_variables(self, rows: Sequence[int]) -> Iterator[tuple[int, _Change]]:
        """Template variables that one side reads and the other does not."""
        asked = [(row, one) for row in rows for one in variables.sent(self.requests[row])]
        made = [variables.copies(self.requests[row], one) for row, one in asked]
        reads_a, reads_b = (
            answered.reads([(row, copies) for (row, _), copies in zip(asked, made, strict=True)])
            for answered in (self._a, self._b)
        )
        for (row, one), read_a, read_b in zip(asked, reads_a, reads_b, strict=True):
            if read_a is None or read_b is None:
                continue
            said, need, subject = f"the template variable `{one.name}`", "chat", "template-variables"
            if one.switches:
                said, need, subject = f"the switch `{one.name}`", "reasoning", "thinking-switch"
            at = self._ends(row) if one.switches else (read_a.at, read_b.at)
            if read_b.bare and not read_a.any:
                yield row, _Change(need, subject, "changes", "not read", "read", f"{said} has an effect", at=at)
            elif read_a.any and not read_b.any and (effect := self._unread(row, one, bare=read_a.bare)) is not None:
                said = f"{said} has no effect{effect.says}"
                yield row, _Change(need, subject, effect.verdict, "read", effect.after, said, effect.cure, at=at)

    def _unread(self, row: int, one: variables.Variable, *, bare: bool) -> variables.Effect | None:
        """What comes of a variable that A reads and B does not."""
        template, prompt = self._b.rendered(row).template, self._b.prompt(row) or ""
        others = [*variables.others(self.requests[row], one, template)] if one.wish else []
        seen = self._b.side.render([copy for other in others for copy in (other.wanted, other.opposite)])
        instead = [
            (other, wanted.prompt)
            for other, wanted, opposite in zip(others, seen[::2], seen[1::2], strict=True)
            if wanted.prompt is not None and opposite.prompt is not None and wanted.prompt != opposite.prompt
        ]
        return variables.unread(one, template, prompt, instead, bare=bare)

    def _ends(self, row: int) -> tuple[int, int]:
        """The end of either prompt, where an answer begins."""
        return len(self._a.prompt(row) or ""), len(self._b.prompt(row) or "")


class _Literal(NamedTuple):
    """Something in arguments of calls that may be written as Python writes it."""

    subject: str
    verdict: Verdict
    says: str


_MAPPING = _Literal("arguments", "breaks", "the mapping of a tool call's arguments is")
_VALUE = _Literal("argument-values", "degrades", "a value in the arguments of a tool call is")
_LITERALS = "read arguments of replies as Python literals too: models copy what they see"


class _Read(NamedTuple):
    """What a variable does to a prompt.

    Attributes:
        bare: it is another prompt without the variable.
        any: it is another one without it, or with another value.
        at: where the prompt begins to be another without it.
    """

    bare: bool
    any: bool
    at: int


class _Answered:
    """What a side made of the requests, by row."""

    def __init__(self, side: Side, requests: Sequence[Request]) -> None:
        self.side = side
        self._requests = requests
        self._seen: list[tuple[Template | None, Observation]] = side.observe(requests)

    def prompt(self, row: int) -> str | None:
        return self._seen[row][1].prompt

    def error(self, row: int) -> RenderError | None:
        return self._seen[row][1].error

    def rendered(self, row: int) -> Rendered:
        return rendered(self._requests[row], *self._seen[row])

    def prints_data(self, row: int) -> frozenset[str]:
        """Whose lists of parts are printed as data, rather than what is in them."""
        return printed.as_lists(self._requests[row], self.prompt(row) or "", self.rendered(row).template)

    def python_mapping(self, row: int) -> str:
        """How arguments of calls are written as Python does; empty where they are not."""
        return printed.python_mapping(self.prompt(row) or "", self._requests[row], self.rendered(row).template)

    def reads(self, asked: Sequence[tuple[int, Sequence[Request]]]) -> list[_Read | None]:
        """Whether requests have other prompts than these copies of them; None where that is not known."""
        seen = iter(self.side.render([copy for _, copies in asked for copy in copies]))
        found: list[_Read | None] = []
        for row, copies in asked:
            own = [next(seen) for _ in copies]
            if any(_unknown(one.error) for one in own):
                found.append(None)
                continue
            prompt, bare = self.prompt(row) or "", own[0].prompt or ""
            differ = [one.prompt != prompt for one in own]
            found.append(_Read(differ[0], any(differ), common(prompt, bare)))
        return found

    def without_projector(self, known: Mapping[int, str]) -> dict[int, str]:
        """Rows of requests that are refused for what is no text alone, as nobody has said that the server takes it."""
        rows = [
            row
            for row, request in enumerate(self._requests)
            if row not in known and not request.media and self.error(row) is not None and _has_media(request)
        ]
        able = self.side.render([replace(self._requests[row], media=True) for row in rows]) if rows else ()
        return {row: _PROJECTOR for row, seen in zip(rows, able, strict=True) if seen.error != self.error(row)}

    def span(self, row: int, part: Part | None, own: Sequence[Part], at: int | None) -> Span:
        """What the prompt shows of a part of the request, or why there is none; the caller knows the case."""
        prompt, error = self.prompt(row), self.error(row)
        if prompt is None:
            said = "" if error is None else error.message
            return Span(self.side.model.ref, self.side.engine.name, "", said, failed=True)
        shown = _excerpt(prompt, part, own) if at is None else around(prompt, at)
        return Span(self.side.model.ref, self.side.engine.name, "", shown)


def _refusal(found: Found) -> tuple[_Change, str]:
    """A cause as a change, and what it is called."""
    plural, single = _HOW.get(found.error.kind, _HOW["refused"])
    said, cause = clip(found.error.message, _WORDS), found.cause
    after = "raises" if found.error.kind == "raised" else "refused"
    if cause is None:
        message = f"the request {single}: {said}"
        return _Change("chat", "request", "breaks", "taken", after, message, error=found.error.message), "the request"
    message = f"{cause.name} {plural}: {said}"
    change = _Change(cause.need, cause.subject, "breaks", "taken", after, message, cause.cure)
    return change._replace(error=found.error.message), cause.name


def _turned(change: _Change, thing: str, lost: str) -> _Change:
    """The change where it is A that refuses; what of the request is lost with B, if something is."""
    single = thing in {"the request", "the template"}
    message = f"{thing} {'loads' if change.subject == 'template' else 'is taken' if single else 'are taken'}"
    return change._replace(
        verdict="changes" if lost else "improves",
        before=change.after,
        after="taken",
        message=f"{message}; {lost}" if lost else message,
        help="",
        error="",
    )


def _of_parts(changed: Sequence[Part], verdict: Verdict) -> Iterator[_Change]:
    """A change for each subject that some of the parts belong to."""
    subjects: dict[str, Part] = {}
    for part in changed:
        subjects.setdefault(subject_of(part, changed), part)
    for subject, loss in LOSSES.items():
        if subject not in subjects:
            continue
        follows = next((larger for larger in loss.within if larger in subjects), "")
        if verdict == "improves":
            said = f"{loss.says} reaches the prompt"
            yield _Change(loss.need, subject, verdict, "dropped", "shown", said, "", follows, subjects[subject])
        else:
            said = f"{loss.says} does not reach the prompt"
            yield _Change(
                loss.need, subject, loss.verdict, "shown", "dropped", said, loss.cure, follows, subjects[subject]
            )


def _excerpt(prompt: str, part: Part | None, own: Sequence[Part]) -> str:
    """The prompt where the part stands, or where it would: behind the last text before it."""
    if part is None:
        return around(prompt, 0)
    if (found := find(prompt, part.text)) is not None:
        return around(prompt, found[0])
    before = own[: own.index(part)]
    for other in reversed(before):
        if other.telling and other.path[0] == part.path[0] and (found := find(prompt, other.text)) is not None:
            return around(prompt, found[1])
    return around(prompt, 0)


def _unknown(error: RenderError | None) -> str:
    """Why nobody knows what the engine would do; empty where that is known."""
    if error is None or not (error.out_of_budget or error.kind == "unsupported"):
        return ""
    return clip(error.message, _WORDS)


def _has_media(request: Request) -> bool:
    return any(map(has_media, request.messages))
