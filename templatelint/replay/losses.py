"""What it is called that a part of a request reaches one prompt and not another, and what a client can do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from templatelint.outcomes import BY_ID
from templatelint.replay.parts import WITHOUT_MEDIA

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


def _cure(subject: str) -> str:
    return BY_ID[subject].cure


LOSSES: Mapping[str, Loss] = {
    "system": Loss("system", "the system message", _cure("system")),
    "later-system": Loss(
        "agent",
        "a later system message",
        _cure("later-system"),
    ),
    "developer": Loss("agent", "a developer message", "send it as a system message"),
    "user-messages": Loss("chat", "a user message", "join messages of one role before sending"),
    "assistant-messages": Loss("chat", "an answer of the history", "join messages of one role before sending"),
    "content-parts": Loss("multimodal", "a further part of a message's content", _cure("content-parts")),
    "media": Loss("multimodal", "an image, sound or film", WITHOUT_MEDIA),
    "tools": Loss("tools", "a tool definition", _cure("tools")),
    "tool-descriptions": Loss(
        "tools", "the description of a tool", "say in the system message what the tools do", "degrades", ("tools",)
    ),
    "tool-calls": Loss("tools", "a tool call of the history", _cure("tool-calls"), within=("tools",)),
    "tool-call-names": Loss(
        "tools",
        "the function's name of a tool call of the history",
        "write the name into the call's id where the template prints that: functions.NAME:INDEX",
        within=("tools", "tool-calls", "parallel-calls"),
    ),
    "parallel-calls": Loss(
        "parallel-tools",
        "a further tool call of a turn",
        _cure("parallel-calls"),
        within=("tools", "tool-calls"),
    ),
    "tool-results": Loss(
        "tools",
        "a tool result",
        _cure("tool-results"),
        within=("tools", "tool-calls"),
    ),
    "tool-results-parts": Loss(
        "tools", "a further part of a tool result", _cure("tool-results-parts"), within=("tools", "tool-results")
    ),
    "text-with-calls": Loss(
        "tools",
        "a text beside tool calls",
        _cure("text-with-calls"),
        "degrades",
        ("tools", "tool-calls"),
    ),
    "reasoning": Loss(
        "reasoning",
        "a thought of the running tool loop",
        _cure("reasoning"),
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
