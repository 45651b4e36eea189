"""A mistyped word → the known word it was probably meant for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError, clip

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ALIKE = 0.5  # of difflib's ratio: below it, no slips lead from word to word
_LOOKED_AT = 50  # words; the first of many that are as near is the one that is meant
_A_SLIP_IN = 3  # characters; one slip is forgiven in any word
_BEGUN = 3  # characters of a word that is meant by its beginning
_PART = 0.5  # slips: the whole word is meant rather than the beginning of another
_MARKS = "-._/:#@ "
_LISTABLE = 900  # characters; a longer list of words is no help


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` was probably meant for: a slip or two away, or begun with it; None where none is."""
    from difflib import get_close_matches  # only a mistake pays for it

    folded = {candidate.lower(): candidate for candidate in known}
    typed = clip(word.lower())
    order = {candidate: at for at, candidate in enumerate(folded)}
    rated = [
        (slips, order[candidate], candidate)
        for candidate in get_close_matches(typed, folded, n=_LOOKED_AT, cutoff=_ALIKE)
        if (slips := _slips(typed.strip(_MARKS), candidate.strip(_MARKS))) is not None
    ]
    return folded[min(rated)[2]] if rated else None


def _slips(typed: str, known: str) -> float | None:
    """How many slips lead from one word to the other, or to its beginning; None where more than anybody makes."""
    allowed = max(1, len(typed) // _A_SLIP_IN)
    starts = [at for at, character in enumerate(known) if not character.isalnum() and at]
    whole = _distance(typed, known)
    begun = min((_distance(typed, known[:at]) for at in starts), default=whole)
    if known.startswith(typed) and len(typed) >= _BEGUN:
        begun = 0
    found = min(whole, begun + _PART)
    return found if found < allowed + 1 else None


def _distance(one: str, other: str) -> int:
    """Characters added, left out, exchanged, or swapped with their neighbour (optimal string alignment)."""
    before: list[int] = []
    row: list[int] = [*range(len(other) + 1)]
    for at, character in enumerate(one, 1):
        last, before, row = before, row, [at]
        for there, wanted in enumerate(other, 1):
            cost = min(before[there] + 1, row[there - 1] + 1, before[there - 1] + (character != wanted))
            swapped = at > 1 and there > 1 and character == other[there - 2] and one[at - 2] == wanted
            row.append(min(cost, last[there - 2] + 1) if swapped else cost)
    return row[-1]


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
