"""A port of this machine → the command line of the program that listens there, where Linux lets us see it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_PROC = "/proc"
_LISTENS = "0A"
_MAX = 1 << 20  # bytes of a command line
_INODE = re.compile(r"socket:\[(\d+)\]")
_SECRET = re.compile(r"--?(?:[\w-]*api[-_]key|[\w-]*token|hft|[\w-]*password|[\w-]*secret)", re.IGNORECASE)
_PUBLIC = re.compile(r"--?(?:[\w-]*(?:max|num|budget|limit|special|chunk)[\w-]*token)", re.IGNORECASE)
_HIDDEN = "…"
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*(?:\.exe)?", re.IGNORECASE)


def arguments(port: int, programs: Collection[str], proc: str = _PROC) -> tuple[str, ...] | None:
    """The command line of what listens on a port, without the program and without secrets.

    Args:
        port: of TCP.
        programs: words one of which the program's name has: what listens may only pass connections on.
        proc: where processes are seen.

    Returns:
        None where it cannot be read: another system, another user's process, or another program.
    """
    for words in _command_lines(port, proc):
        if (found := _without_program(words, programs)) is not None:
            return without_secrets(found)
    return None


def runs_here(port: int, program: str, proc: str = _PROC) -> bool:
    """Whether a program of that name listens on a port of this machine, rather than one that passes connections on."""
    return any(program in " ".join(words).lower() for words in _command_lines(port, proc))


def without_secrets(words: Sequence[str]) -> tuple[str, ...]:
    """A command line whose keys and tokens nobody can read."""
    found, hide = [], False
    for word in words:
        flag, equals, _ = word.partition("=")
        if flag.startswith("-") and not (hide and len(flag) > 1 and flag[1].isdigit()):
            hide = _SECRET.fullmatch(flag) is not None and _PUBLIC.fullmatch(flag) is None
            found.append(f"{flag}={_HIDDEN}" if hide and equals else word)
            hide = hide and not equals
        else:
            found.append(_HIDDEN if hide else word)
    return tuple(found)


def _without_program(words: Sequence[str], programs: Collection[str]) -> Sequence[str] | None:
    """What stands behind the program; None for another program, or one that has written over its command line."""
    if "::" in words[0]:  # the title that vLLM and SGLang give their processes
        return None
    start = 1
    if _PYTHON.fullmatch(Path(words[0]).name):
        while start < len(words) and words[start].startswith("-") and words[start] != "-m":
            start += 1
        start += 2 if start < len(words) and words[start] == "-m" else 1
    named = " ".join(Path(word).name for word in words[:start]).lower()
    return words[start:] if any(program in named for program in programs) else None


def _command_lines(port: int, proc: str) -> Iterator[list[str]]:
    """Of the processes that listen on a port, as far as they can be seen."""
    inodes = set(_listening(port, proc))
    for folder in _processes(proc) if inodes else ():
        if _holds(folder, inodes) and (words := _words(folder)):
            yield words


def _listening(port: int, proc: str) -> Iterator[str]:
    """Inodes of the sockets that listen on a port, of any address of this machine."""
    for table in ("tcp", "tcp6"):
        for line in _read(Path(proc, "net", table)).splitlines()[1:]:
            cells = line.split()
            if len(cells) > 9 and cells[3] == _LISTENS and cells[1].rpartition(":")[2] == f"{port:04X}":  # noqa: PLR2004 (the tenth is the inode)
                yield cells[9]


def _processes(proc: str) -> list[Path]:
    """Oldest first: workers that share a socket come after who opened it."""
    try:
        return sorted((each for each in Path(proc).iterdir() if each.name.isdigit()), key=lambda each: int(each.name))
    except OSError:
        return []


def _holds(folder: Path, inodes: set[str]) -> bool:
    try:
        for link in (folder / "fd").iterdir():
            found = _INODE.fullmatch(str(link.readlink()))
            if found and found[1] in inodes:
                return True
    except OSError:  # another user's, or gone
        pass
    return False


def _words(folder: Path) -> list[str]:
    line = _read(folder / "cmdline").rstrip("\0")
    return line.split("\0") if line else []


def _read(path: Path) -> str:
    try:
        with path.open("rb") as handle:
            return handle.read(_MAX).decode("utf-8", "replace")
    except OSError:
        return ""
