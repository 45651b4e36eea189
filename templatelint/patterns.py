"""A pattern of files as the settings name them → which files it means."""

# Names are text here: a Path for each of thousands takes long, and has no way to drop `..` without following links.
# ruff: noqa: PTH100, PTH113, PTH117, PTH118, PTH120, PTH206

from __future__ import annotations

import os
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_ANY_FOLDERS = "**"
_WILD = frozenset("*?[")


@dataclass(frozen=True)
class Pattern:
    """A path or a pattern of paths, as seen from a folder; it means a file also where it names a folder above it.

    `*`, `?` and `[…]` stand for characters of one name, a part `**` for no folder or several, of which none is hidden.
    What is there under a name literally is meant by it, whatever signs it holds. A file is known by the name that it is
    asked for as by the one that links lead to.

    Attributes:
        text: as the user wrote it; absolute, or with `.` and `..`.
        folder: what a relative one is seen from.
        anywhere: a plain name means all that are called so below the folder, too.
    """

    text: str
    folder: Path
    anywhere: bool = False

    @cached_property
    def _top(self) -> str:
        return os.path.abspath(self.folder)

    @cached_property
    def _name(self) -> str:
        """The name that is meant anywhere; empty where it says which folder it is in."""
        name = self.text.rstrip("/")
        return name if self.anywhere and "/" not in name and name not in {"", ".", "..", _ANY_FOLDERS} else ""

    @cached_property
    def _split(self) -> tuple[str, tuple[str, ...]]:
        """The path that stands in front of the first sign that has a meaning, and the parts from there on."""
        base, rest = self._top, self.text
        if os.path.isabs(rest):
            base, rest = os.path.splitdrive(rest)
            base += os.sep
        parts: list[str] = []
        for part in rest.replace(os.sep, "/").split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part == "..":
                base = os.path.dirname(base)
            elif part not in {"", "."}:
                parts.append(part)
        literal = 0
        while literal < len(parts):
            below = os.path.join(base, parts[literal])
            if parts[literal] == _ANY_FOLDERS or not os.path.lexists(below):
                break
            base, literal = below, literal + 1
        return base, tuple(parts[literal:])

    @cached_property
    def _bases(self) -> tuple[str, ...]:
        """The names of the folder or file in front: links above it followed or not."""
        base, _ = self._split
        head, tail = os.path.split(base)
        names = [base, os.path.join(_real(head), tail)]
        if (inside := _below(base, self._top)) is not None:
            names.append(os.path.join(_real(self._top), *inside))
        return tuple(dict.fromkeys(names))

    def means(self, path: str | Path) -> bool:
        """Whether it names that path or a folder above it."""
        try:
            asked = os.path.abspath(path)
        except (OSError, ValueError):  # the working directory is gone
            return False
        _, rest = self._split
        for name in dict.fromkeys((asked, _real(asked))):
            for base in self._bases:
                parts = _below(name, base)
                if parts is not None and (not rest or _Matched(rest).after(parts).whole):
                    return True
            if self._name and self._anywhere(name):
                return True
        return False

    def _anywhere(self, path: str) -> bool:
        return any(
            fnmatchcase(part, self._name) for top in (self._top, _real(self._top)) for part in _below(path, top) or ()
        )

    @property
    def plain(self) -> str | None:
        """The one path that it means, there or not; None for a pattern."""
        base, rest = self._split
        if any(_WILD.intersection(part) for part in rest):
            return None
        return os.path.join(base, *rest)

    def looked_at(self) -> Iterator[tuple[str, bool]]:
        """Each file and folder that it takes a look at to see what it means, and whether that is a file it means."""
        if self._name:
            yield from _walked(self._top, _Matched((_ANY_FOLDERS, self._name)))
        else:
            base, rest = self._split
            if os.path.isfile(base):
                yield base, not rest
            yield from _walked(base, _Matched(rest))


@dataclass(frozen=True)
class _Matched:
    """How far the parts of a pattern are used up by the names so far: several readings at a time.

    Attributes:
        states: how many parts are used up, by each reading.
    """

    parts: tuple[str, ...]
    states: frozenset[int] = frozenset({0})

    @cached_property
    def _open(self) -> frozenset[int]:
        """The readings, `**` also standing for no folder."""
        found = set(self.states)
        for at, part in enumerate(self.parts):
            if part == _ANY_FOLDERS and at in found:
                found.add(at + 1)
        return frozenset(found)

    @property
    def whole(self) -> bool:
        """Whether the pattern is used up: what comes below is meant too."""
        return len(self.parts) in self._open

    @property
    def possible(self) -> bool:
        return bool(self.states)

    def after(self, names: Sequence[str]) -> _Matched:
        """What it is behind further names."""
        matched = self
        for name in names:
            if matched.whole or not matched.possible:
                break
            matched = _Matched(self.parts, frozenset(matched._after(name)))
        return matched

    def _after(self, name: str) -> Iterator[int]:
        for at in self._open:
            if self.parts[at] == _ANY_FOLDERS:
                if not name.startswith("."):
                    yield at
            elif fnmatchcase(name, self.parts[at]):
                yield at + 1


def _walked(top: str, matched: _Matched) -> Iterator[tuple[str, bool]]:
    """Files below a folder, links followed, each folder once; folders that can hold nothing meant are left out."""
    waiting = [(top, matched)]
    seen: set[str] = set()
    while waiting:
        folder, above = waiting.pop()
        real = _real(folder)
        if real in seen:
            continue
        seen.add(real)
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except (OSError, ValueError):  # it cannot be read
            continue
        below = []
        for entry in listed:
            matched = above.after((entry.name,))
            try:
                is_folder, is_file = entry.is_dir(), entry.is_file()
            except OSError:  # links go round in a circle
                continue
            yield entry.path, is_file and matched.whole
            if is_folder and matched.possible:
                below.append((entry.path, matched))
        waiting += reversed(below)


def _below(path: str, folder: str) -> tuple[str, ...] | None:
    """The names from a folder down to a path; None where it is not below it."""
    if path == folder:
        return ()
    above = folder if folder.endswith(os.sep) else folder + os.sep
    return tuple(path[len(above) :].split(os.sep)) if path.startswith(above) else None


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):  # a name that no file can have
        return path
