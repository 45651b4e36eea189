"""What the model wrote → the answers of the three APIs: one JSON object, or the events of a stream."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from functools import cached_property
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


# ------------------------------------------------------------------------------------- items and blocks


@dataclass
class Part:
    """A stretch of thoughts, of text, or a call: what becomes an item or a block."""

    kind: str  # reasoning, text or call
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    whole: bool = True

    @property
    def text(self) -> str:
        return "".join(self.pieces)


def parts(generated: Generated) -> list[Part]:
    """What was written, in its order; the last part is not whole where the tokens ended."""
    found: list[tuple[tuple[str, int], Part]] = []
    for delta in generated.deltas:
        kind = "call" if delta.channel in ("name", "arguments") else delta.channel
        if not found or found[-1][0] != (kind, delta.call):
            found.append(((kind, delta.call), Part(kind)))
        part = found[-1][1]
        if delta.channel == "name":
            part.name = delta.text
        elif delta.text:
            part.pieces.append(delta.text)
    made = [part for _, part in found]
    if made and generated.finish == "length":
        made[-1].whole = False
    return made


# -------------------------------------------------------------------------------------------- Responses


@dataclass(frozen=True)
class Responses:
    """The answers of `/v1/responses`."""

    body: Json
    generated: Generated
    model: str
    id: str = field(default_factory=lambda: new_id("resp_"))
    created: int = field(default_factory=lambda: int(time.time()))

    @cached_property
    def items(self) -> list[tuple[Json, Part]]:
        """The items as they are at the end, and what they are made of."""
        return [(_item(part), part) for part in parts(self.generated)]

    def plain(self) -> Json:
        """The object."""
        cut = self.generated.finish == "length"
        return self._object("incomplete" if cut else "completed", [item for item, _ in self.items])

    def _object(self, status: str, output: list[Json]) -> Json:
        body, done = self.body, self.generated
        tools = [{"description": None, "parameters": None, "strict": False, **tool} for tool in body.get("tools") or []]
        running = status == "in_progress"
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "completed_at": self.created if status == "completed" else None,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "instructions": body.get("instructions"),
            "max_output_tokens": body.get("max_output_tokens"),
            "max_tool_calls": body.get("max_tool_calls"),
            "model": self.model,
            "output": output,
            "parallel_tool_calls": body.get("parallel_tool_calls") is not False,
            "previous_response_id": None,
            "prompt_cache_key": None,
            "reasoning": {"effort": (body.get("reasoning") or {}).get("effort"), "summary": None},
            "safety_identifier": None,
            "service_tier": "default",
            "store": False,
            "temperature": _or(body.get("temperature"), 1.0),
            "text": {"format": (body.get("text") or {}).get("format") or {"type": "text"}},
            "tool_choice": _or(body.get("tool_choice"), "auto"),
            "tools": tools,
            "top_logprobs": 0,
            "top_p": _or(body.get("top_p"), 1.0),
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
            "truncation": "disabled",
            "usage": None
            if running
            else {
                "input_tokens": done.prompt_tokens,
                "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
                "output_tokens": done.tokens,
                "output_tokens_details": {"reasoning_tokens": done.reasoning_tokens},
                "total_tokens": done.prompt_tokens + done.tokens,
            },
            "user": body.get("user"),
            "metadata": body.get("metadata") or {},
        }

    def events(self) -> Iterator[Event]:
        """The events; OpenAI sends no `[DONE]` behind them."""
        for number, (kind, members) in enumerate(self._events()):
            yield Event({"type": kind, "sequence_number": number, **members}, kind)

    def _events(self) -> Iterator[tuple[str, Json]]:
        started = self._object("in_progress", [])
        yield "response.created", {"response": started}
        yield "response.in_progress", {"response": started}
        for index, (item, part) in enumerate(self.items):
            at: Json = {"item_id": item["id"], "output_index": index}
            yield "response.output_item.added", {"output_index": index, "item": _begun(item)}
            if part.kind == "call":
                kind = "response.function_call_arguments"
                for piece in part.pieces:
                    yield f"{kind}.delta", {**at, "delta": piece}
                yield f"{kind}.done", {**at, "name": part.name, "arguments": part.text}
            else:
                yield from self._content(item, part, {**at, "content_index": 0})
            yield "response.output_item.done", {"output_index": index, "item": item}
        done = self.plain()
        yield f"response.{done['status']}", {"response": done}

    def _content(self, item: Json, part: Part, at: Json) -> Iterator[tuple[str, Json]]:
        content = item["content"][0]
        thoughts = part.kind == "reasoning"
        kind = "response.reasoning_text" if thoughts else "response.output_text"
        more: Json = {} if thoughts else {"logprobs": []}
        yield "response.content_part.added", {**at, "part": {**content, "text": ""}}
        for piece in part.pieces:
            yield f"{kind}.delta", {**at, "delta": piece, **more}
        yield f"{kind}.done", {**at, "text": part.text, **more}
        yield "response.content_part.done", {**at, "part": content}


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _item(part: Part) -> Json:
    status = "completed" if part.whole else "incomplete"
    if part.kind == "call":
        return {
            "type": "function_call",
            "id": new_id("fc_"),
            "call_id": new_id("call_"),
            "name": part.name,
            "arguments": part.text,
            "status": status,
        }
    if part.kind == "reasoning":
        content = [{"type": "reasoning_text", "text": part.text}]
        return {"type": "reasoning", "id": new_id("rs_"), "summary": [], "content": content, "status": status}
    text = {"type": "output_text", "text": part.text, "annotations": [], "logprobs": []}
    return {"type": "message", "id": new_id("msg_"), "role": "assistant", "status": status, "content": [text]}


def _begun(item: Json) -> Json:
    empty: Json = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
    return {**item, **empty, "status": "in_progress"}


# -------------------------------------------------------------------------------------------- Anthropic

_REASONS = {"length": "max_tokens", "tool_calls": "tool_use", "stop": "end_turn"}


@dataclass(frozen=True)
class Messages:
    """The answers of `/v1/messages`."""

    generated: Generated
    model: str
    id: str = field(default_factory=lambda: new_id("msg_"))

    @property
    def _parts(self) -> list[Part]:
        """Without a call that was cut: its input is no object, and clients would take it for an empty one."""
        return [part for part in parts(self.generated) if part.kind != "call" or part.whole]

    @property
    def _reason(self) -> Json:
        done = self.generated
        if done.stop is not None:
            return {"stop_reason": "stop_sequence", "stop_sequence": done.stop}
        return {"stop_reason": _REASONS[done.finish], "stop_sequence": None}

    def _object(self, content: list[Json], reason: Json, output_tokens: int) -> Json:
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            **reason,
            "usage": {
                "input_tokens": self.generated.prompt_tokens,
                "output_tokens": output_tokens,
                "cache_creation_input_tokens": 0,
                "cache_read_input_tokens": 0,
            },
        }

    def plain(self) -> Json:
        """The object."""
        return self._object([_block(part) for part in self._parts], self._reason, self.generated.tokens)

    def events(self) -> Iterator[Event]:
        """The events."""
        for kind, members in self._events():
            yield Event({"type": kind, **members}, kind)

    def _events(self) -> Iterator[tuple[str, Json]]:
        started = self._object([], {"stop_reason": None, "stop_sequence": None}, 1)
        yield "message_start", {"message": started}
        yield "ping", {}
        for index, part in enumerate(self._parts):
            block = _block(part)
            empty: Json = {"input": {}} if part.kind == "call" else {block["type"]: ""}
            yield "content_block_start", {"index": index, "content_block": {**block, **empty}}
            for piece in part.pieces:
                yield "content_block_delta", {"index": index, "delta": _block_delta(part, piece)}
            if part.kind == "reasoning":
                signed = {"type": "signature_delta", "signature": block["signature"]}
                yield "content_block_delta", {"index": index, "delta": signed}
            yield "content_block_stop", {"index": index}
        yield "message_delta", {"delta": self._reason, "usage": {"output_tokens": self.generated.tokens}}
        yield "message_stop", {}


def _block(part: Part) -> Json:
    if part.kind == "call":
        return {"type": "tool_use", "id": new_id("toolu_"), "name": part.name, "input": json.loads(part.text)}
    if part.kind == "reasoning":
        return {"type": "thinking", "thinking": part.text, "signature": "none"}
    return {"type": "text", "text": part.text}


def _block_delta(part: Part, piece: str) -> Json:
    if part.kind == "call":
        return {"type": "input_json_delta", "partial_json": piece}
    kind = "thinking" if part.kind == "reasoning" else "text"
    return {"type": f"{kind}_delta", kind: piece}
