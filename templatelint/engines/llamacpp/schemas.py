"""JSON schema → why llama.cpp cannot turn it into a grammar: it rejects the whole request then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_TYPES = frozenset(("object", "array", "string", "integer", "number", "boolean", "null"))
_TEXT_MEMBERS = ("pattern", "minLength", "maxLength")
_KNOWN_FORMATS = frozenset(("date", "time", "date-time", "uuid", *(f"uuid{version}" for version in range(1, 6))))


class _Faulty(Exception):
    """A place in a schema that llama.cpp does not take."""


def of_parameters(parameters: Any) -> Any:
    """The schema that llama.cpp makes of a tool's parameters; none at all means no arguments."""
    return {"type": "object", "properties": {}} if parameters is None or parameters == {} else parameters


def fault(schema: Any) -> str | None:
    """What llama.cpp does not take about a schema, with its place; None where it takes all.

    The regular expressions of `pattern` are not looked at.
    """
    try:
        _Reading(schema).run()
    except _Faulty as error:
        return str(error)
    return None


@dataclass
class _Reading:
    """A walk over the parts of a schema that llama.cpp reads, references followed once."""

    root: Any
    _pending: list[tuple[Any, str]] = field(default_factory=list)
    _followed: set[str] = field(default_factory=set)

    def run(self) -> None:
        self._pending.append((self.root, "#"))
        while self._pending:
            schema, path = self._pending.pop()
            self._pending += reversed(list(self._parts(schema, path)))

    def _parts(self, schema: Any, path: str) -> Iterator[tuple[Any, str]]:
        """What is still to be read of a schema after its own members have passed."""
        if not isinstance(schema, dict):
            raise _Faulty(f"{path} is no object")
        if "$ref" in schema:
            yield from self._reference(schema["$ref"], path)
            return
        for key in ("oneOf", "anyOf"):
            if key in schema:
                yield from _alternatives(schema, key, path)
                return
        kind = schema.get("type")
        if isinstance(kind, list):
            if not kind:
                raise _Faulty(f"type at {path} is empty")
            yield from (({**schema, "type": each}, f"{path}/type/{at}") for at, each in enumerate(kind))
        elif not _lists_values(schema, path):
            if kind is not None and not isinstance(kind, str):
                raise _Faulty(f"type at {path} is neither a text nor a list")
            yield from _typed_parts(schema, kind or "", path)

    def _reference(self, reference: Any, path: str) -> Iterator[tuple[Any, str]]:
        if not isinstance(reference, str) or not reference.startswith("#/"):
            raise _Faulty(f"$ref {reference} at {path} does not point into the same schema")
        if reference in self._followed:
            return
        self._followed.add(reference)
        yield _resolved(reference, self.root, path), reference


def referenced(reference: str, root: Any) -> Any:
    """What a reference into a schema points to; None where that is nothing."""
    try:
        return _resolved(reference, root, "#")
    except _Faulty:
        return None


def _resolved(reference: str, root: Any, path: str) -> Any:
    target = root
    for step in reference[1:].split("/")[1:]:
        if isinstance(target, dict) and step in target:
            target = target[step]
        elif isinstance(target, list) and step.isdecimal() and int(step) < len(target):
            target = target[int(step)]
        else:
            raise _Faulty(f"$ref {reference} at {path} points to nothing: there is no {step}")
    return target


def _lists_values(schema: dict[str, Any], path: str) -> bool:
    """Whether the schema names the values themselves, so that its type does not count."""
    if "const" not in schema and "enum" in schema and not (isinstance(schema["enum"], list) and schema["enum"]):
        raise _Faulty(f"enum at {path} is no list of values")
    return "const" in schema or "enum" in schema


def _alternatives(schema: dict[str, Any], key: str, path: str) -> Iterator[tuple[Any, str]]:
    choices = schema[key]
    if not isinstance(choices, list) or not choices:
        raise _Faulty(f"{key} at {path} is no list of schemas")
    yield from ((choice, f"{path}/{key}/{at}") for at, choice in enumerate(choices))


def _typed_parts(schema: dict[str, Any], kind: str, path: str) -> Iterator[tuple[Any, str]]:
    """The parts that count for the type, or for the type that the members imply."""
    kind = kind or _implied_type(schema, path)
    if kind == "allOf" or (kind in ("object", "string") and _is_all_of(schema, kind)):
        return _alternatives(schema, "allOf", path)
    if kind == "object":
        return _object_parts(schema, path)
    if kind == "array":
        return _array_parts(schema, path)
    if kind == "string":
        _require_text(schema, path)
    elif kind == "integer":
        _require_bounds(schema, path)
    elif kind and kind not in _TYPES:
        raise _Faulty(f"type at {path} is {kind}, which is no JSON type")
    return iter(())


def _implied_type(schema: dict[str, Any], path: str) -> str:
    if _has_members(schema):
        return "object"
    if "allOf" in schema:
        return "allOf"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    named = any(name in schema for name in _TEXT_MEMBERS) or _format(schema, path) in _KNOWN_FORMATS
    return "string" if named else ""


def _is_all_of(schema: dict[str, Any], kind: str) -> bool:
    return "allOf" in schema and not (kind == "object" and _has_members(schema))


def _has_members(schema: dict[str, Any]) -> bool:
    return "properties" in schema or ("additionalProperties" in schema and schema["additionalProperties"] is not True)


def _object_parts(schema: dict[str, Any], path: str) -> Iterator[tuple[Any, str]]:
    properties = schema.get("properties", {})
    if not isinstance(properties, dict):
        raise _Faulty(f"properties at {path} is no object")
    yield from ((value, f"{path}/properties/{name}") for name, value in properties.items())
    more = schema.get("additionalProperties", False)
    if isinstance(more, dict):
        yield more, f"{path}/additionalProperties"
    elif not isinstance(more, bool):
        raise _Faulty(f"additionalProperties at {path} is neither a boolean nor a schema")


def _array_parts(schema: dict[str, Any], path: str) -> Iterator[tuple[Any, str]]:
    key = "items" if "items" in schema else "prefixItems"
    items = schema.get(key, {})
    if isinstance(items, list):
        yield from ((item, f"{path}/{key}/{at}") for at, item in enumerate(items))
        return
    yield items, f"{path}/{key}"
    _require_counts(schema, ("minItems", "maxItems"), path)


def _require_text(schema: dict[str, Any], path: str) -> None:
    if not isinstance(schema.get("pattern", ""), str):
        raise _Faulty(f"pattern at {path} is no text")
    _format(schema, path)
    _require_counts(schema, ("minLength", "maxLength"), path)


def _format(schema: dict[str, Any], path: str) -> str:
    value = schema.get("format", "")
    if not isinstance(value, str):
        raise _Faulty(f"format at {path} is no text")
    return value


def _require_counts(schema: dict[str, Any], names: tuple[str, ...], path: str) -> None:
    for name in names:
        value = schema.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise _Faulty(f"{name} at {path} is no count")


def _require_bounds(schema: dict[str, Any], path: str) -> None:
    for exact, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        value = schema.get(exact, schema.get(exclusive, 0))
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise _Faulty(f"a bound at {path} is no number")
