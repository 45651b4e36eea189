"""A template's tree → the constructs in it that a renderer lacks, or takes for something else, reached or not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING

from jinja2 import nodes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
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


@dataclass(frozen=True)
class Other:
    """A construct that a renderer runs without an error, and to another effect than jinja2, whatever the text.

    Attributes:
        effect: what the renderer does there, for people.
        span: offsets in the template's source.
    """

    effect: str
    span: tuple[int, int]


def differing(renderer: str, syntax: Syntax) -> Iterator[Other]:
    """What of the template the renderer of that id takes for something else, each effect once."""
    told: set[str] = set()
    for node in syntax.all_nodes if renderer in _EFFECTS else ():
        effect = _EFFECTS[renderer](node, syntax)
        if effect and effect not in told:
            told.add(effect)
            yield Other(effect, syntax.span(node))


def _effect_in_hf_jinja(node: nodes.Node, _: Syntax) -> str:
    """Its string methods take no characters to strip; where those are blanks, it makes little of a difference."""
    if not (isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and len(node.args) == 1):
        return ""
    method, (characters,) = node.node.attr, node.args
    if method not in {"strip", "lstrip", "rstrip"} or not isinstance(characters, nodes.Const):
        return ""
    named = isinstance(characters.value, str) and characters.value.strip()
    return f"takes no notice of the characters in `.{method}({characters.value!r})` and strips blanks" if named else ""


def _effect_in_minijinja(node: nodes.Node, syntax: Syntax) -> str:
    """Text is no sequence to it, which matters where text gets to such a test."""
    if not isinstance(node, nodes.Test) or node.name != "sequence" or node.node in _asked_for_text(syntax):
        return ""
    return "takes no text for a sequence: `is sequence` holds of lists and the like alone"


@lru_cache(maxsize=4)
def _asked_for_text(syntax: Syntax) -> Sequence[nodes.Node]:
    """The expressions that the template tests for text somewhere."""
    return [node.node for node in syntax.all_nodes if isinstance(node, nodes.Test) and node.name == "string"]


def _effect_in_llamacpp(node: nodes.Node, _: Syntax) -> str:
    filled = isinstance(node, nodes.Filter) and node.name == "format"
    return "prints the text of `format` without filling it in" if filled else ""


_EFFECTS: Mapping[str, Callable[[nodes.Node, Syntax], str]] = {
    "hf-jinja": _effect_in_hf_jinja,
    "minijinja": _effect_in_minijinja,
    "llama.cpp": _effect_in_llamacpp,
}


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
