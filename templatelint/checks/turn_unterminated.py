"""TL112: a turn that was opened is not closed, closed twice, or two turns fuse."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from templatelint.checks._markers import PAIRS
from templatelint.model import Fault
from templatelint.reading import MARKER, around, spoken, stretch, turns, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case
    from templatelint.reading import Turns
    from templatelint.view import View

CASES = ("chat-turns", "chat-turns-system", "tool-call", "tool-loop", "tool-parallel", "tool-interrupted")

# What plain role headers ("### Instruction:", "USER: ") are made of, and special tokens are not.
_PLAIN = re.compile(r"[\w\s#:.,;!?'\"()*=-]*", re.ASCII)


def check(view: View) -> Iterator[Fault]:
    """Judge how an assistant turn ends, then the gaps between texts and the pairing of the turn markers."""
    anatomy = turns(view.prompt("chat-turns"), view.case("chat-turns"))
    if anatomy is not None and not _ends(anatomy):
        follows = visible(anatomy.assistant_to_user + anatomy.user_header)
        yield Fault(
            message=f"nothing that could be a stop token ends an assistant turn: {follows!r} follows its text",
            help="end assistant turns with `eos_token` or the model's own end-of-turn token: "
            "a model trained on this never learns to stop",
            cases=("chat-turns",),
            cause="no terminator",
            span=view.mention("assistant", "messages"),
        )
        return
    closing = view.model.tokenizer.special_tokens.get("eos_token", "")
    found: dict[str, Fault] = {}
    for case, prompt in view.rendered(*CASES):
        fault = _fused(case, prompt) or _unpaired(case, prompt, closing)
        if fault is not None:
            found.setdefault(fault.cause, fault)
    yield from list(found.values())[:1]


def _ends(anatomy: Turns) -> bool:
    """Whether a stop token can end an assistant turn, as far as the text behind it tells.

    A blank line counts: models trained on it stop there. So does any template whose prompts do not end the way its
    assistant turns begin: it embeds the conversation for a classifier, and writes no turns.
    """
    follows = anatomy.assistant_to_user + anatomy.user_header
    cue = anatomy.user_to_assistant.strip()
    chats = bool(cue) and anatomy.tail.strip().endswith(cue)
    return not chats or not follows.strip() or "\n\n" in follows or _PLAIN.fullmatch(follows) is None


def _fused(case: Case, prompt: str) -> Fault | None:
    marks = spoken(case)
    for earlier, later in pairwise(marks):
        before, after = stretch(prompt, case, earlier), stretch(prompt, case, later)
        if before is None or after is None or before.end > after.start or prompt[before.end : after.start].strip():
            continue
        return Fault(
            message=f"the turns of {earlier} and {later} fuse: {around(prompt, before.end)!r}",
            help="write a role header or an end-of-turn token between them",
            cases=(case.id,),
            cause=f"{earlier.split('.')[0]} and {later.split('.')[0]} fuse",
            need=_need(case) if "tool" in f"{earlier} {later}" else None,
        )
    return None


def _unpaired(case: Case, prompt: str, eos: str) -> Fault | None:
    history = _history(case, prompt)
    for opener, closers in PAIRS:
        if not any(closer in history for closer in closers):
            continue  # this template closes turns in another way
        opened = False
        for at, text in _places(history, (opener, *closers, *([eos] if eos else []))):
            if text == opener and opened:
                return _marker_fault(case, history, at, f"{opener!r} opens before {closers[0]!r} closes the last one")
            opened = text == opener
        doubled = next((closer * 2 for closer in closers if closer * 2 in history), None)
        if doubled is not None:
            return _marker_fault(case, history, history.index(doubled), f"{closers[0]!r} closes a turn twice")
    return None


def _marker_fault(case: Case, history: str, at: int, fact: str) -> Fault:
    return Fault(
        message=f"{fact}: {around(history, at)!r}",
        help="write each marker that opens a turn, and the one that closes it, exactly once a turn",
        cases=(case.id,),
        cause=fact,
        need=_need(case),
    )


def _need(case: Case) -> str | None:
    """Who would notice: an interrupted tool round is an agent's business."""
    if case.id.startswith("tool-interrupted"):
        return "agent"
    return "tools" if case.request.tools else None


def _history(case: Case, prompt: str) -> str:
    """The prompt from the last marker before the first user text on: system texts speak about markers."""
    user = stretch(prompt, case, "user.1")
    before = list(MARKER.finditer(prompt, 0, user.start)) if user else []
    return prompt[before[-1].start() :] if before else prompt


def _places(text: str, wanted: tuple[str, ...]) -> list[tuple[int, str]]:
    """Every place of each of the wanted texts, in the order of the text."""
    return sorted((found.start(), one) for one in wanted for found in re.finditer(re.escape(one), text))
