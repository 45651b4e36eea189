"""A file → the folder that it is written in, held against other processes that would write it at the same time."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PATIENCE = 20.0  # seconds; a lock is read and written in less than one
_PAUSE = 0.02


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Nobody else who asks for it writes the file meanwhile; nothing is left behind.

    The lock is one on the folder's descriptor, since the file itself is replaced. Where the system knows none, or the
    file system grants none, there is nothing to hold.

    Raises:
        TemplatelintError: another process holds it and does not let go.
    """
    handle = _opened(path)
    if handle is None:
        yield
        return
    try:
        _take(handle, path)
        yield
    finally:
        os.close(handle)


def _opened(path: str) -> int | None:
    try:
        import fcntl  # noqa: F401 (of Unix alone)

        return os.open(Path(os.path.realpath(path)).parent, os.O_RDONLY)
    except (ImportError, OSError):  # a folder that is not there is told by what writes
        return None


def _take(handle: int, path: str) -> None:
    import fcntl

    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > until:
                raise TemplatelintError(f"{path} is being written by another process", help="try again") from error
            time.sleep(_PAUSE)
        except OSError:  # a file system without such locks
            return
        else:
            return
