"""A template's tree → the filters, tests, methods and functions in it that a renderer lacks, reached or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from jinja2 import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.syntax import Syntax

# Methods that change a list or mapping in place: jinja2's immutable sandbox, as transformers sets it up, forbids them.
_CHANGING = frozenset(
    {"append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"}
)


@dataclass(frozen=True)
class Lack:
    """A construct that a renderer lacks.

    Attributes:
        construct: as a reader would say it (`filter 'groupby'`).
        span: offsets in the template's source.
    """

    construct: str
    span: tuple[int, int]


@dataclass(frozen=True)
class Vocabulary:
    """What a renderer has; None where the names of a kind cannot be lacking without a syntax error."""

    filters: AbstractSet[str] | None = None
    tests: AbstractSet[str] | None = None
    methods: AbstractSet[str] | None = None
    forbidden_methods: AbstractSet[str] = frozenset()
    lacking_functions: AbstractSet[str] = frozenset()


# What every renderer has.
EVERYWHERE = Vocabulary(
    filters=frozenset(
        {"abs", "capitalize", "default", "first", "float", "indent", "int", "items", "join", "last", "length", "list"}
        | {"lower", "map", "rejectattr", "replace", "reverse", "safe", "selectattr", "sort", "string", "title"}
        | {"tojson", "trim", "unique", "upper", "dictsort"}
    ),
    tests=frozenset(
        {"boolean", "defined", "eq", "equalto", "even", "false", "integer", "iterable", "lower", "mapping", "none"}
        | {"number", "odd", "sequence", "string", "true", "undefined", "upper"}
    ),
    methods=frozenset(
        {"capitalize", "endswith", "get", "items", "keys", "lower", "lstrip", "replace", "rstrip", "split"}
        | {"startswith", "strip", "title", "upper", "values"}
    ),
    lacking_functions=frozenset(("cycler", "dict", "joiner", "lipsum")),
)


def lacking(renderer: str, syntax: Syntax) -> Iterator[Lack]:
    """What of the template the renderer of that id lacks, in the order of the text."""
    own, unusual = _unusual(syntax)
    known = vocabulary(renderer) if unusual else EVERYWHERE  # most templates do without, and it takes time to load
    for node in unusual:
        construct = _construct(node, known, own)
        if construct:
            yield Lack(construct, syntax.span(node))


@lru_cache(maxsize=4)  # the same for all renderers
def _unusual(syntax: Syntax) -> tuple[AbstractSet[str], Sequence[nodes.Node]]:
    """The macros of a template, and what of it not every renderer has."""
    own = {node.name for node in syntax.all_nodes if isinstance(node, nodes.Macro)}
    return own, [node for node in syntax.all_nodes if _construct(node, EVERYWHERE, own)]


def _construct(node: nodes.Node, known: Vocabulary, own: AbstractSet[str]) -> str:
    if isinstance(node, nodes.Filter) and known.filters is not None and node.name not in known.filters:
        return f"filter '{node.name}'"
    if isinstance(node, nodes.Test) and known.tests is not None and node.name not in known.tests:
        return f"test '{node.name}'"
    if not isinstance(node, nodes.Call):
        return ""
    called = node.node
    if isinstance(called, nodes.Getattr):
        lacks = called.attr in known.forbidden_methods or (
            known.methods is not None and called.attr not in known.methods and called.attr not in own
        )
        return f"method '.{called.attr}()'" if lacks else ""
    if isinstance(called, nodes.Name) and called.name in known.lacking_functions and called.name not in own:
        return f"function '{called.name}'"
    return ""


# the renderers whose package lists its names, and that package
_PACKAGES = {"hf-jinja": "hf_jinja", "minijinja": "minijinja"}


@cache
def vocabulary(renderer: str) -> Vocabulary:
    """What the renderer of that id has."""
    if renderer == "llama.cpp":
        from templatelint.renderers.llamacpp import vocabulary as llamacpp

        return Vocabulary(
            filters=llamacpp.FILTERS,
            tests=llamacpp.TESTS_AT_HAND | {"==", "!=", "<", ">", "<=", ">="},
            methods=llamacpp.METHODS,
            lacking_functions=llamacpp.LACKING_GLOBALS,
        )
    if (package := _PACKAGES.get(renderer)) is not None:
        names = import_module(f"templatelint.renderers.{package}.vocabulary")
        return Vocabulary(names.FILTERS, names.TESTS, names.METHODS, lacking_functions=names.LACKING_GLOBALS)
    from jinja2.filters import FILTERS
    from jinja2.tests import TESTS

    # jinja2 compiles unknown names inside conditions, and fails where they are reached
    return Vocabulary(filters=frozenset(FILTERS), tests=frozenset(TESTS), forbidden_methods=_CHANGING)
