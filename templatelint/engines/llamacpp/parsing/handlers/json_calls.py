"""Calls whose arguments are one JSON value, and calls that are JSON objects."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import parts
from templatelint.engines.llamacpp.parsing.reply import ARGUMENTS, CALL, CALL_END, ID

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Tool


def arguments(text: Cursor) -> None:
    """All arguments as one JSON value."""
    with text.capture(ARGUMENTS):
        text.value()


@dataclass(frozen=True, slots=True)
class ObjectKeys:
    """The keys of a call that is a JSON object; members stand in this order.

    Attributes:
        id: its value is a text or a number; it may be left out, but its comma may not. Empty for none.
    """

    name: bytes = b"name"
    arguments: bytes = b"arguments"
    id: bytes = b""


def object_call(text: Cursor, tool: Tool, keys: ObjectKeys) -> None:
    """A call as a JSON object."""
    with parts.entire(text, CALL):
        text.literal(b"{")
    text.blanks()
    if keys.id:
        text.optional(_object_id, text, keys.id)
        comma(text)
    key(text, keys.name)
    with text.whole():
        text.literal(b'"')
        parts.name(text, tool)
        text.literal(b'"')
    comma(text)
    key(text, keys.arguments)
    arguments(text)
    text.blanks()
    with parts.entire(text, CALL_END):
        text.literal(b"}")


def _object_id(text: Cursor, name: bytes) -> None:
    with text.whole():
        key(text, name)
        text.first_of(partial(_text_id, text), partial(_number_id, text))


def _text_id(text: Cursor) -> None:
    text.literal(b'"')
    with text.capture(ID):
        text.string_inside()
    text.literal(b'"')


def _number_id(text: Cursor) -> None:
    with text.capture(ID):
        text.number()


def key(text: Cursor, name: bytes) -> None:
    """The key of a member, up to its value."""
    text.literal(b'"%s"' % name)
    text.blanks()
    text.literal(b":")
    text.blanks()


def comma(text: Cursor) -> None:
    """A comma with blanks around it."""
    text.blanks()
    text.literal(b",")
    text.blanks()
