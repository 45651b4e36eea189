"""A value → the filters and methods that llama.cpp gives to its kind; both are one table there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.renderers.llamacpp.lists import LISTS
from templatelint.renderers.llamacpp.mappings import MAPPINGS
from templatelint.renderers.llamacpp.nothing import NONE, UNDEFINED
from templatelint.renderers.llamacpp.numbers import BOOLEANS, FLOATS, INTEGERS
from templatelint.renderers.llamacpp.strings import STRINGS
from templatelint.renderers.llamacpp.values import LoopInfo, Trouble, Undefined, Value, called

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from templatelint.renderers.llamacpp.values import Handler

# functions and keyword arguments have none, and may not be asked
_METHODS: dict[type, Mapping[str, Handler]] = {
    int: INTEGERS,
    float: FLOATS,
    bool: BOOLEANS,
    str: STRINGS,
    list: LISTS,
    tuple: LISTS,
    dict: MAPPINGS,
    LoopInfo: {},
    type(None): NONE,
    Undefined: UNDEFINED,
}

TABLES: Collection[Mapping[str, Handler]] = _METHODS.values()
"""The tables of all kinds of values."""


def methods_of(value: Value) -> Mapping[str, Handler]:
    """The filters and methods of a value by name.

    Raises:
        Trouble: there cannot be any.
    """
    methods = _METHODS.get(type(value)) or _inherited(type(value))
    if methods is None:
        raise Trouble(f"{called(value)} has no attributes")
    return methods


def _inherited(kind: type) -> Mapping[str, Handler] | None:
    return next((_METHODS[base] for base in kind.__mro__ if base in _METHODS), None)
