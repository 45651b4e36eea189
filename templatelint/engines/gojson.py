"""JSON data → the same after Go's `encoding/json` has read it without types, and as it writes it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

# What Go escapes so that a page may hold it, and how it writes control characters that JSON has a letter for.
_ESCAPED = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")
_EXPONENT_FROM, _EXPONENT_BELOW = 1e21, 1e-6


class Unreadable(ValueError):
    """Go reads no such number."""


def decoded(value: Any) -> Any:
    """Objects sorted by key, numbers as 64-bit floats.

    Raises:
        Unreadable: a number is beyond them.
    """
    if isinstance(value, Mapping):
        return {_clean(key): decoded(value[key]) for key in sorted(value)}
    if isinstance(value, list | tuple):
        return [decoded(item) for item in value]
    if isinstance(value, str):
        return _clean(value)
    if isinstance(value, bool) or value is None:
        return value
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Unreadable("a number is beyond 64-bit floats")
    return int(Decimal(repr(number))) if number.is_integer() and abs(number) < _EXPONENT_FROM else number


def object_of(text: str) -> dict[str, Any] | None:
    """The object that the text is, its own keys in order and what they hold as `decoded`; None where it is none."""
    try:
        value = json.loads(text)
        return {_clean(key): decoded(item) for key, item in value.items()} if isinstance(value, dict) else None
    except (ValueError, RecursionError):
        return None


def dump(value: Any) -> str:
    """Compact, with the signs of HTML escaped."""
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{dump(str(key))}:{dump(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(dump, value)) + "]"
    if isinstance(value, str):
        return json.dumps(_clean(value), ensure_ascii=False).translate(_ESCAPED)
    if isinstance(value, float):
        return _number(value)
    return json.dumps(value)


def _number(value: float) -> str:
    if value != 0 and not _EXPONENT_BELOW <= abs(value) < _EXPONENT_FROM:
        mantissa, _, exponent = repr(value).partition("e")
        if exponent:
            return f"{mantissa.removesuffix('.0')}e{int(exponent):+d}"
    return format(Decimal(repr(value)), "f").removesuffix(".0")


def _clean(text: str) -> str:
    """Go's strings hold no surrogates."""
    return text.translate(_SURROGATES)
