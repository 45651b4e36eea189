"""The filters and methods that llama.cpp gives to each kind of value; both are one table there."""

from __future__ import annotations

import re
from functools import cache, cmp_to_key
from typing import TYPE_CHECKING, Any

from templatelint.renderers import MAX_OUTPUT
from templatelint.renderers.llamacpp import arguments as given
from templatelint.renderers.llamacpp.arguments import Lacking, Misuse, is_mapping, is_string, require
from templatelint.renderers.llamacpp.values import (
    FIRST_INTEGER,
    Keyword,
    LoopInfo,
    Trouble,
    Undefined,
    Value,
    as_key,
    called,
    integer,
    is_integer,
    is_list,
    is_number,
    plain_text,
    real,
    text,
    to_json,
    true,
    truncated,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.renderers.llamacpp.evaluate import Scope

    Handler = Callable[[Sequence[Value], Scope], Value]

BLANKS = " \t\n\v\f\r"


# ------------------------------------------------------------------------------------ for several kinds


def tojson(args: Sequence[Value], scope: Scope) -> str:
    """JSON; the global function too."""
    given.count(args, 1, 5)
    ascii_only, indent, separators, sort = (
        given.named_or_at(args, name, place)
        for place, name in enumerate(("ensure_ascii", "indent", "separators", "sort_keys"), 1)
    )
    scope.run.read_whole(args[0])
    if true(sort):
        raise Lacking("has no sort_keys")
    width = indent if is_integer(indent) else -1
    texts = [text(separator) for separator in separators[:2]] if is_list(separators) else []
    item = texts[0] if texts else (", " if width < 0 else ",")
    key = texts[1] if len(texts) > 1 else ": "
    written = to_json(args[0], _sized(width), item, key)
    return _escaped(written) if true(ascii_only) else written


_WIDE = re.compile("[^\0-\x7f]")


def _escaped(json: str) -> str:
    if json.isascii():
        return json
    units = plain_text(json).encode("utf-16-be", "surrogatepass")
    wide = "".join(map(chr, (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))))
    return _WIDE.sub(lambda found: f"\\u{ord(found[0]):04x}", wide)


def _sized(width: int) -> int:
    """The width, if text of that width is bearable."""
    if width > MAX_OUTPUT:
        raise Trouble(f"more than {MAX_OUTPUT:,} characters of output", "too-large")
    return width


