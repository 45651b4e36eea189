"""A template's loops → edits by which what is set in one pass is still there in the next, as before minijinja 2.22."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import nodes

from templatelint.renderers.minijinja.rewriting import Edit
from templatelint.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.renderers.minijinja.tags import Tags
    from templatelint.syntax import Syntax

_KEPT = "templatelint_kept_"
NAMESPACE = "templatelint_namespace"
PREPARED = f"{{% set {NAMESPACE} = namespace %}}"  # a template may use that name for something else
# statements whose bodies share the scope around them
_TRANSPARENT = (nodes.If, nodes.FilterBlock, nodes.AssignBlock)


def leaks(syntax: Syntax, tags: Tags) -> Iterator[Edit]:
    """Keep the names that a pass may read before it sets them, each loop in a namespace of its own."""
    loops = [node for node in syntax.all_nodes if isinstance(node, nodes.For) and not node.recursive]
    for number, loop in enumerate(loops):
        targets = _stored(loop.target)
        settings = [(node, _stored(node.target) - targets) for node in _settings(loop.body)]
        names = {name for _, stored in settings for name in stored if _may_be_stale(name, loop.body)}
        if not names:
            continue
        kept = f"{_KEPT}{number}"
        tag = tags.of(loop)
        again = "".join(
            f"{{% if {kept}.{name} is defined %}}{{% set {name} = {kept}.{name} %}}{{% endif %}}"
            for name in sorted(names)
        ).removesuffix("%}")
        yield Edit(tag.start, tag.start, f"{tag.opening} set {kept} = {NAMESPACE}() %}}")
        yield Edit(tag.end, tag.end, f" %}}{again}")
        for node, stored in settings:
            end = tags.closing(node).end if isinstance(node, nodes.AssignBlock) else tags.of(node).end
            keep = "".join(f" %}}{{% set {kept}.{name} = {name}" for name in sorted(stored & names))
            if keep:
                yield Edit(end, end, f"{keep} ")


def _stored(target: nodes.Node) -> set[str]:
    return {node.name for node in walk(target) if isinstance(node, nodes.Name)}


def _settings(body: Sequence[nodes.Node]) -> Iterator[nodes.Assign | nodes.AssignBlock]:
    """The `set` statements of the body's own scope."""
    for node in body:
        if isinstance(node, nodes.Assign | nodes.AssignBlock):
            yield node
        if isinstance(node, nodes.If):
            yield from _settings([*node.body, *node.elif_, *node.else_])
        elif isinstance(node, _TRANSPARENT):
            yield from _settings(node.body)


def _may_be_stale(name: str, body: Sequence[nodes.Node]) -> bool:
    """Whether a pass may read the name before it has set it."""
    for statement in body:
        reading = [
            node
            for node in walk(statement)
            if isinstance(node, nodes.Name) and node.name == name and node.ctx == "load"
        ]
        if reading:
            return True
        if isinstance(statement, nodes.Assign | nodes.AssignBlock) and name in _stored(statement.target):
            return False
    return False
