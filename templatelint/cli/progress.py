"""Work that takes longer than a second → a bar on stderr, where that is a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_QUICK = 1.0  # seconds


@contextmanager
def bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A function to call with (done, total); None where nobody would see the bar."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    shown = _Bar(what)
    try:
        yield shown.update
    finally:
        shown.close()


def fetching(*, quiet: bool) -> Callable[[int], None] | None:
    """A function to call with the bytes of a file that have come, and with 0 at its end; None where nobody looks."""
    if quiet or sys.stderr is None or not sys.stderr.isatty():
        return None
    return _Fetching().update


class _Fetching:
    """A bar without an end: how much will be read of a file shows as it is read."""

    def __init__(self) -> None:
        self._started: float | None = None
        self._stop: Callable[[], None] | None = None
        self._show: Callable[[int], None] | None = None

    def update(self, came: int) -> None:
        """Show how many bytes have come, once it has turned out to take its time."""
        if came == 0:
            if self._stop is not None:
                self._stop()
            self._started = self._stop = self._show = None
            return
        if self._started is None:
            self._started = monotonic()
        if self._show is None and monotonic() - self._started >= _QUICK:
            self._open()
        if self._show is not None:
            self._show(came)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, FileSizeColumn, Progress, TextColumn, TransferSpeedColumn

        columns = (TextColumn("fetching"), BarColumn(), FileSizeColumn(), TransferSpeedColumn())
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        task = progress.add_task("fetching", total=None)
        progress.start()
        self._stop = progress.stop
        self._show = lambda came: progress.update(task, completed=came)


class _Bar:
    def __init__(self, what: str) -> None:
        self._what = what
        self._started = monotonic()
        self._stop: Callable[[], None] | None = None
        self._advance: Callable[[int, int], None] | None = None

    def update(self, done: int, total: int) -> None:
        """Show how far the work is, once it has turned out to take its time."""
        if self._advance is None:
            if monotonic() - self._started < _QUICK or done == total:
                return
            self._open()
        if self._advance is not None:
            self._advance(done, total)

    def close(self) -> None:
        """Take the bar away."""
        if self._stop is not None:
            self._stop()

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn(self._what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        task = progress.add_task(self._what)
        progress.start()
        self._stop = progress.stop
        self._advance = lambda done, total: progress.update(task, completed=done, total=total)
