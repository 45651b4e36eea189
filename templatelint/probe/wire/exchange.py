"""One request and its answer, as raw as they went over the wire; the frames of an event stream with their times."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request.

    Attributes:
        path: from the root of the server (`/v1/chat/completions`), query included.
        body: a JSON value, text that is sent as it is, or None for none.
        headers: beside those that every request has.
        leave_after: hang up after so many events of a stream, None to stay to its end.
        leave_at: hang up after so many seconds without an answer, None to wait as long as allowed.
    """

    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    leave_after: int | None = None
    leave_at: float | None = None

    @cached_property
    def raw(self) -> bytes | None:
        """The bytes of the body."""
        if self.body is None:
            return None
        if isinstance(self.body, str):
            return self.body.encode("utf-8", "surrogatepass")
        return json.dumps(self.body, ensure_ascii=False).encode("utf-8", "surrogatepass")

    @cached_property
    def key(self) -> tuple[Any, ...]:
        """Two requests with the same one ask the same."""
        return self.method, self.path, self.raw, tuple(sorted(self.headers.items())), self.leave_after, self.leave_at


@dataclass(frozen=True)
class Event:
    """A frame of an event stream.

    Attributes:
        name: what follows `event:`; empty where there is none.
        data: what follows `data:`, its lines joined by newlines.
        at: seconds since the request was sent.
    """

    name: str
    data: str
    at: float = 0.0

    @cached_property
    def value(self) -> Any:
        """The JSON value of the data; None where it is none."""
        return parsed(self.data)

    @property
    def object(self) -> Mapping[str, Any]:
        """The JSON object of the data; empty where it is none."""
        return self.value if isinstance(self.value, Mapping) else {}


@dataclass(frozen=True)
class Exchange:
    """A request and what came of it.

    Attributes:
        status: of HTTP; 0 where no answer came.
        headers: of the answer, names in lower case.
        body: of the answer, as raw as it came.
        events: of an event stream, None where the answer is none.
        seconds: until the end of the answer.
        cut: the connection ended before the answer did.
        left: we hung up, as we meant to.
        error: why there is no answer, or no end of one; empty otherwise.
        cure: what to do about that; empty where nothing is known.
        left_out: bytes in the middle of the body that were dropped after it was judged, and are told there; its events
            are then some too.
    """

    asked: Asked
    status: int = 0
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    events: tuple[Event, ...] | None = None
    seconds: float = 0.0
    cut: bool = False
    left: bool = False
    error: str = ""
    cure: str = ""
    left_out: int = 0

    @cached_property
    def text(self) -> str:
        """The body as text; what is no UTF-8 is replaced."""
        return self.body.decode("utf-8", "replace")

    @cached_property
    def value(self) -> Any:
        """The JSON value of the body; None where it is none."""
        return parsed(self.text)

    @property
    def object(self) -> Mapping[str, Any]:
        """The JSON object of the body; empty where it is none."""
        return self.value if isinstance(self.value, Mapping) else {}

    @property
    def ok(self) -> bool:
        """Whether the server has done what it was asked for."""
        return 200 <= self.status < 300  # noqa: PLR2004 (HTTP's class of success)

    @property
    def absent(self) -> bool:
        """Whether the server says that it has no such route."""
        return self.status in (404, 405, 501)

    @property
    def refused(self) -> bool:
        """Whether the server says that the request is at fault."""
        return 400 <= self.status < 500  # noqa: PLR2004 (HTTP's class of client errors)

    @property
    def crashed(self) -> bool:
        """Whether the server says that it is itself at fault."""
        return self.status >= 500  # noqa: PLR2004 (HTTP's class of server errors)

    @cached_property
    def frames(self) -> tuple[Event, ...]:
        """The events, without the `[DONE]` that ends OpenAI's streams; none where there is no stream."""
        return tuple(event for event in self.events or () if event.data.strip() != DONE)

    def forget(self) -> None:
        """Drop what was made of the bytes; it is made anew where somebody asks for it."""
        for holder, names in (
            (self, ("text", "value", "frames")),
            *((event, ("value",)) for event in self.events or ()),
        ):
            for name in names:
                vars(holder).pop(name, None)

    @property
    def done(self) -> bool:
        """Whether `[DONE]` was the last event."""
        return bool(self.events) and self.events is not None and self.events[-1].data.strip() == DONE


DONE = "[DONE]"


def parsed(text: str) -> Any:
    """The JSON value in a text; None where it is none (as JSON has it: no NaN, no Infinity)."""
    try:
        return json.loads(text, parse_constant=_no_json)
    except (ValueError, RecursionError):
        return None


def _no_json(word: str) -> Any:
    raise ValueError(word)
