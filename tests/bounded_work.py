"""Generators that the tests of `bounded` run in a child: they stand in a module, so a spawned child finds them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from templatelint.bounded import run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def echo(*items: Any) -> Iterator[Any]:
    yield from items


def compute_for_ever() -> Iterator[str]:
    yield "before"
    yield str(9 ** (9**9))  # stays inside one C function, where no Python handler would run


def sleep_for_ever() -> Iterator[str]:
    yield "before"
    time.sleep(600)
    yield "after"


def fill_memory() -> Iterator[str]:
    yield "before"
    yield str(len([0] * 10**9))


def fill_memory_slowly() -> Iterator[str]:
    yield "before"
    kept = []
    while True:
        kept.append("x" * 1_000_000)


def crash() -> Iterator[str]:
    yield "before"
    ctypes.string_at(0)
    yield "after"


def leave() -> Iterator[str]:
    yield "before"
    os._exit(3)


def fail() -> Iterator[str]:
    yield "before"
    raise LookupError("this is a fault of ours")


def shout() -> Iterator[str]:
    print("to standard output")  # noqa: T201 (what must not arrive)
    print("to standard error", file=sys.stderr)  # noqa: T201
    os.write(1, b"to descriptor 1")
    os.write(2, b"to descriptor 2")
    yield sys.stdin.read() + os.read(0, 1).decode()


def many_small_steps(count: int, seconds: float) -> Iterator[int]:
    """Items that together take longer than one may."""
    for step in range(count):
        end = time.process_time() + seconds
        while time.process_time() < end:
            pass
        yield step


def handlers() -> Iterator[list[str]]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGUSR1)
    yield [str(signal.getsignal(number)) for number in numbers]


def open_descriptors() -> Iterator[list[str]]:
    yield descriptors()


def descriptors() -> list[str]:
    """What this process has open."""
    names = []
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the one that lists them is closed again
            names.append(str(entry.readlink()))
    return names


def interrupt_parent_at_once() -> Iterator[int]:
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(600)
    yield 0


def interrupt_parent_then_sleep() -> Iterator[int]:
    yield os.getpid()
    os.kill(os.getppid(), signal.SIGINT)
    time.sleep(600)


def interrupted(child_work: Callable[[], Iterator[int]], dawdle: float) -> None:
    """Run what interrupts its parent, which takes its time behind the fork, and say what became of the child."""
    killed: list[int] = []
    real_kill, real_fork = os.kill, os.fork

    def kill(pid: int, number: int) -> None:
        killed.append(pid)
        real_kill(pid, number)

    def fork() -> int:
        child = real_fork()
        if child:
            time.sleep(dawdle)
        return child

    os.kill, os.fork = kill, fork
    try:
        run(child_work)
    except KeyboardInterrupt:
        (child,) = killed
        try:
            real_kill(child, 0)
        except ProcessLookupError:
            print(f"{len(killed)} killed, gone")  # noqa: T201 (read by the test)
