"""Texts cut into markers (`<...>`, `[...]`) and what stands between, and what two texts differ in; all in bytes."""

from __future__ import annotations

import re
from typing import AnyStr, NamedTuple

BLANKS = b" \t\n\v\f\r"

MARKER = rb"(?:<[^>]*+>|\[[^\]]*+\])"
BLANK = rb"[ \t\n\v\f\r]*+"
SPACED_MARKER = MARKER + BLANK

_MARKER = re.compile(MARKER)
_OPENER = re.compile(rb"[<\[]")
_CLOSERS = {b"<": b">", b"[": b"]"}


class Segment(NamedTuple):
    """A marker, or text between markers."""

    text: bytes
    marker: bool


class Difference(NamedTuple):
    """Two texts as what they share and what each has of its own in between."""

    prefix: bytes
    suffix: bytes
    left: bytes
    right: bytes


def segments(text: bytes) -> list[Segment]:
    """The text in pieces; a marker that is never closed is text to the end."""
    found = []
    border = 0
    while (opener := _OPENER.search(text, border)) is not None:
        if opener.start() > border:
            found.append(Segment(text[border : opener.start()], marker=False))
        border = opener.start()
        closer = text.find(_CLOSERS[opener[0]], border + 1)
        if closer < 0:
            break
        found.append(Segment(text[border : closer + 1], marker=True))
        border = closer + 1
    if border < len(text):
        found.append(Segment(text[border:], marker=False))
    return found


def first_marker(text: bytes) -> bytes:
    """The first marker; empty where there is none."""
    found = _MARKER.search(text)
    return found[0] if found else b""


def before_marker(text: bytes) -> bytes:
    """What stands before the first marker."""
    found = _MARKER.search(text)
    return text[: found.start()] if found else text


def last_marker(text: bytes) -> tuple[bytes, bytes]:
    """The marker behind which no other begins, and the text from it to the end; empty where there is none."""
    for opener in _OPENER.finditer(text):
        found = _MARKER.match(text, opener.start())
        if found is not None and _MARKER.search(text, found.end()) is None:
            return found[0], text[found.start() :]
    return b"", b""


def shared_head(left: AnyStr, right: AnyStr) -> int:
    """How many bytes, or characters, two texts start with in common."""
    same, different = 0, min(len(left), len(right)) + 1
    while different - same > 1:  # halving: comparing slices is far cheaper than a loop over bytes
        middle = (same + different) // 2
        if left[same:middle] == right[same:middle]:
            same = middle
        else:
            different = middle
    return same


def difference(left: bytes, right: bytes) -> Difference:
    """What two texts share at either end, cut at markers as long as these agree, then byte by byte.

    Markers are matched from both ends in turns, so that a segment both texts end with may be taken for the end
    even where it repeats the beginning; the quirks of llama.cpp's own comparison are kept.
    """
    if not left or not right:
        return Difference(b"", b"", left, right)
    compared = _Comparison(segments(left), segments(right))
    compared.match_ends()
    compared.match_last_segment()
    prefix, suffix, own_left, own_right = compared.rests()
    if not own_left and not own_right:
        return Difference(left, b"", b"", b"")
    if not own_left and right.startswith(left):
        return Difference(left, b"", b"", right[len(left) :])
    return Difference(prefix, suffix, own_left, own_right)


class _Comparison:
    """Two lists of segments with a cursor at either end of each; the last segment of a side may be used up."""

    def __init__(self, left: list[Segment], right: list[Segment]) -> None:
        self._left, self._right = left, right
        self._head_left = self._head_right = 0
        self._tail_left, self._tail_right = len(left) - 1, len(right) - 1
        self._used_left = self._used_right = False
        self._prefix: list[bytes] = []
        self._suffix: list[bytes] = []

    def match_ends(self) -> None:
        """Take equal segments off both ends while either side has more than one left."""
        left, right = self._left, self._right
        moved = True
        while moved and self._head_left != self._tail_left and self._head_right != self._tail_right:
            moved = False
            if left[self._head_left] == right[self._head_right]:
                self._prefix.append(left[self._head_left].text)
                self._head_left += 1
                self._head_right += 1
                moved = True
            if left[self._tail_left] == right[self._tail_right]:
                self._suffix.append(left[self._tail_left].text)
                if self._head_left != self._tail_left:
                    self._tail_left -= 1
                else:
                    self._used_left = True
                if self._head_right != self._tail_right:
                    self._tail_right -= 1
                else:
                    self._used_right = True
                moved = True

    def match_last_segment(self) -> None:
        """Where one side is down to one segment, match it with either end of the other."""
        first_left, first_right = self._left[self._head_left], self._right[self._head_right]
        last_left, last_right = self._left[self._tail_left], self._right[self._tail_right]
        single_left, single_right = self._head_left == self._tail_left, self._head_right == self._tail_right
        if single_left and not single_right:
            if first_left == last_right:
                self._suffix.append(last_right.text)
                self._tail_right -= 1
                self._used_left = True
            elif first_left == first_right:
                self._prefix.append(first_right.text)
                self._head_right += 1
                self._used_left = True
        elif single_right and not single_left:
            if last_left == first_right:
                self._suffix.append(last_left.text)
                self._tail_left -= 1
                self._used_right = True
            elif first_left == first_right:
                self._prefix.append(first_left.text)
                self._head_left += 1
                self._used_right = True
        elif single_left and single_right and first_left == first_right and first_left.marker:
            self._prefix.append(first_right.text)
            self._used_left = self._used_right = True

    def rests(self) -> Difference:
        """What is left in the middle, less what the texts there share at their ends."""
        heads = (self._left[self._head_left], self._right[self._head_right])
        tails = (self._left[self._tail_left], self._right[self._tail_right])
        left = _joined(self._left[self._head_left : self._tail_left + (not self._used_left)])
        right = _joined(self._right[self._head_right : self._tail_right + (not self._used_right)])
        tail = 0
        if not any(segment.marker for segment in tails):
            tail = shared_head(left[::-1], right[::-1])
        left, suffix = left[: len(left) - tail], left[len(left) - tail :]
        right = right[: len(right) - tail]
        head = 0
        if not any(segment.marker for segment in heads):
            head = shared_head(left, right)
        return Difference(
            b"".join(self._prefix) + left[:head],
            suffix + b"".join(reversed(self._suffix)),
            left[head:],
            right[head:],
        )


def _joined(pieces: list[Segment]) -> bytes:
    return b"".join(piece.text for piece in pieces)
