"""Bytes and a place in them → the steps that the grammars of llama.cpp take, lenient where the text ends."""

from __future__ import annotations

import re
from bisect import bisect_left
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.engines.llamacpp.markers import BLANK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Contradiction(Exception):
    """A byte stands where the grammar has no place for it."""


class TextEnded(Exception):
    """The text ends inside what the grammar is looking for."""


class Piece(NamedTuple):
    """A captured part of the text: what it is, and where it stands."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Values:
    """A notation of nested values.

    Attributes:
        quotes: what strings may stand in.
        words: the values that are words.
        loose: blanks may follow a closed list or dictionary, and none stand before the comma of a list.
    """

    quotes: bytes
    words: tuple[bytes, ...]
    loose: bool


JSON = Values(b'"', (b"true", b"false", b"null"), loose=False)
PYTHON = Values(b"\"'", (b"True", b"False", b"None"), loose=True)
PYTHON_OR_JSON = Values(b"\"'", PYTHON.words + JSON.words, loose=True)

_BLANKS = re.compile(BLANK)
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![0-9.eE+-])")
_OPEN_NUMBER = re.compile(rb"-?(?:(?:0|[1-9][0-9]*+)(?:\.[0-9]*+(?:(?<=[0-9])[eE][+-]?[0-9]*+)?|[eE][+-]?[0-9]*+)?)?\Z")
_STRING_INSIDE = {
    quote: re.compile(rb"(?:[^%(q)s\\]++|\\(?:[%(q)s\\/bfnrt]|u[0-9a-fA-F]{4}))*+" % {b"q": quote}, re.DOTALL)
    for quote in (b'"', b"'")
}
_OPEN_ESCAPE = re.compile(rb"\\(?:u[0-9a-fA-F]{0,3})?\Z")


class Cursor:
    """A place in a text; every step either moves it or raises.

    Attributes:
        text: what is read.
        at: the offset reached.
        pieces: what was captured, each before what was captured inside it.
    """

    def __init__(self, text: bytes) -> None:
        self.text = text
        self.at = 0
        self.pieces: list[Piece] = []
        self._faults = undecodable(text)

    # ------------------------------------------------------------------------------------------ captures

    @contextmanager
    def capture(self, kind: str) -> Iterator[None]:
        """Keep what is read inside, also where the text ends there."""
        start, slot = self.at, len(self.pieces)
        self.pieces.append(Piece(kind, start, start))
        try:
            yield
        except TextEnded:
            self.pieces[slot] = Piece(kind, start, self.at)
            raise
        self.pieces[slot] = Piece(kind, start, self.at)

    @contextmanager
    def whole(self) -> Iterator[None]:
        """Forget what was captured inside where the text ends there."""
        kept = len(self.pieces)
        try:
            yield
        except TextEnded:
            del self.pieces[kept:]
            raise

    def mark(self, kind: str) -> None:
        """Capture nothing, as a sign that this place was reached."""
        self.pieces.append(Piece(kind, self.at, self.at))

    def captured(self, piece: Piece) -> bytes:
        """The bytes of a piece."""
        return self.text[piece.start : piece.end]

    def shown(self, piece: Piece) -> str:
        """A piece as text: one replacement character for each run of bytes that is no UTF-8."""
        parts, start = [], piece.start
        first, last = (bisect_left(self._faults, (at, 0, False)) for at in (piece.start, piece.end))
        for fault in self._faults[first:last]:
            parts.append(self.text[start : fault.start].decode("utf-8", "replace"))
            parts.append("\ufffd")
            start = fault.end
        parts.append(self.text[start : piece.end].decode("utf-8", "replace"))
        return "".join(parts)

    # ----------------------------------------------------------------------------------- ways to go on

    def first_of(self, *choices: Callable[[], object]) -> None:
        """Take the first choice that nothing contradicts."""
        at, kept = self.at, len(self.pieces)
        for choice in choices:
            try:
                choice()
            except Contradiction:
                self.at = at
                del self.pieces[kept:]
            else:
                return
        raise Contradiction

    def optional(self, step: Callable[..., object], *args: Any) -> None:
        """Take a step where it can be taken and leads on."""
        self.repeat(step, *args, most=1)

    def repeat(self, step: Callable[..., object], *args: Any, least: int = 0, most: int | None = None) -> None:
        """Take a step as often as it can be taken and leads on; at the end of the text it is not tried."""
        count = 0
        while (most is None or count < most) and self.at < len(self.text):
            at, kept = self.at, len(self.pieces)
            try:
                step(*args)
            except Contradiction:
                self.at = at
                del self.pieces[kept:]
                break
            if self.at == at:
                del self.pieces[kept:]
                break
            count += 1
        if count < least:
            if self.at >= len(self.text):
                raise TextEnded
            raise Contradiction

    def followed_by(self, step: Callable[..., object], *args: Any) -> None:
        """Require that a step could be taken, without taking it."""
        at, kept = self.at, len(self.pieces)
        try:
            step(*args)
        finally:
            self.at = at
            del self.pieces[kept:]

    def not_followed_by(self, step: Callable[..., object], *args: Any) -> None:
        """Require that a step could not be taken."""
        try:
            self.followed_by(step, *args)
        except Contradiction:
            return
        raise Contradiction

    # ---------------------------------------------------------------------------------------------- steps

    def end(self) -> None:
        """Require that nothing is left."""
        if self.at < len(self.text):
            raise Contradiction

    def blanks(self) -> None:
        """Skip white space, if any."""
        self.at = _matched(_BLANKS, self.text, self.at)

    def literal(self, wanted: bytes) -> None:
        """Read exactly these bytes, or as many of them as there are."""
        if self.text.startswith(wanted, self.at):
            self.at += len(wanted)
            return
        self._end_inside(wanted)
        raise Contradiction

    def _end_inside(self, wanted: bytes) -> None:
        rest = len(self.text) - self.at
        if rest < len(wanted) and wanted.startswith(self.text[self.at :]):
            self.at = len(self.text)
            raise TextEnded

    def any_character(self) -> None:
        """Read one character."""
        if self.at >= len(self.text):
            raise TextEnded
        fault = self._fault_from(self.at)
        if fault is not None and fault.start == self.at:
            raise TextEnded if fault.open else Contradiction
        self.at += _length(self.text[self.at])

    def characters(self, among: bytes, *, least: int = 1, most: int | None = None, others: bool = False) -> None:
        """Read characters among those ASCII characters, or characters other than those."""
        count = 0
        start = self.at
        while most is None or count < most:
            if self.at >= len(self.text):
                break
            fault = self._fault_from(self.at)
            if fault is not None and fault.start == self.at:
                if count >= least:
                    return
                if fault.open:
                    raise TextEnded
                self.at = start
                raise Contradiction
            if (self.text[self.at] in among) == others:
                break
            self.at += _length(self.text[self.at])
            count += 1
        if count < least:
            raise TextEnded if self.at >= len(self.text) else Contradiction

    def until(self, *delimiters: bytes) -> None:
        """Read up to the first delimiter, or up to the part of one that the text ends with.

        Bytes that are no UTF-8 are read over, except a character that the end of the text cuts.
        """
        wanted = _wanted(delimiters)
        while True:
            fault = self._fault_from(self.at)
            limit = len(self.text) if fault is None else fault.start
            found = self._delimiter(wanted, limit)
            if found is not None:
                self.at = found
                return
            self.at = limit
            if fault is None or fault.open:
                raise TextEnded
            self.at = fault.end

    def rest(self) -> None:
        """Read all that is left."""
        self.until()

    def _delimiter(self, wanted: _Delimiters, limit: int) -> int | None:
        """Where the first delimiter starts, or the part of one that stands at the limit."""
        complete = wanted.pattern.search(self.text, self.at, limit) if wanted.pattern else None
        found = [complete.start()] if complete else []
        for delimiter in wanted.texts:
            for size in range(min(len(delimiter) - 1, limit - self.at), 0, -1):
                if self.text.startswith(delimiter[:size], limit - size):
                    found.append(limit - size)
                    break
        return min(found, default=None)

    # --------------------------------------------------------------------------------------------- values

    def value(self, notation: Values = JSON) -> None:
        """Read one value, however deep."""
        open_: list[int] = []  # the brackets that are open
        while True:
            if self._open_or_leaf(notation, open_):
                continue
            if not self._go_on(notation, open_):
                return

    def _open_or_leaf(self, notation: Values, open_: list[int]) -> bool:
        """Read the start of a value; whether another value follows inside it."""
        first = self.text[self.at : self.at + 1]
        if first and first in b"{[":
            self.at += 1
            self.blanks()
            closer = b"}" if first == b"{" else b"]"
            if self._lead(closer):
                self.at += 1
                if notation.loose:
                    self.blanks()
                return False
            open_.append(closer[0])
            if first == b"{":
                self._key(notation)
            return True
        if self.at == self._limit():
            raise TextEnded
        if first in notation.quotes:
            self.string(notation.quotes)
        elif first in b"-0123456789":
            self.number()
        else:
            self.first_of(*(partial(self.literal, word) for word in notation.words))
        return False

    def _go_on(self, notation: Values, open_: list[int]) -> bool:
        """Close what is complete behind a value; whether another value follows."""
        while open_:
            in_list = open_[-1] == b"]"[0]
            before = self.at
            self.blanks()
            if self._lead(b","):
                if notation.loose and in_list and self.at > before:
                    raise Contradiction
                self.at += 1
                self.blanks()
                if not in_list:
                    self._key(notation)
                return True
            self.literal(bytes(open_[-1:]))
            open_.pop()
            if notation.loose:
                self.blanks()
        return False

    def _key(self, notation: Values) -> None:
        self.string(notation.quotes)
        self.blanks()
        self.literal(b":")
        self.blanks()

    def _lead(self, wanted: bytes) -> bool:
        """Whether the next byte is that one."""
        if self.at >= len(self.text):
            raise TextEnded
        return self.text.startswith(wanted, self.at)

    def string(self, quotes: bytes = b'"') -> None:
        """Read a string with its quotes."""
        quote = self.text[self.at : self.at + 1]
        if not quote:
            raise TextEnded
        if quote not in quotes:
            raise Contradiction
        self.at += 1
        self.string_inside(quote)
        self.literal(quote)

    def string_inside(self, quote: bytes = b'"') -> None:
        """Read up to the quote that ends a string; an escape that the end of the text cuts is left out."""
        end = _matched(_STRING_INSIDE[quote], self.text, self.at)
        fault = self._fault_from(self.at)
        if fault is not None and fault.start < end:
            if not fault.open:
                raise Contradiction
            self.at = fault.start
            raise TextEnded
        if self.text.startswith(quote, end):
            self.at = end
            return
        if end == len(self.text) or _OPEN_ESCAPE.match(self.text, end):
            self.at = end
            raise TextEnded
        raise Contradiction

    def number(self) -> None:
        """Read a number; where the text ends behind it, it might go on."""
        limit = self._limit()
        found = _NUMBER.match(self.text, self.at, limit) or _OPEN_NUMBER.match(self.text, self.at, limit)
        if not found:
            raise Contradiction
        self.at = found.end()
        if self.at == limit:
            raise TextEnded

    # ----------------------------------------------------------------------------------------------- UTF-8

    def _limit(self) -> int:
        """Where the text ends, or the character that its end cuts."""
        return self._faults[-1].start if self._faults and self._faults[-1].open else len(self.text)

    def _fault_from(self, at: int) -> Fault | None:
        """The first run of bytes that cannot be decoded, for a decoder that starts here."""
        if at < len(self.text) and _inner(self.text[at]):
            return Fault(at, at + 1, open=False)  # the start lies inside a character
        index = bisect_left(self._faults, (at, 0, False))
        return self._faults[index] if index < len(self._faults) else None


class Fault(NamedTuple):
    """Bytes that are no UTF-8; open where they are the start of a character that the text's end cuts."""

    start: int
    end: int
    open: bool


