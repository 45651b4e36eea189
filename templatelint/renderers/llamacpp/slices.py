"""`value[start:stop:step]`, of a string's bytes or a list's items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.renderers.llamacpp import arguments as given
from templatelint.renderers.llamacpp.arguments import Misuse, is_string, require
from templatelint.renderers.llamacpp.values import Value, integer, is_integer, is_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.renderers.llamacpp.scope import Scope


_BOUNDS = 3


def _places(length: int, start: int, stop: int, step: int) -> range:
    """The places that a slice takes; those outside are to be left out.

    Backwards, a start before the beginning is the beginning, and a stop of -1 is the place before it.
    """
    if step > 0:
        start = max(length + start, 0) if start < 0 else min(start, length)
        stop = max(length + stop, 0) if stop < 0 else min(stop, length)
    else:
        start = max(length + start, 0) if start < 0 else min(start, length - 1)
        stop = max(length + stop, -1) if stop < -1 else min(stop, length - 1)
    return range(start, stop, step)


def slice_of(args: Sequence[Value], scope: Scope) -> Value:
    """The syntax `value[start:stop:step]`; as a filter it wants all three."""
    del scope
    given.count(args, 1, 4)
    value = args[0]
    require(args, is_string if isinstance(value, str) else is_list, is_integer)
    if len(args) <= _BOUNDS:
        raise Misuse(f"needs {_BOUNDS} arguments, not {len(args) - 1}")
    start, stop, step = map(integer, args[1:])
    if step == 0:
        raise Misuse("got a step of zero")
    length = len(value)
    taken = [value[place] for place in _places(length, start, stop, step) if 0 <= place < length]
    if isinstance(value, str):
        return "".join(taken)
    return tuple(taken) if isinstance(value, tuple) else taken
