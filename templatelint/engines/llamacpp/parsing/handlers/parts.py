"""Steps that the grammars of several families share."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.grammar import Contradiction, TextEnded
from templatelint.engines.llamacpp.parsing.parameters import Tool
from templatelint.engines.llamacpp.parsing.reply import (
    ARGUMENT,
    ARGUMENT_END,
    ARGUMENTS,
    CALL,
    CALL_END,
    CONTENT,
    ID,
    KEY,
    NAME,
    REASONING,
    TEXT,
    VALUE,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter
    from templatelint.engines.llamacpp.parsing.reply import Setting

_MOST_IN_ANY_ORDER = 6


def bytes_of(text: str) -> bytes:
    """A text as a model writes it."""
    return text.encode("utf-8", "surrogatepass")


def tools_of(setting: Setting) -> tuple[Tool, ...]:
    """The tools of the request."""
    return tuple(Tool.of(definition) for definition in setting.tools)


@contextmanager
def entire(text: Cursor, kind: str) -> Iterator[None]:
    """Capture what is read inside, unless the text ends there."""
    with text.whole(), text.capture(kind):
        yield


# ------------------------------------------------------------------------------------ content and reasoning


def content(text: Cursor, *delimiters: bytes) -> None:
    """Content up to the first delimiter; to the end without one."""
    with text.capture(CONTENT):
        text.until(*delimiters)


def reasoning(text: Cursor, *delimiters: bytes) -> None:
    """Reasoning up to the first delimiter."""
    with text.capture(REASONING):
        text.until(*delimiters)


def thought(text: Cursor, start: bytes, end: bytes) -> None:
    """Reasoning between its marks."""
    text.literal(start)
    reasoning(text, end)
    text.literal(end)


def json_content(text: Cursor) -> None:
    """Content that is a JSON value."""
    with text.capture(CONTENT):
        text.value()


def fenced_content(text: Cursor) -> None:
    """The same in a fence."""
    text.literal(b"```json")
    text.blanks()
    json_content(text)
    text.blanks()
    text.literal(b"```")


# ------------------------------------------------------------------------------------------------- calls


def one_call(text: Cursor, tools: Sequence[Tool], call: Callable[[Cursor, Tool], object]) -> None:
    """A call of any of the tools."""
    text.first_of(*(partial(call, text, tool) for tool in tools))


def some_calls(text: Cursor, setting: Setting, call: Callable[..., object], *args: object) -> None:
    """As many calls as the request takes, none if it does not require one."""
    text.repeat(call, *args, least=int(setting.required), most=None if setting.parallel else 1)


def block_of_calls(text: Cursor, setting: Setting, block: Callable[..., object], *args: object) -> None:
    """A block of calls, which may be missing if the request does not require a call."""
    if setting.required:
        block(*args)
    else:
        text.optional(block, *args)


def name(text: Cursor, tool: Tool) -> None:
    """The name of a tool."""
    with text.capture(NAME):
        text.literal(tool.name)


def json_arguments(text: Cursor) -> None:
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
    with entire(text, CALL):
        text.literal(b"{")
    text.blanks()
    if keys.id:
        text.optional(_object_id, text, keys.id)
        _comma(text)
    _key(text, keys.name)
    with text.whole():
        text.literal(b'"')
        name(text, tool)
        text.literal(b'"')
    _comma(text)
    _key(text, keys.arguments)
    json_arguments(text)
    text.blanks()
    with entire(text, CALL_END):
        text.literal(b"}")


def _object_id(text: Cursor, key: bytes) -> None:
    with text.whole():
        _key(text, key)
        text.first_of(partial(_text_id, text), partial(_number_id, text))


def _text_id(text: Cursor) -> None:
    text.literal(b'"')
    with text.capture(ID):
        text.string_inside()
    text.literal(b'"')


def _number_id(text: Cursor) -> None:
    with text.capture(ID):
        text.number()


def _key(text: Cursor, key: bytes) -> None:
    text.literal(b'"%s"' % key)
    text.blanks()
    text.literal(b":")
    text.blanks()


def _comma(text: Cursor) -> None:
    text.blanks()
    text.literal(b",")
    text.blanks()


# ------------------------------------------------------------------------------------- tagged arguments


def argument_key(text: Cursor, before: bytes, parameter: Parameter, after: bytes) -> None:
    """What opens an argument, with its key."""
    with entire(text, ARGUMENT):
        text.literal(before)
        with text.capture(KEY):
            text.literal(bytes_of(parameter.name))
        text.literal(after)


def argument_end(text: Cursor, end: bytes) -> None:
    """What closes an argument."""
    with entire(text, ARGUMENT_END):
        text.literal(end)


def text_value(text: Cursor, end: bytes) -> None:
    """A value that is text up to the end of the argument."""
    with text.capture(TEXT):
        text.until(end)
    argument_end(text, end)


def json_value(text: Cursor, end: bytes) -> None:
    """A JSON value, and the end of the argument."""
    with text.capture(VALUE):
        text.value()
    argument_end(text, end)


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
        argument_end(text, end)


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
