"""TL506: the `generation` blocks do not cover what the assistant says, or there are none."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from templatelint import cases
from templatelint.checks._cues import spoken
from templatelint.model import Fault
from templatelint.reading import MARKER, positions, shortened, stretch, turns
from templatelint.syntax import is_generation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.checks._masks import Masked
    from templatelint.model import Case
    from templatelint.reading import Turns
    from templatelint.renderers.jinja2 import Span
    from templatelint.view import View

_TURNS = "chat-turns"
CASES = (_TURNS,)

_TRAINS = "transformers"
_CONVERSATIONS = (
    "chat-long@8+nogen",
    "chat-turns-system@5+nogen",
    "tool-loop@6+nogen",
    "reasoning-history@2+nogen",
)
_SPEAKERS = ("system", "user", "tool")


class _Wrong(NamedTuple):
    """What is wrong with the mask: the kind, and the fact with its values."""

    kind: str
    fact: str


def check(view: View) -> Iterator[Fault]:
    """Render conversations as transformers does where it returns the assistant's mask, and follow every text."""
    if view.engine.partition("@")[0] != _TRAINS:
        return
    block = next((node for node in view.syntax.all_nodes if is_generation(node)), None)
    if block is None:
        if "training" in view.asked:
            yield Fault(
                message="no `generation` block says what the assistant writes: transformers masks every token",
                help="put `{% generation %}` and `{% endgeneration %}` about what the model itself writes, its "
                "end-of-turn token included",
                cases=CASES,
                cause="none",
                span=view.mention("assistant", "messages"),
            )
        return
    from templatelint.checks._masks import masked  # few templates need it, and it brings a renderer along

    anatomy = turns(view.prompt(_TURNS), view.case(_TURNS))
    variants = view.case(_TURNS).id.removeprefix(_TURNS)
    found = masked(view.model, view.template, view.engine, [f"{case_id}{variants}" for case_id in _CONVERSATIONS])
    wrong: dict[str, tuple[str, str]] = {}
    for case_id, conversation in found.items():
        for kind, fact in _wrong(cases.get(case_id), conversation, anatomy):
            wrong.setdefault(kind, (fact, case_id))
    if "outside" in wrong:  # so is all else that it writes
        wrong = {kind: found for kind, found in wrong.items() if kind not in {"calls", "thoughts"}}
    for kind, (fact, case_id) in wrong.items():
        yield Fault(
            message=fact,
            help=_CURES[kind],
            cases=(case_id,),
            cause=kind,
            span=view.syntax.span(block),
            impact="degrades" if kind in _TOO_MUCH else None,
        )


# What is trained on beside what the model writes.
_TOO_MUCH = frozenset({"header", "behind"})
_CURES = {
    "outside": "put the block about every text that the model writes, at the top level or in loops: inside a macro, a "
    "`set` block or another `generation` block, transformers miscounts where it stands",
    "others": "put the block about texts of the assistant alone",
    "calls": "put the block about tool calls too: the model writes them",
    "thoughts": "put the block about thoughts too: the model writes them",
    "header": "open the block behind what the generation prompt ends with",
    "end": "close the block behind the end-of-turn token: a model that is not trained on it never stops",
    "behind": "close the block behind the end-of-turn token",
}


def _wrong(case: Case, conversation: Masked, anatomy: Turns | None) -> Iterator[_Wrong]:
    prompt, spans = conversation
    for mark in case.marks:
        kind = mark.partition(".")[0]
        at = [found for found in positions(prompt, case.marks[mark]) if _covers(spans, found)]
        if kind in _SPEAKERS and at:
            yield _Wrong("others", f"a `generation` block covers {kind} text: {_around(prompt, at[-1])!r}")
        elif kind == "call" and mark.endswith(".value") and positions(prompt, case.marks[mark]) and not at:
            yield _Wrong("calls", f"no `generation` block covers tool calls, as {case.marks[mark]!r} in {case.id}")
        elif kind == "reasoning" and positions(prompt, case.marks[mark]) and not at:
            yield _Wrong("thoughts", f"no `generation` block covers thoughts, as {case.marks[mark]!r} in {case.id}")
        elif kind == "assistant":
            yield from _wrong_about(case, mark, conversation, anatomy)


def _wrong_about(case: Case, mark: str, conversation: Masked, anatomy: Turns | None) -> Iterator[_Wrong]:
    """What is wrong with the mask of one answer."""
    prompt, spans = conversation
    text = stretch(prompt, case, mark)
    if text is None:
        return
    span = next((span for span in spans if span[0] <= text.start and text.end <= span[1]), None)
    if span is None:
        yield _Wrong(
            "outside", f"no `generation` block covers an assistant's text, as {case.marks[mark]!r} in {case.id}"
        )
        return
    if anatomy is None:
        return
    before = spoken(prompt[span[0] : text.start]).strip()
    if len(before) > len(_left_to_the_model(anatomy)):
        yield _Wrong("header", f"a `generation` block covers the header of the turn: {shortened(before)!r}")
    end = MARKER.search(anatomy.assistant_to_user)
    if end is None:
        return
    stop = prompt.find(end[0], text.end)
    if stop < 0 or prompt[text.end : stop].strip():
        return
    stop += len(end[0])
    if span[1] < stop:
        yield _Wrong("end", f"the end-of-turn token {end[0]!r} follows the `generation` block instead of ending it")
    elif behind := prompt[text.end + len(anatomy.assistant_to_user) : span[1]].strip():
        yield _Wrong("behind", f"a `generation` block goes on behind the turn: {shortened(behind)!r}")


def _left_to_the_model(anatomy: Turns) -> str:
    """What of the header the generation prompt leaves to the model."""
    cue, opening = spoken(anatomy.tail).strip(), spoken(anatomy.user_to_assistant).strip()
    return opening.removeprefix(cue).strip() if opening.startswith(cue) else ""


def _covers(spans: Sequence[Span], at: int) -> bool:
    return any(start <= at < end for start, end in spans)


def _around(prompt: str, at: int) -> str:
    return prompt[max(0, at - 20) : at + 30]
