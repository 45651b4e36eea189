"""TL803: the template writes characters that nobody sees."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from jinja2 import nodes

from templatelint import security
from templatelint.model import Fault
from templatelint.security.hidden import Hidden, runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.syntax import Syntax
    from templatelint.view import View

CASES: tuple[str, ...] = ()
_SHOWN = 6
# where a constant only says what to look for in a text
# fmt: off (packed as prose is)
_SEARCHING = frozenset(
    [
        "replace",
        "split",
        "rsplit",
        "partition",
        "rpartition",
        "strip",
        "lstrip",
        "rstrip",
        "removeprefix",
        "removesuffix",
        "trim",
        "startswith",
        "endswith",
        "find",
        "rfind",
        "index",
        "count",
        "select",
        "reject",
    ]
)
# fmt: on


class _Place(NamedTuple):
    hidden: Hidden
    span: tuple[int, int]


def check(view: View) -> Iterator[Fault]:
    """Look at the text outside of tags and at the constants in them, then at what constants are put together to."""
    syntax = view.syntax
    places = list(_made(syntax))
    if not syntax.source.isascii() or "\\" in syntax.source:
        places = [*_literal(syntax), *places]
    if not places:
        return
    first = min(places, key=lambda place: (place.hidden.kind == "private-use", place.span))
    others = [place for place in places if place is not first]
    more = f", and {len(others)} more such place{'s' if len(others) > 1 else ''}" if others else ""
    yield Fault(
        message=f"the template writes {first.hidden.told}, which no reader sees{more}",
        help="delete them, or take the template from the model's maker: a model reads what a reviewer cannot",
        cause=f"{first.hidden.kind} {first.hidden.text[:40]}",
        span=first.span,
        impact="degrades" if all(place.hidden.kind == "private-use" for place in places) else None,
        related=tuple((place.span, place.hidden.told) for place in others[:_SHOWN]),
    )


def _literal(syntax: Syntax) -> Iterator[_Place]:
    searched = _searched(syntax)
    for node in syntax.all_nodes:
        text = node.data if isinstance(node, nodes.TemplateData) else getattr(node, "value", None)
        if not isinstance(text, str) or not isinstance(node, nodes.TemplateData | nodes.Const) or id(node) in searched:
            continue
        start, end = syntax.span(node)
        for hidden in runs(text):
            at = syntax.source.find(hidden.text, start)
            if start == 0 and hidden.start == 0 and hidden.text == "\ufeff":
                continue  # a byte-order mark at the start of the file is another rule's
            inside = at >= 0 and (at < end or isinstance(node, nodes.TemplateData))
            yield _Place(hidden, (at, at + len(hidden.text)) if inside else (start, end))


def _searched(syntax: Syntax) -> set[int]:
    """Constants that texts are searched for: they are taken out of texts, not written."""
    found: set[int] = set()
    for node in syntax.all_nodes:
        searching: list[nodes.Node] = []
        if isinstance(node, nodes.Compare):
            searching = [node.expr, *(operand.expr for operand in node.ops)]
        elif (isinstance(node, nodes.Filter) and node.name in _SEARCHING) or (
            isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr in _SEARCHING
        ):
            searching = list(node.args[:1])
        found.update(id(part) for part in searching if isinstance(part, nodes.Const))
    return found


def _made(syntax: Syntax) -> Iterator[_Place]:
    for text, node, pieces in security.read(syntax.source).written:
        if any(next(runs(piece), None) for piece in _texts(pieces)):
            continue  # told where it stands
        for hidden in runs(text):
            yield _Place(hidden, syntax.span(pieces[0] if pieces else node))


def _texts(pieces: tuple[nodes.Node, ...]) -> Iterator[str]:
    for piece in pieces:
        text = piece.data if isinstance(piece, nodes.TemplateData) else getattr(piece, "value", None)
        if isinstance(text, str):
            yield text
