"""The words of a command line → the flags among them, the last of each standing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


@dataclass(frozen=True)
class CommandLine:
    """A command line.

    Attributes:
        flags: each flag, `_` written as `-`, with its value; None for one that takes none.
    """

    flags: tuple[tuple[str, str | None], ...]

    def last(self, *names: str) -> tuple[str, str] | None:
        """The last of these flags with its value; empty for one without."""
        found = [(flag, value or "") for flag, value in self.flags if flag in names]
        return found[-1] if found else None

    def value(self, *names: str) -> str | None:
        """The last value that any of these names has."""
        found = self.last(*names)
        return None if found is None else found[1]

    def switched(self, on: Collection[str], off: Collection[str]) -> bool | None:
        """Whether the last of these flags turns it on; None where none is there."""
        found = self.last(*on, *off)
        return None if found is None else found[0] in on


def read(words: Sequence[str], valued: Collection[str]) -> CommandLine:
    """The flags of a command line.

    Args:
        words: without the program.
        valued: the flags of interest that take a value; those of others look like words that are no flags.
    """
    flags: list[tuple[str, str | None]] = []
    at = 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        at += 1
        if not name.startswith("-"):
            continue
        flag = "--" + name[2:].replace("_", "-") if name.startswith("--") else name
        if flag not in valued:
            flags.append((flag, None))
        elif equals:
            flags.append((flag, value))
        elif at < len(words):
            flags.append((flag, words[at]))
            at += 1
    return CommandLine(tuple(flags))
