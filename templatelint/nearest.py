"""A mistyped word → the known word it was probably meant for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError, clip

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_LISTABLE = 900  # characters; a longer list of words is no help


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word most like `word`, or None where none is alike."""
    from difflib import get_close_matches  # only a mistake pays for it

    folded = {candidate.lower(): candidate for candidate in known}
    close = get_close_matches(clip(word.lower()), folded, n=1, cutoff=0.55)
    return folded[close[0]] if close else None


def unknown(
    what: str,
    word: str,
    known: Iterable[str],
    *,
    where: str = "",
    habits: Mapping[str, str] | None = None,
) -> TemplatelintError:
    """The error for a word that is none of the `known` ones, with the nearest of them as help.

    Args:
        what: the kind of word (`engine`, `rule`).
        word: as typed.
        known: the words that would have been right.
        where: what the message starts with (`pyproject.toml: `).
        habits: words of other programs, with the known word that does the same here.
    """
    words = tuple(known)
    match = (habits or {}).get(word) or nearest(word, words)
    hints = [f"did you mean {match}?"] if match else []
    listed = ", ".join(words)
    if 0 < len(listed) <= _LISTABLE:
        hints.append(f"known: {listed}")
    return TemplatelintError(f'{where}unknown {what} "{clip(word)}"', help=" ".join(hints) or None)
