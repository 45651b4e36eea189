"""JSON data → minijinja's literals: values of the engine's own instead of Python objects that it would look into."""

from __future__ import annotations

import math
import re
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# names of the language, which `set` cannot take
_RESERVED = frozenset({"and", "else", "false", "if", "in", "is", "loop", "none", "not", "or", "self", "true"}) | {
    "False",
    "None",
    "True",
}
_LARGEST = 2**64 - 1  # beyond it a JSON number is a float
_SMALLEST = -(2**63)


def assignments(variables: Mapping[str, Any]) -> str:
    """Statements on one line that give the variables their values; no template can tell of others."""
    return "".join(
        f"{{% set {name} = {literal(value)} %}}"
        for name, value in variables.items()
        if _NAME.fullmatch(name) and name not in _RESERVED
    )


def literal(value: Any) -> str:
    """JSON data as an expression.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if _SMALLEST <= value <= _LARGEST else literal(float(value))
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "none"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{encode_basestring(str(key))}: {literal(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(literal, value)) + "]"
    raise TypeError(f"no JSON data: {type(value).__name__}")
