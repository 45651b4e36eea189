"""TL803: the template writes characters that nobody sees."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from jinja2 import nodes

from templatelint import security
from templatelint.model import Fault
from templatelint.security.hidden import Hidden, runs
from templatelint.syntax import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.syntax import Syntax
    from templatelint.view import View

CASES: tuple[str, ...] = ()
_SHOWN = 6
_MOST: Final = 64  # places that are kept of each weight
_NEAR: Final = 400  # characters of a line on each side
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
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
    places = _places(view.syntax.source)
    if not places:
        return
    first = min(places, key=lambda place: (place.hidden.kind == "private-use", place.span))
    others = [place for place in places if place is not first]
    count = f"{len(others)}{' or' if len(others) >= _MOST - 1 else ''}"
    more = f", and {count} more such place{'s' if len(others) > 1 else ''}" if others else ""
    seen = "and no reader tells" if first.hidden.kind == "alike" else "which no reader sees"
    yield Fault(
        message=f"the template writes {first.hidden.told}, {seen}{more}",
        help="delete them, or take the template from the model's maker: a model reads what a reviewer cannot",
        cause=f"{first.hidden.kind} {first.hidden.text[:40]}",
        span=first.span,
        impact="degrades" if all(place.hidden.kind == "private-use" for place in places) else None,
        related=tuple((place.span, place.hidden.told) for place in others[:_SHOWN]),
    )


@lru_cache(maxsize=8)  # every engine asks for the same template's
def _places(source: str) -> tuple[_Place, ...]:
    """The first of them; private-use characters, which weigh less, keep none of the others out."""
    syntax = parse(source)
    plain = source.isascii() and "\\" not in source and not _CONTROL.search(source)
    seen: list[_Place] = []
    private: list[_Place] = []
    for place in (*(() if plain else _literal(syntax)), *_made(syntax)):
        among = private if place.hidden.kind == "private-use" else seen
        if len(among) < _MOST:
            among.append(place)
    return (*seen, *private[: _MOST - len(seen)])


def _literal(syntax: Syntax) -> Iterator[_Place]:
    searched = _searched(syntax)
    source = syntax.source
    for node in syntax.all_nodes:
        text = node.data if isinstance(node, nodes.TemplateData) else getattr(node, "value", None)
        if not isinstance(text, str) or not isinstance(node, nodes.TemplateData | nodes.Const) or id(node) in searched:
            continue
        if text.isascii() and text.isprintable():
            continue
        start, end = syntax.span(node)
        cursor = start
        for hidden in runs(text, *_beside(source, start, end, text, node)):
            at = source.find(hidden.text, cursor, None if isinstance(node, nodes.TemplateData) else end)
            cursor = at + len(hidden.text) if at >= 0 and hidden.kind != "alike" else cursor
            if start == 0 and hidden.start == 0 and hidden.text == "\ufeff":
                continue  # a byte-order mark at the start of the file is another rule's
            yield _Place(hidden, (at, at + len(hidden.text)) if at >= 0 else (start, end))


def _beside(source: str, start: int, end: int, text: str, node: nodes.Node) -> tuple[str, str]:
    """What stands in front of a text and behind it in its lines; of one in a tag, only that the line reads leftward."""
    end = start + len(text) if isinstance(node, nodes.TemplateData) else end
    begins = max(source.rfind("\n", 0, start) + 1, start - _NEAR)
    stop = source.find("\n", end)
    return source[begins:start], source[end : min(len(source) if stop < 0 else stop, end + _NEAR)]


def _searched(syntax: Syntax) -> set[int]:
    """Constants that texts are searched for, and keys: they are taken out of texts, not written."""
    found: set[int] = set()
    for node in syntax.all_nodes:
        searching: list[nodes.Node] = []
        if isinstance(node, nodes.Compare):
            searching = [node.expr, *(operand.expr for operand in node.ops)]
        elif (isinstance(node, nodes.Filter) and node.name in _SEARCHING) or (
            isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr) and node.node.attr in _SEARCHING
        ):
            searching = list(node.args[:1])
        found.update(id(part) for part in searching if isinstance(part, nodes.Const | nodes.Name))
    used = {
        node.name
        for node in syntax.all_nodes
        if isinstance(node, nodes.Name) and node.ctx == "load" and id(node) not in found
    }
    for node in syntax.all_nodes:  # one that is kept under a name, which is only searched for
        if isinstance(node, nodes.Assign) and isinstance(node.target, nodes.Name) and node.target.name not in used:
            found.add(id(node.node))
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
