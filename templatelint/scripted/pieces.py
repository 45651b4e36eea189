"""Texts → the pieces, each like no other, in which a model says them."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

_SHORTEST, _LONGEST = 3, 64  # bytes
_PATIENCE = 200_000  # pieces that are tried for one text
_LONG, _MARKED = 5, 24  # of pieces of short parts that end with a mark, and of these


class Cutter:
    """Cuts one text after the other; no piece is cut twice."""

    def __init__(self, taken: Iterable[bytes], marks: Iterable[str] = ()) -> None:
        """Start with nothing cut.

        Args:
            taken: what no piece may be.
            marks: where one of them ends a piece best does too: a grammar may be in force from there on, and a piece
                that goes on behind it is no longer the model's choice.
        """
        self._taken = set(taken)
        self._marks = tuple(mark.encode() for mark in marks)

    def cut(self, name: str, text: str, shared: str = "") -> list[bytes]:
        """The pieces of a text, short ones where that can be.

        Where a character has several bytes a cut may go through it.

        Args:
            name: of the script, for errors.
            text: what is cut.
            shared: where the text has this once, it is a piece, which other texts may have too.

        Raises:
            TemplatelintError: the text is so like others that no pieces are its own.
        """
        try:
            raw = text.encode()
        except UnicodeEncodeError as error:
            raise TemplatelintError(f"script {name} holds half of a surrogate pair, which no model can say") from error
        if len(raw) == 1:
            raise TemplatelintError(f"script {name} is one character, which no script can be", help="give it two")
        pieces = (self._around(raw, shared.encode()) if shared else None) or self._apart(raw)
        if pieces is None:
            raise TemplatelintError(f"script {name} repeats itself or others too often to be cut into pieces")
        self._taken.update(pieces)
        return pieces

    def _around(self, raw: bytes, shared: bytes) -> list[bytes] | None:
        """The pieces with the shared one among them; None where that cannot be."""
        before, found, behind = raw.partition(shared)
        if not found or shared in behind or 1 in {len(before), len(behind)}:
            return None
        first = self._apart(before)
        if first is None:
            return None
        second = self._apart(behind, set(first))
        return None if second is None else [*first, shared, *second]

    def _apart(self, raw: bytes, others: AbstractSet[bytes] = frozenset()) -> list[bytes] | None:
        """The pieces, where it can be so that each mark ends one, or at least the first."""
        starts = _starts(len(raw), sorted({at for mark in self._marks for at in _ends_of(mark, raw)}))
        ways = (self._parts(raw, kept, others) for kept in (starts, starts[:2], starts[:1]))
        return next((found for found in ways if found is not None), None)

    def _parts(self, raw: bytes, starts: Sequence[int], others: AbstractSet[bytes]) -> list[bytes] | None:
        """The pieces of a text in parts."""
        found: list[bytes] = []
        for start, end in itertools.pairwise((*starts, len(raw))):
            part, own = raw[start:end], {*others, *found}
            pieces = None
            if len(starts) > 1 and len(part) <= _MARKED:
                # a mark stands in many texts: long pieces of it leave more ways to others
                pieces = self._search(part, own, _LONG)
            pieces = pieces or self._search(part, own, _SHORTEST)
            if pieces is None:
                return None
            found += pieces
        return found

    def _search(self, raw: bytes, others: AbstractSet[bytes], shortest: int) -> list[bytes] | None:
        """Depth first, without recursion: the width that was tried last at each place stands on a stack."""
        if not raw:
            return []
        shortest = min(shortest, len(raw))
        starts, widths = [0], [shortest - 1]
        pieces: list[bytes] = []
        own = set(others)
        for _ in range(_PATIENCE):
            if not starts:
                return None
            widths[-1] += 1
            at, width = starts[-1], widths[-1]
            left = len(raw) - at
            if width > min(_LONGEST, left):
                starts.pop()
                widths.pop()
                if pieces:
                    own.discard(pieces.pop())
                continue
            piece = raw[at : at + width]
            if piece in self._taken or piece in own or 0 < left - width < shortest:
                continue
            pieces.append(piece)
            own.add(piece)
            if width == left:
                return pieces
            starts.append(at + width)
            widths.append(shortest - 1)
        return None


def _ends_of(mark: bytes, raw: bytes) -> Iterator[int]:
    """Where the mark ends in the text, with the newline that mostly belongs to it."""
    at = raw.find(mark)
    while at >= 0:
        at += len(mark)
        yield at + raw.startswith(b"\n", at)
        at = raw.find(mark, at)


def _starts(size: int, ends: Iterable[int]) -> list[int]:
    """Where parts of a text of that size start: it itself, and what stands behind marks, none of them too short."""
    kept = [0]
    for end in ends:
        if min(end - kept[-1], size - end) >= _SHORTEST:
            kept.append(end)
    return kept
