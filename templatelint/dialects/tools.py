"""Tool definitions of a request → what types the arguments of a call have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from templatelint.dialects import python_literals
from templatelint.dialects.stream import DEEPEST, MOST_DIGITS, Malformed, parse_json

_CONSTANTS = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_INTEGER = re.compile(r"[-+]?\d+", re.ASCII)
_BRACKET = re.compile(r"[\[\]{}]")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?", re.ASCII)


class Tools:
    """The functions that a model may call, with the schemas of their parameters.

    Args:
        definitions: in OpenAI form (`{"type": "function", "function": {…}}`) or the inner objects alone; None where
            nobody knows, and then every function may be called.
    """

    def __init__(self, definitions: Sequence[Mapping[str, Any]] | None = None) -> None:
        self.given = definitions is not None
        self._schemas = dict(filter(None, map(_definition, definitions or ())))

    def known(self, name: str) -> bool:
        """Whether there may be a function of that name."""
        return not self.given or name in self._schemas

    @property
    def names(self) -> tuple[str, ...]:
        """The functions, in their order."""
        return tuple(self._schemas)

    def parameters(self, name: str) -> Mapping[str, Any]:
        """Parameter → its schema."""
        properties = self._schemas.get(name, {}).get("properties")
        return properties if isinstance(properties, Mapping) else {}

    def value(self, name: str, parameter: str, raw: str) -> Any:
        """What a text that stands raw in a call means for that parameter: the schema decides between text and data."""
        return value_of(raw, self.parameters(name).get(parameter))


def _definition(tool: Any) -> tuple[str, Mapping[str, Any]] | None:
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else None
    if not isinstance(inner, Mapping) or not isinstance(inner.get("name"), str):
        return None
    schema = inner.get("parameters", inner.get("input_schema", inner.get("inputSchema")))
    return inner["name"], schema if isinstance(schema, Mapping) else {}


def value_of(raw: str, schema: Any) -> Any:
    """A raw text as the value that a schema asks for.

    A text stays text where only a text is allowed; `null` is none where the schema allows that; else JSON counts,
    then Python's constants and literals, and what is neither stays text. Without a schema, what is JSON is taken so.
    """
    kinds = kinds_of(schema)
    trimmed = raw.strip()
    if kinds == {"string"}:
        return raw
    if "string" in kinds:
        return None if "null" in kinds and trimmed in ("null", "None") else _structured(raw, trimmed, kinds)
    return literal(trimmed, raw)


def unreadable(trimmed: str, schema: Any) -> str | None:
    """Why a text that stands where only data may is none, as far as its size is the reason."""
    kinds = kinds_of(schema)
    if not kinds or "string" in kinds:
        return None
    if len(trimmed) > MOST_DIGITS and _INTEGER.fullmatch(trimmed):
        return f"a number of {len(trimmed)} digits"
    depth = deepest = 0
    for bracket in _BRACKET.finditer(trimmed) if trimmed[:1] in ("{", "[") else ():
        depth += 1 if bracket[0] in "{[" else -1
        deepest = max(deepest, depth)
    return f"nested deeper than {DEEPEST}" if deepest > DEEPEST else None


def _structured(raw: str, trimmed: str, kinds: set[str]) -> Any:
    """A text where other kinds are allowed beside text: data only if it is of one of these."""
    found = literal(trimmed, raw)
    return found if kind_of(found) in kinds or (kind_of(found) == "integer" and "number" in kinds) else raw


def kind_of(value: Any) -> str:
    """The JSON Schema type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def kinds_of(schema: Any) -> set[str]:
    """The types that a schema allows; empty where it does not say."""
    if not isinstance(schema, Mapping):
        return set()
    found: set[str] = set()
    stated = schema.get("type")
    found.update([stated] if isinstance(stated, str) else [kind for kind in stated or () if isinstance(kind, str)])
    values = schema.get("enum")
    if not found and isinstance(values, Sequence) and not isinstance(values, str):
        found.update(map(kind_of, values))
    if not found and "const" in schema:
        found.add(kind_of(schema["const"]))
    for key in ("anyOf", "oneOf"):
        options = schema.get(key)
        if isinstance(options, Sequence) and not isinstance(options, str):
            for option in options:
                if isinstance(option, Mapping) and not any(inner in option for inner in ("anyOf", "oneOf")):
                    found |= kinds_of(option)
    return found


def literal(trimmed: str, raw: str | None = None) -> Any:
    """The JSON value or Python literal that a text is; else the text itself (`raw`, where that is another)."""
    text = trimmed if raw is None else raw
    if trimmed in _CONSTANTS:
        return _CONSTANTS[trimmed]
    try:
        return parse_json(trimmed)
    except ValueError:
        pass
    if trimmed[:1] not in ("{", "[", "(", "'"):
        return text
    try:
        return python_literals.read(trimmed)
    except Malformed:
        return text
