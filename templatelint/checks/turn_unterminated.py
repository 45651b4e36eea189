"""TL112: a turn that was opened is not closed, closed twice, or two turns fuse."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from templatelint import cases
from templatelint.checks._markers import PARTS, TURNS
from templatelint.model import Fault
from templatelint.reading import MARKER as _TOKEN
from templatelint.reading import around, shortened, spoken, stretch, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case
    from templatelint.reading import Turns
    from templatelint.view import View

CASES = (
    "chat-turns",
    "chat-turns-system",
    "tools-offer",
    "tool-call",
    "tool-call-empty",
    "tool-loop",
    "tool-parallel",
    "tool-interrupted",
)

# What plain role headers ("### Instruction:", "USER: ") are made of, and special tokens are not.
_PLAIN = re.compile(r"[\w\s#:.,;!?'\"()*=-]*", re.ASCII)

# A header in another style than the markers that come in pairs: some templates mix two.
_ROLE = re.compile(r"<\|(?:system|user|assistant|tool)\|>")

_QUOTED = re.compile(r"'([^']+)'")
# Tokens that end a text in one tokenizer or another, whatever the turns' own closing marker is.
_ENDS = ("</s>", "<eos>", "<|end|>", "<|endoftext|>", "<|end_of_text|>")


def check(view: View) -> Iterator[Fault]:
    """Judge how an assistant turn ends, then the gaps between texts and the pairing of the markers."""
    anatomy = turns(view.prompt("chat-turns"), view.case("chat-turns"))
    if anatomy is not None and not _ends(anatomy):
        follows = _end(anatomy)
        yield Fault(
            message="nothing that could be a stop token ends an assistant turn: "
            f"{shortened(follows)!r} follows its text",
            help="end assistant turns with `eos_token` or the token that the model was trained to stop at: "
            "a model trained on these prompts does not learn to stop",
            cases=view.ids("chat-turns"),
            cause="no terminator",
            span=view.mention("assistant", "messages"),
            # headers in plain words have no tokens to close; what trains on them adds the end of the text itself
            impact="degrades" if _PLAIN.fullmatch(anatomy.user_to_assistant + follows) else None,
        )
        return
    if anatomy is not None and _alike(anatomy):
        yield Fault(
            message=f"turns of the user begin like those of the assistant, with {shortened(anatomy.user_header)!r}",
            help="write another role into the header of each: nothing tells who said what",
            cases=("chat-turns",),
            cause="alike",
            span=view.mention("'user'", '"user"', "messages"),
            impact="degrades",
        )
    yield from _beginnings(view, anatomy)
    eos = view.model.tokenizer.special_tokens.get("eos_token", "")
    for case, prompt in view.rendered(*CASES):
        fault = _fault_in(case.id, prompt, eos)
        if fault is not None:
            marker = _QUOTED.search(fault.cause)
            yield replace(fault, span=view.mention(marker[1] if marker else "messages", "messages"))
            return
    yield from _twice(view, anatomy)


@lru_cache(maxsize=256)  # engines mostly agree on a prompt
def _fault_in(case_id: str, prompt: str, eos: str) -> Fault | None:
    case = cases.get(case_id)
    return _fused(case, prompt) or _unpaired_turn(case, prompt, eos) or _unpaired_part(case, prompt)


def _ends(anatomy: Turns) -> bool:
    """Whether a stop token can end an assistant turn, as far as the text behind it tells.

    A blank line counts: models trained on it stop there. So does any template whose prompts do not end the way its
    assistant turns begin: it embeds the conversation for a classifier, and writes no turns. A marker that opens the
    user's part and is closed before the assistant's ends nothing.
    """
    follows = _end(anatomy)
    for opener, closers in TURNS:
        before, opens, _ = follows.rpartition(opener)
        if opens and not before.strip() and any(closer in anatomy.user_to_assistant for closer in closers):
            return False
    cue = anatomy.user_to_assistant.strip()
    chats = bool(cue) and anatomy.tail.strip().endswith(cue)
    return not chats or not follows.strip() or "\n\n" in follows or _PLAIN.fullmatch(follows) is None


def _beginnings(view: View, anatomy: Turns | None) -> Iterator[Fault]:
    """The token that begins a text, twice there and nowhere else; or where an assistant turn ends."""
    special = view.model.tokenizer.special_tokens
    bos, prompt = special.get("bos_token", ""), view.prompt("chat-turns")
    if not bos or bos == special.get("eos_token"):
        return
    doubled = prompt.count(bos) == prompt.count(bos + bos) * 2 == 2  # noqa: PLR2004 (two of them, side by side)
    if doubled or (anatomy is not None and _end(anatomy).lstrip().startswith(bos)):
        what = "stands there twice" if doubled else "follows the text of the assistant"
        yield Fault(
            message=f"{bos!r}, with which a text begins, {what}: "
            f"{around(prompt, prompt.find(bos) if doubled else prompt.rfind(bos))!r}",
            help="write `bos_token` once, before everything" if doubled else "end assistant turns with `eos_token`",
            cases=("chat-turns",),
            cause="beginning twice" if doubled else "beginning for end",
            span=view.mention("bos_token", "messages"),
            impact="degrades",
        )


def _twice(view: View, anatomy: Turns | None) -> Iterator[Fault]:
    """The token behind an assistant's text, side by side with itself."""
    found = _TOKEN.match(_end(anatomy).lstrip()) if anatomy is not None else None
    if anatomy is not None and found is not None and _end(anatomy).lstrip().startswith(found[0] * 2):
        yield Fault(
            message=f"{found[0]!r} ends an assistant turn twice: {shortened(_end(anatomy))!r}",
            help="write what ends a turn once: the second is no text that the model would write",
            cases=("chat-turns",),
            cause="ends twice",
            span=view.mention(found[0], "eos_token", "messages"),
            impact="degrades",
        )


