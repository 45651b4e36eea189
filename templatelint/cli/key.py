"""A file or the environment → the key that a server wants; it is printed nowhere."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from templatelint.cli.options import Session

_LARGEST = 16 << 10  # bytes
_SENDABLE = re.compile(r"[!-~]+")  # what a header carries, without spaces
_SCHEME = re.compile(r"(?i)(?:authorization\s*:|bearer\s)")
_OTHERS = 0o077  # permissions of anybody but the owner


def read(session: Session, path: str | None) -> str:
    """The key in that file, or else the environment's; empty where there is none.

    Raises:
        TemplatelintError: the file cannot be read, or holds no key.
    """
    from templatelint.sources.endpoint import KEY

    if path == "":
        raise click.UsageError("--api-key-file names no file")
    if path is None:
        key, where = os.environ.get(KEY, "").strip(), KEY
    else:
        key, where = _in_file(session, path), path
        if not key:
            raise TemplatelintError(f"{path} holds no key", help="write the key into it, and nothing else")
    if _SCHEME.match(key):
        raise TemplatelintError(
            f"{where} starts with what a header puts before the key", help="write the key alone, without Bearer"
        )
    if key and not _SENDABLE.fullmatch(key):
        raise TemplatelintError(
            f"{where} holds a space, a newline or another character that no key may have",
            help="write the key into it, and nothing else",
        )
    return key


def _in_file(session: Session, path: str) -> str:
    """Of a pipe too, as `<(pass show key)` gives one."""
    from stat import S_ISREG

    from templatelint import texts

    try:
        with Path(path).open("rb") as file:
            raw = file.read(_LARGEST + 1)
            found = os.fstat(file.fileno()).st_mode
    except OSError as error:
        raise TemplatelintError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise TemplatelintError(f"{path}: no file is called that") from error
    if len(raw) > _LARGEST:
        raise TemplatelintError(f"{path} has more than the {_LARGEST:,} bytes that a key may have")
    if os.name == "posix" and S_ISREG(found) and found & _OTHERS:
        session.note(f"{path} can be read by others (mode {found & 0o777:03o}): chmod 600 {path}")
    return texts.decode(raw, path, "a key").removeprefix("\ufeff").strip()  # which Windows writes first
