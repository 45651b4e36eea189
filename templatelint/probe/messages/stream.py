"""A streamed answer of Anthropic's Messages API → its blocks, put together, and what in its events is out of order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from templatelint.probe.telling import http, quoted
from templatelint.probe.wire.exchange import parsed
from templatelint.sources.endpoint.routes import table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.probe.wire.exchange import Event, Exchange

# type of a delta → the types of the blocks that it belongs to, and its member
_DELTAS: Mapping[str, tuple[str, str]] = {
    "text_delta": ("text", "text"),
    "input_json_delta": ("tool_use", "partial_json"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
}
_MANY = 20  # faults
_LONG = 120  # characters of what a message repeats


@dataclass
class Block:
    """A block as its events give it.

    Attributes:
        start: the object that begins it.
        joined: the pieces of its text, its thoughts or its arguments.
        open: it has not stopped.
    """

    start: Mapping[str, Any]
    joined: str = ""
    open: bool = True

    @property
    def kind(self) -> str:
        """`text`, `tool_use`, …; empty where it is not told."""
        return text(self.start.get("type"))

    @property
    def input(self) -> Any:
        """The arguments of a call; None where they are no JSON."""
        return parsed(self.joined) if self.joined.strip() else {}


@dataclass
class Streamed:
    """A stream as it was read.

    Attributes:
        stop: `stop_reason`; empty where it is not told.
        faults: what breaks the order or the form of events, each in a clause, as far as there is room.
        odd: what is allowed, and may surprise a client.
    """

    blocks: list[Block] = field(default_factory=list)
    stop: str = ""
    faults: list[str] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)

    @property
    def calls(self) -> list[Block]:
        """The calls of functions."""
        return [block for block in self.blocks if block.kind == "tool_use"]


def not_streamed(exchange: Exchange) -> str:
    """What came in place of an event stream; empty where one came."""
    if exchange.ok and exchange.events is not None:
        return ""
    if not exchange.ok:
        return http(exchange)
    return f"HTTP {exchange.status} of the type {quoted(exchange.headers.get('content-type', ''))}"


def read(exchange: Exchange) -> Streamed:
    """The stream of an exchange that has one."""
    reading = _Reading()
    for number, event in enumerate(exchange.frames, 1):
        reading.take(number, event)
    reading.end(cut=exchange.cut, done=exchange.done)
    return reading.found


class _Reading:
    """What is known after so many events."""

    def __init__(self) -> None:
        self.found = Streamed()
        self._begun = self._ended = False
        self._takers = {
            "message_start": self._message_start,
            "content_block_start": self._block_start,
            "content_block_delta": self._block_delta,
            "content_block_stop": self._block_stop,
            "message_delta": self._message_delta,
            "message_stop": self._message_stop,
            "error": self._error,
        }

    def fault(self, fact: str) -> None:
        if len(self.found.faults) < _MANY:
            self.found.faults.append(fact)

    def take(self, number: int, event: Event) -> None:
        if not event.data:  # dropped by the SDK, and by the standard of such streams
            return
        data = event.object
        kind = text(data.get("type"))
        where = f"event {number}"
        if not kind:
            self.fault(f"{where} has no type: {quoted(event.data)}")
            return
        if event.name != kind:
            self.fault(f"{where} is of type {quoted(kind)}, and its event: is {quoted(event.name)}")
        taker = self._takers.get(kind)
        if taker is None:  # ping, and what is still to come
            return
        if self._ended and kind != "error":
            self.fault(f"{where}, {kind}, comes behind message_stop")
        if not self._begun and kind not in ("message_start", "error"):
            self.fault(f"{where}, {kind}, comes before message_start")
            self._begun = True
        taker(where, data)

    def end(self, *, cut: bool, done: bool) -> None:
        if cut:
            self.fault("the connection ends before the stream does")
        elif not self._ended:
            self.fault("the stream ends without message_stop")
        for index, block in enumerate(self.found.blocks):
            if block.open:
                self.fault(f"content block {index} never stops")
            if block.kind == "tool_use" and not isinstance(block.input, dict):
                self.fault(f"the joined partial_json of block {index} is no JSON object: {quoted(block.joined, _LONG)}")
        if done:
            self.found.odd.append("the stream ends with [DONE], which Anthropic's have not")

    def _message_start(self, where: str, data: Mapping[str, Any]) -> None:
        if self._begun:
            self.fault(f"{where} is one more message_start")
        self._begun = True
        message = data.get("message")
        if not isinstance(message, dict):
            self.fault(f"{where}, message_start, has no message")
        elif not text(message.get("id")) or message.get("role") != "assistant":
            name = "role" if text(message.get("id")) else "id"
            self.fault(f"{where}, message_start: {name} is {quoted(message.get(name))}")

    def _block_start(self, where: str, data: Mapping[str, Any]) -> None:
        index, start = data.get("index"), table(data.get("content_block"))
        blocks = self.found.blocks
        opened = next((at for at, block in enumerate(blocks) if block.open), None)
        if opened is not None:
            self.fault(f"{where} starts content block {quoted(index)} before block {opened} has stopped")
        if isinstance(index, bool) or index != len(blocks):
            self.fault(f"{where} starts content block {quoted(index)}, where {len(blocks)} is the next one")
        blocks.append(Block(start))
        if not text(start.get("type")):
            self.fault(f"{where}, content_block_start: the type of the block is {quoted(start.get('type'))}")
        if start.get("type") == "tool_use":
            for name in ("id", "name"):
                if not text(start.get(name)):
                    self.fault(f"{where}, content_block_start: {name} of the tool_use is {quoted(start.get(name))}")
            if not isinstance(start.get("input"), dict) and not self.found.odd:
                self.found.odd.append("a tool_use starts without an input, where Anthropic sends an empty one")

    def _at(self, where: str, kind: str, data: Mapping[str, Any]) -> Block | None:
        """The block that an event is about; None where there is none that is open."""
        index = data.get("index")
        if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < len(self.found.blocks):
            block = self.found.blocks[index]
            if block.open:
                return block
        self.fault(f"{where}, {kind}, is about content block {quoted(index)}, which is not open")
        return None

    def _block_delta(self, where: str, data: Mapping[str, Any]) -> None:
        block = self._at(where, "content_block_delta", data)
        delta = table(data.get("delta"))
        kind = delta.get("type")
        known = _DELTAS.get(kind) if isinstance(kind, str) else None
        if block is None or (known is None and isinstance(kind, str)):
            return
        if known is None or known[0] != block.kind:
            self.fault(f"{where} gives a {quoted(kind)} to a block of the type {quoted(block.start.get('type'))}")
            return
        piece = delta.get(known[1])
        if not isinstance(piece, str):
            self.fault(f"{where}, {kind}: {known[1]} is {quoted(piece)}")
        elif kind != "signature_delta":
            block.joined += piece

    def _block_stop(self, where: str, data: Mapping[str, Any]) -> None:
        block = self._at(where, "content_block_stop", data)
        if block is not None:
            block.open = False

    def _message_delta(self, where: str, data: Mapping[str, Any]) -> None:
        if any(block.open for block in self.found.blocks):
            self.fault(f"{where}, message_delta, comes before the last content block has stopped")
        self.found.stop = text(table(data.get("delta")).get("stop_reason")) or self.found.stop
        count = table(data.get("usage")).get("output_tokens")
        if not isinstance(count, int) or isinstance(count, bool):
            self.fault(f"{where}, message_delta: usage.output_tokens is {quoted(count)}")

    def _message_stop(self, where: str, _: Mapping[str, Any]) -> None:
        self._ended = True
        if not self.found.stop:
            self.fault(f"{where}, message_stop, comes before any stop_reason")

    def _error(self, where: str, data: Mapping[str, Any]) -> None:
        self._ended = True
        self.fault(f"{where} is an error: {quoted(table(data.get('error')).get('message'), _LONG)}")
