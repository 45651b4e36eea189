"""Pieces of bytes and ranges of an open file → a new file that takes its place whole, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from contextlib import contextmanager, suppress
from errno import ENOSPC, ENXIO
from pathlib import Path
from typing import TYPE_CHECKING

from templatelint.embed.splicing import Range, length_of
from templatelint.errors import TemplatelintError
from templatelint.sources.opening import refused

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from io import FileIO

    from templatelint.embed.splicing import Piece

_SPACE = "free some space, or write to another disk"
_DESCRIPTORS = Path("/proc/self/fd")
_CHUNK = 16 << 20  # bytes a call copies: an interrupt waits no longer
_BUFFER = 1 << 20  # bytes, where the system does not copy by itself


@contextmanager
def replacing(target: Path, like: Path) -> Iterator[FileIO]:
    """A neighbour of the target, to be written and read; it takes the target's place where nothing is raised.

    Args:
        target: no link.
        like: the file whose permission bits it gets.

    Raises:
        TemplatelintError: it cannot be written.
    """
    neighbour = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        try:
            nameless = _nameless(target.parent)
            with nameless if nameless is not None else neighbour.open("x+b", buffering=0) as stream:
                yield stream
                os.fsync(stream.fileno())
                if nameless is not None:
                    _name(stream, neighbour)
            shutil.copymode(like, neighbour)
            neighbour.replace(target)
            _keep(target.parent)
        finally:
            neighbour.unlink(missing_ok=True)
    except OSError as error:
        raise _unwritten(target, error) from error


def _nameless(folder: Path) -> FileIO | None:
    """A file without a name, which is gone with us, whatever ends us; None where there are none such."""
    if not hasattr(os, "O_TMPFILE") or not _DESCRIPTORS.is_dir():
        return None
    try:
        return os.fdopen(os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600), "w+b", buffering=0)
    except OSError:  # the file system has none; what else is wrong with the folder is told by the next attempt
        return None


def _name(stream: FileIO, path: Path) -> None:
    # Only with a folder's descriptor does Python follow the link, which here stands for the file.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.link(_DESCRIPTORS / str(stream.fileno()), path, src_dir_fd=folder)
    finally:
        os.close(folder)


def _unwritten(target: Path, error: OSError) -> TemplatelintError:
    if error.errno == ENOSPC:
        return TemplatelintError(f"{target}: the disk is full, nothing was written", help=_SPACE)
    return refused(str(target), error)


def _keep(folder: Path) -> None:
    """Have the new name of the file survive a power cut, where folders can be told so."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def need_space(folder: Path, size: int, name: str) -> None:
    """Refuse what the disk cannot hold.

    Raises:
        TemplatelintError: it has less than `size` bytes left.
    """
    free = shutil.disk_usage(folder).free
    if free < size:
        raise TemplatelintError(
            f"{name} needs {size:,} bytes, and there are {free:,} left in {folder}",
            help=_SPACE,
        )


Progress = Callable[[int, int], None]
"""Told how many bytes are written, and how many there will be."""


def write(
    source: FileIO, parts: Sequence[Piece], stream: FileIO, target: Path, progress: Progress | None = None
) -> None:
    """Write the pieces to a stream that stands at its start; memory stays constant, and holes stay holes.

    Args:
        source: what the ranges are of.
        parts: the pieces, in their order.
        stream: what is written to.
        target: what messages call it.
        progress: told after each stretch.
    """
    whole = length_of(parts)
    try:
        for part in parts:
            if isinstance(part, Range):
                for _ in _copy(source.fileno(), part, stream.fileno()):
                    if progress is not None:
                        progress(os.lseek(stream.fileno(), 0, os.SEEK_CUR), whole)
            else:
                _write(stream.fileno(), part)
        os.ftruncate(stream.fileno(), whole)  # a hole at the end is a length and no byte
    except OSError as error:
        raise _unwritten(target, error) from error


def _write(target: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(target, view) :]


def _copy(source: int, part: Range, target: int) -> Iterator[None]:
    """Copy a range, stretch by stretch."""
    at = part.start
    while at < part.end:
        start, end = _data(source, at, part.end)
        os.lseek(target, start - at, os.SEEK_CUR)
        os.lseek(source, start, os.SEEK_SET)
        while start < end:
            done = _some(source, target, min(end - start, _CHUNK))
            if not done:
                raise TemplatelintError("the file has become shorter while it was read", help="try again")
            start += done
            yield
        at = end


def _data(handle: int, at: int, end: int) -> tuple[int, int]:
    """The next stretch of a file that is no hole, between `at` and `end`."""
    if not hasattr(os, "SEEK_DATA"):
        return at, end
    try:
        start = os.lseek(handle, at, os.SEEK_DATA)
        return (min(start, end), min(os.lseek(handle, start, os.SEEK_HOLE), end)) if start < end else (end, end)
    except OSError as error:
        # nothing but a hole up to the end of the file; other errors: the file system knows no holes
        return (end, end) if error.errno == ENXIO else (at, end)


def _some(source: int, target: int, count: int) -> int:
    """Copy up to `count` bytes from where the source stands to where the target stands."""
    if hasattr(os, "copy_file_range"):
        with suppress(OSError):  # between two file systems, or not supported; a full disk is told by the next line
            if done := os.copy_file_range(source, target, count):
                return done
    data = os.read(source, min(count, _BUFFER))
    _write(target, data)
    return len(data)
