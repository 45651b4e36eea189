"""Two texts → the first place where they differ, as people can see it."""

from __future__ import annotations

import re
from typing import NamedTuple

_BEFORE, _BEHIND = 24, 56  # characters around the place that are shown
_LINES = 4  # of either text that are shown
_WIDTH = 160  # characters of a line
_LINE_END = re.compile(r"\r\n|\r|\n")


class Difference(NamedTuple):
    """Where two texts part.

    Attributes:
        line: counted from 1.
        here: what the first has from a little before that place on, quoted.
        there: what the second has.
    """

    line: int
    here: str
    there: str

    def __str__(self) -> str:
        """`line 3: '…b' in place of '…a'`."""
        return f"line {self.line}: {self.there} in place of {self.here}"


def difference(here: str, there: str) -> Difference | None:
    """The first place where two texts differ; None where they are one."""
    if here == there:
        return None
    at = _shared(here, there)
    line = len(_LINE_END.findall(here, 0, at)) + 1
    own = _line_start(here, at)
    start = max(own, at - _BEFORE)
    more = "…" if start > own else ""
    return Difference(line, *(_quoted(text, start, at, more) for text in (here, there)))


def lines_that_differ(here: str, there: str) -> tuple[int, tuple[str, ...]]:
    """How many lines stand between what two texts have in common at their ends, and the first of these of each."""
    ours, theirs = _LINE_END.split(here), _LINE_END.split(there)
    head = 0
    while head < min(len(ours), len(theirs)) and ours[head] == theirs[head]:
        head += 1
    tail = 0
    while tail < min(len(ours), len(theirs)) - head and ours[-1 - tail] == theirs[-1 - tail]:
        tail += 1
    only_ours, only_theirs = ours[head : len(ours) - tail], theirs[head : len(theirs) - tail]
    shown = [f"from line {head + 1} on:"]
    for sign, lines in (("-", only_ours), ("+", only_theirs)):
        shown += [f"{sign} {_clipped(line)}" for line in lines[:_LINES]]
        if len(lines) > _LINES:
            shown.append(f"{sign} … {len(lines) - _LINES} more")
    return max(len(only_ours), len(only_theirs)), tuple(shown)


def _shared(here: str, there: str) -> int:
    """How many characters two texts that differ have in common at their start."""
    low, high = 0, min(len(here), len(there))
    while low < high:  # halves, compared as a whole, are faster than characters
        middle = (low + high + 1) // 2
        if here[low:middle] == there[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _line_start(text: str, at: int) -> int:
    return max(text.rfind("\n", 0, at), text.rfind("\r", 0, at)) + 1


def _quoted(text: str, start: int, at: int, before: str) -> str:
    part = text[start : at + _BEHIND]
    if not part:
        return "the end"
    return f"{before}{part!r}{'…' if at + _BEHIND < len(text) else ''}"


def _clipped(line: str) -> str:
    """A line as it can be printed: what a terminal would act on, and halves of characters, are escaped."""
    plain = "".join(each if each.isprintable() else repr(each)[1:-1] for each in line[:_WIDTH])
    return f"{plain}…" if len(line) > _WIDTH else plain
