"""A command that serves a GGUF on a port → its answers over HTTP; bounded in time, and gone when we are."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from types import FrameType

_LOOPBACK = "127.0.0.1"
_PAUSE = 0.02  # seconds between two looks whether it is ready
_LINES, _LINE = 400, 4000  # what is kept of the log: lines, and bytes of each
_ANSWER = 64 << 20  # bytes; a prompt of 8 million characters is within them
# llama-server takes every option from there too: the user's are for the models they serve
_SETTINGS = ("LLAMA_ARG_", "LLAMA_API_KEY", "LLAMA_CHAT_TEMPLATE_KWARGS", "LLAMA_LOG_")


class NotReady(Exception):
    """The server does not come up.

    Attributes:
        log: its last lines.
        late: it runs and does not answer, rather than having ended.
    """

    def __init__(self, log: Sequence[str], *, late: bool) -> None:
        super().__init__("late" if late else "ended")
        self.log = log
        self.late = late


class NoAnswer(Exception):
    """A request ends without an HTTP answer; the server is useless after it.

    Attributes:
        late: it took longer than it may.
        log: the server's last lines.
    """

    def __init__(self, log: Sequence[str], *, late: bool) -> None:
        super().__init__("late" if late else "ended")
        self.late = late
        self.log = log


@dataclass(frozen=True, slots=True)
class Bounds:
    """Seconds of wall-clock time for the start, and for one request."""

    start: float
    request: float


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer; `body` is the JSON value in it, or the text where there is none."""

    status: int
    body: Any


@contextmanager
def serving(command: Callable[[Path, int], Sequence[str]], gguf: bytes, bounds: Bounds) -> Iterator[Server]:
    """A server that is ready for requests; ended, and its files deleted, when the context is left.

    Args:
        command: file of the model, port → the command line.
        gguf: the model.
        bounds: how long anything may take.

    Raises:
        NotReady: it ends, or is not ready in time.
        OSError: it cannot be started.
    """
    folder: Path | None = None
    server: Server | None = None

    def clear() -> None:
        with _signals_held():
            if server is not None:
                server.kill()
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)

    try:
        with _cleared_when_terminated(clear):
            with _signals_held():
                folder = Path(mkdtemp(prefix="templatelint-"))
            model = folder / "model.gguf"
            model.write_bytes(gguf)
            port = _free_port()
            with _signals_held():
                server = Server(command(model, port), folder, port, bounds)
            server.wait()
            yield server
    finally:
        clear()


def _ending_signals(*names: str) -> list[int]:
    """Those of the platform; none in a thread that may set no handlers."""
    if threading.current_thread() is not threading.main_thread():
        return []
    return [int(getattr(signal, name)) for name in names if hasattr(signal, name)]


@contextmanager
def _signals_held() -> Iterator[None]:
    """What would end us comes afterwards: what was started or made here is known by then, so that it can be ended."""
    noted: list[int] = []
    before = {
        number: signal.signal(number, lambda arrived, _: noted.append(arrived))
        for number in _ending_signals("SIGINT", "SIGTERM", "SIGHUP")
        if signal.getsignal(number) is not None
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in dict.fromkeys(noted):
            signal.raise_signal(number)


@contextmanager
def _cleared_when_terminated(clear: Callable[[], None]) -> Iterator[None]:
    """An interrupt unwinds the stack by itself; these signals would end us on the spot."""

    def end(number: int, _: FrameType | None) -> None:
        clear()
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)

    numbers = [n for n in _ending_signals("SIGTERM", "SIGHUP") if signal.getsignal(n) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_LOOPBACK, 0))
        return int(probe.getsockname()[1])


