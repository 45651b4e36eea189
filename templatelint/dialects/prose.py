"""Text of a reply, piece by piece → what is said, without the whitespace that belongs to marks."""

from __future__ import annotations


class Prose:
    """Text between marks: whitespace beside a mark belongs to it, except where text follows behind a call."""

    def __init__(self) -> None:
        self._text = ""
        self._held = ""  # whitespace that may turn out to stand before a mark
        self._before_mark = ""  # what of it stood before the last one
        self._behind_mark = True
        self._verbatim = False

    def add(self, text: str) -> None:
        """More text."""
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
        if not self._text:
            self._held = ""
        self._before_mark = self._held
        self._behind_mark = True
        self._verbatim = verbatim and bool(self._text)

    def paragraph(self) -> None:
        """Another message begins here: on a line of its own."""
        self.mark()
        self._held = self._before_mark = "\n" if self._text else ""

    def _grow(self, text: str) -> None:
        # A string that only one name holds grows in place; one that an attribute holds is copied each time.
        whole, self._text = self._text, ""
        whole += text
        self._text = whole

    @property
    def text(self) -> str | None:
        """What is said; None for nothing."""
        return (self._text if self._behind_mark or not self._held else self._text + self._held) or None
