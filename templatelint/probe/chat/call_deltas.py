"""The deltas of streamed calls → where clients that join them by index go wrong; and how finely arguments come."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from templatelint.probe.telling import counted, quoted
from templatelint.sources.endpoint.routes import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.probe.chat.stream import Call, CallDelta, Streamed

_STRING = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
_FEW = 4  # deltas that do not yet show a call being written
_LARGE = 0.25  # of the arguments in one delta: more than a token of what this check asks for
_ALL = 0.9  # the rest being braces
_LISTED = 48  # deltas that a log has room for
_PIECE = 48  # characters of each


# ------------------------------------------------------------------------------------------------- routing


def faults(reply: Streamed) -> Iterator[str]:
    """What makes a client join the deltas wrongly, or not at all; in clauses."""
    for delta in reply.stray:
        yield f"a call's delta in chunk {delta.chunk} has the index {quoted(delta.given.get('index'))}"
    indices = [call.index for call in reply.calls]
    if indices != list(range(len(indices))):
        yield f"calls have the indices {quoted(', '.join(map(str, indices)))}, not those from 0 on"
    for call in reply.calls:
        yield from _call(call)
    for each, number in Counter(call.id for call in reply.calls if call.id).items():
        if number > 1:
            yield f"{number} calls have the id {quoted(each)}"


def oddities(reply: Streamed) -> Iterator[str]:
    """What clients put up with."""
    for call in reply.calls:
        again = sum(bool(delta.type) for delta in call.deltas[1:])
        if again:
            yield f"the type of call {call.index} is given {again + 1} times"


def _call(call: Call) -> Iterator[str]:
    first, *later = call.deltas
    for name, value in (("id", first.id), ("type", first.type), ("function.name", first.name)):
        if not value:
            yield f"the first delta of call {call.index} has no {name}"
    if first.type not in ("", "function"):
        yield f"the type of call {call.index} is {quoted(first.type)}"
    for delta in later:
        if delta.id and first.id:
            yield _second_id(call.index, first, delta)
            break
    for delta in later:
        if delta.name and first.name:
            yield f"call {call.index} is given a name again in chunk {delta.chunk}, which clients append to the first"
            break
    for delta in call.deltas:
        given = table(delta.given.get("function")).get("arguments")
        if given is not None and not isinstance(given, str):
            yield f"arguments of call {call.index} are {quoted(given)} in chunk {delta.chunk}, not a part of a text"
            break


def _second_id(index: int, first: CallDelta, delta: CallDelta) -> str:
    if delta.id != first.id and delta.name:
        return (
            f"another call begins in chunk {delta.chunk} with the index {index}, which the call {quoted(first.id)} has"
        )
    said = "again" if delta.id == first.id else f"after {quoted(first.id)}"
    return f"call {index} is given the id {quoted(delta.id)} {said} in chunk {delta.chunk}"


# --------------------------------------------------------------------------------------------- granularity

Grade = Literal["token-wise", "coarse", "per value", "all at once"]


@dataclass(frozen=True, slots=True)
class Granularity:
    """How finely the arguments of a call come.

    Attributes:
        deltas: how many hold a part of them.
        largest: characters of the largest.
        characters: of all.
        longest: characters of the longest text among the values.
        first: seconds after which the first one came.
        last: seconds after which the last one came.
    """

    grade: Grade
    deltas: int
    largest: int
    characters: int
    longest: int
    first: float
    last: float


def granularity(call: Call) -> Granularity | None:
    """The grade of a call's deltas; None where it has no arguments."""
    pieces = call.pieces
    if not pieces:
        return None
    sizes = [len(piece.arguments) for piece in pieces]
    start, end = _longest(call.arguments)
    share = max(sizes) / sum(sizes)
    grade: Grade = "coarse"
    if len(pieces) == 1 or share >= _ALL:
        grade = "all at once"
    elif _in_one(sizes, start, end):
        grade = "per value"
    elif len(pieces) > _FEW and share < _LARGE:
        grade = "token-wise"
    return Granularity(grade, len(pieces), max(sizes), sum(sizes), end - start, pieces[0].at, pieces[-1].at)


def log(pieces: Sequence[CallDelta]) -> tuple[str, ...]:
    """A line for each delta: its chunk, when it came, and its part of the arguments."""
    lines = [
        f"chunk {piece.chunk:>4} {piece.at:9.3f} s {len(piece.arguments):>5}  {quoted(piece.arguments, _PIECE)}"
        for piece in pieces[:_LISTED]
    ]
    more = len(pieces) - len(lines)
    return (*lines, f"and {counted(more, 'more delta')}") if more else tuple(lines)


def _longest(arguments: str) -> tuple[int, int]:
    """Where the longest JSON string stands in a text, without its quotes."""
    spans = [(found.start() + 1, max(found.start() + 1, found.end() - 1)) for found in _STRING.finditer(arguments)]
    return max(spans, key=lambda span: span[1] - span[0], default=(0, 0))


def _in_one(sizes: Sequence[int], start: int, end: int) -> bool:
    at = 0
    for size in sizes:
        if at <= start and end <= at + size:
            return end > start
        at += size
    return False
