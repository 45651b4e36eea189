"""A generator → its items, run in a child process that cannot hang, fill memory or write to the user's terminal."""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

_MIB = 1024 * 1024
_CHUNK = 1 << 20  # bytes a read
_DRAIN = 1.0  # seconds
_GATHER = 0.002  # seconds; items come thick and fast, and waking up for each of them costs the children's time


@dataclass(frozen=True)
class Limits:
    """What a run may use.

    Attributes:
        seconds: processor time for one item (wall-clock time where the platform has no such timer).
        wall: wall-clock time for the whole run, in seconds.
        memory: bytes of address space above what the process has at its start.
    """

    seconds: float = 1.0
    wall: float = 12.0
    memory: int = 512 * _MIB


@dataclass(frozen=True)
class Stop:
    """Why a run ended before its generator did; `died` means by a signal or without a word."""

    kind: Literal["timeout", "memory", "died"]
    message: str


class ChildFailed(RuntimeError):
    """The generator raised: a fault in it, not in what it worked on; carries the child's traceback."""


_DEFAULT = Limits()


def run(
    work: Callable[..., Iterator[Any]],
    *args: Any,
    limits: Limits = _DEFAULT,
    method: Literal["fork", "spawn"] | None = None,
) -> tuple[list[Any], Stop | None]:
    """Run `work(*args)` in a child process and collect the items that it yields.

    A child is forked where the platform can. Elsewhere it is spawned, and then `work` and `args` must be
    picklable, one item's deadline is wall-clock time, and memory is not limited.

    Args:
        work: a generator function. Its items must be JSON data; a string keeps its lone surrogates, a tuple
            comes back as a list.
        *args: what it works on.
        limits: what the child may use.
        method: overrides the platform's choice.

    Returns:
        The items yielded before the end, and None or why the child was stopped.

    Raises:
        ChildFailed: `work` raised something other than MemoryError.
    """
    return run_all([partial(work, *args)], limits=limits, method=method)[0]


def run_all(
    jobs: Sequence[partial[Iterator[Any]]],
    *,
    limits: Limits = _DEFAULT,
    method: Literal["fork", "spawn"] | None = None,
) -> list[tuple[list[Any], Stop | None]]:
    """Run several generator functions, each in a child of its own and side by side where children are forked.

    Args, results and errors are those of `run`, one result a job.
    """
    if method is None:
        method = "fork" if hasattr(os, "fork") else "spawn"
    if method == "spawn":
        return [_run_spawned(job, limits) for job in jobs]
    children: list[_Forked] = []
    try:
        with _interrupts_held() as before:
            for job in jobs:
                children.append(_Forked(job, limits, before))  # noqa: PERF401 (those before one that fails must be known)
        return [child.result() for child in children]
    finally:
        for child in children:
            child.kill()


# ---------------------------------------------------------------------- what child and parent exchange
#
# Messages, each a tag and JSON text on one line: an item; or how the child ended. A child that ends without
# such a word was killed.

_READY, _ITEM, _FINISHED, _MEMORY, _FAILED = b"r", b"i", b"f", b"m", b"x"


_Job = partial[Iterator[Any]]
_Mask = set[int | signal.Signals]


class _Send(Protocol):
    def __call__(self, tag: bytes, content: Any = None, /) -> None: ...


