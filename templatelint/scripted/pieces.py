"""Texts → the pieces, each like no other, in which a model says them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

_SHORTEST, _LONGEST = 3, 64  # bytes
_PATIENCE = 200_000  # pieces that are tried for one text


class Cutter:
    """Cuts one text after the other; no piece is cut twice."""

    def __init__(self, taken: Iterable[bytes]) -> None:
        self._taken = set(taken)

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
        pieces = (self._around(raw, shared.encode()) if shared else None) or (self._search(raw) if raw else [])
        if pieces is None:
            raise TemplatelintError(f"script {name} repeats itself or others too often to be cut into pieces")
        self._taken.update(pieces)
        return pieces

    def _around(self, raw: bytes, shared: bytes) -> list[bytes] | None:
        """The pieces with the shared one among them; None where that cannot be."""
        before, found, behind = raw.partition(shared)
        if not found or shared in behind or 1 in {len(before), len(behind)}:
            return None
        first = self._search(before) if before else []
        if first is None:
            return None
        second = self._search(behind, set(first)) if behind else []
        return None if second is None else [*first, shared, *second]

    def _search(self, raw: bytes, others: AbstractSet[bytes] = frozenset()) -> list[bytes] | None:
        """Depth first, without recursion: the width that was tried last at each place stands on a stack."""
        shortest = min(_SHORTEST, len(raw))
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
