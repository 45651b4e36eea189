"""Edits of a template's source → another source whose characters know where they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Sequence


class Edit(NamedTuple):
    """A piece of a text, by its offsets, and what takes its place; start = end inserts."""

    start: int
    end: int
    text: str


class Rewritten:
    """A template's source after edits.

    Attributes:
        text: the source now.
    """

    def __init__(self, text: str, origins: Sequence[int] | None = None) -> None:
        self.text = text
        self._origins = range(len(text) + 1) if origins is None else origins

    def original(self, offset: int) -> int:
        """Where in the source as it was the character at that offset stands, or what it took the place of."""
        return self._origins[min(offset, len(self.text))]

    def edited(self, edits: Iterable[Edit]) -> Rewritten:
        """The text with all edits made; their offsets count in this text, and they do not overlap."""
        parts: list[str] = []
        origins: list[int] = []
        at = 0
        for start, end, text in sorted(edits):
            parts += self.text[at:start], text
            origins += self._origins[at:start]
            origins += [self._origins[start]] * len(text)
            at = end
        parts.append(self.text[at:])
        origins += self._origins[at:]
        return Rewritten("".join(parts), origins)

    def substituted(self, pattern: re.Pattern[str], replacement: Callable[[re.Match[str]], str]) -> Rewritten:
        """The text with every match of a pattern replaced."""
        edits = [Edit(*match.span(), replacement(match)) for match in pattern.finditer(self.text)]
        return self.edited(edits) if edits else self

    def replaced(self, old: str, new: str) -> Rewritten:
        """The text with every occurrence of another replaced."""
        edits = []
        at = self.text.find(old)
        while at >= 0:
            edits.append(Edit(at, at + len(old), new))
            at = self.text.find(old, at + len(old))
        return self.edited(edits) if edits else self
