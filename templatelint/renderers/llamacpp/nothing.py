"""Filters of none and of undefined values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.renderers.llamacpp.general import default, tojson
from templatelint.renderers.llamacpp.values import Undefined, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.renderers.llamacpp.scope import Scope
    from templatelint.renderers.llamacpp.values import Handler


def _empty(make: Callable[[], Value]) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> Value:
        del args, scope
        return make()

    return handler


NONE: Mapping[str, Handler] = {
    "default": default,
    "tojson": tojson,
    **dict.fromkeys(("string", "safe"), _empty(lambda: "None")),
    **dict.fromkeys(("items", "map", "reject", "rejectattr", "select", "selectattr", "unique"), _empty(list)),
}

UNDEFINED: Mapping[str, Handler] = {
    "default": default,
    **dict.fromkeys(
        ("capitalize", "join", "lower", "replace", "safe", "string", "strip", "title", "truncate", "upper"),
        _empty(str),
    ),
    **dict.fromkeys(("first", "last", "max", "min"), _empty(Undefined)),
    **dict.fromkeys(
        ("items", "list", "map", "reject", "rejectattr", "reverse", "select", "selectattr", "sort", "unique"),
        _empty(list),
    ),
    **dict.fromkeys(("length", "sum", "wordcount"), _empty(int)),
}
