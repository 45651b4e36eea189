"""Requests → answers of a node process that renders with @huggingface/jinja; it starts when first asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary, finalize

from templatelint.errors import TemplatelintError
from templatelint.renderers import MAX_OUTPUT
from templatelint.renderers.hf_jinja import installed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_RUNNER = Path(__file__).with_name("runner.mjs")

# Wall-clock seconds. A request's own limit is kept by node itself, which goes on with the next; it does not watch
# while it collects garbage, so that it is ended from here after the grace.
PATIENCE = 1.0
_GRACE = 5.0
_START = 20.0
_HEAP = 256  # MiB

# Names of the option that takes files, processes and threads away from node's program: since node 22.13, since 20.
_PERMISSIONS = ("--permission", "--experimental-permission")
_BAD_OPTION = 9  # node's exit status

# What node, and scripts that stand for it, need to start; nothing else of the environment is theirs.
_KEPT = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "VOLTA_HOME", "ASDF_DATA_DIR")
# Month names in English and a clock without time zones, whatever the user's are.
_SET = {"LC_ALL": "en_US.UTF-8", "TZ": "UTC"}


class NodeFailed(RuntimeError):
    """node ended where no template can have ended it."""


class OutOfTime(Exception):
    """node did not answer, and was ended."""


class Died(Exception):
    """node ended instead of answering, as it does where its memory is used up."""


class Node:
    """A node process that answers one request at a time; it ends with this object."""

    def __init__(self, program: str, package: installed.Package) -> None:
        self._program = program
        self._package = package
        self._lock = Lock()
        self._process: _Process | None = None

    def ask(self, request: str) -> Mapping[str, Any]:
        """What the runner answers to one line of JSON in ASCII; after a failure the next request starts another node.

        Raises:
            OutOfTime: nothing in time.
            Died: node ended.
            NodeFailed: node cannot run the package.
        """
        with self._lock:
            process = self._process or self._started()
            self._process = None
            answer = process.exchange(request, PATIENCE + _GRACE)
            if answer is None:
                process.end()
                raise OutOfTime if process.expired else Died
            self._process = process
            return answer

    def _started(self) -> _Process:
        for permission in (*_PERMISSIONS, ""):
            process = _Process(self._command(permission))
            finalize(self, process.end)
            if process.exchange(None, _START) is not None:
                return process
            status = process.end(_GRACE)
            if permission and status == _BAD_OPTION:
                continue
            how = "did not start" if process.expired else f"ended with status {status} as it started"
            raise NodeFailed(f"{self._program} {how} with {self._package.module}")
        raise AssertionError

    def _command(self, permission: str) -> list[str]:
        readable = (self._package.folder, _RUNNER.parent)
        return [
            self._program,
            *([permission, *(f"--allow-fs-read={folder}" for folder in readable)] if permission else ()),
            "--disallow-code-generation-from-strings",
            f"--max-old-space-size={_HEAP}",
            str(_RUNNER),
            str(self._package.module),
            str(round(PATIENCE * 1000)),
            str(2 * MAX_OUTPUT),  # in units of which a character takes one or two
        ]


# by what they run, and by process: a forked child needs one of its own
_nodes: WeakValueDictionary[tuple[int, str, installed.Package], Node] = WeakValueDictionary()


def shared() -> Node:
    """The node of this Python process, which lives as long as something holds it.

    Raises:
        TemplatelintError: node or the package is not to be found.
    """
    program, package = installed.node(), installed.package()
    if program is None or package is None:
        raise TemplatelintError(f"renderer hf-jinja cannot run here: {installed.missing()}", help=installed.INSTALL)
    key = (os.getpid(), program, package)
    node = _nodes.get(key)
    if node is None:
        node = _nodes[key] = Node(program, package)
    return node


class _Process:
    """One run of node.

    Attributes:
        expired: it was ended because an answer was late.
    """

    def __init__(self, command: list[str]) -> None:
        self.expired = False
        self._owner = os.getpid()
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | _SET
        with _unlimited_addresses():
            self._popen = subprocess.Popen(  # noqa: S603 (a program found on PATH, without a shell)
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=_RUNNER.parent,
                env=environment,
                creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
            )

    def exchange(self, request: str | None, seconds: float) -> Mapping[str, Any] | None:
        """Send a line, if any, and read one; None where node ends before it has answered."""
        assert self._popen.stdin is not None  # noqa: S101 (opened above)
        assert self._popen.stdout is not None  # noqa: S101 (the same)
        watch = Timer(seconds, self._expire)
        watch.daemon = True
        watch.start()
        try:
            if request is not None:
                with _broken_pipe_raises():
                    self._popen.stdin.write(request.encode("ascii") + b"\n")
                    self._popen.stdin.flush()
            line = self._popen.stdout.readline()
        except OSError:
            return None
        finally:
            watch.cancel()
        answer: Mapping[str, Any] | None = json.loads(line) if line.endswith(b"\n") else None
        return answer

    def _expire(self) -> None:
        self.expired = True
        self._popen.kill()

    def end(self, patience: float = 0) -> int | None:
        """End it unless it ends by itself, and let go of it; its exit status, or None where it is a parent's."""
        if self._owner != os.getpid():
            return None
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(patience)
        self._popen.kill()
        status = self._popen.wait()
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with suppress(OSError):  # what it did not read
                    pipe.close()
        return status


@contextmanager
def _unlimited_addresses() -> Iterator[None]:
    """What starts meanwhile may reserve as much address space as the system lets it.

    JavaScript's engine reserves far more than it uses; its memory has a limit of its own.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limits
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def _broken_pipe_raises() -> Iterator[None]:
    """A write to a pipe that nobody reads raises, also in a process that such a write would end."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows has no such signal
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGPIPE})
    try:
        yield
    finally:
        if signal.SIGPIPE in signal.sigpending():
            signal.sigwait({signal.SIGPIPE})
        signal.pthread_sigmask(signal.SIG_SETMASK, held)
