"""The exchanges of a judged check → what is kept of them: all while a run has room, then the start and end of each."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from templatelint.probe.wire.exchange import Event, Exchange

ROOM = 48 << 20
"""Bytes that the exchanges of a run may take, of which no right server needs a quarter."""
_EVENT = 400  # bytes that an event takes beside its text
_LEAST = 16 << 10  # bytes that an exchange may always take
_END = 4 << 10  # bytes of the start of a body, and of its end
_EVENTS, _DATA = 8, 256  # events at the start and at the end, and characters of each


class Keeping:
    """What a run keeps."""

    def __init__(self, room: int, forget: Callable[[Exchange, Exchange], None]) -> None:
        """Nothing is kept yet.

        Args:
            room: bytes.
            forget: called with an exchange of which only a part is kept, and that part.
        """
        self._room = room
        self._forget = forget
        self._whole: dict[int, Exchange] = {}

    def kept(self, exchanges: Sequence[Exchange]) -> tuple[Exchange, ...]:
        """The same exchanges, or what is kept of them; one that is there twice is so afterwards."""
        found = {id(exchange): self._kept(exchange) for exchange in exchanges}
        return tuple(found[id(exchange)] for exchange in exchanges)

    def _kept(self, exchange: Exchange) -> Exchange:
        size = _size(exchange)
        if size > _LEAST:
            exchange.forget()
        if id(exchange) in self._whole:
            return exchange
        if size <= max(self._room, _LEAST):
            self._room -= size
            self._whole[id(exchange)] = exchange
            return exchange
        part = _ends(exchange)
        self._forget(exchange, part)
        return part


def _size(exchange: Exchange) -> int:
    """About how many bytes it takes; its events have all of the body's text again."""
    if exchange.events is None:
        return len(exchange.body)
    return 2 * len(exchange.body) + _EVENT * len(exchange.events)


def _ends(exchange: Exchange) -> Exchange:
    body, events = exchange.body, exchange.events
    left_out = max(0, len(body) - 2 * _END)
    if left_out:
        body = body[:_END] + f"… {left_out:,} bytes …".encode() + body[-_END:]
    if events is not None:
        events = tuple(map(_start, events if len(events) <= 2 * _EVENTS else events[:_EVENTS] + events[-_EVENTS:]))
    return replace(exchange, body=body, events=events, left_out=exchange.left_out + left_out)


def _start(event: Event) -> Event:
    return replace(event, name=event.name[:_DATA], data=event.data[:_DATA])
