"""Text of a reply, piece by piece → what is said, without the whitespace that belongs to marks."""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

# What Markdown says of a place: inside a fence, behind a backtick on the same line (which may not be closed), neither.
Code: TypeAlias = Literal["fence", "span", ""]

_PIECES = re.compile(r"`+|\n|[^`\n]+")
_SHORTEST_FENCE = 3  # backticks


class Markdown:
    """Text, piece by piece → whether code is quoted where it ends."""

    def __init__(self) -> None:
        self._fenced = False
        self._span = 0  # backticks that opened a span on this line
        self._run = 0  # backticks that the text ends with
        self._run_is_first = False  # nothing but blanks stands before them on the line
        self.at_line_start = True

    def add(self, text: str) -> None:
        """More text."""
        for piece in _PIECES.findall(text):
            if piece[0] == "`":
                if not self._run:
                    self._run_is_first = self.at_line_start
                self._run += len(piece)
                self.at_line_start = False
                continue
            self._fenced, self._span = self._state()
            self._run = 0
            if piece == "\n":
                self._span = 0
                self.at_line_start = True
            elif self.at_line_start:
                self.at_line_start = piece.isspace()

    def _state(self) -> tuple[bool, int]:
        """Whether a fence is open, and how many backticks opened a span, behind the backticks at the end."""
        if self._run >= _SHORTEST_FENCE and self._run_is_first:
            return not self._fenced, 0
        if self._fenced or not self._run:
            return self._fenced, self._span
        if not self._span:
            return False, self._run
        return False, 0 if self._span == self._run else self._span

    @property
    def code(self) -> Code:
        """What is open here."""
        fenced, span = self._state()
        return "fence" if fenced else "span" if span else ""


class Prose:
    """Text between marks: whitespace beside a mark belongs to it, except where text follows behind a call."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._held = ""  # whitespace that may turn out to stand before a mark
        self._before_mark = ""  # what of it stood before the last one
        self._behind_mark = True
        self._verbatim = False
        self._markdown = Markdown()

    def add(self, text: str) -> None:
        """More text."""
        self._markdown.add(text)
        if self._behind_mark:
            rest = text.lstrip()
            if not rest:
                self._held += text if self._verbatim else ""
                return
            self._behind_mark = False
            text = text if self._verbatim else rest
        kept = text.rstrip()
        if kept:
            self._grow(self._held + kept)
            self._held = ""
        self._held += text[len(kept) :]

    def mark(self, *, verbatim: bool = False) -> None:
        """A mark stands here.

        Args:
            verbatim: blanks on both sides of it are text, if there is text; ends of lines before it are not.
        """
        if self._behind_mark:
            self._held = self._before_mark
        elif verbatim and "\n" not in self._held:
            self._grow(self._held)
            self._held = ""
        if not self._parts:
            self._held = ""
        self._before_mark = self._held
        self._behind_mark = True
        self._verbatim = verbatim and bool(self._parts)

    def paragraph(self) -> None:
        """Another message begins here: on a line of its own."""
        self.mark()
        self._held = self._before_mark = "\n" if self._parts else ""

    def _grow(self, text: str) -> None:
        if text:
            self._parts.append(text)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is said."""
        return not self._parts

    @property
    def is_behind_mark(self) -> bool:
        """Whether nothing but whitespace stands here since the last mark, or since the beginning."""
        return self._behind_mark

    @property
    def is_at_line_start(self) -> bool:
        """Whether nothing but whitespace stands here since the last mark, or on this line."""
        return self._behind_mark or self._markdown.at_line_start

    @property
    def code(self) -> Code:
        """What of Markdown's code is open here."""
        return self._markdown.code

    @property
    def certain(self) -> str | None:
        """What is said, whatever follows: whitespace at the end may turn out to belong to a mark; None for nothing."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
        return self._parts[0] if self._parts else None

    @property
    def text(self) -> str | None:
        """What is said if nothing follows; None for nothing."""
        certain = self.certain
        return certain if self._behind_mark or not self._held else f"{certain or ''}{self._held}"
