"""TL112: a turn that was opened is not closed, closed twice, or two turns fuse."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from templatelint.checks._markers import PAIRS
from templatelint.model import Case, Fault
from templatelint.reading import MARKER, Turns, around, spoken, stretch, turns, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_HISTORIES = (
    "chat-turns",
    "chat-turns-system",
    "tool-call",
    "tool-loop",
    "tool-parallel",
    "tool-interrupted",
)
CASES = tuple(f"{case_id}+nogen" for case_id in _HISTORIES)


def check(view: View) -> Iterator[Fault]:
    """Judge the gaps between texts, then the pairing of the turn markers."""
    anatomy = turns(view.prompt("chat-turns+nogen"), view.case("chat-turns+nogen"))
    if anatomy is None:
        return
    if not _ends(anatomy):
        yield Fault(
            message="nothing that could be a stop token ends an assistant turn: "
            f"{visible(anatomy.assistant_to_user + anatomy.user_header)!r} follows its text",
            help="end assistant turns with `eos_token` or the model's own end-of-turn token; "
            "a model trained so never learns to stop",
            cases=("chat-turns+nogen",),
            cause="no terminator",
            span=view.mention("assistant", "messages"),
        )
        return
    faults = [
        found
        for case, prompt in view.rendered(*CASES)
        if (found := _fused(case, prompt) or _unpaired(case, prompt, view))
    ]
    if faults:
        message, help_, cause = faults[0][1:]
        yield Fault(
            message=message,
            help=help_,
            cases=tuple(case_id for case_id, *rest in faults if rest[-1] == cause),
            cause=cause,
            span=view.mention("endfor"),
        )


def _ends(anatomy: Turns) -> bool:
    """Whether the text behind an assistant's holds anything a tokenizer can make a token of."""
    follows = anatomy.assistant_to_user + anatomy.user_header
    return MARKER.search(follows) is not None or not follows.strip() or _symbolic(anatomy.assistant_to_user)


def _symbolic(text: str) -> bool:
    return any(not char.isalnum() and not char.isspace() for char in text)


def _fused(case: Case, prompt: str) -> tuple[str, str, str, str] | None:
    marks = list(spoken(case))
    for earlier, later in itertools.pairwise(marks):
        before, after = stretch(prompt, case, earlier), stretch(prompt, case, later)
        if before is None or after is None or before.end > after.start:
            continue
        if not prompt[before.end : after.start].strip():
            return (
                case.id,
                f"the turns of {earlier} and {later} fuse: {around(prompt, before.end)!r}",
                "write a role header or an end-of-turn token between them",
                f"fused {earlier.split('.')[0]} {later.split('.')[0]}",
            )
    return None


def _unpaired(case: Case, prompt: str, view: View) -> tuple[str, str, str, str] | None:
    eos = view.model.tokenizer.special_tokens.get("eos_token", "")
    for opener, closers in PAIRS:
        closing = (*closers, eos) if eos else closers
        places = _places(prompt, (opener, *closing))
        if not any(text in closers for _, text in places):
            continue  # this template closes turns in another way
        open_at: int | None = None
        for at, text in places:
            if text != opener:
                open_at = None
            elif open_at is None:
                open_at = at
            else:
                return (
                    case.id,
                    f"{opener!r} opens a turn before {closers[0]!r} closes the last one: {around(prompt, at)!r}",
                    f"close every turn with {closers[0]!r}",
                    f"open {opener}",
                )
        if open_at is not None:
            return (
                case.id,
                f"the last turn that {opener!r} opens is not closed: {around(prompt, open_at)!r}",
                f"close every turn with {closers[0]!r}",
                f"open {opener}",
            )
        doubled = next((text + text for text in closers if text + text in prompt), None)
        if doubled is not None:
            return (
                case.id,
                f"a turn is closed twice: {around(prompt, prompt.index(doubled))!r}",
                f"write {closers[0]!r} once",
                f"twice {opener}",
            )
    return None


def _places(prompt: str, texts: tuple[str, ...]) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    for text in texts:
        at = prompt.find(text)
        while at >= 0:
            found.append((at, text))
            at = prompt.find(text, at + 1)
    return sorted(found)
