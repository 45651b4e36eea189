"""Template source → jinja2's syntax tree, each node with its exact place in the source."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NoReturn

from jinja2 import nodes
from jinja2.environment import Environment
from jinja2.exceptions import TemplateSyntaxError
from jinja2.ext import Extension, LoopControlExtension
from jinja2.lexer import TokenStream
from jinja2.parser import Parser

from templatelint.lexer import Spot, jinja2_lexer
from templatelint.model import Lines

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATTRIBUTE = re.compile(r"\.\s*(\w+)")
_TEST = re.compile(r"is\s+(?:not\s+)?(\w+)")
_KEYWORD_END = re.compile(r"\s*=[\s(]*")


class TemplateSyntax(Exception):
    """The source is no Jinja template.

    Attributes:
        message: what the parser says.
        offset: where the offending token starts in the source, from 0 (the last one where the source ends too early).
        line: line of that place, from 1.
        column: column of that place, from 1.
    """

    def __init__(self, message: str, offset: int, line: int, column: int) -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.line = line
        self.column = column


@dataclass(frozen=True)
class Source(Lines):
    """The lines of a template's source, and where in it stands what jinja2 speaks of."""

    @cached_property
    def _pairs(self) -> list[int]:
        """Where each CRLF stands in the normalised text."""
        return [pair.start() - before for before, pair in enumerate(re.finditer("\r\n", self.text))]

    def original(self, offset: int) -> int:
        """The offset in the source of an offset in the text that the lexer saw."""
        return offset + bisect_left(self._pairs, offset) if "\r" in self.text else offset

    def offset_of(self, lineno: int) -> int:
        """The offset of what jinja2 says is in that line: exact for a `Spot`, else of the line's start."""
        return self.original(lineno.start) if isinstance(lineno, Spot) else self.start(lineno)


