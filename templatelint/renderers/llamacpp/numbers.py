"""Filters of integers, floats and booleans."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.renderers.llamacpp.arguments import require
from templatelint.renderers.llamacpp.general import default, tojson
from templatelint.renderers.llamacpp.values import FIRST_INTEGER, Value, is_integer, truncated

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.renderers.llamacpp.scope import Scope
    from templatelint.renderers.llamacpp.values import Handler


def _number(kind: Callable[[Value], bool], change: Callable[[Any], Value]) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> Value:
        del scope
        require(args, kind)
        return change(args[0])

    return handler


def _is_float(value: Value) -> bool:
    return type(value) is float


def _is_boolean(value: Value) -> bool:
    return type(value) is bool


INTEGERS: Mapping[str, Handler] = {
    "default": default,
    "abs": _number(is_integer, lambda value: value if value == FIRST_INTEGER else abs(value)),
    "int": _number(is_integer, lambda value: value),
    "float": _number(is_integer, float),
    "safe": tojson,
    "string": tojson,
    "tojson": tojson,
}

FLOATS: Mapping[str, Handler] = {
    "default": default,
    "abs": _number(_is_float, lambda value: -value if value < 0 else value),
    "int": _number(_is_float, truncated),
    "float": _number(_is_float, lambda value: value),
    "safe": tojson,
    "string": tojson,
    "tojson": tojson,
}

BOOLEANS: Mapping[str, Handler] = {
    "default": default,
    "int": _number(_is_boolean, int),
    "float": _number(_is_boolean, float),
    "safe": _number(_is_boolean, str),
    "string": _number(_is_boolean, str),
    "tojson": tojson,
}
