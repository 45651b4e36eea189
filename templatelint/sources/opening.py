"""A path → the bytes or the text of a regular file, or one sentence that says why not."""

from __future__ import annotations

import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import FileIO

MAX_TEMPLATE = 1 << 20  # bytes; the largest real chat templates have under 100 KB
MAX_JSON = 32 << 20  # bytes; a tokenizer_config.json with every added token spelled out has about 2 MB

_HTML = (b"<!doctype html", b"<html")


def status(path: str) -> os.stat_result | None:
    """What `path` is (links followed), None where nothing is there.

    Raises:
        TemplatelintError: it cannot be looked at, or is a link that leads nowhere.
    """
    try:
        return Path(path).stat()
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a NUL in the name
        pass
    except OSError as error:
        raise refused(path, error) from error
    try:
        target = Path(path).readlink()
    except (OSError, ValueError):
        return None
    raise TemplatelintError(f"{path} is a symbolic link to {target}, which does not exist")


def is_there(path: str) -> bool:
    """Whether one of a model's files is there: False only where nothing has its name.

    Raises:
        TemplatelintError: what is there is no regular file, or cannot be looked at; without this, a template that
            cannot be read would pass for none.
    """
    found = status(path)
    if found is not None:
        _require_regular(path, found.st_mode)
    return found is not None


def is_folder(path: str) -> bool:
    """The same for a folder among a model's files."""
    found = status(path)
    if found is not None and not stat.S_ISDIR(found.st_mode):
        raise TemplatelintError(f"{path} is not a folder")
    return found is not None


class LocalFile(NamedTuple):
    """An open file as a source of bytes that are read where they are needed."""

    handle: FileIO
    size: int

    def read(self, offset: int, count: int, least: int | None = None) -> bytes:
        """`count` bytes from `offset` on, fewer at the end of the file."""
        del least  # what is asked for costs no more than what is needed
        self.handle.seek(offset)
        return self.handle.read(count) or b""


@contextmanager
def open_regular(path: str) -> Iterator[tuple[FileIO, int]]:
    """A regular file open and unbuffered, and its size in bytes; never waits on a pipe or touches a device.

    Raises:
        TemplatelintError: missing, no regular file, not permitted, or a failure while it is read.
    """
    found = status(path)
    if found is None:
        raise TemplatelintError(f"no such file: {path}")
    _require_regular(path, found.st_mode)
    # A pipe put here after we looked would block the open for ever; regular files do not mind the flag.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(path, flags), "rb", buffering=0) as handle:
            opened = os.fstat(handle.fileno())
            _require_regular(path, opened.st_mode)
            yield handle, opened.st_size
    except OSError as error:
        raise refused(path, error) from error


def read_bytes(path: str, limit: int, what: str) -> bytes:
    """All bytes of a regular file.

    Args:
        path: the file as the user names it.
        limit: more bytes than this are refused before they are read.
        what: what the limit is for (`a template`).
    """
    with open_regular(path) as (handle, size):
        if size > limit:
            raise too_large(path, size, limit, what)
        raw = _read_up_to(handle, limit + 1)
    if len(raw) > limit:  # it grew meanwhile, or lies about its size as files of /proc do
        raise too_large(path, len(raw), limit, what)
    return raw


def read_head(path: str, count: int) -> bytes:
    """The first `count` bytes of a regular file, or as many as it has."""
    with open_regular(path) as (handle, _):
        return _read_up_to(handle, count)


def looks_like_html(head: bytes) -> bool:
    """Whether a file starts as a web page does: what a download saves when a login page answers it."""
    return head.lstrip()[:16].lower().startswith(_HTML)


def html_page(path: str) -> TemplatelintError:
    """The error for a web page that stands where a model's file should be."""
    return TemplatelintError(f"{path} is an HTML page", help="the download saved a web page: fetch the raw file")


def too_large(path: str, size: int, limit: int, what: str) -> TemplatelintError:
    """The error for more bytes than anything real has."""
    return TemplatelintError(f"{path} has {size:,} bytes, more than the {limit:,} {what} may have")


def _read_up_to(handle: FileIO, count: int) -> bytes:
    parts = []
    while count > 0 and (part := handle.read(count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _require_regular(path: str, mode: int) -> None:
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise TemplatelintError(f"{path} is a directory, not a file")
    if stat.S_ISFIFO(mode):
        raise TemplatelintError(f"{path} is a pipe, not a file", help="give - to read standard input")
    kind = "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise TemplatelintError(f"{path} is {kind}, not a file")


def refused(path: str, error: OSError) -> TemplatelintError:
    """The error for what the operating system refused (`PATH: permission denied`)."""
    reason = error.strerror or type(error).__name__
    return TemplatelintError(f"{path}: {reason[:1].lower()}{reason[1:]}")