@dataclass(frozen=True, eq=False)
class Syntax:
    """A template's source and its tree; whoever compiles the tree leaves it as it is."""

    source: str = field(repr=False)
    root: nodes.Template = field(repr=False)

    @cached_property
    def _places(self) -> Source:
        return Source(self.source)

    @cached_property
    def all_nodes(self) -> tuple[nodes.Node, ...]:
        """Every node of the tree, in the order of the source: walked once for all that look at it."""
        return tuple(walk(self.root))

    def span(self, node: nodes.Node) -> tuple[int, int]:
        """Offsets (start, end) in the source of the token that tells what the node is; start < end.

        That is the name of a variable, filter, test, attribute or keyword argument, the called expression's of a
        call, the tag's of a statement, the literal or the text itself; the first token or the operator of others.
        """
        node = _stand_in(node)
        if isinstance(node, nodes.Keyword):
            spot = min(_spots(node.value), key=lambda spot: spot.start, default=None)
        else:
            spot = next(_spots(node), None)
        if spot is None:
            return 0, 1
        start, end = self._places.original(spot.start), self._places.original(spot.end)
        return self._telling(node, start) or (start, max(end, start + 1))

    def knows(self, node: nodes.Node) -> bool:
        """Whether the node itself has a place (the whole template and some parts of expressions have none)."""
        return _spot(node) is not None

    def _telling(self, node: nodes.Node, start: int) -> tuple[int, int] | None:
        """The name that belongs to the token at `start`, for nodes that jinja2 places at another token."""
        if isinstance(node, nodes.Getattr | nodes.Test):
            name = (_ATTRIBUTE if isinstance(node, nodes.Getattr) else _TEST).match(self.source, start)
            return name.span(1) if name else None
        if isinstance(node, nodes.Keyword):  # stands at its value
            key = self.source.rfind(node.key, 0, start)
            if key >= 0 and _KEYWORD_END.fullmatch(self.source, key + len(node.key), start):
                return key, key + len(node.key)
        return None

    def offset_of(self, lineno: int) -> int:
        """The offset in the source of a `lineno` that jinja2 took from this tree."""
        return self._places.offset_of(lineno)

    def line_of(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset in the source, both from 1."""
        return self._places.line_of(offset)

    def excerpt(self, offset: int) -> str:
        """The source line that holds the offset, without its newline."""
        return self._places.excerpt(offset)


def _spot(node: nodes.Node) -> Spot | None:
    return node.lineno if isinstance(node.lineno, Spot) else None


def _spots(node: nodes.Node) -> Iterator[Spot]:
    return filter(None, map(_spot, walk(node)))


def _stand_in(node: nodes.Node) -> nodes.Node:
    """The node itself, or the part of it that starts it where jinja2 places it at a later token."""
    while True:
        if isinstance(node, nodes.Call) and _spot(node.node) is not None:
            node = node.node
        elif isinstance(node, nodes.Compare):
            node = node.expr
        elif isinstance(node, nodes.Tuple) and node.items:
            node = node.items[0]
        else:
            return node


# -------------------------------------------------------------------------------------------- parsing


class GenerationTag(Extension):
    """Parses `{% generation %}…{% endgeneration %}`; renderers register what happens to its text."""

    tags = {"generation"}  # noqa: RUF012 (jinja2 declares it so)

    def parse(self, parser: Parser) -> nodes.CallBlock:
        """A call block around the body, of a method `mark` of the extension."""
        spot = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("mark", lineno=spot), [], [], body, lineno=spot)


def is_generation(node: nodes.Node) -> bool:
    """Whether the node is a `{% generation %}` block."""
    return (
        isinstance(node, nodes.CallBlock)
        and isinstance(node.call.node, nodes.ExtensionAttribute)
        and node.call.node.identifier == GenerationTag.identifier
    )


class _ParsingEnvironment(Environment):
    def _tokenize(
        self, source: str, name: str | None, filename: str | None = None, state: str | None = None
    ) -> TokenStream:
        del state
        lexer = jinja2_lexer()
        return TokenStream(lexer.tokens(lexer.normalise(source)), name, filename)


class _Parser(Parser):
    """jinja2's parser, which also says where the block that is still open begins."""

    def __init__(self, source: str) -> None:
        self._opened: list[int] = []
        super().__init__(_environment(), source)

    def parse_statement(self) -> nodes.Node | list[nodes.Node]:
        self._opened.append(self.stream.current.lineno)
        try:
            return super().parse_statement()
        finally:
            self._opened.pop()

    def fail(
        self, msg: str, lineno: int | None = None, exc: type[TemplateSyntaxError] = TemplateSyntaxError
    ) -> NoReturn:
        if self._tag_stack and msg.endswith(f"needs to be closed is {self._tag_stack[-1]!r}."):
            msg = f"{msg[:-1]} (line {self._opened[len(self._tag_stack) - 1]})."
        super().fail(msg, lineno, exc)


@cache
def _environment() -> Environment:
    return _ParsingEnvironment(extensions=[GenerationTag, LoopControlExtension])


@lru_cache(maxsize=8)  # several engines and many checks ask for the same template's
def parse(source: str) -> Syntax:
    """The tree that jinja2 builds of the source in transformers' set-up, with places.

    Raises:
        TemplateSyntax: where it builds none.
    """
    reached: Any = None
    try:
        parser = _Parser(source)
        try:
            return Syntax(source, parser.parse())
        except RecursionError:
            reached = parser.stream.current.lineno
    except TemplateSyntaxError as error:
        raise _syntax(source, error.message or "", error.lineno) from None
    raise _syntax(source, "nested too deeply", reached)


def _syntax(source: str, message: str, lineno: int) -> TemplateSyntax:
    places = Source(source)
    offset = places.offset_of(lineno)
    return TemplateSyntax(message, offset, *places.line_of(offset))


# -------------------------------------------------------------------------------------------- walking

_FIELD_ORDER = {
    # fields as they stand in the source, where the class lists them otherwise
    nodes.For: ("target", "iter", "test", "body", "else_"),
    nodes.CondExpr: ("expr1", "test", "expr2"),
    nodes.CallBlock: ("args", "defaults", "call", "body"),
}


def walk(node: nodes.Node) -> Iterator[nodes.Node]:
    """The node and all below it, in the order of the source; no recursion, however deep the tree."""
    pending = [node]
    while pending:
        current = pending.pop()
        yield current
        children = list(_children(current))
        pending.extend(reversed(children))


def _children(node: nodes.Node) -> Iterator[nodes.Node]:
    for name in _FIELD_ORDER.get(type(node), node.fields):
        value = getattr(node, name, None)
        if isinstance(value, nodes.Node):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, nodes.Node))
