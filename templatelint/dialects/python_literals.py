"""Text of a Python literal (or of JSON, or of both mixed) → JSON data, and back."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from templatelint.dialects.stream import DEEPEST, MOST_DIGITS, Malformed, Nesting, parse_json

_QUOTES = dict.fromkeys(("'", '"', "'''", '"""'), True)
NESTING = Nesting({"{": "}", "[": "]", "(": ")"}, _QUOTES, r"\s\w:,.+\-")

_CONSTANTS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))(?:[eE][-+]?[0-9]+)?")
_TOKEN = re.compile(r"'''|\"\"\"|['\"\[\](){},:]|[-+.\w]+")
_BLANKS = re.compile(r"\s*")
_ENDS = {quote: re.compile(rf"\\.|{quote}", re.DOTALL) for quote in ("'", '"', "'''", '"""')}
_ESCAPED = re.compile(r"\\(\r\n|[0-7]{1,3}|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_LETTERS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "\n": "", "\r\n": ""}
_SURROGATE = re.compile("[\ud800-\udfff]")


def read(text: str) -> Any:
    """The value that a whole text is.

    Lists and tuples are arrays. Words are none but Python's and JSON's constants; keys of a mapping that are no text
    become one.

    Raises:
        Malformed: it is none.
    """
    if text.startswith(("{", "[")):
        with suppress(ValueError):  # far faster, where it is JSON
            return parse_json(text)
    literal = _Literal(text)
    value = literal.value(literal.next())
    if literal.next():
        raise Malformed(f"a value expected, {text[:24]!r} found")
    return value


class _Literal:
    """A literal in the course of being read."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0

    def next(self) -> str:
        """The next bracket, quote, separator or word; empty at the end."""
        blanks = _BLANKS.match(self._text, self._at)
        start = blanks.end() if blanks else self._at
        found = _TOKEN.match(self._text, start)
        if found is None:
            self._at = start
            if start < len(self._text):
                raise Malformed(f"a value expected, {self._text[start : start + 24]!r} found")
            return ""
        self._at = found.end()
        return found[0]

    def value(self, mark: str) -> Any:
        """The value that begins with what `next` gave."""
        if mark in _ENDS:
            return self._string(mark)
        if mark not in NESTING.closers:
            return scalar(mark)
        self._depth += 1
        if self._depth > DEEPEST:
            raise Malformed(f"nested deeper than {DEEPEST}")
        found = self._mapping() if mark == "{" else self._items(NESTING.closers[mark])
        self._depth -= 1
        return found

    def _string(self, quote: str) -> str:
        start = self._at
        for found in _ENDS[quote].finditer(self._text, start):
            if found[0] == quote:
                self._at = found.end()
                return _unescaped(self._text[start : found.start()])
        raise Malformed(f"{quote} expected")

    def _items(self, closer: str) -> Any:
        items: list[Any] = []
        mark = self.next()
        while mark != closer:
            items.append(self.value(mark))
            mark = self.next()
            if mark == ",":
                mark = self.next()
            elif mark != closer:
                raise Malformed(f"',' or {closer!r} expected, {mark!r} found")
            elif closer == ")" and len(items) == 1:
                return items[0]  # in brackets, no tuple
        return items

    def _mapping(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        mark = self.next()
        while mark != "}":
            key = self.value(mark)
            if isinstance(key, (dict, list)):
                raise Malformed("a key that is no text")
            if self.next() != ":":
                raise Malformed("':' expected behind a key")
            found[key if isinstance(key, str) else str(key)] = self.value(self.next())
            mark = self.next()
            if mark == ",":
                mark = self.next()
            elif mark != "}":
                raise Malformed(f"',' or '}}' expected, {mark!r} found")
        return found


def scalar(word: str) -> Any:
    """A constant or a finite number.

    Raises:
        Malformed: it is neither.
    """
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if len(word) > MOST_DIGITS and _INTEGER.fullmatch(word):
        raise Malformed(f"a number of {len(word)} digits")
    if len(word) <= MOST_DIGITS:
        if _INTEGER.fullmatch(word):
            return int(word)
        if _FLOAT.fullmatch(word) and math.isfinite(number := float(word)):
            return number
    raise Malformed(f"a value expected, {word[:24]!r} found")


def _unescaped(body: str) -> str:
    """What a quoted text means; a backslash before anything that it does not escape stays."""
    if "\\" not in body:
        return body
    text = _ESCAPED.sub(_character, body)
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")  # JSON's pairs


def _character(found: re.Match[str]) -> str:
    code = found[1]
    if code in ("\\", "'", '"'):
        return code
    if code in _LETTERS:
        return _LETTERS[code]
    if code[0] in "01234567":
        return chr(int(code, 8))
    if len(code) > 1:
        number = int(code[1:], 16)
        if number > sys.maxunicode:
            raise Malformed(f"no character has the number {code[1:]}")
        return chr(number)
    return found[0]


def write(value: Any) -> str:
    """JSON data as a Python literal, on one line, with every letter as it is.

    Raises:
        ValueError: a number is not finite.
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{write(str(key))}: {write(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(write, value)) + "]"
    if value is None or isinstance(value, bool):
        return str(value)
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
