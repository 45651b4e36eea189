"""A request → the exchange it makes with a server: bounded in time and bytes, streams read as they come."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from templatelint.errors import clip
from templatelint.probe.wire.exchange import Event, Exchange
from templatelint.probe.wire.sse import Frames
from templatelint.probe.wire.unpacking import KNOWN, unpacked
from templatelint.sources.web import Patience, Web
from templatelint.sources.web_refusals import Cut, Refused
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.probe.wire.exchange import Asked
    from templatelint.sources.web import Answer
    from templatelint.sources.web_address import Address

_LARGEST = 8 << 20  # bytes of an answer
_MANY = 50_000  # events of a stream
_CONNECT = 5.0  # seconds
_PATIENCE = "--timeout SECONDS gives a request longer"


class Client:
    """Asks one server; connections are kept, and opened anew once where the server has closed one meanwhile.

    Attributes:
        seconds: that one request may take.
        sent: how many requests were made.
    """

    def __init__(self, web: Web, base: Address, seconds: float) -> None:
        self._web = web
        self._base = base.url.rstrip("/")
        self.seconds = seconds
        self.sent = 0

    def ask(self, asked: Asked) -> Exchange:
        """The exchange; what went wrong on the way is in it."""
        exchange = self._once(asked)
        # what a kept connection does when its server has closed it: nothing came of the request
        if exchange.cut and not exchange.status:
            exchange = self._once(asked)
        return exchange

    def _once(self, asked: Asked) -> Exchange:
        self.sent += 1
        start = time.monotonic()
        wait = self.seconds if asked.leave_at is None else asked.leave_at
        received = _Received(asked, start)
        try:
            with self._web.ask(
                asked.headers,
                url=self._base + asked.path,
                body=asked.raw,
                patience=Patience(connect=_CONNECT, read=wait, whole=wait),
            ) as answer:
                received.read(answer)
        except Cut as trouble:
            if received.status:
                return received.exchange(cut=True)
            return received.exchange(cut=True, error=trouble.message, cure=trouble.help or "")
        except Refused as trouble:
            late = time.monotonic() - start >= wait
            if late:
                return self._late(received, asked)
            return received.exchange(error=trouble.message, cure=trouble.help or "")
        # the end of a body that ends with its connection cannot be told from ours, when time is up
        if not received.left and not received.error and time.monotonic() - start >= wait:
            return self._late(received, asked)
        return received.exchange(left=received.left, error=received.error)

    def _late(self, received: _Received, asked: Asked) -> Exchange:
        if asked.leave_at is not None:
            return received.exchange(left=True)
        return received.exchange(error=f"nothing more within {self.seconds:g} s", cure=_PATIENCE)


class _Received:
    """What has come of an answer so far."""

    def __init__(self, asked: Asked, start: float) -> None:
        self._asked = asked
        self._start = start
        self.status = 0
        self.left = False
        self.error = ""
        self._headers: dict[str, str] = {}
        self._body = bytearray()
        self._events: list[Event] | None = None

    def read(self, answer: Answer) -> None:
        self.status = answer.status
        self._headers = dict(answer.headers)
        if answer.encoded not in KNOWN:
            self.error = f"the answer is {shown(clip(answer.encoded))}-encoded, which was not asked for"
            return
        try:
            self._read(unpacked(_within(answer.parts()), answer.encoded))
        except ValueError as trouble:
            self.error = f"the answer is not {answer.encoded}-encoded as its head says: {trouble}"

    def _read(self, parts: Iterator[bytes]) -> None:
        frames = None
        if self._headers.get("content-type", "").lower().startswith("text/event-stream"):
            frames, self._events = Frames(), []
        for part in parts:
            self._body += part
            if frames is not None and self._events is not None:
                at = time.monotonic() - self._start
                self._events += [Event(name, data, at) for name, data in frames.feed(part)]
                if self._asked.leave_after is not None and len(self._events) >= self._asked.leave_after:
                    self.left = True
                    return
            if len(self._body) > _LARGEST:
                self.error = f"more than {_LARGEST:,} bytes"
                return
            if self._events is not None and len(self._events) > _MANY:
                self.error = f"more than {_MANY:,} events"
                return

    def exchange(self, *, cut: bool = False, left: bool = False, error: str = "", cure: str = "") -> Exchange:
        return Exchange(
            self._asked,
            self.status,
            self._headers,
            bytes(self._body),
            None if self._events is None else tuple(self._events),
            time.monotonic() - self._start,
            cut,
            left,
            error,
            cure,
        )


def _within(parts: Iterator[bytes]) -> Iterator[bytes]:
    """As many bytes as are read at all, and one part more: what is unpacked to nothing has an end too."""
    count = 0
    for part in parts:
        yield part
        count += len(part)
        if count > _LARGEST:
            return
