"""Strings that remember the pieces they were made of.

llama.cpp keeps a concatenation as its pieces, and `title` and `capitalize` start anew in each: `('ab' ~ 'cd')|title` is
`AbCd`. Only templates that use one of the two need to pay for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

NEEDED_BY = frozenset({"title", "capitalize"})


class Pieces(str):
    """A string made of several."""

    __slots__ = ("pieces",)
    pieces: tuple[str, ...]


def joined(texts: Iterable[str]) -> str:
    """One string of many."""
    pieces = tuple(piece for text in texts for piece in pieces_of(text))
    whole = Pieces("".join(pieces))
    whole.pieces = pieces
    return whole


def pieces_of(text: str) -> tuple[str, ...]:
    """What the string was made of."""
    return text.pieces if isinstance(text, Pieces) else (text,)


def by_piece(change: Callable[[str], str], text: str) -> str:
    """The string with each piece changed on its own."""
    return joined(map(change, text.pieces)) if isinstance(text, Pieces) else change(text)


def cut(text: str, start: int, stop: int) -> str:
    """The part of the string between two places, in what is left of its pieces."""
    if not isinstance(text, Pieces):
        return text[start:stop]
    left = []
    for piece in text.pieces:
        left.append(piece[max(start, 0) : max(stop, 0)])
        start -= len(piece)
        stop -= len(piece)
    return joined(filter(None, left))
