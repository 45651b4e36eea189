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
        refused: those of the command lines that must not exit with 0: their maker knows that nobody can read the
            template, or that there is none.
        exact: command line → the text that it has to print where it exits with 0.
        environment: variables; `{folder}` stands for the working folder.
    """

    kind: str
    files: Mapping[str, bytes]
    commands: Sequence[tuple[str, ...]]
    refused: frozenset[tuple[str, ...]] = frozenset()
    exact: Mapping[tuple[str, ...], bytes] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
