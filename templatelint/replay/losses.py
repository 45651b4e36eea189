"""What it is called that a part of a request reaches one prompt and not another, and what a client can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.replay.parts import Part


class Loss(NamedTuple):
    """What a lost part is called.

    Attributes:
        says: what it is called: a clause follows.
        within: larger losses that bring this one with them.
    """

    need: str
    says: str
    cure: str
    verdict: Literal["breaks", "degrades"] = "breaks"
    within: tuple[str, ...] = ()


_PRINTS = "serve it with a template of this model that prints them"
_ONE_TEXT = "send content as one string"
LOSSES: Mapping[str, Loss] = {
    "system": Loss("system", "the system message", "put the text at the start of the first user message"),
    "later-system": Loss(
        "agent",
        "a later system message",
        "send later instructions as user messages, or add them to the first system message",
    ),
    "developer": Loss("agent", "a developer message", "send it as a system message"),
    "user-messages": Loss("chat", "a user message", "join messages of one role before sending"),
    "assistant-messages": Loss("chat", "an answer of the history", "join messages of one role before sending"),
    "content-parts": Loss("multimodal", "a further part of a message's content", _ONE_TEXT),
    "media": Loss("multimodal", "an image, sound or film", "send text only"),
    "tools": Loss("tools", "a tool definition", _PRINTS),
    "tool-descriptions": Loss(
        "tools", "the description of a tool", "say in the system message what the tools do", "degrades", ("tools",)
    ),
    "tool-calls": Loss("tools", "a tool call of the history", _PRINTS, within=("tools",)),
    "tool-call-names": Loss(
        "tools",
        "the function's name of a tool call of the history",
        "write the name into the call's id where the template prints that: functions.NAME:INDEX",
        within=("tools", "tool-calls", "parallel-calls"),
    ),
    "parallel-calls": Loss(
        "parallel-tools",
        "a further tool call of a turn",
        "send `parallel_tool_calls: false`, and one call a turn in the history",
        within=("tools", "tool-calls"),
    ),
    "tool-results": Loss(
        "tools",
        "a tool result",
        "send results as user messages, or serve it with a template that takes the role tool",
        within=("tools", "tool-calls"),
    ),
    "tool-results-parts": Loss(
        "tools", "a further part of a tool result", "send tool results as strings", within=("tools", "tool-results")
    ),
    "text-with-calls": Loss(
        "tools",
        "a text beside tool calls",
        "send no text beside tool calls that the next turns need",
        "degrades",
        ("tools", "tool-calls"),
    ),
    "reasoning": Loss(
        "reasoning",
        "a thought of the running tool loop",
        "expect no thoughts: the template has no place for them",
    ),
}


def subject_of(part: Part, changed: Sequence[Part]) -> str:
    """What a lost part is counted as, given what else is lost."""
    if part.subject == "tool-descriptions" and any(
        other.subject == "tools" and other.path[:2] == part.path[:2] for other in changed
    ):
        return "tools"
    lost = part.subject
    if lost == "tool-call-names" and any(
        other.subject == "tool-calls" and other.path[:4] == part.path[:4] for other in changed
    ):
        lost = "tool-calls"  # all of it
    if lost == "tool-calls" and part.number:
        turn = part.path[:2]
        first = any(other.path[:2] == turn and other.subject == lost and not other.number for other in changed)
        return lost if first else "parallel-calls"
    return lost
