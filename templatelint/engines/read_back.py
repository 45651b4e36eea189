"""What an engine's own parser makes of a template's own calls, and of thoughts; JSON data between processes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from templatelint.model import Request

Status = Literal[
    "ok",
    "ok_extra_content",
    "wrong_args",
    "wrong_calls",
    "as_content",
    "parse_error",
    "not_rendered",
    "render_error",
    "prefix_error",
]
"""How a call fared, best first: all as sent; the text beside it differs; arguments differ; names or number differ;
no call came back; the engine answers with an error; the template does not print the call; it does not render with it;
it does not render what precedes it."""


class ReadCall(NamedTuple):
    """A call as the engine's parser gives it; `arguments` is JSON text, unless the parser gave none."""

    name: str
    arguments: str


class ReadBack(NamedTuple):
    """What came back of the calls of a request's last message that has some.

    Attributes:
        status: how they fared.
        text: what stands for the model's reply: the calls as the template prints them, up to the end of the turn.
        calls: those that came back.
        content: the text beside them.
        reasoning: the reasoning before them.
        error: why the engine or the template fails; empty where neither does.
    """

    status: Status
    text: str = ""
    calls: Sequence[ReadCall] = ()
    content: str = ""
    reasoning: str = ""
    error: str = ""

    @staticmethod
    def of(data: Sequence[Any]) -> ReadBack:
        """The same from what JSON makes of it."""
        status, text, calls, content, reasoning, error = data
        return ReadBack(status, text, [ReadCall(*call) for call in calls], content, reasoning, error)


@runtime_checkable
class ReadsBack(Protocol):
    """A loaded template of an engine that chooses the parser of replies by the template."""

    def read_back(self, request: Request, now: datetime) -> ReadBack | None:
        """What comes back of the calls of the request's last message that has some; None where it has none."""
        ...


@runtime_checkable
class SplitsThoughts(Protocol):
    """A loaded template of an engine that finds out from the template whether replies begin with thoughts."""

    @property
    def supports_thinking(self) -> bool:
        """Whether it takes thoughts out of replies."""
        ...
