"""Places where a template puts a turn marker together of what a message holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from jinja2 import nodes

from templatelint.security.requests import role_of
from templatelint.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.syntax import Syntax

_OPENS = re.compile(r"(?:<[|｜]?/?|\[/?|[|｜])\w*$")
_CLOSES = re.compile(r"^\w*(?:[|｜]?>|\]|[|｜])")


def composed(syntax: Syntax) -> nodes.Expr | None:
    """The first member of a message that stands between the halves of a marker: `'<|' + message.role + '|>'`."""
    named = {"role"} | {
        node.target.name
        for node in syntax.all_nodes
        if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name) and _is_role(node.node, frozenset())
    }
    for node in syntax.all_nodes:
        parts = _parts(node)
        for before, member, after in zip(parts, parts[1:], parts[2:], strict=False):
            opening, closing = _text(before), _text(after)
            if opening is None or closing is None or not _is_role(member, frozenset(named)):
                continue
            if _OPENS.search(opening) and _CLOSES.search(closing) and isinstance(member, nodes.Expr):
                return member
    return None


def removed(syntax: Syntax, marker: str) -> bool:
    """Whether the template takes the marker out of texts, and of others than the system's."""
    return next(_replacements(syntax, marker), None) is not None


def survivor(syntax: Syntax, marker: str) -> str:
    """A text that holds the marker once it was taken out, as `<|im_<|im_start|>start|>`; empty where there is none."""
    found = set(_replacements(syntax, marker))
    if len(found) != 1:
        return ""
    ((old, new),) = found
    if new is None:
        return ""
    nested = (marker[:at] + old + marker[at:] for at in range(len(marker) // 2, len(marker)))
    return next((text for text in nested if marker in text.replace(old, new)), "")


def _replacements(syntax: Syntax, marker: str) -> Iterator[tuple[str, str | None]]:
    """What is put for texts that the marker holds, where that is done to others than system messages."""
    apart = {id(inner) for node in syntax.all_nodes if isinstance(node, nodes.If) for inner in _for_system(node)}
    for node in syntax.all_nodes:
        asked = isinstance(node, nodes.Filter) and node.name == "replace"
        asked = asked or (
            isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr == "replace"
        )
        if not asked or id(node) in apart or not isinstance(node, nodes.Filter | nodes.Call):
            continue
        old, new = [_text(arg) for arg in node.args[:2]] if len(node.args) > 1 else (None, None)
        if old and old in marker:
            yield old, new


def _for_system(node: nodes.If) -> Iterator[nodes.Node]:
    if role_of(node.test) is not None:
        for part in node.body:
            yield from walk(part)


def _parts(node: nodes.Node) -> Sequence[nodes.Node]:
    if isinstance(node, nodes.Output | nodes.Concat):
        return list(_spread(node.nodes))
    return list(_operands(node)) if isinstance(node, nodes.Add) else ()


def _spread(parts: Sequence[nodes.Node]) -> Iterator[nodes.Node]:
    """The parts of an output, sums and concatenations among them taken apart."""
    for part in parts:
        if isinstance(part, nodes.Add):
            yield from _operands(part)
        elif isinstance(part, nodes.Concat):
            yield from part.nodes
        else:
            yield part


def _operands(node: nodes.Add) -> Iterator[nodes.Node]:
    found: list[nodes.Node] = []
    current: Any = node
    while isinstance(current, nodes.Add):
        found.append(current.right)
        current = current.left
    yield current
    yield from reversed(found)


def _text(node: nodes.Node) -> str | None:
    if isinstance(node, nodes.TemplateData):
        return str(node.data)
    return node.value if isinstance(node, nodes.Const) and isinstance(node.value, str) else None


def _is_role(node: nodes.Node, named: frozenset[str]) -> bool:
    """Whether it is the role of a message, as it is or in other letters."""
    while isinstance(node, nodes.Filter) and node.node is not None:
        node = node.node
    if isinstance(node, nodes.Name):
        return node.name in named
    if isinstance(node, nodes.Getattr):
        return node.attr == "role"
    return isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and node.arg.value == "role"
