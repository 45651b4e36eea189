"""Map literals and data → the same with their keys in order, as a minijinja without `preserve_order` keeps them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jinja2 import nodes

from templatelint.renderers.minijinja.rewriting import Edit, Rewritten
from templatelint.renderers.minijinja.tags import Tags, pieces
from templatelint.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.syntax import Syntax

_DEEPEST = 20  # maps in maps, each of them out of order


def sorted_literals(text: Rewritten) -> Rewritten:
    """The source with the pairs of every literal sorted whose keys are texts.

    Raises:
        TemplateSyntax: the source has no tree.
    """
    for _ in range(_DEEPEST):  # the outermost first: what is in them moves along
        edits = list(_outermost(parse(text.text)))
        if not edits:
            break
        text = text.edited(edits)
    return text


def _outermost(syntax: Syntax) -> Iterator[Edit]:
    done = 0
    tags: Tags | None = None
    for node in syntax.all_nodes:
        if not isinstance(node, nodes.Dict) or len(node.items) < len("ab"):
            continue
        keys = [pair.key.value if isinstance(pair.key, nodes.Const) else None for pair in node.items]
        start = syntax.span(node)[0]
        if start < done or not all(isinstance(key, str) for key in keys) or keys == sorted(keys, key=str):
            continue
        tags = tags or Tags(syntax)
        spans = pieces(tags.at(start), start)[: len(keys)]  # a last comma has nothing behind it
        if len(spans) != len(keys):
            continue
        order: list[Any] = sorted(range(len(keys)), key=lambda at: str(keys[at]))
        written = ", ".join(syntax.source[slice(*spans[at])].strip() for at in order)
        done = spans[-1][1]
        yield Edit(spans[0][0], done, written)


def in_order(value: Any) -> Any:
    """JSON data with the keys of its maps in order."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, list | tuple) else value


def variables_in_order(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Variables whose maps have their keys in order."""
    return {name: in_order(value) for name, value in variables.items()}
