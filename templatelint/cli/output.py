"""Pieces of text → stdout or a file, exactly as they are; a file is written whole or not at all."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from templatelint.report.terminal import ColorChoice


def to_stdout(pieces: Iterable[str], *, color: bool = False) -> None:
    """Write to stdout: UTF-8 without any translation, unless a terminal reads it."""
    if sys.stdout.isatty() or not hasattr(sys.stdout, "buffer"):
        for piece in pieces:
            click.echo(piece, nl=False, color=color)
        return
    sys.stdout.flush()
    for piece in pieces:
        sys.stdout.buffer.write(encoded(piece))
    sys.stdout.buffer.flush()


def to_file(path: Path, pieces: Iterable[str]) -> None:
    """Write a file through a neighbour that takes its place at the end; devices and pipes are written to.

    Raises:
        TemplatelintError: it cannot be written.
    """
    target = path.resolve()  # a link stays, what it points to is replaced
    try:
        if target.exists() and not target.is_file():
            if target.is_dir():
                raise TemplatelintError(f"{path}: is a folder, not a file")
            with target.open("wb") as stream:
                stream.writelines(encoded(piece) for piece in pieces)
            return
        _replace(target, pieces)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise TemplatelintError(f"{path}: cannot be written: {reason}") from error


def _replace(target: Path, pieces: Iterable[str]) -> None:
    from os import getpid

    neighbour = target.with_name(f".{target.name}.{getpid()}.tmp")
    try:
        with neighbour.open("xb") as stream:
            stream.writelines(encoded(piece) for piece in pieces)
        if target.exists():
            neighbour.chmod(target.stat().st_mode & 0o7777)
        neighbour.replace(target)
    finally:
        neighbour.unlink(missing_ok=True)


def encoded(text: str) -> bytes:
    """UTF-8; half characters that a JSON file smuggled in stay what they are."""
    return text.encode("utf-8", "surrogatepass")


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

    click.echo(f"note: {visible(text)}", err=True)


def error(message: str, cure: str | None, choice: ColorChoice) -> None:
    """Tell the user what failed, and what to do about it."""
    from templatelint.report.terminal import Paint, visible, wants_color

    paint = Paint(wants_color(sys.stderr, choice))
    click.echo(f"{paint('error:', 'red')} {visible(message)}", err=True, color=paint.on)
    if cure:
        click.echo(f"{paint('help:', 'cyan')} {visible(cure)}", err=True, color=paint.on)
