"""What the model wrote → the answers of the three APIs: one JSON object, or the events of a stream."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from collections.abc import Iterator

    from live_model import Delta, Generated, Json, Wanted

DONE = "[DONE]"
BUILD = "b11549-abc1234"


@dataclass
class Event:
    """A frame of a stream.

    Attributes:
        data: a JSON value, or text that is sent as it is.
        name: what `event:` says; empty for none.
        pause: seconds before it is sent.
    """

    data: Any
    name: str = ""
    pause: float = 0.0

    @property
    def raw(self) -> bytes:
        """As it is sent."""
        text = self.data if isinstance(self.data, str) else json.dumps(self.data)
        head = f"event: {self.name}\n" if self.name else ""
        return f"{head}data: {text}\n\n".encode("utf-8", "surrogatepass")


def new_id(prefix: str) -> str:
    """An id that nothing else has."""
    return f"{prefix}{uuid4().hex[:24]}"


# -------------------------------------------------------------------------------------- chat completions


@dataclass(frozen=True)
class Chat:
    """The answers of `/v1/chat/completions`."""

    wanted: Wanted
    generated: Generated
    model: str
    id: str = field(default_factory=lambda: new_id("chatcmpl-"))
    created: int = field(default_factory=lambda: int(time.time()))

    @property
    def usage(self) -> Json:
        done = self.generated
        return {
            "prompt_tokens": done.prompt_tokens,
            "completion_tokens": done.tokens,
            "total_tokens": done.prompt_tokens + done.tokens,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": done.reasoning_tokens},
        }

    def _head(self, kind: str) -> Json:
        return {
            "id": self.id,
            "object": kind,
            "created": self.created,
            "model": self.model,
            "system_fingerprint": BUILD,
        }

    def plain(self) -> Json:
        """The object."""
        text, reasoning, calls = (
            self.generated.joined("text"),
            self.generated.joined("reasoning"),
            self.generated.calls,
        )
        message: Json = {"role": "assistant", "content": text or (None if calls else ""), "refusal": None}
        if reasoning:
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = [
                {"id": new_id("call_"), "type": "function", "function": {"name": name, "arguments": arguments}}
                for name, arguments, _ in calls
            ]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": self.generated.finish}
        return {**self._head("chat.completion"), "choices": [choice], "usage": self.usage}

    def events(self) -> Iterator[Event]:
        """The chunks, and `[DONE]`."""
        told = (self.wanted.body.get("stream_options") or {}).get("include_usage") is True
        calling = bool(self.generated.calls) and not self.generated.joined("text")
        yield self._chunk({"role": "assistant", "content": None if calling else ""}, told=told)
        for step in self.generated.steps:
            for delta in step:
                if (change := _chat_delta(delta)) is not None:
                    yield self._chunk(change, told=told)
        yield self._chunk({}, self.generated.finish, told=told)
        if told:
            yield Event({**self._head("chat.completion.chunk"), "choices": [], "usage": self.usage})
        yield Event(DONE)

    def _chunk(self, delta: Json, finish: str | None = None, *, told: bool) -> Event:
        choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        chunk = {**self._head("chat.completion.chunk"), "choices": [choice]}
        return Event({**chunk, "usage": None} if told else chunk)


def _chat_delta(delta: Delta) -> Json | None:
    if delta.channel == "name":
        function = {"name": delta.text, "arguments": ""}
        return {"tool_calls": [{"index": delta.call, "id": new_id("call_"), "type": "function", "function": function}]}
    if not delta.text:
        return None
    if delta.channel == "arguments":
        return {"tool_calls": [{"index": delta.call, "function": {"arguments": delta.text}}]}
    return {"reasoning_content" if delta.channel == "reasoning" else "content": delta.text}
