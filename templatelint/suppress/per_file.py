"""`per-file-ignores` of the settings: which files they mean, and which findings they accept."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

_LOOKED_AT = 20_000  # files under a pattern's folder, to see whether all that it means took part
_WILD = "*?["


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

    def matches(self, path: str) -> bool:
        """Whether it means that file."""
        return matches(self.folder, path, (self.pattern,))

    def others(self, judged: frozenset[str]) -> bool:
        """Whether it means files of the same endings beside those judged (real paths): they may need it."""
        endings = tuple({os.path.splitext(path)[1] for path in judged})  # noqa: PTH122 (str in, str out)
        literal = self.pattern[: min(self.pattern.find(sign) % (len(self.pattern) + 1) for sign in _WILD)]
        seen = 0
        for above, folders, names in os.walk(self.folder / literal.rpartition("/")[0]):
            folders[:] = [name for name in folders if not name.startswith(".")]
            for name in names:
                seen += 1
                path = os.path.join(above, name)  # noqa: PTH118 (a Path for each of thousands of files takes long)
                other = name.endswith(endings) and os.path.realpath(path) not in judged and self.matches(path)
                if other or seen > _LOOKED_AT:
                    return True
        return False


def matches(folder: Path, path: str | Path, patterns: tuple[str, ...]) -> bool:
    """Whether a pattern names that path as seen from the folder, a folder above it, or its last part."""
    try:
        top = folder.resolve()
        inside = Path(path).resolve()
    except (OSError, RuntimeError):  # the working directory is gone, or links go round in a circle
        return False
    if not inside.is_relative_to(top):
        return False
    relative = inside.relative_to(top)
    candidates = [relative, *relative.parents][:-1] if relative.parts else []
    return any(
        fnmatchcase(candidate.as_posix(), pattern.rstrip("/")) or fnmatchcase(candidate.name, pattern)
        for pattern in patterns
        for candidate in candidates
    )
