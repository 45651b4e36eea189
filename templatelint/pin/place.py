"""References as typed here ↔ as a lock writes them: paths as seen from its folder, addresses without passwords."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from templatelint.errors import TemplatelintError, clip
from templatelint.sources import opening

if TYPE_CHECKING:
    from templatelint.model import Model
    from templatelint.pin.lock import Entry

# scheme of a reference → the word of `lock.SOURCES`
_ELSEWHERE = {"hf": "hub", "http": "url", "https": "url", "ollama": "ollama", "server": "server"}
_SCHEME = re.compile(r"([A-Za-z]+):")
_ROOM = 200  # characters of a path in a message
_USER = re.compile(r"(//)[^/?#@]*@")


class Place(NamedTuple):
    """Where a model was found: its reference as the lock writes it, and a word of `lock.SOURCES`."""

    ref: str
    source: str


def place(model: Model, lock: str) -> Place:
    """Where that is, seen from the folder of the lock; a picked template's name is no part of it.

    Raises:
        TemplatelintError: nobody finds it again.
    """
    if model.kind == "stdin" or model.ref == "-":
        raise TemplatelintError("standard input cannot be pinned: nothing is there to check later")
    found = of(model.ref, lock)
    if found.source == "url" and (model.ref.endswith("?…") or "://…" in model.ref):
        raise TemplatelintError(
            f"{model.ref} cannot be pinned: what stands behind its ? may be a secret, and is not written",
            help="download the file and pin its path, or give an address without a query",
        )
    return found


def of(ref: str, lock: str) -> Place:
    """The same for a reference without `#NAME`."""
    if opening.status(ref) is not None:
        return Place(_relative(ref, lock), "file")
    scheme = _SCHEME.match(ref)
    source = _ELSEWHERE.get(scheme[1].lower(), "") if scheme else ""
    if not source:
        return Place(ref, "hub")
    return Place(_USER.sub(r"\1", ref).removeprefix("hf:"), source)


def from_here(entry: Entry, lock: str) -> str:
    """The same of whatever is there or not."""
    return str(Path(lock).parent / entry.ref) if entry.source == "file" else entry.ref


def fits(ref: str, source: str) -> bool:
    """Whether a reference of a lock is one of that source: elsewhere it would be looked for in another place."""
    scheme = _SCHEME.match(ref)
    return source == "file" or source == (_ELSEWHERE.get(scheme[1].lower(), "hub") if scheme else "hub")


def _relative(path: str, lock: str) -> str:
    folder = os.path.realpath(Path(lock).parent)
    whole = Path(path).absolute()
    # links in front of the file are followed, as those of the folder are; the file's own may name a blob
    there = Path(os.path.realpath(whole.parent), whole.name)
    try:
        return Path(os.path.relpath(there, folder)).as_posix()
    except ValueError:  # another drive
        return there.as_posix()


def typed(entry: Entry, lock: str) -> str:
    """The entry's reference as it can be typed here.

    Raises:
        TemplatelintError: it is a path where nothing is: what looks like a repository's name is not to be fetched.
    """
    if entry.source != "file":
        here = entry.source == "hub" and os.path.lexists(entry.ref)  # a path of that name is not what is pinned
        return f"hf:{entry.ref}" if here else entry.ref
    path = from_here(entry, lock)
    if not os.path.lexists(path):
        raise TemplatelintError(
            f"no such file: {clip(path, 200)}, which {lock} pins",
            help="put it back, or take its entries out of the lock",
        )
    return path
