"""What sorts before what, and what counts as the same there."""

from __future__ import annotations

from functools import cmp_to_key
from typing import TYPE_CHECKING, TypeVar

from templatelint.renderers.llamacpp.values import Trouble, Value, is_number, real, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_Item = TypeVar("_Item")


def less(left: Value, right: Value) -> bool:
    """Whether one sorts before the other: numbers by value, strings and numbers by their text, others never.

    Raises:
        Trouble: both are booleans.
    """
    if is_number(left) and is_number(right):
        return real(left) < real(right)
    if is_ordered(left) and is_ordered(right):
        return text(left) < text(right)
    if isinstance(left, bool) and isinstance(right, bool):
        raise Trouble("booleans have no order")
    return False


def is_ordered(value: Value) -> bool:
    """Whether it is a string or a number."""
    return isinstance(value, str) or is_number(value)


def same(left: Value, right: Value) -> bool | None:
    """Whether numbers, strings or booleans are the same, a number and a string by their text; None for others."""
    if is_number(left) and is_number(right):
        return real(left) == real(right)
    if isinstance(left, bool) and isinstance(right, bool):
        return left is right
    return text(left) == text(right) if is_ordered(left) and is_ordered(right) else None


_INSERTED = 16  # up to so many items the C++ library sorts by insertion, beyond by other means


def in_order(items: Sequence[_Item], before: Callable[[_Item, _Item], bool]) -> list[_Item]:
    """The items sorted, also where `before` is no proper order."""
    if len(items) > _INSERTED:

        def order(left: _Item, right: _Item) -> int:
            return before(right, left) - before(left, right)

        return sorted(items, key=cmp_to_key(order))
    result: list[_Item] = []
    for item in items:
        if result and before(item, result[0]):
            result.insert(0, item)
            continue
        place = len(result)
        while place and before(item, result[place - 1]):
            place -= 1
        result.insert(place, item)
    return result
