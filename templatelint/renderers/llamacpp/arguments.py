"""What built-in functions were called with → what they work on, or the complaint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.renderers.llamacpp.values import (
    Keyword,
    Trouble,
    Undefined,
    Value,
    called,
    integer,
    is_integer,
    is_list,
    text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from templatelint.renderers.llamacpp.scope import Scope


class Misuse(Trouble):
    """A function was called with what it does not take; the message goes on from the function's name."""


class Lacking(Misuse):
    """A function was asked for what llama.cpp's version of it cannot do."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "unsupported")


def is_string(value: Value) -> bool:
    """Whether it is a string."""
    return isinstance(value, str)


def is_mapping(value: Value) -> bool:
    """Whether it is a mapping."""
    return isinstance(value, dict)


_WANTED: dict[Callable[[Value], bool], str] = {
    is_string: "a string",
    is_integer: "an integer",
    is_list: "a list",
    is_mapping: "a mapping",
}


def require(arguments: Sequence[Value], *kinds: Callable[[Value], bool]) -> None:
    """Complain unless the first arguments are there and of these kinds (`is_string`, …); the value itself is one."""
    count(arguments, len(kinds))
    for place, (kind, argument) in enumerate(zip(kinds, arguments, strict=False)):
        if not kind(argument):
            where = f"argument {place}" if place else "its value"
            raise Misuse(f"needs {_WANTED[kind]} as {where}, not {called(argument)}")


def count(arguments: Sequence[Value], least: int, most: int | None = None) -> None:
    """Complain unless there are so many arguments, the value itself included."""
    if len(arguments) < least:
        raise Misuse(f"needs {_arguments(least - 1)}, not {len(arguments) - 1}")
    if most is not None and len(arguments) > most:
        raise Misuse(f"takes at most {_arguments(most - 1)}, not {len(arguments) - 1}")


def _arguments(number: int) -> str:
    return f"{number} argument{'' if number == 1 else 's'}"


def keyword(arguments: Sequence[Value], name: str) -> Value:
    """The argument of that name; undefined where there is none."""
    for argument in arguments:
        if isinstance(argument, Keyword) and argument.name == name:
            return argument.value
    return Undefined()


def named_or_at(arguments: Sequence[Value], name: str, place: int) -> Value:
    """The argument of that name, or the one at that place (0 is the value itself) if that was given without a name."""
    value = keyword(arguments, name)
    if isinstance(value, Undefined) and place < len(arguments) and not isinstance(arguments[place], Keyword):
        return arguments[place]
    return value


def at(arguments: Sequence[Value], place: int) -> Value:
    """The argument at that place, a `Keyword` too."""
    count(arguments, place + 1)
    return arguments[place]


def integer_at(arguments: Sequence[Value], place: int, default: int) -> int:
    """The integer at that place, or the default where there is no argument."""
    return integer(arguments[place]) if place < len(arguments) else default


def text_at(arguments: Sequence[Value], place: int, default: str) -> str:
    """The text of the argument at that place, or the default where there is none."""
    return text(arguments[place]) if place < len(arguments) else default


class InNameOnly:
    """A function that llama.cpp has in name only for some kind of value."""

    def __init__(self, what: str) -> None:
        self._what = what

    def __call__(self, args: Sequence[Value], scope: Scope) -> Value:
        """Fail, as calling it does there."""
        del args, scope
        raise Lacking(f"does not work on {self._what}")
