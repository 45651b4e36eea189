"""A tool's parameters → as SGLang 0.5.23 shows them to a template, or why it rejects the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TYPES = frozenset(("null", "boolean", "object", "array", "number", "string", "integer"))

# function_call/utils.py::_JSON_SCHEMA_TYPE_ALIASES
_ALIASES = {
    name: kind
    for kind, names in (
        ("string", "str text varchar char enum uuid date datetime time timestamp binary blob bytea bytes varbinary"),
        ("boolean", "bool"),
        ("integer", "bigint smallint tinyint"),
        ("number", "double decimal real numeric"),
        ("array", "arr tuple set"),
        ("object", "map"),
    )
    for name in names.split()
}
# function_call/utils.py::_PREFIX_RULES, in their order
_STARTS = (
    (("int", "uint", "long", "short", "unsigned"), "integer"),
    (("num", "float"), "number"),
    (("list",), "array"),
    (("dict",), "object"),
)
_BEHIND_A_START = frozenset("0123456789[<( \t")


def normalised(schema: Any) -> Any:
    """A copy of the schema whose types are JSON Schema's where SGLang knows the name (`varchar`, `int32`, `list[str]`).

    (function_call/utils.py::normalize_json_schema_types)
    """
    if isinstance(schema, list):
        return [normalised(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: _normalised_member(key, value) for key, value in schema.items()}


_NAMED_SCHEMAS = frozenset(("properties", "patternProperties", "$defs", "definitions", "dependentSchemas"))
_LISTED_SCHEMAS = frozenset(("anyOf", "oneOf", "allOf", "prefixItems"))
_SCHEMAS = frozenset(
    (
        "items",
        "additionalProperties",
        "not",
        "if",
        "then",
        "else",
        "contains",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
    )
)


def _normalised_member(key: str, value: Any) -> Any:
    if key == "type":
        if isinstance(value, list):
            # a list, since a type may be no name at all; equal ones are said once
            kinds = [_type(item) for item in value]
            return [kind for at, kind in enumerate(kinds) if kind not in kinds[:at]]
        return _type(value)
    if key in _NAMED_SCHEMAS and isinstance(value, dict):
        return {name: normalised(schema) for name, schema in value.items()}
    if key in _SCHEMAS or (key in _LISTED_SCHEMAS and isinstance(value, list)):
        return normalised(value)
    return value


def _type(name: Any) -> Any:
    if not isinstance(name, str) or name in TYPES:
        return name
    base = name.split("(", 1)[0].strip().lower()
    if base in TYPES:
        return base
    if base in _ALIASES:
        return _ALIASES[base]
    for starts, kind in _STARTS:
        if any(base == start or (base.startswith(start) and base[len(start)] in _BEHIND_A_START) for start in starts):
            return kind
    return name


# -------------------------------------------------------------- what is a schema of draft 2020-12 at all


def fault(schema: Any) -> str | None:
    """What about the schema is not as the draft has it, with its place; None where all is.

    (entrypoints/openai/serving_chat.py::_validate_request asks jsonschema's Draft202012Validator.check_schema)

    Raises:
        RecursionError: nested too deeply.
    """
    return next(_faults(schema, "#"), None)


def _faults(schema: Any, path: str) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        yield f"{path} is no schema"
        return
    for key, value in schema.items():
        check = _CHECKS.get(key)
        if check is not None:
            yield from check(value, f"{path}/{key}")


def _is(wanted: str, test: Callable[[Any], bool]) -> Callable[[Any, str], Iterator[str]]:
    def check(value: Any, path: str) -> Iterator[str]:
        if not test(value):
            yield f"{path} is not {wanted}"

    return check


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    whole = value.is_integer() if isinstance(value, float) else _is_number(value)
    return whole and value >= 0


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and len(set(value)) == len(value)


def _is_type(value: Any) -> bool:
    return (_is_texts(value) and bool(value) and TYPES.issuperset(value)) or (_is_text(value) and value in TYPES)


def _is_pattern(value: Any) -> bool:
    import re

    try:
        return _is_text(value) and bool(re.compile(value))
    except (re.error, RecursionError, OverflowError):
        return False


def _listed(value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, list) or not value:
        yield f"{path} is not a list of schemas"
        return
    for at, schema in enumerate(value):
        yield from _faults(schema, f"{path}/{at}")


def _named(value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path} is not an object"
        return
    for name, schema in value.items():
        yield from _faults(schema, f"{path}/{name}")


def _named_by_pattern(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, dict):
        yield from (f"{path}/{name} is not named by a pattern" for name in value if not _is_pattern(name))
    yield from _named(value, path)


def _dependencies(value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path} is not an object"
        return
    for name, item in value.items():
        if not _is_texts(item):
            yield from _faults(item, f"{path}/{name}")


def _checks() -> Iterator[tuple[str, Callable[[Any, str], Iterator[str]]]]:
    for check, keys in (
        (_faults, f"{' '.join(_SCHEMAS)} contentSchema"),
        (_listed, " ".join(_LISTED_SCHEMAS)),
        (_named, "properties $defs definitions dependentSchemas"),
        (_named_by_pattern, "patternProperties"),
        (_dependencies, "dependencies"),
        (_is("the name of a type, or a list of them", _is_type), "type"),
        (_is("a string", _is_text), "title description format $comment contentEncoding contentMediaType"),
        (_is("a URI without a fragment", lambda value: _is_text(value) and "#" not in value[:-1]), "$id"),
        (_is("a string", _is_text), "$schema $ref $anchor $dynamicRef $dynamicAnchor $recursiveRef"),
        (_is("a list", lambda value: isinstance(value, list)), "enum examples"),
        (_is("a number", _is_number), "maximum exclusiveMaximum minimum exclusiveMinimum"),
        (_is("a number above 0", lambda value: _is_number(value) and value > 0), "multipleOf"),
        (_is("a count", _is_count), "maxLength minLength maxItems minItems maxContains minContains"),
        (_is("a count", _is_count), "maxProperties minProperties"),
        (_is("a regular expression", _is_pattern), "pattern"),
        (_is("true or false", lambda value: isinstance(value, bool)), "uniqueItems deprecated readOnly writeOnly"),
        (_is("a list of names", _is_texts), "required"),
        (
            _is(
                "an object of lists of names",
                lambda value: isinstance(value, dict) and all(map(_is_texts, value.values())),
            ),
            "dependentRequired",
        ),
    ):
        yield from ((key, check) for key in keys.split())


_CHECKS = dict(_checks())
