"""A value and a JSON schema → what of the value breaks it: for exactly the words that our own schemas use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.dialects.tools import kind_of
from templatelint.probe.telling import quoted

if TYPE_CHECKING:
    from collections.abc import Mapping


def fault(value: Any, schema: Mapping[str, Any], where: str = "") -> str:
    """The first thing that is wrong, in a clause; empty where the value is valid.

    Args:
        value: any JSON value.
        schema: of `type`, `enum`, `properties`, `required`, `additionalProperties: false` and `items`.
        where: the value's place (`city`); empty for the whole.
    """
    named = where or "the value"
    kind = kind_of(value)
    wanted = schema.get("type", kind)
    if kind != wanted and not (wanted == "number" and kind == "integer"):
        return f"{named} is {_a(kind)}, not {_a(wanted)}"
    if "enum" in schema and not any(kind_of(each) == kind and each == value for each in schema["enum"]):
        return f"{named} is {quoted(value)}, none of {', '.join(map(quoted, schema['enum']))}"
    if kind == "object":
        return _object_fault(value, schema, where)
    if kind == "array" and "items" in schema:
        faults = (fault(each, schema["items"], f"{where}[{at}]") for at, each in enumerate(value))
        return next(filter(None, faults), "")
    return ""


def _object_fault(value: Mapping[str, Any], schema: Mapping[str, Any], where: str) -> str:
    inside = f"{where}." if where else ""
    for name in schema.get("required", ()):
        if name not in value:
            return f"{inside}{name} is missing"
    known = schema.get("properties", {})
    for name, each in value.items():
        if name in known:
            if found := fault(each, known[name], f"{inside}{name}"):
                return found
        elif schema.get("additionalProperties") is False:
            return f"{inside}{quoted(name)} is unknown"
    return ""


def _a(kind: str) -> str:
    return kind if kind == "null" else f"an {kind}" if kind[0] in "aio" else f"a {kind}"
