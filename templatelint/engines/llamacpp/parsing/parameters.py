"""The schema of a tool's arguments → its parameters, and what kinds of values llama.cpp sees in each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint.engines.llamacpp import schemas

if TYPE_CHECKING:
    from collections.abc import Mapping

_DEEPEST = 64  # nested alternatives and references; llama.cpp has no bound
_TYPES: dict[str, frozenset[str]] = {
    "any": frozenset(("null", "boolean", "integer", "number", "string", "array", "object")),
    "number": frozenset(("number", "integer")),
    "tuple": frozenset(("array",)),
    **{name: frozenset((name,)) for name in ("null", "boolean", "integer", "string", "array", "object")},
}
_TEXT_MEMBERS = ("pattern", "minLength", "maxLength")
_FORMATS = frozenset(("date", "time", "date-time", "uuid", *(f"uuid{version}" for version in range(1, 6))))


@dataclass(frozen=True, slots=True)
class Schema:
    """A place in a schema that llama.cpp takes (see `schemas.fault`).

    Attributes:
        node: the schema there.
        root: the whole, for references.
    """

    node: Mapping[str, Any]
    root: Any

    @property
    def kind(self) -> str:
        """`ref`, `anyOf`, `allOf`, `const`, `enum`, a JSON type, `tuple`, or `any` for what says nothing."""
        node = self.node
        if "$ref" in node:
            return "ref"
        if "oneOf" in node or "anyOf" in node or isinstance(node.get("type"), list):
            return "anyOf"
        listed = next((member for member in ("const", "enum") if member in node), None)
        return listed or _typed_kind(node)

    @property
    def alternatives(self) -> tuple[Schema, ...]:
        """The schemas of `anyOf`, `oneOf` or `allOf`, or one for each in a list of types."""
        node = self.node
        key = next((key for key in ("oneOf", "anyOf") if key in node), None)
        if key is None and isinstance(node.get("type"), list):
            return tuple(Schema({**node, "type": each}, self.root) for each in node["type"])
        return tuple(Schema(each, self.root) for each in node.get(key or "allOf", ()))

    @property
    def target(self) -> Schema | None:
        """What a reference points to; None where that is nothing."""
        found = schemas.referenced(self.node["$ref"], self.root)
        return Schema(found, self.root) if isinstance(found, dict) else None

    @property
    def items(self) -> Schema:
        """The schema of a list's items."""
        found = self.node.get("items", self.node.get("prefixItems", {}))
        return Schema(found if isinstance(found, dict) else {}, self.root)

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The members of an object in their order; none where the schema is not that of an object."""
        if self.kind != "object":
            return ()
        required = self.node.get("required")
        needed = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        properties = self.node.get("properties", {})
        return tuple(Parameter(name, Schema(each, self.root), name in needed) for name, each in properties.items())

    @property
    def may_be_string(self) -> bool:
        """Whether a text is among the values; a schema that says nothing about them does not count."""
        return _may_be_string(self, ())

    @property
    def types(self) -> frozenset[str]:
        """The JSON types of the values; a schema that says nothing about them has all."""
        return _types(self, ())


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a tool, or a member of an object."""

    name: str
    schema: Schema
    required: bool


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that the model may call.

    Attributes:
        name: in bytes, as the model writes it.
        schema: of its arguments.
    """

    name: bytes
    schema: Schema

    @staticmethod
    def of(definition: Mapping[str, Any]) -> Tool:
        """What a tool's definition in a request says."""
        function = definition["function"]
        parameters = schemas.of_parameters(function.get("parameters"))
        return Tool(_bytes(function["name"]), Schema(parameters, parameters))


def _typed_kind(node: Mapping[str, Any]) -> str:
    kind = node.get("type") or ""
    members = "properties" in node or ("additionalProperties" in node and node["additionalProperties"] is not True)
    if kind in ("", "object") and members:
        return "object"
    if kind in ("", "object", "string") and "allOf" in node:
        return "allOf"
    if kind == "array" or (not kind and ("items" in node or "prefixItems" in node)):
        return "tuple" if isinstance(node.get("items", node.get("prefixItems")), list) else "array"
    if not kind:
        texts = any(name in node for name in _TEXT_MEMBERS) or node.get("format") in _FORMATS
        return "string" if texts else "any"
    return str(kind)


def _may_be_string(schema: Schema, followed: tuple[int, ...]) -> bool:
    kind = schema.kind
    if kind == "const":
        return isinstance(schema.node["const"], str)
    if kind == "enum":
        return any(isinstance(each, str) for each in schema.node["enum"])
    if kind not in ("ref", "anyOf", "allOf") or len(followed) > _DEEPEST:
        return kind == "string"
    if kind == "ref":
        target = _followed(schema, followed)
        return target is not None and _may_be_string(target, (*followed, id(target.node)))
    if kind == "anyOf":
        return any(_may_be_string(each, (*followed, 0)) for each in schema.alternatives)
    telling = [each for each in schema.alternatives if each.kind != "any"]
    return bool(telling) and all(_may_be_string(each, (*followed, 0)) for each in telling)


def _types(schema: Schema, followed: tuple[int, ...]) -> frozenset[str]:
    kind = schema.kind
    if kind in ("const", "enum"):
        values = [schema.node["const"]] if kind == "const" else schema.node["enum"]
        return frozenset(map(_type_of, values))
    if kind not in ("ref", "anyOf", "allOf") or len(followed) > _DEEPEST:
        return _TYPES.get(kind, frozenset())
    if kind == "ref":
        target = _followed(schema, followed)
        return frozenset() if target is None else _types(target, (*followed, id(target.node)))
    found = [_types(each, (*followed, 0)) for each in schema.alternatives]
    return _TYPES["any"].intersection(*found) if kind == "allOf" else frozenset[str]().union(*found)


def _followed(schema: Schema, followed: tuple[int, ...]) -> Schema | None:
    target = schema.target
    return None if target is None or id(target.node) in followed else target


def _type_of(value: Any) -> str:
    named = (("boolean", bool), ("integer", int), ("number", float), ("string", str), ("array", list))
    if value is None:
        return "null"
    return next((name for name, type_ in named if isinstance(value, type_)), "object")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
