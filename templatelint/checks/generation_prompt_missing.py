"""TL501: `add_generation_prompt` adds no assistant cue, and the user turn does not end with one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.checks._markers import TURNS
from templatelint.checks._parts import printed
from templatelint.model import Fault
from templatelint.reading import shortened, stretch, turns
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.reading import Turns
    from templatelint.view import View

_RESULT = "tool-call-empty"
_LOOP = "tool-loop"
_WITH_TOOLS = ("tools-offer", _RESULT)
# What hands the word to the model, be it at the end of the user's turn.
_CUE = re.compile(r"assistant|model|bot\b|bot_|\bai\b|answer|response|\[/INST\]", re.IGNORECASE)
_TAIL = 30  # characters in which a cue would stand
CASES = (
    "chat-basic",
    "chat-basic+nogen",
    "chat-turns",
    *_WITH_TOOLS,
    *(f"{case_id}+nogen" for case_id in _WITH_TOOLS),
    _LOOP,
)


def check(view: View) -> Iterator[Fault]:
    """Compare what follows the last user text with what stands before an assistant's text in the history."""
    if view.always_cued:
        raise NoText("chat-basic+nogen", f"{view.engine} always asks for the generation prompt")
    case, prompt, bare = view.case("chat-basic"), view.prompt("chat-basic"), view.prompt("chat-basic+nogen")
    if _adds(prompt, bare):
        yield from _lost_with_tools(view)
        return
    anatomy, user = turns(view.prompt("chat-turns"), view.case("chat-turns")), stretch(prompt, case, "user.1")
    if anatomy is None or user is None:
        return
    tail, expected = prompt[user.end :].strip(), anatomy.user_to_assistant.strip()
    unfinished = len(tail) < len(expected) and expected.startswith(tail)
    if prompt.rstrip() != bare.rstrip() or not unfinished or _CUE.search(tail):
        return
    if _alike(anatomy) or printed(view, "chat-turns", "assistant") is not None:
        return
    yield Fault(
        message=f"add_generation_prompt adds no assistant cue: the prompt ends with {shortened(prompt[user.end :])!r}, "
        f"while the history opens an assistant turn with {shortened(anatomy.user_to_assistant)!r}",
        help="end the template with `{% if add_generation_prompt %}` and the text that opens an assistant turn",
        cases=view.ids("chat-basic", "chat-basic+nogen"),
        cause="missing",
        span=view.mention("add_generation_prompt", "endfor"),
    )


def _alike(anatomy: Turns) -> bool:
    """Whether the template writes answers as it writes questions: it embeds or classifies, and cues nobody."""
    header = anatomy.user_header.strip()
    return bool(header) and anatomy.user_to_assistant.strip().endswith(header)


def _adds(prompt: str, bare: str) -> bool:
    """Whether the flag adds more than blanks at the end."""
    return prompt.startswith(bare) and bool(prompt[len(bare) :].strip())


def _lost_with_tools(view: View) -> Iterator[Fault]:
    lost = [
        case_id
        for case_id in _WITH_TOOLS
        if view.renders(case_id)
        and view.renders(f"{case_id}+nogen")
        and view.prompt(case_id).rstrip() == view.prompt(f"{case_id}+nogen").rstrip()
    ]
    if "tools-offer" in lost and not _CUE.search(view.prompt("tools-offer")[-_TAIL:]):
        yield Fault(
            message="add_generation_prompt adds no assistant cue when tools are sent: the prompt ends with "
            f"{shortened(view.prompt('tools-offer')[-40:])!r}",
            help="write the cue whatever the request holds",
            cases=view.ids(*lost, *(f"{case_id}+nogen" for case_id in lost)),
            cause="with tools",
            span=view.mention("add_generation_prompt"),
            need="tools",
        )
    yield from _lost_after_result(view, lost)


def _lost_after_result(view: View, lost: Sequence[str]) -> Iterator[Fault]:
    """No cue after a result, where the history opens a turn for the answer to one; some leave the turn open."""
    if _RESULT not in lost or "tools-offer" in lost:
        return
    prompt, history = view.prompt(_RESULT), view.prompt(_LOOP)
    result = stretch(prompt, view.case(_RESULT), "tool.1")
    before, answer = (stretch(history, view.case(_LOOP), mark) for mark in ("tool.2", "assistant.1"))
    if result is None or before is None or answer is None:
        return
    tail, opening = prompt[result.end :], history[before.end : answer.start]
    if any(mark in opening and not any(end in opening for end in ends) for mark, ends in TURNS):
        return  # the turn is open, and it is the history that opens another inside of it
    if opening.startswith(tail.rstrip()) and _CUE.search(opening[len(tail.rstrip()) :]):
        yield Fault(
            message=f"add_generation_prompt adds no assistant cue after a tool's result: the prompt ends with "
            f"{shortened(tail)!r}, while the history goes on with {shortened(opening)!r}",
            help="write the cue whatever the last message is",
            cases=(_RESULT, f"{_RESULT}+nogen", _LOOP),
            cause="after results",
            span=view.mention("add_generation_prompt"),
            need="tools",
        )
