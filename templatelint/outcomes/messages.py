"""Cells of plain messages → what becomes of texts, earlier turns and lists of parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.capabilities import content
from templatelint.capabilities.cells import Cells
from templatelint.outcomes.outcome import UNKNOWN, of_fact, whole_case, worded
from templatelint.outcomes.subjects import BY_ID, CHAT, EARLIER
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.capabilities import Capabilities
    from templatelint.outcomes.outcome import Outcome
    from templatelint.view import View

_CHAT_CASE, _TURNS, _ALONE = "chat-basic", "chat-turns", "tool-call-empty+notools"


def told(view: View, facts: Capabilities) -> Mapping[str, Outcome]:
    """By subject."""
    return {
        CHAT: _chat(view, facts),
        EARLIER: _earlier_turns(view),
        "tools-again": _tools_again(view, facts),
        **_parts(view, facts),
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
