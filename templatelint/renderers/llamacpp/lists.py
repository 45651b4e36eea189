"""Filters and methods of lists and tuples."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.renderers.llamacpp import arguments as given
from templatelint.renderers.llamacpp.arguments import InNameOnly, Lacking, Misuse, is_string, require
from templatelint.renderers.llamacpp.functions import TESTS
from templatelint.renderers.llamacpp.general import default, tojson, whole_text
from templatelint.renderers.llamacpp.ordering import in_order, is_ordered, less
from templatelint.renderers.llamacpp.slices import slice_of
from templatelint.renderers.llamacpp.values import (
    Keyword,
    Undefined,
    Value,
    as_key,
    called,
    is_list,
    plain_text,
    text,
    true,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.renderers.llamacpp.scope import Scope
    from templatelint.renderers.llamacpp.values import Handler


_LONGEST_PLACE = 4000  # digits; Python refuses to read many more, and no list has so many items


def _member(value: Value, key: Value, default: Value) -> Value:
    """What `attribute=` finds: one step, into a list also by digits."""
    if isinstance(key, Undefined):
        return default
    if is_list(value):
        if isinstance(key, str) and key.isdecimal() and len(key) <= _LONGEST_PLACE:
            key = int(key)
        if not isinstance(key, int):
            return default
        place = key + len(value) if key < 0 else int(key)
        return value[place] if 0 <= place < len(value) else default
    if isinstance(value, dict):
        return value.get(as_key(key), default)
    return default


def _ordering(args: Sequence[Value], place: int) -> Callable[[Value], Value]:
    """What to compare of each item, by the argument `attribute`."""
    attribute = given.named_or_at(args, "attribute", place)
    if isinstance(attribute, Undefined):
        return lambda item: item
    return lambda item: _member(item, attribute, Undefined())


def _list_method(change: Callable[[Any], Value]) -> Handler:
    """A method that looks at the list alone."""

    def handler(args: Sequence[Value], scope: Scope) -> Value:
        del scope
        require(args, is_list)
        return change(args[0])

    return handler


def _like(value: Value, items: list[Value]) -> Value:
    return tuple(items) if isinstance(value, tuple) else items


def _picked(*, keep: bool) -> Handler:
    """`select` and `selectattr` (or `reject…`), which are one thing here.

    With one argument it is an attribute that is to be true; with two, a test of the items themselves and its argument;
    with three, an attribute, a test of it and its argument.
    """

    def handler(args: Sequence[Value], scope: Scope) -> list[Value]:
        given.count(args, 2, 4)
        require(args, is_list, is_string)
        items, name, *rest = args
        if not rest:
            return [item for item in items if true(_member(item, name, Undefined())) is keep]
        test_name = text(rest[0]) if len(rest) > 1 else name
        test = TESTS.get(test_name)
        if test is None and len(rest) > 1:
            raise Lacking(f"has no test '{plain_text(test_name)}'")
        if test is None:  # most likely an attribute and a test of it without an argument
            raise Lacking(f"takes '{plain_text(test_name)}' for a test of the items when two arguments are given")
        if len(rest) > 1:
            return [item for item in items if true(test((_member(item, name, Undefined()), rest[1]), scope)) is keep]
        return [item for item in items if true(test((item, rest[0]), scope)) is keep]

    return handler


def _join(args: Sequence[Value], scope: Scope) -> str:
    del scope
    given.count(args, 1, 3)
    require(args, is_list)
    delimiter = given.named_or_at(args, "d", 1)
    attribute = given.named_or_at(args, "attribute", 2)
    between = "" if isinstance(delimiter, Undefined) else text(delimiter)
    items = args[0]
    if not isinstance(attribute, Undefined):
        items = [_member(item, attribute, Undefined()) for item in items]
    for item in items:
        if not is_ordered(item):
            raise Misuse(f"joins strings and numbers, not {called(item)}")
    return between.join(map(text, items))


def _map(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    given.count(args, 2)
    require(args, is_list)
    if not isinstance(args[1], Keyword):
        raise Lacking("has no filters, only attribute=")
    attribute = given.named_or_at(args, "attribute", 1)
    default = given.keyword(args, "default")
    return _like(args[0], [_member(item, attribute, default) for item in args[0]])


def _changeable(args: Sequence[Value]) -> list[Value]:
    require(args, is_list)
    if isinstance(args[0], tuple):
        raise Misuse("cannot change a tuple")
    items: list[Value] = args[0]
    return items


def _append(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    given.count(args, 2)
    _changeable(args).append(args[1])
    return args[0]


def _pop(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    given.count(args, 1, 2)
    items = _changeable(args)
    place = given.integer_at(args, 1, -1)
    if not -len(items) <= place < len(items):
        raise Misuse(f"got {place} for a list of {len(items)}")
    return items.pop(place)


def _sort(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    given.count(args, 1, 4)
    require(args, is_list)
    backwards = true(given.named_or_at(args, "reverse", 1))
    part = _ordering(args, 3)

    def before(left: Value, right: Value) -> bool:
        return less(part(right), part(left)) if backwards else less(part(left), part(right))

    return _like(args[0], in_order(args[0], before))


def _extreme(before: Callable[[Value, Value], bool]) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> Value:
        del scope
        given.count(args, 1, 4)
        require(args, is_list)
        part = _ordering(args, 2)
        if not args[0]:
            return Undefined()
        result = args[0][0]
        for item in args[0]:
            if before(part(item), part(result)):
                result = item
        return result

    return handler


LISTS: Mapping[str, Handler] = {
    "default": default,
    "list": _list_method(list),
    "first": _list_method(lambda items: items[0] if items else Undefined()),
    "last": _list_method(lambda items: items[-1] if items else Undefined()),
    "length": _list_method(len),
    "slice": slice_of,
    "selectattr": _picked(keep=True),
    "select": _picked(keep=True),
    "rejectattr": _picked(keep=False),
    "reject": _picked(keep=False),
    "join": _join,
    "string": whole_text,
    "tojson": tojson,
    "map": _map,
    "append": _append,
    "pop": _pop,
    "sort": _sort,
    "reverse": _list_method(lambda items: _like(items, list(items)[::-1])),
    "min": _extreme(less),
    "max": _extreme(lambda left, right: less(right, left)),
    "unique": InNameOnly("a list"),
}