class Server:
    """A process that answers on a port of this machine."""

    def __init__(self, command: Sequence[str], folder: Path, port: int, bounds: Bounds) -> None:
        self._port = port
        self._bounds = bounds
        self._log: deque[str] = deque(maxlen=_LINES)
        self._process = subprocess.Popen(  # noqa: S603 (the user's own program, or Python)
            command,
            cwd=folder,
            env={name: value for name, value in os.environ.items() if not name.startswith(_SETTINGS)},
            stdin=subprocess.PIPE,  # its end tells `hosted.py` that we are gone
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # with all that it starts, it is one group to kill
        )
        self._reader = threading.Thread(target=self._read_log, daemon=True)
        self._reader.start()

    @property
    def log(self) -> Sequence[str]:
        """The last lines that it wrote, without what comes before a message in each."""
        return tuple(self._log)

    def wait(self) -> None:
        """Return when it is ready.

        Raises:
            NotReady: it is not, or no more.
        """
        deadline = time.monotonic() + self._bounds.start
        while time.monotonic() < deadline:
            if self._process.poll() is not None:
                self._reader.join(1.0)
                raise NotReady(self.log, late=False)
            with suppress(OSError, HTTPException), self._connection(max(deadline - time.monotonic(), _PAUSE)) as line:
                line.request("GET", "/health")
                if line.getresponse().status == 200:  # noqa: PLR2004 (HTTP's "OK")
                    return
            time.sleep(_PAUSE)
        raise NotReady(self.log, late=True)

    def ask(self, method: str, path: str, body: Any = None) -> Reply:
        """One request, one answer.

        Raises:
            NoAnswer: none comes in time, or the connection ends before it.
        """
        late = False
        with self._connection(self._bounds.request) as line:
            try:
                payload = None if body is None else json.dumps(body).encode()
                line.request(method, path, payload, {"Content-Type": "application/json"})
                response = line.getresponse()
                raw = response.read(_ANSWER)
            except TimeoutError:
                late = True
            except (OSError, HTTPException):
                late = line.overdue
            else:
                if not line.overdue:
                    return Reply(response.status, _value(raw))
                late = True
        self.kill()
        raise NoAnswer(self.log, late=late)

    def kill(self) -> None:
        """End it, with what it started; more than once does no harm."""
        process = self._process
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
        self._reader.join(1.0)
        for stream in (process.stdin, process.stdout):
            if stream is not None and not self._reader.is_alive():
                with suppress(OSError):
                    stream.close()

    @contextmanager
    def _connection(self, seconds: float) -> Iterator[_Line]:
        """A connection that ends after that time, whatever trickles in until then."""
        line = _Line(_LOOPBACK, self._port, timeout=seconds)
        alarm = threading.Timer(seconds, line.cut)
        alarm.daemon = True
        alarm.start()
        try:
            yield line
        finally:
            alarm.cancel()
            line.close()

    def _read_log(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        with suppress(OSError, ValueError):  # closed under us
            while raw := stream.readline(_LINE):
                self._log.append(raw.decode("utf-8", "replace").rstrip())


class _Line(HTTPConnection):
    """A connection that another thread can cut."""

    overdue = False
    _open: socket.socket | None = None

    def connect(self) -> None:
        super().connect()
        self._open = self.sock  # the answer takes it over where the server keeps no connections

    def cut(self) -> None:
        self.overdue = True
        if self._open is not None:
            with suppress(OSError):
                self._open.shutdown(socket.SHUT_RDWR)


def _value(raw: bytes) -> Any:
    text = raw.decode("utf-8", "replace")
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# ------------------------------------------------------------------------------------------------- its log

# `0.00.018.531 E srv  init: ` as this year's builds put it before each message; E stands for an error
_PREFIX = re.compile(r"\d+\.\d\d\.\d{3}\.\d{3} ([A-Z]) (?:[\w.]+ +)?(?:[\w:~]+(?:\(\))?: )*")


def complaint(log: Sequence[str]) -> str:
    """What a server that ended says of it: an error with the lines that belong to it, else its last line.

    An error that speaks of a template goes before others.
    """
    errors = [number for number, line in enumerate(log) if (match := _PREFIX.match(line)) and match[1] == "E"]
    # builds that put nothing before a message
    errors = errors or [number for number, line in enumerate(log) if re.search(r"\berror\b", line, re.IGNORECASE)]
    if not errors:
        return next((line for line in reversed(log) if line), "").strip()
    start = next((number for number in errors if "template" in log[number]), errors[0])
    lines = [_PREFIX.sub("", log[start])]
    for line in log[start + 1 :]:
        if _PREFIX.match(line) or line.startswith("Traceback "):
            break
        lines.append(line)
    return "\n".join(lines).strip()
