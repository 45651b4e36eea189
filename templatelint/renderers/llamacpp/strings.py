"""Filters and methods of strings, which work on bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.renderers.llamacpp import arguments as given
from templatelint.renderers.llamacpp.arguments import InNameOnly, Lacking, Misuse, is_string, require
from templatelint.renderers.llamacpp.c_numbers import leading_float, leading_integer
from templatelint.renderers.llamacpp.general import bearable, default, tojson
from templatelint.renderers.llamacpp.pieces import by_piece, cut
from templatelint.renderers.llamacpp.slices import slice_of
from templatelint.renderers.llamacpp.values import BLANKS, Undefined, Value, integer, is_integer, real, text, true

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.renderers.llamacpp.scope import Scope
    from templatelint.renderers.llamacpp.values import Handler


_ASCII = range(0x80)
_TO_LOWER = {code: chr(code).lower() for code in _ASCII}
_TO_UPPER = {code: chr(code).upper() for code in _ASCII}


def lower(value: str) -> str:
    """In lower case, as far as ASCII goes."""
    return value.lower() if value.isascii() else value.translate(_TO_LOWER)


def upper(value: str) -> str:
    """In upper case, as far as ASCII goes."""
    return value.upper() if value.isascii() else value.translate(_TO_UPPER)


def _capitalize(value: str) -> str:
    return upper(value[:1]) + lower(value[1:])


_WORD = re.compile(f"[^{BLANKS}]+")


def _title(value: str) -> str:
    return _WORD.sub(lambda word: _capitalize(word[0]), value)


def _changed(change: Callable[[str], str]) -> Handler:
    """A method that makes another string of the string alone."""

    def handler(args: Sequence[Value], scope: Scope) -> Value:
        del scope
        require(args, is_string)
        return by_piece(change, args[0])

    return handler


def _length(args: Sequence[Value], scope: Scope) -> int:
    del scope
    require(args, is_string)
    return len(args[0])


def _safe(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    require(args, is_string)
    return args[0]


def _strip(*, left: bool, right: bool) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> str:
        del scope
        require(args, is_string)
        characters = given.named_or_at(args, "chars", 1)
        stripped = BLANKS if isinstance(characters, Undefined) else text(characters)
        value = args[0]
        stop = len(value.rstrip(stripped)) if right else len(value)
        return cut(value, stop - len(value[:stop].lstrip(stripped)) if left else 0, stop)

    return handler


def _affix(has: Callable[[str, str], bool]) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> bool:
        del scope
        require(args, is_string, is_string)
        return has(args[0], args[1])

    return handler


def _split(split: Callable[[str, str, int], list[str]]) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> list[str]:
        del scope
        given.count(args, 1, 3)
        require(args, is_string)
        separator = given.text_at(args, 1, " ")
        if not separator:
            raise Misuse("got an empty separator")
        return split(str(args[0]), separator, given.integer_at(args, 2, -1))

    return handler


def _replace(args: Sequence[Value], scope: Scope) -> str:
    del scope
    require(args, is_string, is_string, is_string)
    value, old, new = args[:3]
    if given.integer_at(args, 3, -1) > 0:
        raise Lacking("has no count")
    if len(new) > len(old):
        bearable(len(value) + value.count(old) * (len(new) - len(old)))
    return str(value).replace(old, new)


def _format(args: Sequence[Value], scope: Scope) -> str:
    del scope
    require(args, is_string)
    first, *rest = args[0].split("{")
    parts = [first]
    for place, piece in enumerate(rest, 1):
        if not piece.startswith("}"):
            raise Lacking("has no placeholders but {}")
        parts += [text(given.at(args, place)), piece[1:]]
    return "".join(parts)


_BASES = range(2, 37)


def _to_integer(args: Sequence[Value], scope: Scope) -> int:
    del scope
    default = given.named_or_at(args, "default", 1)
    base_given = given.named_or_at(args, "base", 2)
    base = 10 if isinstance(base_given, Undefined) else integer(base_given)
    if base != 0 and base not in _BASES:
        raise Misuse(f"got {base} for a base, not 0 or 2 to 36")
    require(args, is_string)
    value = leading_integer(args[0], base)
    if value is not None and -(2**31) <= value < 2**31:
        return value
    return 0 if isinstance(default, Undefined) else integer(default)


def _to_float(args: Sequence[Value], scope: Scope) -> float:
    del scope
    require(args, is_string)
    default = given.named_or_at(args, "default", 1)
    value = leading_float(args[0])
    if value is not None:
        return value
    return 0.0 if isinstance(default, Undefined) else real(default)


def _indent(args: Sequence[Value], scope: Scope) -> str:
    del scope
    given.count(args, 1, 4)
    width = given.named_or_at(args, "width", 1)
    first = true(given.named_or_at(args, "first", 2))
    blank = true(given.named_or_at(args, "blank", 3))
    require(args, is_string)
    if is_integer(width) and width < 0:
        raise Misuse(f"got a width of {width}")
    margin = " " * bearable(width) if is_integer(width) else width if isinstance(width, str) else "    "
    value = args[0]
    lines = value.split("\n")
    if not lines[-1]:
        lines.pop()
    bearable(len(margin) * len(lines))
    indented = ""
    for line in lines:
        starts = not indented  # also behind empty lines, whose newlines are lost with it
        indented += ("" if starts else "\n") + (margin if (first if starts else line or blank) else "") + line
    if value.endswith("\n"):
        indented += "\n" + (margin if blank else "")
    return indented


STRINGS: Mapping[str, Handler] = {
    "default": default,
    "upper": _changed(upper),
    "lower": _changed(lower),
    "strip": _strip(left=True, right=True),
    "rstrip": _strip(left=False, right=True),
    "lstrip": _strip(left=True, right=False),
    "title": _changed(_title),
    "capitalize": _changed(_capitalize),
    "length": _length,
    "startswith": _affix(str.startswith),
    "endswith": _affix(str.endswith),
    "split": _split(str.split),
    "rsplit": _split(str.rsplit),
    "replace": _replace,
    "format": _format,
    "int": _to_integer,
    "float": _to_float,
    "string": _changed(str),
    "slice": slice_of,
    "safe": _safe,
    "tojson": tojson,
    "indent": _indent,
    "join": InNameOnly("a string"),
}
