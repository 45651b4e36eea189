"""Arguments in tags, one by one: their keys, their values, and the order in which they may stand."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.grammar import Contradiction, TextEnded
from templatelint.engines.llamacpp.parsing.handlers import parts
from templatelint.engines.llamacpp.parsing.parameters import Parameter, Schema
from templatelint.engines.llamacpp.parsing.reply import ARGUMENT, ARGUMENT_END, KEY, TEXT, VALUE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Tool

_MOST_IN_ANY_ORDER = 6


def bytes_of(name: str) -> bytes:
    """A name as a model writes it."""
    return name.encode("utf-8", "surrogatepass")


def properties(tool: Tool) -> list[Parameter]:
    """The properties of a tool, for families that do not convert its schema: it need not be one of an object."""
    node = tool.schema.node
    found = node.get("properties") if isinstance(node, dict) else None
    members = found.items() if isinstance(found, dict) else ()
    return [Parameter(name, Schema(each, node), required=False) for name, each in members]


def opening(text: Cursor, before: bytes, parameter: Parameter, after: bytes) -> None:
    """What opens an argument, with its key."""
    with parts.entire(text, ARGUMENT):
        text.literal(before)
        with text.capture(KEY):
            text.literal(bytes_of(parameter.name))
        text.literal(after)


def closing(text: Cursor, end: bytes) -> None:
    """What closes an argument."""
    with parts.entire(text, ARGUMENT_END):
        text.literal(end)


def text_value(text: Cursor, end: bytes) -> None:
    """A value that is text up to the end of the argument."""
    with text.capture(TEXT):
        text.until(end)
    closing(text, end)


def json_value(text: Cursor, end: bytes) -> None:
    """A JSON value, and the end of the argument."""
    with text.capture(VALUE):
        text.value()
    closing(text, end)


def text_or_json_value(text: Cursor, end: bytes, *, text_allowed: bool) -> None:
    """A value that is text where text is allowed at all, else JSON."""
    if text_allowed:
        text_value(text, end)
    else:
        json_value(text, end)


def typed_value(text: Cursor, types: Collection[str], end: bytes, *, strings: bool = False) -> None:
    """A value as its types say: JSON, or text; where it may be either, text that is no JSON value of the types.

    Args:
        text: where it stands.
        types: its JSON types.
        end: the end of the argument.
        strings: JSON may be any value then, even a string.
    """
    if "string" not in types:
        json_value(text, end)
    elif set(types) == {"string"}:
        text_value(text, end)
    else:
        allowed = None if strings else types
        text.first_of(partial(_whole_value, text, end, allowed), partial(text_value, text, end))


def _whole_value(text: Cursor, end: bytes, types: Collection[str] | None) -> None:
    with text.whole():
        with text.capture(VALUE):
            if types is not None:
                _require_type(text, types)
            text.value()
        closing(text, end)


_STARTS = (
    (b"{", ("object",)),
    (b"[", ("array",)),
    (b"-0123456789", ("number", "integer")),
    (b"tf", ("boolean",)),
    (b"n", ("null",)),
)


def _require_type(text: Cursor, types: Collection[str]) -> None:
    first = text.text[text.at : text.at + 1]
    if not first:
        raise TextEnded
    if not any(first in starts and any(name in types for name in names) for starts, names in _STARTS):
        raise Contradiction


def required_then_others(
    text: Cursor, parameters: Sequence[Parameter], argument: Callable[[Cursor, Parameter], object]
) -> None:
    """The required arguments in any order, then others, in any order and number."""
    required = [parameter for parameter in parameters if parameter.required]
    if len(required) > _MOST_IN_ANY_ORDER:
        for parameter in required:
            argument(text, parameter)
    else:
        _in_any_order(text, required, argument)
    any_arguments(text, [parameter for parameter in parameters if not parameter.required], argument)


def _in_any_order(
    text: Cursor, parameters: Sequence[Parameter], argument: Callable[[Cursor, Parameter], object]
) -> None:
    """Each once; no deeper than there are parameters."""

    def starting_with(place: int) -> None:
        argument(text, parameters[place])
        _in_any_order(text, [*parameters[:place], *parameters[place + 1 :]], argument)

    if parameters:
        text.first_of(*(partial(starting_with, place) for place in range(len(parameters))))


def required_in_order_then_others(
    text: Cursor, parameters: Sequence[Parameter], argument: Callable[[Cursor, Parameter], object]
) -> None:
    """The required arguments in the order of the schema, then others in any order and number; blanks between."""
    for place, parameter in enumerate(each for each in parameters if each.required):
        if place:
            text.blanks()
        argument(text, parameter)

    def another() -> None:
        text.blanks()
        one_argument(text, others, argument)

    others = [each for each in parameters if not each.required]
    text.repeat(another)


def any_arguments(
    text: Cursor, parameters: Sequence[Parameter], argument: Callable[[Cursor, Parameter], object]
) -> None:
    """Arguments in any order and number."""
    text.repeat(one_argument, text, parameters, argument)


def one_argument(
    text: Cursor, parameters: Sequence[Parameter], argument: Callable[[Cursor, Parameter], object]
) -> None:
    """An argument of any of the parameters."""
    text.first_of(*(partial(argument, text, parameter) for parameter in parameters))
