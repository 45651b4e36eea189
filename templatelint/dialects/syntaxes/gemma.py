"""Dialects of Gemma: `call:name{key:value,…}`, like JSON, but keys are bare and texts stand between marks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from templatelint.dialects.dialect import Dialect, ReadCalls, Reading, WriteCalls
from templatelint.dialects.python_literals import scalar
from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Malformed, Nesting, Step, extent_of, parse_json

_NAME = r"[\w.:/-]"
# Both marks of texts begin with `<`; what else does is no word.
_MARKS = ("{", "}", "[", "]", ",", ":", "<", '"')
_KEY = r"""[^\s:,{}\[\]<>"][^:,{}\[\]<>"\n]*"""
_KEY_OR_MARK = re.compile(rf"""\s*(?:([{{}}\[\],:<"])|({_KEY}))""")
_VALUE = re.compile(r"""\s*(?:([{}\[\],<"])|([^\s,{}\[\]<>"][^,{}\[\]<>"\n]*))""")
_JSON_TEXT_END = re.compile(r'\\.|"', re.DOTALL)
_name = extent_of(f"{_NAME}+")
_CALL = "call:"


def calls(opening: str, closing: str, quote: str) -> ReadCalls:
    """A reader of `OPENING call:name{…} CLOSING`; there may be several calls between the marks.

    Args:
        opening: mark before a call.
        closing: mark behind it.
        quote: mark before and behind a text, in which nothing is escaped.
    """
    nesting = Nesting({"{": "}", "[": "]"}, {quote: False, '"': True})

    def read(reading: Reading) -> Step[None]:
        stream = reading.stream
        yield from stream.expect(opening)
        yield from stream.blanks()
        yield from stream.accept(_CALL)
        while True:
            name = yield from stream.run(_name)
            yield from stream.blanks()
            if not name and (yield from stream.peek()):
                raise Malformed(f"the name of a function expected, {stream.glimpse()} found")
            if (yield from stream.starts("{")) is None:
                yield from stream.expect("{")
            values = _Value((yield from stream.value_text(nesting)), quote)
            arguments = values.value()
            for key, other in values.doubles:
                reading.drop(f"the key {key!r} twice", f"{key}:{other}")
            reading.emit(ToolCall(name, arguments))
            behind = stream.at
            yield from stream.blanks()
            if (yield from stream.accept(closing)) is not None:
                return
            yield from stream.accept(",")
            yield from stream.blanks()
            if (yield from stream.accept(_CALL)) is None:
                stream.at = behind
                reading.unclosed = closing
                return

    return read


class _Value:
    """A value in the course of being read; how deep it is is bounded by whoever found its extent."""

    def __init__(self, text: str, quote: str) -> None:
        self._text = text
        self._quote = quote
        self._at = 0
        self.doubles: list[tuple[str, Any]] = []  # what another value of the same key replaces

    def value(self) -> Any:
        """The value that begins here.

        Raises:
            Malformed: none does.
        """
        return self._value(self._next(_VALUE))

    def _value(self, piece: str) -> Any:
        if piece == "{":
            return self._mapping()
        if piece == "[":
            return self._items()
        if (text := self._quoted(piece)) is not None:
            return text
        if piece in _MARKS:
            raise Malformed(f"a value expected, {piece!r} found")
        try:
            return scalar(piece)
        except Malformed:
            return piece  # a text without its marks

    def _mapping(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        piece = self._next(_KEY_OR_MARK)
        while piece != "}":
            key = self._quoted(piece)
            if key is None and piece in _MARKS:
                raise Malformed(f"a key expected, {piece!r} found")
            if (mark := self._next(_KEY_OR_MARK)) != ":":
                raise Malformed(f"':' expected, {mark!r} found")
            name = piece if key is None else key
            if name in found:
                self.doubles.append((name, found[name]))
            found[name] = self.value()
            piece = self._next(_KEY_OR_MARK)
            if piece == ",":
                piece = self._next(_KEY_OR_MARK)
            elif piece != "}":
                raise Malformed(f"',' or '}}' expected, {piece!r} found")
        return found

    def _items(self) -> list[Any]:
        found: list[Any] = []
        piece = self._next(_VALUE)
        while piece != "]":
            found.append(self._value(piece))
            piece = self._next(_VALUE)
            if piece == ",":
                piece = self._next(_VALUE)
            elif piece != "]":
                raise Malformed(f"',' or ']' expected, {piece!r} found")
        return found

    def _next(self, pattern: re.Pattern[str]) -> str:
        """The next mark or run of text."""
        found = pattern.match(self._text, self._at)
        if found is None:
            raise Malformed(f"{self._text[self._at : self._at + 24]!r} is neither a mark nor a word")
        self._at = found.end()
        return found[1] or found[2].rstrip()

    def _quoted(self, piece: str) -> str | None:
        """The text between marks that begins with this one, or between quotation marks, as JSON has it."""
        if piece == '"':
            return self._json_text()
        if piece != "<":
            return None
        start = self._at - 1 + len(self._quote)
        end = self._text.find(self._quote, start)
        if end < 0 or not self._text.startswith(self._quote, self._at - 1):
            raise Malformed(f"{self._quote!r} expected")
        self._at = end + len(self._quote)
        return self._text[start:end]

    def _json_text(self) -> str:
        start = self._at - 1
        for found in _JSON_TEXT_END.finditer(self._text, self._at):
            if found[0] == '"':
                self._at = found.end()
                break
        try:
            return str(parse_json(self._text[start : self._at]))
        except ValueError as error:
            raise Malformed(f"a text that is not valid: {error}") from error


# -------------------------------------------------------------------------------------------------- writing


def written(opening: str, closing: str, quote: str) -> WriteCalls:
    """A writer of `OPENING call:name{…} CLOSING`, a block a call."""

    def write(calls: Sequence[ToolCall]) -> str:
        return "".join(f"{opening}{_CALL}{_named(call)}{_value_text(call.arguments, quote)}{closing}" for call in calls)

    return write


def _named(call: ToolCall) -> str:
    if not re.fullmatch(f"{_NAME}+", call.name):
        raise ValueError(f"{call.name!r} is no name of a function in Gemma's syntax")
    return call.name


def _value_text(found: Any, quote: str) -> str:
    if isinstance(found, Mapping):
        return "{" + ",".join(f"{_key_text(key)}:{_value_text(item, quote)}" for key, item in found.items()) + "}"
    if isinstance(found, (list, tuple)):
        return "[" + ",".join(_value_text(item, quote) for item in found) + "]"
    if not isinstance(found, str):
        return json.dumps(found, allow_nan=False)
    if quote in found:
        raise ValueError(f"a text that holds {quote} would end there")
    return f"{quote}{found}{quote}"


def _key_text(key: str) -> str:
    if not re.fullmatch(_KEY, key) or key != key.strip():
        raise ValueError(f"{key!r} is no key in Gemma's syntax")
    return key


GEMMA4 = Dialect(
    name="gemma4",
    openings=("<|tool_call>",),
    read=calls("<|tool_call>", "<tool_call|>", '<|"|>'),
    write=written("<|tool_call>", "<tool_call|>", '<|"|>'),
    signature=r"<\|tool_call>\s*call:\s*NAME\s*\{",
    reasoning=(("<|channel>thought", "<channel|>"),),
    dropped=("<turn|>", "<|turn>model", "<|tool_response>", "<eos>"),
    aliases=("gemma-4",),
)
FUNCTIONGEMMA = Dialect(
    name="functiongemma",
    openings=("<start_function_call>",),
    read=calls("<start_function_call>", "<end_function_call>", "<escape>"),
    write=written("<start_function_call>", "<end_function_call>", "<escape>"),
    signature=r"<start_function_call>\s*call:\s*NAME\s*\{",
    dropped=("<end_of_turn>", "<start_function_response>", "<eos>"),
)
