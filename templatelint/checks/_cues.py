"""What tells a model that it is its turn, as far as nothing is thought in it."""

from __future__ import annotations

from templatelint.reading import THOUGHT

_MARKS = tuple(mark for pair in THOUGHT for mark in pair)


def spoken(text: str) -> str:
    """The text up to where a thought begins or ends."""
    return text[: min((at for mark in _MARKS if (at := text.find(mark)) >= 0), default=len(text))]
