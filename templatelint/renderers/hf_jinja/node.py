"""Requests → answers of a node process that renders with @huggingface/jinja; it starts when first asked."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from threading import Lock, Thread, current_thread, main_thread
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
_START = 5.0  # less than a bounded run may take, so that the run does not end first and its template is not blamed
_HANDSHAKE = 2.0
_END = 1.0
_HEAP = 256  # MiB

# Bytes of one line: `{"text": …}` in which each of the two units of a character may be spelt \uXXXX.
_LONGEST = 12 * MAX_OUTPUT + 100
_LONGEST_GREETING = 100

_READY = {"ready": True}
_NOTHING = '{"source": ""}'  # whatever a node fails at, it compiles this
_PING = '{"source": "{{ x }}", "now": 0, "variables": {"x": "pong"}}'
_PONG = {"text": "pong"}

# Names of the option that takes files, processes and threads away from node's program: since node 22.13, since 20.
_PERMISSIONS = ("--permission", "--experimental-permission")
_BAD_OPTION = 9  # node's exit status

# What node, and scripts that stand for it, need to start; nothing else of the environment is theirs.
_KEPT = ("PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "APPDATA", "LOCALAPPDATA", "VOLTA_HOME", "ASDF_DATA_DIR")
# Month names in English and a clock without time zones, whatever the user's are.
_SET = {"LC_ALL": "en_US.UTF-8", "TZ": "UTC"}


class NodeFailed(TemplatelintError):
    """node, or the package in it, does not work, whatever the template."""

    def __init__(self, program: str, how: str) -> None:
        super().__init__(f"node at {program} {how}", help=installed.INSTALL)


class OutOfTime(Exception):
    """node did not answer, and was ended."""


class Died(Exception):
    """node ended instead of answering, as it does where its memory is used up."""


class Node:
    """A node process that answers one request at a time; it ends with this object."""

    def __init__(self, program: str, package: installed.Package, start: float = _START) -> None:
        self._program = program
        self._package = package
        self._start = start
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
                self._process = self._started()  # where that fails, it was not the request that ended the other
                raise OutOfTime if process.expired else Died
            self._process = process
            return answer

    def _started(self) -> _Process:
        for permission in (*_PERMISSIONS, ""):
            process = _Process(self._command(permission))
            finalize(self, process.end)
            greeting = process.exchange(None, self._start, _LONGEST_GREETING)
            answer = process.exchange(_NOTHING, self._start, _LONGEST_GREETING) if greeting == _READY else greeting
            if greeting == _READY and answer == {}:
                return process
            status = process.end(_END if answer is None else 0)
            if permission and status == _BAD_OPTION:
                continue
            if process.expired:
                raise NodeFailed(self._program, f"does not answer within {self._start:g} s")
            if answer is None:
                raise NodeFailed(self._program, f"ends with status {status} as it starts with {self._package.module}")
            raise NodeFailed(self._program, f"does not run {self._package.module}")
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


@lru_cache
def unfit(program: str, package: installed.Package) -> str | None:
    """Why that node does not render with that package, in a clause; None where it does. Starts it once a process."""
    try:
        with _signals_unwind():
            answer = Node(program, package, _HANDSHAKE).ask(_PING)
    except NodeFailed as failed:
        return failed.message
    except (OutOfTime, Died):
        answer = {}
    return None if answer == _PONG else f"node at {program} does not render with {package.module}"


class _Process:
    """One run of node, with whatever it starts.

    Attributes:
        expired: it was ended because an answer was late.

    Raises:
        NodeFailed: the system does not start it.
    """

    def __init__(self, command: list[str]) -> None:
        self.expired = False
        self._program = command[0]
        self._owner = os.getpid()
        self._ended = False
        self._talk: Thread | None = None
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | _SET
        try:
            with _unlimited_addresses():
                self._popen = subprocess.Popen(  # noqa: S603 (a program found on PATH, without a shell)
                    command,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    cwd=_RUNNER.parent,
                    env=environment,
                    creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
                    start_new_session=True,  # so that what a script in its place starts can be ended with it
                )
        except OSError as error:
            raise NodeFailed(self._program, f"does not start: {(error.strerror or str(error)).lower()}") from error

    def exchange(self, request: str | None, seconds: float, longest: int = _LONGEST) -> Mapping[str, Any] | None:
        """Send a line, if any, and read one of so many bytes; None where node ends before it has answered.

        Raises:
            NodeFailed: the line is none of the runner's.
        """
        told: list[bytes | Exception] = []
        # a thread, because a pipe that something else holds open cannot be waited for with a limit on every system
        talk = Thread(target=self._tell, args=(request, longest, told), daemon=True)
        talk.start()
        self._talk = talk
        talk.join(seconds)
        if talk.is_alive():
            self.expired = True
            self._kill()
            return None
        line = told[0]
        if isinstance(line, OSError):
            return None
        if isinstance(line, Exception):
            raise line
        if not line.endswith(b"\n") and len(line) < longest:
            return None
        try:
            answer: Any = json.loads(line)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            self.end()
            raise NodeFailed(self._program, "answers with something else than JSON objects")
        return answer

    def _tell(self, request: str | None, longest: int, told: list[bytes | Exception]) -> None:
        assert self._popen.stdin is not None  # noqa: S101 (opened above)
        assert self._popen.stdout is not None  # noqa: S101 (the same)
        try:
            if request is not None:
                with _broken_pipe_raises():
                    self._popen.stdin.write(request.encode("ascii") + b"\n")
                    self._popen.stdin.flush()
            told.append(self._popen.stdout.readline(longest))
        except Exception as error:  # noqa: BLE001 (it is raised where the answer is waited for)
            told.append(error)
        finally:
            if self._ended:  # meanwhile, and not closed: see `end`
                self._close()

    def _kill(self) -> None:
        if hasattr(os, "killpg"):
            with suppress(ProcessLookupError, PermissionError):  # macOS allows no signal to what has ended
                os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen.kill()

    def end(self, patience: float = 0) -> int | None:
        """End it unless it ends by itself, and let go of it; its exit status, or None where it is a parent's."""
        if self._owner != os.getpid():
            return None
        if self._ended:
            return self._popen.returncode
        self._ended = True
        with suppress(subprocess.TimeoutExpired):
            self._popen.wait(patience)
        self._kill()
        status = self._popen.wait()
        if self._talk is not None:
            self._talk.join(_END)
        if (
            self._talk is None or not self._talk.is_alive()
        ):  # else something that left the session holds a pipe, and closing would wait
            self._close()
        return status

    def _close(self) -> None:
        for pipe in (self._popen.stdin, self._popen.stdout):
            if pipe is not None:
                with suppress(OSError):  # what it did not read
                    pipe.close()


@contextmanager
def _signals_unwind() -> Iterator[None]:
    """What would end this process without a word ends it as an exception does, so that node is ended too."""
    if current_thread() is not main_thread():
        yield
        return

    def leave(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    held = [number for number in numbers if signal.getsignal(number) == signal.SIG_DFL]
    for number in held:
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in held:
            signal.signal(number, signal.SIG_DFL)


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
