"""What one input is: files, command lines, and what its maker knows of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Case:
    """One input.

    Attributes:
        kind: the generator that made it.
        files: path below the working folder → content.
        commands: command lines without the program; paths are relative to that folder.
        unreadable: whoever can read the template must say otherwise: its maker knows that nobody can.
        exact: command line → the text that it has to print where it exits with 0.
        environment: variables; `{folder}` stands for the working folder.
    """

    kind: str
    files: Mapping[str, bytes]
    commands: Sequence[tuple[str, ...]]
    unreadable: bool = False
    exact: Mapping[tuple[str, ...], bytes] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


# commands whose exit code 0 says that the template was read and is in order
JUDGING = frozenset({"lint", "vet"})
