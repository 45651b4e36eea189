"""A file or the environment → the key that a server wants; it is printed nowhere."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from templatelint.cli.options import Session

_LARGEST = 16 << 10  # bytes
_SENDABLE = re.compile(r"[!-~]+")  # what a header carries, without spaces
_OTHERS = 0o077  # permissions of anybody but the owner


def read(session: Session, path: str | None) -> str:
    """The key in that file, or else the environment's; empty where there is none.

    Raises:
        TemplatelintError: the file cannot be read, or holds no key.
    """
    from templatelint.sources.endpoint import KEY

    if path is None:
        key, where = os.environ.get(KEY, "").strip(), KEY
    else:
        key, where = _in_file(session, path), path
        if not key:
            raise TemplatelintError(f"{path} holds no key", help="write the key into it, and nothing else")
    if key and not _SENDABLE.fullmatch(key):
        raise TemplatelintError(
            f"{where} holds a space, a newline or another character that no key may have",
            help="write the key into it, and nothing else",
        )
    return key


def _in_file(session: Session, path: str) -> str:
    from templatelint import texts
    from templatelint.sources import opening

    raw = opening.read_bytes(path, _LARGEST, "a key")
    if os.name == "posix":
        mode = Path(path).stat().st_mode & 0o777
        if mode & _OTHERS:
            session.note(f"{path} can be read by others (mode {mode:03o}): chmod 600 {path}")
    return texts.decode(raw, path, "a key").strip()
