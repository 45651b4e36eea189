"""The functions and tests that llama.cpp knows everywhere."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NoReturn

from templatelint.renderers.llamacpp import arguments as given
from templatelint.renderers.llamacpp.arguments import Lacking, Misuse, is_string, require
from templatelint.renderers.llamacpp.general import tojson
from templatelint.renderers.llamacpp.ordering import less, same
from templatelint.renderers.llamacpp.strings import lower, upper
from templatelint.renderers.llamacpp.values import (
    Function,
    Keyword,
    Trouble,
    Undefined,
    Value,
    as_key,
    called,
    equal,
    integer,
    is_integer,
    is_list,
    is_number,
    plain_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from templatelint.renderers.llamacpp.scope import Scope
    from templatelint.renderers.llamacpp.values import Handler


# ------------------------------------------------------------------------------------ functions


def _raise_exception(args: Sequence[Value], scope: Scope) -> NoReturn:
    del scope
    require(args, is_string)
    raise Trouble(plain_text(args[0]), "refused")


_PAIR = 2


def _mapping(args: Sequence[Value], scope: Scope) -> dict[Value, Value]:
    """`dict` and `namespace`."""
    del scope
    made: dict[Value, Value] = {}
    first = args[0] if args else None
    rest = args
    if is_list(first):
        for pair in first:
            if not is_list(pair) or len(pair) != _PAIR:
                raise Misuse(f"takes pairs, not {called(pair)}")
            made[as_key(pair[0])] = pair[1]
        rest = args[1:]
    elif isinstance(first, dict):
        made.update(first)
        rest = args[1:]
    for argument in rest:
        if not isinstance(argument, Keyword):
            raise Misuse(f"takes keyword arguments, a mapping or pairs, not {called(argument)}")
        made[argument.name] = argument.value
    return made


_LONGEST_TIME = 99


def _strftime_now(args: Sequence[Value], scope: Scope) -> str:
    require(args, is_string)
    form = args[0].partition("\0")[0]
    now = scope.run.now.timetuple()
    # what time.strftime makes of other characters depends on the locale
    told = "".join(part if other else time.strftime(part, now) for other, part in _by_charset(form))
    if not 0 < len(told) <= _LONGEST_TIME:
        raise Misuse(f"makes 1 to {_LONGEST_TIME} bytes, not {len(told)}")
    return told


def _by_charset(value: str) -> Iterator[tuple[bool, str]]:
    """The parts of a text outside and inside ASCII in turn, each with whether it is outside."""
    for place, part in enumerate(re.split("([^\0-\x7f]+)", value)):
        if part:
            yield bool(place % 2), part


_LONGEST_RANGE = 1_000_000


def _range(args: Sequence[Value], scope: Scope) -> list[int]:
    del scope
    given.count(args, 1, 3)
    require(args, is_integer)
    bounds = [integer(argument) for argument in args]
    if 0 in bounds[2:]:
        raise Misuse("got a step of zero")
    numbers = range(*bounds)
    if numbers[_LONGEST_RANGE:]:
        raise Trouble(f"a range of more than {_LONGEST_RANGE:,} numbers", "too-large")
    return list(numbers)


# ------------------------------------------------------------------------------------ tests


def _test(holds: Callable[[Value], bool], wanted: Callable[[Value], bool] | None = None) -> Handler:
    """A test of the value alone, which may have to be of a kind."""

    def handler(args: Sequence[Value], scope: Scope) -> bool:
        del scope
        if wanted is not None:
            require(args, wanted)
        return holds(args[0])

    return handler


def _comparison(holds: Callable[[Value, Value], bool]) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> bool:
        del scope
        given.count(args, 2, 2)
        return holds(args[0], args[1])

    return handler


def _at_least(left: Value, right: Value) -> bool:
    equality = same(left, right)
    return equality is not None and (less(right, left) or equality)


def _divisible(args: Sequence[Value], scope: Scope) -> bool:
    del scope
    require(args, is_integer, is_integer)
    if args[1] == 0:
        raise Misuse("by zero ends the whole process")
    return bool(args[0] % args[1] == 0)


def contains(needle: Value, haystack: Value) -> bool:
    """Whether `in` holds.

    Raises:
        Trouble: that cannot be looked for, or not there.
    """
    if isinstance(haystack, Undefined):
        return False
    if is_list(haystack):
        return any(equal(needle, item) for item in haystack)
    if isinstance(haystack, str):
        if not isinstance(needle, str):
            raise Trouble(f"{called(needle)} cannot be in a string")
        return needle in haystack
    if isinstance(haystack, dict):
        return as_key(needle) in haystack
    raise Trouble(f"nothing can be in {called(haystack)}")


def _in(args: Sequence[Value], scope: Scope) -> bool:
    del scope
    given.count(args, 2)
    return contains(args[0], args[1])


_SMALL_INTEGERS = range(-5, 257)


def _same_object(args: Sequence[Value], scope: Scope) -> bool:
    del scope
    given.count(args, 2)
    left, right = args[:2]
    if isinstance(left, Undefined) or isinstance(right, Undefined):
        return False
    if isinstance(left, bool) and isinstance(right, bool):
        return left is right
    if is_integer(left) and is_integer(right):
        return left == right and left in _SMALL_INTEGERS
    if isinstance(left, str) and len(left) <= 1:
        return False  # Python keeps one of each, llama.cpp only what is the same variable
    return left is right


def _is_test(args: Sequence[Value], scope: Scope) -> bool:
    del scope
    require(args, is_string)
    return args[0] in TESTS


def _lacking(args: Sequence[Value], scope: Scope) -> NoReturn:
    del args, scope
    raise Lacking("is not implemented")


def _is_iterable(value: Value) -> bool:
    return isinstance(value, dict | list | tuple | str | Undefined)


LACKING_TESTS = frozenset({"escaped", "filter"})
"""Tests that llama.cpp has in name only."""

TESTS: Mapping[str, Handler] = {
    "boolean": _test(lambda value: isinstance(value, bool)),
    "callable": _test(lambda value: isinstance(value, Function)),
    "odd": _test(lambda value: value % 2 != 0, is_integer),
    "even": _test(lambda value: value % 2 == 0, is_integer),
    "false": _test(lambda value: value is False),
    "true": _test(lambda value: value is True),
    "divisibleby": _divisible,
    "string": _test(is_string),
    "integer": _test(is_integer),
    "float": _test(lambda value: isinstance(value, float)),
    "number": _test(is_number),
    "iterable": _test(_is_iterable),
    "sequence": _test(_is_iterable),
    "mapping": _test(lambda value: isinstance(value, dict)),
    "lower": _test(lambda value: value == lower(value), is_string),
    "upper": _test(lambda value: value == upper(value), is_string),
    "none": _test(lambda value: value is None),
    "defined": _test(lambda value: not isinstance(value, Undefined)),
    "undefined": _test(lambda value: isinstance(value, Undefined)),
    **dict.fromkeys(("eq", "equalto"), _comparison(lambda left, right: same(left, right) is True)),
    "ne": _comparison(lambda left, right: same(left, right) is False),
    "ge": _comparison(_at_least),
    **dict.fromkeys(("gt", "greaterthan"), _comparison(lambda left, right: less(right, left))),
    **dict.fromkeys(("lt", "lessthan"), _comparison(less)),
    "in": _in,
    "test": _is_test,
    "sameas": _same_object,
    **dict.fromkeys(sorted(LACKING_TESTS), _lacking),
}
"""Name → handler of (value, arguments…)."""

GLOBALS: Mapping[str, Function] = {
    name: Function(name, handler)
    for name, handler in {
        "raise_exception": _raise_exception,
        "dict": _mapping,
        "namespace": _mapping,
        "strftime_now": _strftime_now,
        "range": _range,
        "tojson": tojson,
        **{f"test_is_{name}": handler for name, handler in TESTS.items()},
    }.items()
}