def _default(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    given.count(args, 2, 3)
    value = args[0]
    missing = not true(value) if true(given.named_or_at(args, "boolean", 2)) else _is_nothing(value)
    return args[1] if missing else value


def _is_nothing(value: Value) -> bool:
    return value is None or isinstance(value, Undefined)


def member(value: Value, key: Value, default: Value) -> Value:
    """What `attribute=` finds: one step, into a list also by digits."""
    if isinstance(key, Undefined):
        return default
    if is_list(value):
        if isinstance(key, str) and key.isdecimal():
            key = int(key)
        if not isinstance(key, int):
            return default
        place = key + len(value) if key < 0 else int(key)
        return value[place] if 0 <= place < len(value) else default
    if isinstance(value, dict):
        return value.get(as_key(key), default)
    return default


# ------------------------------------------------------------------------------------ order


def less(left: Value, right: Value) -> bool:
    """Whether one sorts before the other: numbers by value, strings and numbers by their text, others never.

    Raises:
        Trouble: both are booleans.
    """
    if is_number(left) and is_number(right):
        return real(left) < real(right)
    if _is_ordered(left) and _is_ordered(right):
        return text(left) < text(right)
    if isinstance(left, bool) and isinstance(right, bool):
        raise Trouble("booleans have no order")
    return False


def _is_ordered(value: Value) -> bool:
    return isinstance(value, str) or is_number(value)


_INSERTED = 16  # up to so many items the C++ library sorts by insertion, beyond by other means


def _sorted(items: Sequence[Any], before: Callable[[Any, Any], bool]) -> list[Any]:
    if len(items) > _INSERTED:
        return sorted(items, key=cmp_to_key(lambda left, right: before(right, left) - before(left, right)))
    result: list[Any] = []
    for item in items:
        if result and before(item, result[0]):
            result.insert(0, item)
            continue
        place = len(result)
        while place and before(item, result[place - 1]):
            place -= 1
        result.insert(place, item)
    return result


def _ordering(args: Sequence[Value], place: int) -> Callable[[Value], Value]:
    """What to compare of each item, by the argument `attribute`."""
    attribute = given.named_or_at(args, "attribute", place)
    if isinstance(attribute, Undefined):
        return lambda item: item
    return lambda item: member(item, attribute, Undefined())


# ------------------------------------------------------------------------------------ numbers


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


_INTEGERS: Mapping[str, Handler] = {
    "default": _default,
    "abs": _number(is_integer, lambda value: value if value == FIRST_INTEGER else abs(value)),
    "int": _number(is_integer, lambda value: value),
    "float": _number(is_integer, float),
    "safe": tojson,
    "string": tojson,
    "tojson": tojson,
}

_FLOATS: Mapping[str, Handler] = {
    "default": _default,
    "abs": _number(_is_float, lambda value: -value if value < 0 else value),
    "int": _number(_is_float, truncated),
    "float": _number(_is_float, lambda value: value),
    "safe": tojson,
    "string": tojson,
    "tojson": tojson,
}

_BOOLEANS: Mapping[str, Handler] = {
    "default": _default,
    "int": _number(_is_boolean, int),
    "float": _number(_is_boolean, float),
    "safe": _number(_is_boolean, str),
    "string": _number(_is_boolean, str),
    "tojson": tojson,
}


# ------------------------------------------------------------------------------------ strings

_CASE_LESS = {code: chr(code).lower() if code < 0x80 else chr(code) for code in range(0x100)}
_CASE_UPPER = {code: chr(code).upper() if code < 0x80 else chr(code) for code in range(0x100)}


def lower(value: str) -> str:
    """In lower case, as far as ASCII goes."""
    return value.lower() if value.isascii() else value.translate(_CASE_LESS)


def upper(value: str) -> str:
    """In upper case, as far as ASCII goes."""
    return value.upper() if value.isascii() else value.translate(_CASE_UPPER)


def _capitalize(value: str) -> str:
    return upper(value[:1]) + lower(value[1:])


_WORD = re.compile(f"[^{BLANKS}]+")


def _title(value: str) -> str:
    return _WORD.sub(lambda word: _capitalize(word[0]), value)


def _plain(change: Callable[[str], Value]) -> Handler:
    """A method that looks at the string alone."""

    def handler(args: Sequence[Value], scope: Scope) -> Value:
        del scope
        require(args, is_string)
        return change(args[0])

    return handler


def _strip(strip: Callable[[str, str], str]) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> str:
        del scope
        require(args, is_string)
        characters = given.named_or_at(args, "chars", 1)
        return strip(args[0], BLANKS if isinstance(characters, Undefined) else text(characters))

    return handler


def _affix(has: Callable[[str, str], bool]) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> bool:
        del scope
        require(args, is_string, is_string)
        return has(args[0], args[1])

    return handler


def _split(split: Callable[[str, str, int], list[str]]) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> list[str]:
        del scope
        given.count(args, 1, 3)
        require(args, is_string)
        separator = given.text_at(args, 1, " ")
        if not separator:
            raise Misuse("got an empty separator")
        return split(args[0], separator, given.integer_at(args, 2, -1))

    return handler


def _replace(args: Sequence[Value], scope: Scope) -> str:
    del scope
    require(args, is_string, is_string, is_string)
    value, old, new = args[:3]
    if given.integer_at(args, 3, -1) > 0:
        raise Lacking("has no count")
    if len(new) > len(old) and len(value) + value.count(old) * (len(new) - len(old)) > MAX_OUTPUT:
        raise Trouble(f"more than {MAX_OUTPUT:,} characters of output", "too-large")
    return str(value).replace(old, new)


def _format(args: Sequence[Value], scope: Scope) -> str:
    del scope
    require(args, is_string)
    first, *rest = args[0].split("{")
    parts = [first]
    for place, piece in enumerate(rest, 1):
        if not piece.startswith("}"):
            raise Lacking("has no placeholders but {}")
        parts += [text(given.at(args, place)), piece[1:]]
    return "".join(parts)


_BASES = range(2, 37)


def _to_integer(args: Sequence[Value], scope: Scope) -> int:
    del scope
    default = given.named_or_at(args, "default", 1)
    base_given = given.named_or_at(args, "base", 2)
    base = 10 if isinstance(base_given, Undefined) else integer(base_given)
    if base != 0 and base not in _BASES:
        raise Misuse(f"got {base} for a base, not 0 or 2 to 36")
    require(args, is_string)
    value = leading_integer(args[0], base)
    if value is not None and -(2**31) <= value < 2**31:
        return value
    return 0 if isinstance(default, Undefined) else integer(default)


_INTEGER_START = re.compile(f"[{BLANKS}]*+([+-]?)([0-9a-zA-Z]*)")
_HEXADECIMAL = re.compile("0[xX][0-9a-fA-F]")


def leading_integer(value: str, base: int) -> int | None:
    """The integer that a string starts with, as C reads it; None where there is none."""
    found = _INTEGER_START.match(value)
    sign, digits = found.groups() if found else ("", "")
    prefixed = _HEXADECIMAL.match(digits)
    if base == 0:
        base = 16 if prefixed else 8 if digits.startswith("0") else 10
    if prefixed and base == 16:  # noqa: PLR2004
        digits = digits[2:]
    length = next((place for place, digit in enumerate(digits) if int(digit, 36) >= base), len(digits))
    return int(sign + digits[:length], base) if length else None


_FLOAT_START = re.compile(
    f"[{BLANKS}]*+([+-]?)(?:0x([0-9a-f]*\\.?[0-9a-f]*)(p[+-]?[0-9]+)?|([0-9]+\\.?[0-9]*|\\.[0-9]+)(?:e[+-]?[0-9]+)?"
    "|inf(?:inity)?|nan)",
    re.IGNORECASE,
)


def leading_float(value: str) -> float | None:
    """The number that a string starts with, as C reads it; None where there is none, or none that a double holds."""
    found = _FLOAT_START.match(value)
    if found is None:
        return None
    written = found[0].strip(BLANKS)
    mantissa = found[2]
    if mantissa is not None:
        if not mantissa.strip("."):
            return 0.0 if found[1] != "-" else -0.0
        try:
            number = float.fromhex(written)
        except OverflowError:
            return None
        digits = mantissa
    else:
        number = float(written)
        digits = found[4] or ""
    infinite = number in (float("inf"), float("-inf"))
    if digits and (infinite or (abs(number) < _SMALLEST_NORMAL and digits.strip("0."))):
        return None
    return number


_SMALLEST_NORMAL = 2.2250738585072014e-308


def _to_float(args: Sequence[Value], scope: Scope) -> float:
    del scope
    require(args, is_string)
    default = given.named_or_at(args, "default", 1)
    value = leading_float(args[0])
    if value is not None:
        return value
    return 0.0 if isinstance(default, Undefined) else real(default)


def _string_default(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    require(args, is_string)
    default = args[1] if len(args) > 1 and not isinstance(args[1], Undefined) else ""
    return default if true(given.named_or_at(args, "boolean", 2)) and not args[0] else args[0]


def _indent(args: Sequence[Value], scope: Scope) -> str:
    del scope
    given.count(args, 1, 4)
    width = given.named_or_at(args, "width", 1)
    first = true(given.named_or_at(args, "first", 2))
    blank = true(given.named_or_at(args, "blank", 3))
    require(args, is_string)
    if is_integer(width) and width < 0:
        raise Misuse(f"got a width of {width}")
    margin = " " * _sized(width) if is_integer(width) else width if isinstance(width, str) else "    "
    value = args[0]
    lines = value.split("\n")
    if not lines[-1]:
        lines.pop()
    if len(margin) * len(lines) > MAX_OUTPUT:
        raise Trouble(f"more than {MAX_OUTPUT:,} characters of output", "too-large")
    indented = ""
    for line in lines:
        starts = not indented  # also behind empty lines, whose newlines are lost with it
        indented += ("" if starts else "\n") + (margin if (first if starts else line or blank) else "") + line
    if value.endswith("\n"):
        indented += "\n" + (margin if blank else "")
    return indented


def slice_bounds(length: int, start: int, stop: int, step: int) -> range:
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


def _slice(args: Sequence[Value], scope: Scope) -> Value:
    """The syntax `value[start:stop:step]`; as a filter it wants all three."""
    del scope
    given.count(args, 1, 4)
    value = args[0]
    require(args, is_string if isinstance(value, str) else is_list, is_integer)
    if len(args) < 4:  # noqa: PLR2004
        raise Misuse("needs three arguments")
    start, stop, step = map(integer, args[1:])
    if step == 0:
        raise Misuse("got a step of zero")
    length = len(value)
    taken = [value[place] for place in slice_bounds(length, start, stop, step) if 0 <= place < length]
    if isinstance(value, str):
        return "".join(taken)
    return tuple(taken) if isinstance(value, tuple) else taken


def _lacking(what: str) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> Value:
        del args, scope
        raise Lacking(f"does not work on {what}")

    return handler


_STRINGS: Mapping[str, Handler] = {
    "default": _string_default,
    "upper": _plain(upper),
    "lower": _plain(lower),
    "strip": _strip(str.strip),
    "rstrip": _strip(str.rstrip),
    "lstrip": _strip(str.lstrip),
    "title": _plain(_title),
    "capitalize": _plain(_capitalize),
    "length": _plain(len),
    "startswith": _affix(str.startswith),
    "endswith": _affix(str.endswith),
    "split": _split(str.split),
    "rsplit": _split(str.rsplit),
    "replace": _replace,
    "format": _format,
    "int": _to_integer,
    "float": _to_float,
    "string": _plain(str),
    "slice": _slice,
    "safe": _plain(lambda value: value),
    "tojson": tojson,
    "indent": _indent,
    "join": _lacking("a string"),
}


# ------------------------------------------------------------------------------------ lists


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
        from templatelint.renderers.llamacpp.functions import TESTS

        given.count(args, 2, 4)
        require(args, is_list, is_string)
        items, name, *rest = args
        if not rest:
            return [item for item in items if true(member(item, name, Undefined())) is keep]
        test_name = text(rest[0]) if len(rest) > 1 else name
        test = TESTS.get(test_name)
        if test is None:
            raise Lacking(f"has no test '{plain_text(test_name)}' with an argument")
        if len(rest) > 1:
            return [item for item in items if true(test((member(item, name, Undefined()), rest[1]), scope)) is keep]
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
        items = [member(item, attribute, Undefined()) for item in items]
    for item in items:
        if not _is_ordered(item):
            raise Misuse(f"joins strings and numbers, not {called(item)}")
    return between.join(map(text, items))


def _list_string(args: Sequence[Value], scope: Scope) -> str:
    scope.run.read_whole(args[0])
    return text(args[0])


def _map(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    given.count(args, 2)
    require(args, is_list)
    if not isinstance(args[1], Keyword):
        raise Lacking("has no filters, only attribute=")
    attribute = given.named_or_at(args, "attribute", 1)
    default = given.keyword(args, "default")
    return _like(args[0], [member(item, attribute, default) for item in args[0]])


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

    return _like(args[0], _sorted(args[0], before))


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


_LISTS: Mapping[str, Handler] = {
    "default": _default,
    "list": _list_method(list),
    "first": _list_method(lambda items: items[0] if items else Undefined()),
    "last": _list_method(lambda items: items[-1] if items else Undefined()),
    "length": _list_method(len),
    "slice": _slice,
    "selectattr": _picked(keep=True),
    "select": _picked(keep=True),
    "rejectattr": _picked(keep=False),
    "reject": _picked(keep=False),
    "join": _join,
    "string": _list_string,
    "tojson": tojson,
    "map": _map,
    "append": _append,
    "pop": _pop,
    "sort": _sort,
    "reverse": _list_method(lambda items: _like(items, list(items)[::-1])),
    "min": _extreme(less),
    "max": _extreme(lambda left, right: less(right, left)),
    "unique": _lacking("a list"),
}


# ------------------------------------------------------------------------------------ mappings


def _mapping_method(look: Callable[[dict[Value, Value]], Value]) -> Handler:
    """A method that looks at the mapping alone."""

    def handler(args: Sequence[Value], scope: Scope) -> Value:
        del scope
        require(args, is_mapping)
        return look(args[0])

    return handler


def _get(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    given.count(args, 2, 3)
    require(args, is_mapping, is_string)
    return args[0].get(args[1], args[2] if len(args) > 2 else None)  # noqa: PLR2004


def _dictsort(args: Sequence[Value], scope: Scope) -> Value:
    del scope
    by_value = given.named_or_at(args, "by", 2) == "value"
    backwards = true(given.named_or_at(args, "reverse", 3))

    def before(left: tuple[Value, Value], right: tuple[Value, Value]) -> bool:
        first, second = (right, left) if backwards else (left, right)
        return less(first[by_value], second[by_value])

    return dict(_sorted(list(args[0].items()), before))


_MAPPINGS: Mapping[str, Handler] = {
    "get": _get,
    "keys": _mapping_method(list),
    "values": _mapping_method(lambda mapping: list(mapping.values())),
    "items": _mapping_method(lambda mapping: list(mapping.items())),
    "tojson": tojson,
    "string": _list_string,
    "length": _mapping_method(len),
    "dictsort": _dictsort,
    "join": _lacking("a mapping"),
}


# ------------------------------------------------------------------------------------ none and undefined


def _empty(make: Callable[[], Value]) -> Handler:
    def handler(args: Sequence[Value], scope: Scope) -> Value:
        del args, scope
        return make()

    return handler


_NONE: Mapping[str, Handler] = {
    "default": _default,
    "tojson": tojson,
    **dict.fromkeys(("string", "safe"), _empty(lambda: "None")),
    **dict.fromkeys(("items", "map", "reject", "rejectattr", "select", "selectattr", "unique"), _empty(list)),
}

_UNDEFINED: Mapping[str, Handler] = {
    "default": _default,
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


# ------------------------------------------------------------------------------------ look-up

# functions and keyword arguments have none, and may not be asked
_METHODS: dict[type, Mapping[str, Handler]] = {
    int: _INTEGERS,
    float: _FLOATS,
    bool: _BOOLEANS,
    str: _STRINGS,
    list: _LISTS,
    tuple: _LISTS,
    dict: _MAPPINGS,
    LoopInfo: {},
    type(None): _NONE,
    Undefined: _UNDEFINED,
}


def methods_of(value: Value) -> Mapping[str, Handler]:
    """The filters and methods of a value by name.

    Raises:
        Trouble: there cannot be any.
    """
    methods = _METHODS.get(type(value)) or _inherited(type(value))
    if methods is None:
        raise Trouble(f"{called(value)} has no attributes")
    return methods


@cache
def _inherited(kind: type) -> Mapping[str, Handler] | None:
    return next((_METHODS[base] for base in kind.__mro__ if base in _METHODS), None)
