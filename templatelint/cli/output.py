"""Pieces of text → stdout or a file, exactly as they are; a file is written whole or not at all."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager, suppress
from errno import EACCES, ELOOP
from typing import TYPE_CHECKING, Any

import click

from templatelint.errors import TemplatelintError, clip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import TextIO

    from templatelint.report.terminal import ColorChoice


SPELT_IN_JSON = "--output-format json spells it as an escape"
# what the shell has opened for us: pipes of `>(…)`, and files that hold something already after `>>`
_OPENED = re.compile(r"/dev/(?:stdout|stderr|fd/\d+)|/proc/(?:self|\d+)/fd/\d+")
_MESSAGE = 1_000  # characters; paths and names of a model's files come whole into messages, up to here


def to_stdout(pieces: Iterable[str], *, color: bool = False) -> None:
    """Write to stdout: UTF-8 without any translation, unless a terminal reads it."""
    binary = False
    for piece in pieces:  # what fails in here is none of the stream's failures
        if not piece:
            continue
        with _writing(sys.stdout, "standard output"):
            if sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
                click.echo(piece, nl=False, color=color)
                continue
            if not binary:
                sys.stdout.flush()
                binary = True
            sys.stdout.buffer.write(encoded(piece))
    flush()


def flush() -> None:
    """Have stdout take what it was given.

    Raises:
        TemplatelintError: it does not.
        BrokenPipeError: nobody reads it any more.
    """
    if sys.stdout is not None:
        with _writing(sys.stdout, "standard output"):
            sys.stdout.flush()


def tell(text: str, *, color: bool = False) -> None:
    """Write a line to stderr; raises as `flush` does."""
    with _writing(sys.stderr, "standard error"):
        click.echo(text, err=True, color=color)


@contextmanager
def _writing(stream: TextIO | None, name: str) -> Iterator[None]:
    """Name the stream that cannot be written to; one that was closed before we started is None."""
    try:
        if stream is None:
            raise TemplatelintError(f"cannot write to {name}: it is closed")
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TemplatelintError(f"cannot write to {name}: {reason}") from error


def let_go(*, certain: bool = False) -> None:
    """Give up what a standard stream cannot take: the interpreter's last flush would turn it into exit code 120.

    Args:
        certain: nobody reads stdout any more.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is None:
            continue
        try:
            stream.flush()
            failed = certain and stream is sys.stdout
        except (OSError, ValueError):
            failed = True
        if failed:
            with suppress(OSError, ValueError):  # it may be no file
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, stream.fileno())
                os.close(nowhere)


def to_file(path: Path, pieces: Iterable[str | bytes]) -> None:
    """Write a file through a neighbour that takes its place at the end.

    Devices and pipes are written to; so is a file of several names (hard links), which else would be two files after.

    Raises:
        TemplatelintError: it cannot be written.
    """
    try:
        opened = _OPENED.fullmatch(str(path)) is not None
        if opened or (path.exists() and not path.is_file()):
            if path.is_dir():
                raise TemplatelintError(f"{path}: is a folder, not a file")
            with path.open("ab" if opened else "wb") as stream:
                stream.writelines(_raw(piece) for piece in pieces)
            return
        _replace(_followed(path), pieces)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TemplatelintError(f"{path}: cannot be written: {reason}") from error


def _followed(path: Path) -> Path:
    """What a link points to: the link stays, that is replaced."""
    try:
        return path.resolve()
    except RuntimeError as error:  # what Python before 3.13 says of it
        raise OSError(ELOOP, os.strerror(ELOOP)) from error


def _replace(target: Path, pieces: Iterable[str | bytes]) -> None:
    from os import getpid

    if target.exists() and read_only(target):
        raise OSError(EACCES, "it is read-only")
    if target.exists() and target.stat().st_nlink > 1:
        whole = [_raw(piece) for piece in pieces]  # what fails in here is not to leave half a file
        with target.open("wb") as stream:
            stream.writelines(whole)
        return
    neighbour = target.with_name(f".{target.name}.{getpid()}.tmp")
    try:
        with neighbour.open("xb") as stream:
            stream.writelines(_raw(piece) for piece in pieces)
        if target.exists():
            neighbour.chmod(target.stat().st_mode & 0o7777)
        neighbour.replace(target)
    finally:
        neighbour.unlink(missing_ok=True)


def read_only(path: Path) -> bool:
    """Whether a file says so: what replaces it would need leave of the folder alone, and root none at all."""
    try:
        return not path.stat().st_mode & 0o222 or not os.access(path, os.W_OK)
    except OSError:  # it is gone: to be told when it is written
        return False


def _raw(piece: str | bytes) -> bytes:
    return encoded(piece) if isinstance(piece, str) else piece


def encoded(text: str) -> bytes:
    """UTF-8.

    Raises:
        TemplatelintError: half a surrogate pair, which a JSON file or a template's own string can hold, is in it.
            Its three bytes would be no UTF-8: whoever reads the file would fail, or read something else than what
            an engine gets. To refuse is the only exact answer; JSON output can spell it, and a terminal is shown it.
    """
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        from templatelint.texts import half_character

        raise TemplatelintError(
            f"the text holds {half_character(text)}, half of a surrogate pair, which UTF-8 cannot carry",
            help=SPELT_IN_JSON,
        ) from error


def as_json(objects: Iterable[Mapping[str, Any]], member: str, *, lines: bool) -> Iterator[str]:
    """JSON lines, or one object that holds the `objects` under `member`, each on a line of its own.

    ASCII only: no control, bidirectional or half character leaves as itself, whatever reads this.
    """
    import json

    if lines:
        yield from (json.dumps(body) + "\n" for body in objects)
        return
    yield f'{{"version": 1, "{member}": ['
    for number, body in enumerate(objects):
        yield ("," if number else "") + "\n" + json.dumps(body)
    yield "\n]}\n"


def note(text: str) -> None:
    """Tell the user something beside the result: a line on stderr."""
    from templatelint.report.terminal import visible

    tell(f"note: {visible(text)}")


def error(message: str, cure: str | None, choice: ColorChoice) -> None:
    """Tell the user what failed, and what to do about it."""
    from templatelint.report.terminal import Paint, visible, wants_color

    paint = Paint(wants_color(sys.stderr, choice))
    tell(f"{paint('error:', 'red')} {clip(visible(message), _MESSAGE)}", color=paint.on)
    if cure:
        tell(f"{paint('help:', 'cyan')} {clip(visible(cure), _MESSAGE)}", color=paint.on)
