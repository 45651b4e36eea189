"""A remote file → its bytes where they are asked for, by HTTP range requests that never overlap."""

from __future__ import annotations

import re
from bisect import bisect_right, insort
from contextlib import contextmanager
from typing import TYPE_CHECKING

from templatelint.sources import opening
from templatelint.sources.web import PATIENCE, Answer, Patience, Web
from templatelint.sources.web_refusals import NONE, Cut, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["RangedFile", "Refused", "open_ranged"]

# Bytes of the first chunk; each later one has twice as many. Three are 8.75 MiB, which headers of 150,000 tokens do not
# fill, four are 18.75 MiB, which no tokenizer does.
_FIRST = 5 << 18
_LARGEST = 16 << 20
_MOST = 96 << 20  # bytes of one file; the largest headers have 15 MB
_WHOLE = 4 << 20  # bytes that are taken from a server which sends the whole file
_UNANNOUNCED = 64 << 10  # the same where it does not say how many there are

_OK, _PARTIAL, _NOT_THERE = 200, 206, 416
_EXPIRED = (401, 403, 404, 410)
_RANGE = re.compile(r"bytes (\d{1,18})-(\d{1,18})/(\d{1,18})")
_EMPTY = re.compile(r"bytes \*/0")
_NO_RANGES = "download the file and give its path"


