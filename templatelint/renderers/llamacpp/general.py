"""The filters that nearly every kind of value has."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.renderers import MAX_OUTPUT
from templatelint.renderers.llamacpp import arguments as given
from templatelint.renderers.llamacpp.arguments import Lacking
from templatelint.renderers.llamacpp.values import (
    JsonForm,
    Trouble,
    Undefined,
    Value,
    is_integer,
    is_list,
    plain_text,
    text,
    to_json,
    true,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.renderers.llamacpp.scope import Scope


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
    written = to_json(args[0], JsonForm(bearable(width), item, key))
    return _escaped(written) if true(ascii_only) else written


_WIDE = re.compile("[^\0-\x7f]")


def _escaped(json: str) -> str:
    if json.isascii():
        return json
    units = plain_text(json).encode("utf-16-be", "surrogatepass")
    wide = "".join(map(chr, (int.from_bytes(units[i : i + 2], "big") for i in range(0, len(units), 2))))
    return _WIDE.sub(lambda found: f"\\u{ord(found[0]):04x}", wide)


def bearable(length: int) -> int:
    """The length, if text of that length is bearable.

    Raises:
        Trouble: it is not.
    """
    if length > MAX_OUTPUT:
        raise Trouble(f"more than {MAX_OUTPUT:,} characters of output", "too-large")
    return length


def default(args: Sequence[Value], scope: Scope) -> Value:
    """The value, or the argument where there is none."""
    del scope
    given.count(args, 2, 3)
    value = args[0]
    missing = not true(value) if true(given.named_or_at(args, "boolean", 2)) else is_nothing(value)
    return args[1] if missing else value


def is_nothing(value: Value) -> bool:
    """Whether it is none or undefined."""
    return value is None or isinstance(value, Undefined)


def whole_text(args: Sequence[Value], scope: Scope) -> str:
    """What `string` makes of a list or a mapping."""
    scope.run.read_whole(args[0])
    return text(args[0])
