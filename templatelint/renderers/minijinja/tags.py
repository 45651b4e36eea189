"""A template's tokens → where its tags stand, and where the operands of `~` do, which the tree does not tell."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.lexer import jinja2_lexer
from templatelint.syntax import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from jinja2 import nodes

    from templatelint.syntax import Syntax

_OPENING = frozenset({"lparen", "lbracket", "lbrace"})
_CLOSING = frozenset({"rparen", "rbracket", "rbrace"})
_LOOSER = frozenset({"comma", "colon", "assign", "add", "sub", "eq", "ne", "lt", "lteq", "gt", "gteq", "tilde"})
_LOOSER_WORDS = frozenset({"and", "or", "not", "in", "if", "elif", "else", "for", "set", "is"})


class Token(NamedTuple):
    """A token with its offsets in the source."""

    type: str
    value: Any
    start: int
    end: int


class Tag(NamedTuple):
    """`{% … %}` or `{{ … }}`.

    Attributes:
        opening: the opening delimiter with its modifier.
        start: where that starts.
        inside: where what stands between the delimiters starts.
        end: where the closing delimiter with its modifier starts.
        tokens: between the delimiters.
    """

    opening: str
    start: int
    inside: int
    end: int
    tokens: Sequence[Token]

    @property
    def prints(self) -> bool:
        """Whether it prints an expression."""
        return self.opening.startswith("{{")


class Tags:
    """The tags of a template, in its order."""

    def __init__(self, syntax: Syntax) -> None:
        self._syntax = syntax
        self.all = list(_tags(syntax.source))
        self._starts = [tag.start for tag in self.all]

    def of(self, node: nodes.Node) -> Tag:
        """The tag that a statement starts with."""
        return self.at(self._syntax.span(node)[0])

    def at(self, offset: int) -> Tag:
        """The tag that holds an offset of the source."""
        return self.all[self._index(offset)]

    def closing(self, block: nodes.Node) -> Tag:
        """The tag that ends a `set` block."""
        depth = 0
        for tag in self.all[self._index(self._syntax.span(block)[0]) :]:
            if tag.prints or not tag.tokens:
                continue
            word = tag.tokens[0].value
            depth += word == "set" and all(token.type != "assign" for token in tag.tokens)
            depth -= word == "endset"
            if not depth:
                return tag
        raise AssertionError("a set block that parses has an end")

    def _index(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1


def _tags(source: str) -> Iterator[Tag]:
    lexer, places = jinja2_lexer(), Source(source)
    inside: list[Token] | None = None
    opening: Token | None = None
    for token in lexer.tokens(lexer.normalise(source)):
        spot: Any = token.lineno
        own = Token(token.type, token.value, places.original(spot.start), places.original(spot.end))
        if own.type in ("variable_begin", "block_begin"):
            opening, inside = own, []
        elif own.type in ("variable_end", "block_end") and opening is not None and inside is not None:
            yield Tag(opening.value, opening.start, opening.end, own.start, inside)
            opening = inside = None
        elif inside is not None:
            inside.append(own)


def pieces(tag: Tag, offset: int) -> list[tuple[int, int]]:
    """Where the parts stand that commas part from each other behind the bracket at that offset."""
    found: list[tuple[int, int]] = []
    depth = 0
    start = offset
    for token in tag.tokens:
        if token.start < offset:
            continue
        if token.type in _OPENING:
            depth += 1
            start = token.end if depth == 1 else start
        elif token.type in _CLOSING or (token.type == "comma" and depth == 1):
            closes = token.type != "comma"
            if depth == 1:
                found.append((start, token.start))
                start = token.end
            depth -= closes
            if not depth:
                break
    return found


def operands(tag: Tag) -> Iterator[Sequence[Token]]:
    """The tokens of each operand of `~` in a tag."""
    tokens = tag.tokens
    found: dict[int, int] = {}
    for at, token in enumerate(tokens):
        if token.type == "tilde":
            start, end = _reach(tokens, at, -1) + 1, at
            found[start] = end
            found[at + 1] = _reach(tokens, at, 1)
    for start, end in found.items():
        if start < end:
            yield tokens[start:end]


def _reach(tokens: Sequence[Token], at: int, step: int) -> int:
    """The index of the token that bounds an operand on one side."""
    entering, leaving = (_CLOSING, _OPENING) if step < 0 else (_OPENING, _CLOSING)
    depth = 0
    at += step
    while 0 <= at < len(tokens):
        token = tokens[at]
        if token.type in entering:
            depth += 1
        elif token.type in leaving:
            if not depth:
                break
            depth -= 1
        elif not depth and (token.type in _LOOSER or (token.type == "name" and token.value in _LOOSER_WORDS)):
            break
        at += step
    return at