def _message(tag: bytes, content: Any) -> bytes:
    # with escapes for everything outside ASCII, two lone surrogates in a row would arrive as one character
    return tag + json.dumps(content, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _work_through(job: _Job, send: _Send) -> None:
    """The child's part: send each item, then how it ended."""
    try:
        for item in job():
            send(_ITEM, item)
    except MemoryError:
        end: tuple[bytes, Any] = (_MEMORY, None)  # sent below, when the traceback has let go of the memory
    except Exception:  # noqa: BLE001 (the parent raises it)
        from traceback import format_exc

        end = (_FAILED, format_exc())
    else:
        end = (_FINISHED, None)
    send(*end)


class _Received:
    """The parent's part: what has arrived."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.items: list[Any] = []
        self.ended = False
        self.stop: Stop | None = None

    def take(self, message: bytes) -> None:
        tag, content = message[:1], json.loads(message[1:].decode("utf-8", "surrogatepass"))
        if tag == _ITEM:
            self.items.append(content)
        elif tag == _FAILED:
            raise ChildFailed(content)
        elif tag == _MEMORY:
            self.end("memory", f"more than {self.limits.memory // _MIB} MiB of memory")
        elif tag == _FINISHED:
            self.ended = True

    def end(self, kind: Literal["timeout", "memory", "died"], message: str) -> None:
        self.ended = True
        self.stop = Stop(kind, message)

    def died(self, status: int) -> None:
        """The child is gone; `status` is its exit code, or the negative number of the signal that killed it."""
        if self.ended:
            return
        if status == -getattr(signal, "SIGPROF", 0):
            self.end("timeout", f"more than {self.limits.seconds:g} s of processor time")
        elif status < 0:
            self.end("died", f"killed by {_signal_name(-status)}")
        else:
            self.end("died", f"ended without an answer, exit status {status}")


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


_parents_streams: list[Any] = []  # kept: one that is collected would write what the parent had buffered


def _leave_terminal() -> None:
    """Nothing that the child reads or writes is the user's any more."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    _parents_streams.extend((sys.stdin, sys.stdout, sys.stderr))
    sys.stdin = open(nowhere, encoding="utf-8", closefd=False)  # noqa: SIM115 (for the child's whole life)
    sys.stdout = sys.stderr = open(nowhere, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (the same)


# --------------------------------------------------------------------------------------------- forked


class _Forked:
    """A forked child at work."""

    def __init__(self, job: _Job, limits: Limits, signal_mask: _Mask) -> None:
        import resource  # noqa: F401 (imported here once rather than in every child)

        self._received = _Received(limits)
        self._read_end, write_end = os.pipe()
        _widen(write_end)
        self._deadline = time.monotonic() + limits.wall
        self._child: int | None = _fork(self._read_end, write_end, job, limits, signal_mask)
        os.close(write_end)

    def result(self) -> tuple[list[Any], Stop | None]:
        """Wait for the child's end, or end it at its deadline."""
        import select

        poll = select.poll()
        poll.register(self._read_end, select.POLLIN)
        partial_line = bytearray()
        # what came in while the parent waited for another child is still to be read
        self._deadline = max(self._deadline, time.monotonic() + _DRAIN)
        while True:
            left = self._deadline - time.monotonic()
            if left <= 0 or not poll.poll(left * 1000):
                self._received.end("timeout", f"more than {self._received.limits.wall:g} s")
                self.kill()
                break
            time.sleep(_GATHER)
            chunk = os.read(self._read_end, _CHUNK)
            if not chunk:
                self._received.died(self._leave())
                break
            partial_line += chunk
            if b"\n" in chunk:
                *messages, partial_line = partial_line.split(b"\n")
                for message in messages:
                    self._received.take(bytes(message))
        return self._received.items, self._received.stop

    def kill(self) -> None:
        """End the child, if it is still there."""
        if self._child is not None:
            os.kill(self._child, signal.SIGKILL)
            self._leave()

    def _leave(self) -> int:
        """Let go of the child; its exit status."""
        child, self._child = self._child, None
        os.close(self._read_end)
        _, status = os.waitpid(child or 0, 0)
        return os.waitstatus_to_exitcode(status)


def _widen(pipe: int) -> None:
    """Give a pipe room for what a child usually writes, so that it works on while its parent reads another's."""
    import fcntl

    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with suppress(OSError):  # the system may allow less
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, 1 << 20)


@contextmanager
def _interrupts_held() -> Iterator[_Mask]:
    """Interrupts wait until the block's end; gives the signal mask from before.

    One that reached a child before its handlers are reset would unwind the parent's stack there, and one that
    reached the parent right after a fork would leave it a child that it does not know.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        yield before
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _fork(read_end: int, write_end: int, job: _Job, limits: Limits, signal_mask: _Mask) -> int:
    """Fork; the child never returns. Gives the child's process id."""
    import warnings

    with warnings.catch_warnings():
        # Python 3.12 warns of forks beside other threads; this child runs only what it is given and
        # takes none of their locks
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _serve_forked(read_end, write_end, job, limits, signal_mask)
    return child


def _serve_forked(read_end: int, write_end: int, job: _Job, limits: Limits, signal_mask: _Mask) -> NoReturn:
    try:
        os.close(read_end)
        gc.disable()  # walking what the parent made would copy its memory pages; this process ends before it matters
        _leave_terminal()
        _reset_signals(signal_mask)
        _limit_memory(limits.memory)

        def send(tag: bytes, content: Any = None, /) -> None:
            unsent = memoryview(_message(tag, content) + b"\n")
            while unsent:
                unsent = unsent[os.write(write_end, unsent) :]
            start_clock()

        def start_clock() -> None:
            # Its default action ends the process in whatever C code it is, after processor time, not time
            signal.setitimer(signal.ITIMER_PROF, limits.seconds)

        start_clock()
        _work_through(job, send)
    finally:
        os._exit(0)  # no exit handlers, no flushing of what the parent had buffered


def _reset_signals(mask: _Mask) -> None:
    for number in signal.valid_signals():
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)
    for number in (signal.SIGPROF, signal.SIGPIPE):  # one may be ignored, the other is in every Python
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, mask - {signal.SIGPROF})
    if "faulthandler" in sys.modules:
        sys.modules["faulthandler"].disable()  # its report of a crash would go to the user's terminal


def _limit_memory(extra: int) -> None:
    import gc
    import resource

    gc.freeze()  # what came from the parent is not collected here: that would copy its pages
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123 (half the time of a Path)
            limit = int(statm.read().split()[0]) * resource.getpagesize() + extra
    except OSError:  # no Linux: address space cannot be measured
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    # not the hard limit: programs that the child starts may need address space, and bound their memory otherwise
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


# -------------------------------------------------------------------------------------------- spawned


def _run_spawned(job: _Job, limits: Limits) -> tuple[list[Any], Stop | None]:
    from multiprocessing import get_context

    context = get_context("spawn")
    received = _Received(limits)
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_serve_spawned, args=(sender, job), daemon=True)
    process.start()
    sender.close()
    deadline = time.monotonic() + limits.wall
    item_deadline = deadline  # counts from the moment the child is ready
    gone = False
    try:
        while not received.ended:
            if not receiver.poll(max(0.0, min(deadline, item_deadline) - time.monotonic())):
                late = deadline <= item_deadline
                received.end("timeout", f"more than {limits.wall if late else limits.seconds:g} s")
                break
            try:
                received.take(receiver.recv_bytes())
            except EOFError:
                gone = True
                break
            item_deadline = time.monotonic() + limits.seconds
    finally:
        receiver.close()
        if not gone:
            process.kill()
        process.join()
        status = process.exitcode or 0
        process.close()
    received.died(status)
    return received.items, received.stop


def _serve_spawned(sender: Connection, job: _Job) -> None:
    _leave_terminal()

    def send(tag: bytes, content: Any = None, /) -> None:
        sender.send_bytes(_message(tag, content))

    send(_READY)
    _work_through(job, send)
