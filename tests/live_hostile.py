"""Servers that are none, or that mean no good: context managers, each with a `url`."""

from __future__ import annotations

import contextlib
import select
import socket
import threading
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PAGE = b"<!doctype html><title>It works</title><h1>It works</h1>"
_PIECE = b" " * (64 << 10)


class RawServer:
    """What it says to each request, byte by byte, is a function's: see `Caller`."""

    def __init__(self, speak: Callable[[Caller], None]) -> None:
        self.speak = speak
        self.stopping = threading.Event()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def _accept(self) -> None:
        while not self.stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with self._lock:
            self._open.add(connection)
        with connection, contextlib.suppress(OSError):
            connection.settimeout(20.0)
            if self._heard(connection):
                self.speak(Caller(connection, self.stopping))
                self._end(connection)
        with self._lock:
            self._open.discard(connection)

    def _heard(self, connection: socket.socket) -> bool:
        """Read one request; whether there was one."""
        got = b""
        while b"\r\n\r\n" not in got:
            piece = connection.recv(65536)
            if not piece:
                return False
            got += piece
        head, _, body = got.partition(b"\r\n\r\n")
        sizes = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        missing = (int(sizes[0]) if sizes else 0) - len(body)
        while missing > 0 and (piece := connection.recv(65536)):
            missing -= len(piece)
        return True

    def _end(self, connection: socket.socket) -> None:
        """End so that what was said still arrives."""
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(1.0)
        while connection.recv(65536):
            pass


class Caller:
    """A client that has sent a request."""

    def __init__(self, connection: socket.socket, stopping: threading.Event) -> None:
        self._connection, self._stopping = connection, stopping

    def say(self, raw: bytes) -> None:
        self._connection.sendall(raw)

    @property
    def there(self) -> bool:
        """Whether it is there, and the server too."""
        readable, _, _ = select.select([self._connection], [], [], 0)
        gone = bool(readable) and self._connection.recv(1, socket.MSG_PEEK) == b""
        return not gone and not self._stopping.is_set()

    def wait(self) -> None:
        """Say nothing until it has gone."""
        while self.there:
            self._stopping.wait(0.02)


def answering(status: str, body: bytes, *headers: str) -> RawServer:
    """The same to every request."""
    head = "\r\n".join([f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "Connection: close", "\r\n"])
    return RawServer(lambda caller: caller.say(head.encode("latin-1") + body))


def not_openai() -> RawServer:
    """A page for every path."""
    return answering("200 OK", PAGE, "Content-Type: text/html")


def redirecting(to: str) -> RawServer:
    """Everything is elsewhere."""
    return answering("307 Temporary Redirect", b"", f"Location: {to}")


def garbage(raw: bytes = b"\x00\x1b[31m\xff\xfe no HTTP \x07\r\n\r\n") -> RawServer:
    """Bytes that are no HTTP."""
    return RawServer(lambda caller: caller.say(raw))


def hanging(after: str = "request") -> RawServer:
    """Silence behind the `request`, the `head` of an answer, half a `body`, or the first event of a `stream`."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    said = {
        "request": b"",
        "head": head.encode(),
        "body": f'{head}Content-Length: 100\r\n\r\n{{"object": '.encode(),
        "stream": b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {}\n\n",
    }[after]

    def speak(caller: Caller) -> None:
        caller.say(said)
        caller.wait()

    return RawServer(speak)


def endless(kind: str = "application/json", piece: bytes = _PIECE) -> RawServer:
    """A body without an end: of spaces, or of the piece that is given."""

    def speak(caller: Caller) -> None:
        caller.say(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nConnection: close\r\n\r\n".encode())
        while caller.there:
            caller.say(piece)

    return RawServer(speak)


def hanging_up() -> RawServer:
    """The connection ends where the answer would begin."""
    return RawServer(lambda _: None)


class Refusing:
    """A port on which nothing listens, and that nobody else gets meanwhile."""

    def __init__(self, url: str) -> None:
        self.url = url


@contextlib.contextmanager
def refusing() -> Iterator[Refusing]:
    """See `Refusing`."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield Refusing(f"http://127.0.0.1:{held.getsockname()[1]}")
