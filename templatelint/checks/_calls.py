"""Where a call of the history should stand in a prompt, and what of it is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.reading import positions, region

if TYPE_CHECKING:
    from templatelint.model import Case
    from templatelint.view import View

# Histories that end in a call, or go on without its result; servers refuse the first kind before they render.
WITHOUT_RESULT = ("tool-pending", "tool-unanswered")

_DEFINED = "tools.1.description"


def lost_parts(prompt: str, case: Case, call: int) -> list[str]:
    """Which of name, argument key and argument value of the n-th call left no trace after the user's text."""
    text = region(prompt, case, until="")
    parts = ("name", "key", "value")
    lost = [part for part in parts if (mark := case.marks.get(f"call.{call}.{part}")) and not positions(text, mark)]
    if "value" in lost and positions(text, case.marks.get(_DEFINED, "\0")):
        return [part for part in parts if f"call.{call}.{part}" in case.marks]  # the definition has the other two
    return lost


def id_for_name(prompt: str, case: Case, lost: list[str]) -> bool:
    """Whether the prompt shows the call's id where the function name belongs (Kimi K2: the id carries the name)."""
    return lost == ["name"] and bool(positions(region(prompt, case, until=""), case.marks["call.1.id"]))


def knows_tools(view: View) -> bool:
    """Whether the template has anything of its own for tools: it shows calls, or has a branch for results."""
    if view.mention("'tool'", '"tool"', "tool_call_id") is not None:
        return True
    for case, prompt in view.rendered("tool-call-empty"):
        lost = lost_parts(prompt, case, 1)
        # a name that stands there anyway is that of the definition
        listed = view.renders("tools-offer") and bool(positions(view.prompt("tools-offer"), case.marks["call.1.name"]))
        return "value" not in lost or ("name" not in lost and not listed)
    return False


def other_form(view: View, case_id: str) -> str:
    """The id of the case in the form that this engine's clients do not usually send."""
    return f"{case_id}+{'wire' if view.client_form == 'native' else 'native'}"
