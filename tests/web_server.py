"""A function of requests → a web server on loopback that answers as it says, and records what was asked and sent."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_RANGE = re.compile(r"bytes=(\d+)-(\d+)")
_PIECE = 64 << 10


@dataclass
class Asked:
    """A request; `sent` counts the bytes of the body that was sent for it."""

    method: str
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes = b""
    sent: int = 0

    @property
    def range(self) -> tuple[int, int] | None:
        """First byte asked for, and the one behind the last."""
        found = _RANGE.fullmatch(self.headers.get("range", ""))
        return (int(found[1]), int(found[2]) + 1) if found else None


@dataclass(frozen=True)
class Reply:
    """What is answered.

    Attributes:
        sized: say how long the body is; otherwise it ends with the connection.
        cut: close the connection behind so many bytes of the body; -1 before the head.
        drip: send the head byte by byte, and never end it.
    """

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    sized: bool = True
    cut: int | None = None
    drip: bool = False


class WebServer:
    """A context manager; `asked` has the requests in order."""

    def __init__(self, reply: Callable[[Asked], Reply]) -> None:
        self.reply = reply
        self.asked: list[Asked] = []
        self.stopping = threading.Event()

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"web": self}))
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.005}, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.server_close()

    @property
    def port(self) -> int:
        return self._server.server_port

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def sent(self) -> int:
        return sum(each.sent for each in self.asked)


def part_of(content: bytes, asked: Asked, **headers: str) -> Reply:
    """What a server that knows ranges answers."""
    if asked.range is None:
        return Reply(200, content, headers)
    start, stop = asked.range[0], min(asked.range[1], len(content))
    if start >= len(content):
        return Reply(416, b"", {"Content-Range": f"bytes */{len(content)}", **headers})
    return Reply(206, content[start:stop], {"Content-Range": f"bytes {start}-{stop - 1}/{len(content)}", **headers})


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up in the middle is what is being tested."""


class _Handler(BaseHTTPRequestHandler):
    web: WebServer
    protocol_version = "HTTP/1.1"
    timeout = 20

    def log_message(self, *_: object) -> None:
        """Nothing is told."""

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {key.lower(): value for key, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, body)
        self.web.asked.append(asked)
        reply = self.web.reply(asked)
        if reply.cut == -1:
            self.close_connection = True
            return
        if reply.drip:
            self._drip()
            return
        self.send_response(reply.status)
        for key, value in reply.headers.items():
            self.send_header(key, value)
        if reply.sized:
            self.send_header("Content-Length", str(len(reply.body)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        whole = reply.body if reply.cut is None else reply.body[: reply.cut]
        for start in range(0, len(whole), _PIECE):
            piece = whole[start : start + _PIECE]
            asked.sent += len(piece)  # before the client has it and looks
            self.wfile.write(piece)
        if reply.cut is not None or not reply.sized:
            self.close_connection = True

    def _drip(self) -> None:
        self.close_connection = True
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
        while not self.web.stopping.wait(0.02):
            self.wfile.write(b"x")