def _alike(anatomy: Turns) -> bool:
    """Whether the user's turns have the header of the assistant's, which is also what prompts end with."""
    header = anatomy.user_header.strip()
    return bool(header) and all(text.strip().endswith(header) for text in (anatomy.user_to_assistant, anatomy.tail))


def _fused(case: Case, prompt: str) -> Fault | None:
    for earlier, later in pairwise(spoken(case)):
        before, after = stretch(prompt, case, earlier), stretch(prompt, case, later)
        if before is None or after is None or before.end > after.start or prompt[before.end : after.start].strip():
            continue
        return Fault(
            message=f"the turns of {earlier} and {later} fuse: {around(prompt, before.end)!r}",
            help="write a role header or an end-of-turn token between them",
            cases=(case.id,),
            cause=f"{earlier.split('.')[0]} and {later.split('.')[0]} fuse",
            need=_need(case) if "tool" in f"{earlier} {later}" else None,
            impact="degrades" if _told_by_line(case, prompt, prompt[before.end : after.start]) else None,
        )
    return None


def _told_by_line(case: Case, prompt: str, gap: str) -> bool:
    """Whether answers begin on a line of their own, and end with a token: the turns can be told apart all the same."""
    anatomy = turns(prompt, case) if case.id.startswith("chat-turns") else None
    return (
        anatomy is not None and gap == anatomy.user_to_assistant and "\n" in gap and bool(_TOKEN.search(_end(anatomy)))
    )


def _end(anatomy: Turns) -> str:
    return anatomy.assistant_to_user + anatomy.user_header


def _unpaired_turn(case: Case, prompt: str, eos: str) -> Fault | None:
    for opener, closers in TURNS:
        opened = closed = False
        last = 0
        for at, text in _places(prompt, opener, *closers, eos, *_ENDS):
            if text == opener and opened:
                return _fault(case, prompt, at, f"{opener!r} opens before {closers[0]!r} closes the last one")
            if text in closers and closed and not opened and not _ROLE.search(prompt, last, at):
                return _fault(case, prompt, at, f"{text!r} closes what no {opener!r} has opened")
            opened, last = text == opener, at
            closed = closed or opened  # what stands before the first opener is not ours to judge
    return None


def _unpaired_part(case: Case, prompt: str) -> Fault | None:
    user = stretch(prompt, case, "user.1")
    start = max(0, user.start - _HEADER) if user else 0  # system texts speak about markers
    for opener, closers in PARTS:
        opened = None
        for at, text in _places(prompt[start:], opener, *closers):
            if text == opener and opened is not None:
                return _fault(case, prompt, start + at, f"{opener!r} opens before {closers[0]!r} closes the last one")
            if text != opener and opened is None and user and start + at > user.start:
                return _fault(case, prompt, start + at, f"{text!r} closes what no {opener!r} has opened")
            opened = at if text == opener else None
        if opened is not None:
            return _fault(case, prompt, start + opened, f"{opener!r} is never closed by {closers[0]!r}")
    return None


# How far before a user's text its own header may begin, in characters.
_HEADER = 48


def _fault(case: Case, prompt: str, at: int, fact: str) -> Fault:
    need = _need(case)
    return Fault(
        message=f"{fact}: {around(prompt, at)!r}",
        help="write each marker that opens a turn, and the one that closes it, exactly once a turn",
        cases=(case.id,),
        cause=f"{fact} {need}" if need else fact,
        need=need,
    )


def _need(case: Case) -> str | None:
    """Who would notice: an interrupted tool round is an agent's business, and several calls are not everybody's."""
    if case.id.startswith("tool-interrupted"):
        return "agent"
    if case.id.startswith("tool-parallel"):
        return "parallel-tools"
    return "tools" if case.request.tools else None


def _places(text: str, *wanted: str) -> list[tuple[int, str]]:
    """Every place of each of the wanted texts and what stands there, in the order of the text."""
    return sorted(
        (found.start(), one) for one in {*wanted} - {""} if one in text for found in re.finditer(re.escape(one), text)
    )
