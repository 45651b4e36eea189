"""Cells of plain messages → what becomes of texts, earlier turns and lists of parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.capabilities import content
from templatelint.capabilities.cells import Cells
from templatelint.checks._parts import printed
from templatelint.outcomes.outcome import UNKNOWN, Outcome, of_fact, whole_case, worded
from templatelint.outcomes.subjects import BY_ID, CHAT, EARLIER, OFFERED
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.capabilities import Capabilities
    from templatelint.view import View

_CHAT_CASE, _TURNS, _ALONE = "chat-basic", "chat-turns", "tool-call-empty+notools"
_OFFER, _CALL = "tools-offer", "tool-call-empty"
_BESIDE = "texts-with-tools"
# subject → cases whose texts are sent as strings, and of whom: where one is printed as data, engines are to blame that
# make a list of parts of every string
_STRINGS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "string-content": ((_CHAT_CASE,), ("user",)),
    EARLIER: ((_TURNS,), ("user", "assistant")),
    "system": (("chat-system",), ("system",)),
    "system-with-tools": (("tools-offer-system",), ("system",)),
    _BESIDE: ((_OFFER, "tools-offer-system", _CALL), ("user",)),
    "tool-results": ((_CALL,), ("tool",)),
    "text-with-calls": (("tool-call-text",), ("assistant",)),
}
# engine → how it is made to hand strings over as they are
AS_STRINGS = {"vllm": "launch with --chat-template-content-format string"}


def told(view: View, facts: Capabilities) -> Mapping[str, Outcome]:
    """By subject."""
    return {
        CHAT: _chat(view, facts),
        EARLIER: _earlier_turns(view),
        "tools-again": _tools_again(view, facts),
        _BESIDE: _beside_tools(view, facts),
        **_parts(view, facts),
        **_printed(view),
    }


def _chat(view: View, facts: Capabilities) -> Outcome:
    """What becomes of a user's text; a prompt without it is none, whatever shape it was sent in."""
    if facts.chat == "fine" and not has(view.prompt(_CHAT_CASE), view.case(_CHAT_CASE), "user.1"):
        return worded(CHAT, "dropped")
    return of_fact(CHAT, facts)


def _earlier_turns(view: View) -> Outcome:
    """Whether users' and assistants' texts before the last reach the model."""
    return whole_case(view, EARLIER, _TURNS, BY_ID[EARLIER].marks) if view.renders(_CHAT_CASE) else UNKNOWN


def _tools_again(view: View, facts: Capabilities) -> Outcome:
    """What becomes of calls and results without tools; looked at for itself where calls beside tools do not arrive."""
    if facts.tool_calls == "shown" and facts.history_without_tools is not None:
        return of_fact("tools-again", facts)
    return whole_case(view, "tools-again", _ALONE, ("call.1.value", "tool.1"))


def _beside_tools(view: View, facts: Capabilities) -> Outcome:
    """Whether what users say reaches the model where tools are offered too, by a template that offers them."""
    if facts.tools not in OFFERED or facts.chat != "fine" or not view.renders(_OFFER):
        return UNKNOWN
    return whole_case(view, _BESIDE, _OFFER, ("user.1",))


def _printed(view: View) -> Mapping[str, Outcome]:
    """The subjects of which a text that was sent as a string is printed as data."""
    found = {}
    for subject, (case_ids, roles) in _STRINGS.items():
        shown = (case_id for case_id in case_ids if view.renders(case_id) and _prints(view, case_id, roles))
        case_id = next(shown, None)
        if case_id is not None:
            told = worded(subject, "printed")
            found[subject] = replace(told, case=view.case(case_id).id, cure=AS_STRINGS.get(view.engine, ""))
    return found


def _prints(view: View, case_id: str, roles: Sequence[str]) -> bool:
    """Whether a text that these roles say in the case is printed as data, and was sent as a string."""
    messages = view.case(case_id).request.messages
    strings = all(isinstance(message.get("content") or "", str) for message in messages)
    return strings and printed(view, case_id, *roles) is not None


def _parts(view: View, facts: Capabilities) -> Mapping[str, Outcome]:
    """What becomes of lists of parts: those of users, on which clients with images rely, and those of other roles."""
    found = {}
    for subject, roles in (("content-parts", ("user",)), ("content-parts-elsewhere", ("system", "assistant"))):
        cells = Cells(view)
        fate = content.typed(cells, facts.system, roles)
        if fate is None:
            found[subject] = UNKNOWN
            continue
        word, case_id = fate
        found[subject] = replace(worded(subject, word, cells.errors.get(BY_ID[subject].fact, "")), case=case_id)
    return found