class RangedFile:
    """A remote file as a source of bytes; each byte is fetched once at most, and kept.

    Attributes:
        name: what messages call it.
        size: bytes in the whole file.
        headers: of the first answer, that of the host that was asked (a redirection of the Hub has
            `x-repo-commit`, `x-linked-etag`), names in lower case.
        fetched: bytes that have come.
    """

    def __init__(self, web: Web, progress: Callable[[int], None] | None = None) -> None:
        """Asks for the first bytes, which tell the size."""
        self.name = web.name
        self.size = 0
        self.fetched = 0
        self._web = web
        self._progress = progress
        self._chunk = _FIRST
        self._starts: list[int] = []  # of the parts that have come, in order
        self._parts: dict[int, bytes] = {}
        self._etag = ""
        self._opened = False
        self._fetch(0, _FIRST)
        self._opened = True
        self.headers = web.first

    @property
    def requests(self) -> int:
        """How many were made, redirections and repetitions counted."""
        return self._web.requests

    def read(self, offset: int, count: int, least: int | None = None) -> bytes:
        """`count` bytes from `offset` on, fewer at the end of the file, or where `least` have come and more have not.

        Raises:
            Refused: the server does not give them, or the file has changed since it was opened.
        """
        needed = min(offset + (count if least is None else least), self.size)
        while (reached := self._reach(offset)) < needed:
            self._fetch(reached, needed)
        return self._copy(offset, min(offset + count, self.size, reached))

    # ---- what has come

    def _reach(self, offset: int) -> int:
        """The first offset from this one on whose byte has not come."""
        while True:
            place = bisect_right(self._starts, offset) - 1
            if place < 0:
                return offset
            start = self._starts[place]
            end = start + len(self._parts[start])
            if end <= offset:
                return offset
            offset = end

    def _copy(self, start: int, end: int) -> bytes:
        pieces = []
        while start < end:
            first = self._starts[bisect_right(self._starts, start) - 1]
            piece = self._parts[first][start - first : end - first]
            pieces.append(piece)
            start += len(piece)
        return b"".join(pieces)

    def _keep(self, start: int, part: bytes) -> None:
        if part:
            insort(self._starts, start)
            self._parts[start] = part

    # ---- what is to come

    def _fetch(self, start: int, needed: int) -> None:
        """Fetch a chunk that has the bytes from `start` up to `needed`, and none that have come."""
        place = bisect_right(self._starts, start) - 1
        end = self._reach(self._starts[place]) if place >= 0 else 0
        if start - end <= self._chunk // 2:
            start = end  # a small gap would cost a request of its own if it is read after all
        stop = max(start + self._chunk, needed)
        if self._opened:
            after = bisect_right(self._starts, start)
            stop = min(stop, self.size, *self._starts[after : after + 1])
        if self.fetched + stop - start > _MOST:
            raise Refused(f"{self.name} wants more than {_MOST:,} bytes to be read of its {self.size:,}")
        self._chunk = min(2 * self._chunk, _LARGEST)
        try:
            self._ask(start, stop)
        except Cut:
            # Once more, from where it ended; nothing at all may have come where a kept connection had been closed.
            reached = self._reach(start)
            if self._opened and reached >= min(stop, self.size):
                raise
            self._ask(reached, stop)

    def _ask(self, start: int, stop: int) -> None:
        headers = {"range": f"bytes={start}-{stop - 1}"}
        if self._etag.startswith('"'):  # a weak one cannot tell that bytes are the same
            headers["if-range"] = self._etag
        with self._web.ask(headers) as answer:
            if not (answer.status in _EXPIRED and self._opened and self._web.redirected):
                return self._take(answer, start, stop)
        # What the file's own address leads to is signed for some minutes.
        self._web.forget()
        with self._web.ask(headers) as answer:
            return self._take(answer, start, stop)

    def _take(self, answer: Answer, start: int, stop: int) -> None:
        if answer.encoded:
            raise self._lies(answer, "sends it encoded, which was not asked for")
        if answer.status == _OK:
            return self._take_whole(answer)
        content_range = answer.headers.get("content-range", "")
        if answer.status == _NOT_THERE and not self._opened and _EMPTY.fullmatch(content_range):
            return None
        if answer.status == _NOT_THERE and self._opened:
            raise self._changed()
        if answer.status != _PARTIAL:
            raise self._web.refusal(answer)
        size = self._checked(answer, content_range, start, stop)
        etag = answer.headers.get("etag", "")
        if self._opened and (size != self.size or (etag and self._etag and etag != self._etag)):
            raise self._changed()
        self.size, self._etag, self._opened = size, self._etag or etag, True
        return self._body(answer, start, min(stop, size))

    def _checked(self, answer: Answer, content_range: str, start: int, stop: int) -> int:
        """The size of the file, by an answer that gives the bytes that were asked for."""
        found = _RANGE.fullmatch(content_range.strip())
        if found is None:
            unknown = content_range.strip().endswith("/*")
            raise self._lies(answer, "does not tell its size" if unknown else "does not tell which bytes it sends")
        first, last, size = map(int, found.groups())
        if first != start or last != min(stop, size) - 1:
            raise self._lies(answer, f"sends bytes {first:,} to {last:,} of it, asked for {start:,} to {stop - 1:,}")
        if answer.length is not None and answer.length != last + 1 - first:
            raise self._lies(answer, f"announces {last + 1 - first:,} bytes of it and {answer.length:,}")
        return size

    def _body(self, answer: Answer, start: int, stop: int) -> None:
        pieces: list[bytes] = []
        came = 0
        try:
            for piece in answer.parts():
                came += len(piece)
                if came > stop - start:
                    raise self._lies(answer, f"sends more than the {stop - start:,} bytes that it announces")
                pieces.append(piece)
                self.fetched += len(piece)
                if self._progress is not None:
                    self._progress(self.fetched)
        finally:
            self._keep(start, b"".join(pieces))
        if came < stop - start:
            raise Cut(f"{self.name}: {answer.host} sends {came:,} of {stop - start:,} bytes", help="try again")

    def _take_whole(self, answer: Answer) -> None:
        if self._opened:
            raise self._changed()
        if "text/html" in answer.headers.get("content-type", "").lower():
            raise opening.html_page(self.name)
        limit = _UNANNOUNCED if answer.length is None else _WHOLE
        body = answer.up_to(limit)
        if body is None:
            size = "" if answer.length is None else f" and sends all {answer.length:,} bytes"
            raise self._lies(answer, f"ignores that a part was asked for{size}")
        self._keep(0, body)
        self.size = self.fetched = len(body)
        if self._progress is not None:
            self._progress(self.fetched)

    # ---- errors

    def _lies(self, answer: Answer, what: str) -> Refused:
        return Refused(f"{self.name}: {answer.host} {what}", help=_NO_RANGES)

    def _changed(self) -> Refused:
        return Refused(f"{self.name} changed while it was read", help="try again")


@contextmanager
def open_ranged(
    url: str,
    *,
    name: str,
    headers: Mapping[str, str] = NONE,
    progress: Callable[[int], None] | None = None,
    patience: Patience = PATIENCE,
) -> Iterator[RangedFile]:
    """A remote file, its first bytes fetched.

    Args:
        url: `http` or `https`; `user:password@` in it is sent to that host as basic authorisation.
        name: what messages call the file; never the URL.
        headers: sent to the scheme, host and port of `url` alone, not to where it redirects.
        progress: told how many bytes have come in all, as they come, and 0 when it is over.
        patience: how long to wait.

    Raises:
        Refused: nothing there, not permitted, no ranges in a file too large to take whole, no connection.
    """
    try:
        with Web(url, name=name, headers=headers, patience=patience) as web:
            yield RangedFile(web, progress)
    finally:
        if progress is not None:
            progress(0)
