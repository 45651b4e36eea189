"""A reply that arrives in pieces → the same reading however it was cut: primitives that wait for more text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Generator, Mapping
from functools import cached_property, lru_cache
from typing import Any, Literal, TypeAlias, TypeVar

T = TypeVar("T")
# A reading in progress: it yields where it needs more text than has arrived, and returns what it read.
Step: TypeAlias = Generator[None, None, T]
Sink: TypeAlias = Callable[[str], None]

MOST_DIGITS = 4000  # of an integer; Python converts 4300
DEEPEST = 100  # nested brackets; what models write has a handful
_GLIMPSE = 24  # characters of the text that a message repeats
_KEPT = 65_536  # characters that are read and still held, before they are let go of
_FEW = 8  # texts that are compared one by one
_SCALAR = re.compile(r"[-+.\w]+")


class Malformed(Exception):
    """What stands here is no call of the dialect; says what was expected."""


class Refused(Malformed):
    """What stands here is a call by all appearances, and is none all the same: worth a word.

    Attributes:
        kind: of the problem.
        said: what the problem says, which may be more than why it is none.
    """

    def __init__(self, why: str, said: str = "", kind: Literal["malformed", "doubtful"] = "malformed") -> None:
        super().__init__(why)
        self.kind = kind
        self.said = said or why


class Cut(Exception):
    """The reply ends inside a call; says what was still to come."""


class Stream:
    """The text of a reply as far as it has arrived, and a position up to which it is read.

    No method tells anything that further text could change: each waits (yields) until the answer is certain. So
    a reading built on them is the same however the text was cut.
    """

    def __init__(self) -> None:
        self._text = ""
        self._dropped = 0
        self.at = 0
        self.ended = False

    def add(self, piece: str) -> None:
        """More of the reply."""
        # A string that only one name holds grows in place; one that an attribute holds is copied each time.
        text, self._text = self._text, ""
        text += piece
        self._text = text

    @property
    def offset(self) -> int:
        """The position in the whole reply, in characters."""
        return self._dropped + self.at

    def since(self, start: int) -> str:
        """What was read from a position to this one."""
        return self._text[start : self.at]

    def between(self, start: int, end: int) -> str:
        """The text between two positions."""
        return self._text[start:end]

    def forget(self) -> None:
        """Let go of what is read: positions kept from before mean nothing any more."""
        if self.at < _KEPT:
            return
        self._text = self._text[self.at :]
        self._dropped += self.at
        self.at = 0

    def rest(self) -> str:
        """What has arrived and is not read."""
        return self._text[self.at :]

    # ---------------------------------------------------------------------------------------- looking ahead

    def peek(self) -> Step[str]:
        """The next character; empty at the end."""
        while self.at == len(self._text):
            if self.ended:
                return ""
            yield
        return self._text[self.at]

    def starts(self, *literals: str) -> Step[str | None]:
        """The longest of these texts that stands here, or None."""
        if len(literals) > _FEW:
            literals = _beginning_with((yield from self.peek()), literals)
        for literal in _longest_first(literals):
            while not self.ended and len(self._text) - self.at < len(literal):
                if not literal.startswith(self._text[self.at :]):
                    break
                yield
            if self._text.startswith(literal, self.at):
                return literal
        return None

    # ---------------------------------------------------------------------------------------------- reading

    def accept(self, *literals: str) -> Step[str | None]:
        """Read one of these texts, the longest that fits; None where none stands here."""
        found = yield from self.starts(*literals)
        if found is not None:
            self.at += len(found)
        return found

    def expect(self, *literals: str) -> Step[str]:
        """Read one of these texts.

        Raises:
            Cut: the reply ends before or inside it.
            Malformed: something else stands here.
        """
        found = yield from self.accept(*literals)
        if found is not None:
            return found
        rest = self._text[self.at : self.at + max(map(len, literals))]
        if self.ended and any(literal.startswith(rest) for literal in literals):
            raise Cut(literals[0])
        common = max(_in_common(literal, rest) for literal in literals)
        raise Malformed(f"{literals[0]!r} expected, {rest[: common + 1]!r} found")

    def glimpse(self) -> str:
        """The next character, as a message shows it: how many more have arrived is to make no difference."""
        return repr(self._text[self.at]) if self.at < len(self._text) else "the end"

    def blanks(self) -> Step[str]:
        """Read whitespace, if there is any."""
        return (yield from self.run(_blanks))

    def run(self, extent: Callable[[str, int], int]) -> Step[str]:
        """Read the characters that belong together.

        Args:
            extent: (text, position) → the position behind the last of them.
        """
        end = self.at
        while True:
            end = extent(self._text, end)
            if end < len(self._text) or self.ended:
                break
            yield
        text, self.at = self._text[self.at : end], end
        return text

    def search(self, marks: tuple[str, ...], sink: Sink) -> Step[str | None]:
        """Pass on the text before the first of these marks as it arrives; None where none comes.

        The position is then that of the mark, which is still to be read.
        """
        known = _Marks.of(marks)
        while True:
            found = known.pattern.search(self._text, self.at)
            end = found.start() if found else len(self._text)
            if not self.ended:
                # A mark that begins earlier and has not all arrived may turn out to stand here, or a longer one.
                begun = len(self._text) - known.pending(self._text, self.at)
                if found is None or begun < end or known.may_grow(found[0], self._text, end):
                    found, end = None, min(begun, end)
            if end > self.at:
                sink(self._text[self.at : end])
                self.at = end
            if found is not None:
                return found[0]
            if self.ended:
                return None
            yield

    def until(self, *marks: str) -> Step[tuple[str, str]]:
        """Read up to and with the first of these marks: (the text before it, the mark).

        Raises:
            Cut: none comes.
        """
        start = self.at
        kept: list[str] = []
        mark = yield from self.search(marks, kept.append)
        if mark is None:
            self.at = start
            raise Cut(marks[0])
        self.at += len(mark)
        return "".join(kept), mark

    def json_text(self) -> Step[str]:
        """Read the extent of one JSON value; whether it is valid inside shows when it is parsed.

        Raises:
            Cut: the reply ends inside it.
            Malformed: none starts here, or its brackets do not match.
        """
        return (yield from self.value_text(JSON))

    def value_text(self, nesting: Nesting) -> Step[str]:
        """Read the extent of one value: quoted, in brackets, or else a number or a word.

        Raises:
            Cut: the reply ends inside it.
            Malformed: none starts here, or its brackets do not match.
        """
        beginning = yield from self.starts(*nesting.beginnings)
        if beginning is not None:
            return (yield from self._nested(nesting, beginning))
        if not (yield from self.peek()):
            raise Cut("a value")
        text = yield from self.run(_scalar)
        if not text:
            raise Malformed(f"a value expected, {self.glimpse()} found")
        return text

    def _nested(self, nesting: Nesting, beginning: str) -> Step[str]:
        start, position = self.at, self.at + len(beginning)
        closing = [nesting.closers[beginning]] if beginning in nesting.closers else []
        quote = "" if closing else beginning
        while True:
            marks, run = nesting.inside[quote] if quote else nesting.outside
            position = _end(run, self._text, position)
            mark = marks.decided(self._text, position, ended=self.ended)
            if mark is None or (quote and not mark):
                if self.ended:
                    raise Cut(quote or closing[-1])
                yield
                continue
            if not mark:
                raise Malformed(f"{self._text[position]!r} outside of a text")
            position += len(mark)
            if mark in nesting.inside:
                quote = "" if quote else mark
            elif mark in nesting.closers:
                if len(closing) == DEEPEST:
                    raise Malformed(f"nested deeper than {DEEPEST}")
                closing.append(nesting.closers[mark])
            elif mark != closing.pop():
                raise Malformed(
                    f"brackets that do not match: {self._text[max(start, position - _GLIMPSE) : position]!r}"
                )
            if not quote and not closing:
                self.at = position
                return self._text[start:position]

    def json(self) -> Step[Any]:
        """Read one JSON value (raw control characters in strings pass).

        Raises:
            Cut: the reply ends inside it.
            Malformed: it is not valid.
        """
        start = self.at
        text = yield from self.json_text()
        try:
            return parse_json(text)
        except ValueError as error:
            self.at = start
            raise Malformed(f"JSON that is not valid: {error}") from error


def parse_json(text: str) -> Any:
    """JSON text → data; raw control characters in strings pass, NaN and Infinity (or what becomes it) do not.

    Raises:
        ValueError: it is no JSON.
    """
    import json

    def reject(word: str) -> Any:
        raise ValueError(f"{word} is no JSON")

    def integer(word: str) -> int:
        if len(word) > MOST_DIGITS:
            raise ValueError(f"a number of {len(word)} digits")
        return int(word)

    def finite(word: str) -> float:
        number = float(word)
        return reject(word) if number in (float("inf"), float("-inf")) else number

    try:
        return json.loads(text, strict=False, parse_constant=reject, parse_float=finite, parse_int=integer)
    except RecursionError:
        raise ValueError("nested too deep") from None


# ------------------------------------------------------------------------------------- extents and marks


def _in_common(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    shorter = min(len(one), len(other))
    return next((at for at in range(shorter) if one[at] != other[at]), shorter)


@lru_cache(maxsize=512)
def _beginning_with(character: str, literals: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(literal for literal in literals if character and literal.startswith(character))


@lru_cache(maxsize=512)
def _longest_first(literals: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(sorted(literals, key=len, reverse=True))


def _blanks(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _end(pattern: re.Pattern[str], text: str, position: int, limit: int = sys.maxsize) -> int:
    # Whoever waits for more text must hold no match: it holds the text, which then cannot grow in place.
    found = pattern.match(text, position, limit)
    return found.end() if found else position


def _scalar(text: str, position: int) -> int:
    return _end(_SCALAR, text, position)


def extent_of(pattern: str) -> Callable[[str, int], int]:
    """The extent of a run of characters, for `Stream.run`.

    Args:
        pattern: of one or more characters, each of which belongs to the run whatever stands beside it.
    """

    def extent(text: str, position: int) -> int:
        return _end(re.compile(pattern), text, position)  # compiled once it is needed, and kept by re

    return extent


class _Marks:
    """Texts to look for at once."""

    def __init__(self, marks: tuple[str, ...]) -> None:
        self._marks = marks
        self.pattern = re.compile("|".join(map(re.escape, sorted(marks, key=len, reverse=True))) if marks else r"(?!)")
        self._heads = {mark[:length] for mark in marks for length in range(1, len(mark))}
        self._longest = max(map(len, marks), default=1)
        self.elsewhere = f"[^{''.join(re.escape(mark[0]) for mark in marks)}]"
        # A mark, or what may be the beginning of one at the end of what has arrived.
        self.beginning = "|".join([self.pattern.pattern, *(f"{re.escape(head)}\\Z" for head in self._heads)])

    @staticmethod
    @lru_cache(maxsize=256)
    def of(marks: tuple[str, ...]) -> _Marks:
        return _Marks(marks)

    def may_be_longer(self, mark: str) -> bool:
        """Whether a longer mark begins with this one."""
        return mark in self._heads

    def may_grow(self, found: str, text: str, start: int) -> bool:
        """Whether a longer mark may turn out to stand where this one was found."""
        if not self.may_be_longer(found):
            return False
        rest = text[start : start + self._longest]
        return any(mark != found and mark.startswith(rest) for mark in self._marks)

    def decided(self, text: str, start: int, *, ended: bool) -> str | None:
        """The mark that stands here, empty where none does; None where that depends on what is still to come."""
        found = self.pattern.match(text, start)
        if found is None:
            rest = text[start : start + self._longest]
            return None if not rest or rest in self._heads else ""
        return None if not ended and self.may_grow(found[0], text, start) else found[0]

    def pending(self, text: str, start: int) -> int:
        """How many characters at the end may be the beginning of a mark."""
        for length in range(min(self._longest - 1, len(text) - start), 0, -1):
            if text[-length:] in self._heads:
                return length
        return 0


class Nesting:
    """What encloses a value in a syntax; brackets in a quoted text are none.

    Args:
        closers: opening bracket → its closing one.
        quotes: mark before and behind a text → whether a backslash in it takes the next character out of the syntax.
        others: the characters, as in a regular expression, that may stand outside of texts; any where it is empty.
    """

    def __init__(self, closers: Mapping[str, str], quotes: Mapping[str, bool], others: str = "") -> None:
        self.closers = closers
        self.beginnings = (*closers, *quotes)
        self._quotes = quotes
        self._others = others

    # Patterns are compiled when they are needed first: most that a program could read it never does.

    @cached_property
    def _within(self) -> Mapping[str, str]:
        return {quote: _text_in(quote, escapes=escapes) for quote, escapes in self._quotes.items()}

    @cached_property
    def inside(self) -> Mapping[str, tuple[_Marks, re.Pattern[str]]]:
        """Mark of a text → its end, and what the text consists of."""
        return {quote: (_Marks.of((quote,)), re.compile(run, re.DOTALL)) for quote, run in self._within.items()}

    @cached_property
    def outside(self) -> tuple[_Marks, re.Pattern[str]]:
        """The marks that decide, and what stands between them.

        Whole texts are passed over at once: where there are many, looking at each mark takes too long.
        """
        marks = _Marks.of((*self.beginnings, *self.closers.values()))
        whole = (_whole(quote, run, short=marks.may_be_longer(quote)) for quote, run in self._within.items())
        plain = f"[{self._others}]++" if self._others else f"{marks.elsewhere}++|(?!{marks.beginning})."
        return marks, re.compile(f"(?:{'|'.join([plain, *whole])})*+", re.DOTALL)


def _text_in(quote: str, *, escapes: bool) -> str:
    """A pattern of what stands between two of these marks."""
    first, escape = re.escape(quote[0]), r"\\" if escapes else ""
    parts = [f"[^{first}{escape}]++"]
    if escapes:
        parts.append(r"\\.")
    if len(quote) > 1:
        parts.append(f"(?!{_Marks.of((quote,)).beginning}){first}")
    return f"(?:{'|'.join(parts)})*+"


def _whole(quote: str, within: str, *, short: bool) -> str:
    """A pattern of a text with its marks.

    Args:
        quote: the mark.
        within: the pattern of the text.
        short: a longer mark begins with this one, as Python's do: two in a row may be the beginning of it.
    """
    mark = re.escape(quote)
    return f"{mark}(?!{mark}){within}{mark}" if short else f"{mark}{within}{mark}"


# No valid JSON has Python's quotes; what models write has them now and then.
JSON = Nesting({"{": "}", "[": "]"}, {'"': True, "'": True}, r"\s\w:,.+\-")
