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
