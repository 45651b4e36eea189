"""`per-file-ignores` of the settings: which files they mean, and which findings they accept."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from templatelint.patterns import Pattern

if TYPE_CHECKING:
    from pathlib import Path

_LOOKED_AT = 20_000  # files and folders, to see which a pattern means


@dataclass(frozen=True)
class PerFileIgnore:
    """One entry.

    Attributes:
        pattern: of files, as seen from the folder of the settings.
        rules: each word that the user wrote, with the ids that it means.
        reason: the user's words.
        settings: the file that holds it, as the user would name it.
        folder: the folder of that file.
        text: what that file says.
    """

    pattern: str
    rules: tuple[tuple[str, tuple[str, ...]], ...]
    reason: str
    settings: str
    folder: Path
    text: str = field(default="", repr=False)

    @cached_property
    def _files(self) -> Pattern:
        return Pattern(self.pattern, self.folder, anywhere=True)

    def matches(self, path: str) -> bool:
        """Whether it means that file."""
        return self._files.means(path)

    def others(self, judged: frozenset[str]) -> bool:
        """Whether it means files of the same endings beside those judged (real paths): they may need it."""
        endings = tuple({os.path.splitext(path)[1] for path in judged})  # noqa: PTH122 (str in, str out)
        for seen, (path, meant) in enumerate(self._files.looked_at()):
            if seen >= _LOOKED_AT or (meant and path.endswith(endings) and os.path.realpath(path) not in judged):
                return True
        return False

    @property
    def empty(self) -> bool:
        """Whether it means no file that is there; it is not said to be where that takes long to see."""
        seen = 0
        for _, meant in islice(self._files.looked_at(), _LOOKED_AT):
            if meant:
                return False
            seen += 1
        return seen < _LOOKED_AT