_HIGH = re.compile(rb"[\x80-\xff]")
_LENGTHS = ((0x80, 1), (0xC0, 0), (0xE0, 2), (0xF0, 3), (0xF8, 4), (0x100, 0))


def _length(first: int) -> int:
    """How many bytes a character has that starts with that one; 0 where none does."""
    return next(length for limit, length in _LENGTHS if first < limit)


def _inner(byte: int) -> bool:
    """Whether a byte stands inside a character."""
    return byte & 0x80 != 0 and byte & 0x40 == 0


def undecodable(text: bytes) -> list[Fault]:
    """The runs of bytes that llama.cpp cannot decode: it takes surrogates and overlong forms."""
    try:
        text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        pass
    else:
        return []
    faults = []
    at = 0
    while (high := _HIGH.search(text, at)) is not None:
        start = high.start()
        length = _length(text[start])
        at = start + 1
        while at < start + length and text[at : at + 1] and _inner(text[at]):
            at += 1
        if at - start < length or not length:
            faults.append(Fault(start, at, open=bool(length) and at == len(text)))
    return faults


@dataclass(frozen=True, slots=True)
class _Delimiters:
    texts: tuple[bytes, ...]
    pattern: re.Pattern[bytes] | None


@cache
def _wanted(delimiters: tuple[bytes, ...]) -> _Delimiters:
    """The delimiters, each up to the first byte that is no UTF-8; empty ones are never found."""
    texts = tuple(text for text in map(_decodable, delimiters) if text)
    return _Delimiters(texts, re.compile(b"|".join(map(re.escape, texts))) if texts else None)


def _decodable(text: bytes) -> bytes:
    faults = undecodable(text)
    return text[: faults[0].start] if faults else text


def _matched(pattern: re.Pattern[bytes], text: bytes, at: int) -> int:
    """Where a pattern that matches anywhere ends."""
    found = pattern.match(text, at)
    return found.end() if found else at
