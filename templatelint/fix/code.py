"""A template's source → its tags, and in them the expressions that an edit can wrap, with exact offsets."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

from jinja2.exceptions import TemplateSyntaxError

from templatelint.lexer import Spot, jinja2_lexer
from templatelint.syntax import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OPENING = {"lparen": "rparen", "lbracket": "rbracket", "lbrace": "rbrace"}
# What real templates hold is far below these; beyond, a hostile one would take its square in time.
_LONGEST = 200_000  # characters of a template; the longest real ones have half of that
_MOST_PIECES = 1500  # tokens of a tag
_MOST_LINKS = 24  # of a chain
_NEAREST = 60  # chains that are looked at for one finding
_LITERAL = frozenset({"string", "integer", "float"})
# words that start no expression
_WORDS = frozenset(
    {"if", "else", "in", "is", "not", "and", "or", "recursive", "true", "false", "none", "True", "False", "None"}
)


@dataclass(frozen=True)
class Edit:
    """Text that takes the place of what stands between two offsets of a template's source."""

    start: int
    end: int
    text: str


def disjoint(edits: Sequence[Edit]) -> bool:
    """Whether no two of the edits overlap, so that they can all be made."""
    ordered = sorted(edits, key=lambda edit: (edit.start, edit.end))
    return all(edit.end <= following.start for edit, following in pairwise(ordered))


def edited(source: str, edits: Sequence[Edit]) -> str:
    """The source with all of the edits, which may not overlap."""
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        if edit.start < at:
            raise ValueError(f"edits overlap at {edit.start}")
        pieces += [source[at : edit.start], edit.text]
        at = edit.end
    return "".join([*pieces, source[at:]])


@dataclass(frozen=True)
class Piece:
    """A token inside a tag, by its offsets in the source."""

    type: str
    value: str
    start: int
    end: int


@dataclass(frozen=True)
class Tag:
    """A block or print tag: its tokens, delimiters included.

    Attributes:
        pieces: from `{%-` to `-%}`; what the closing delimiter strips behind it is not part of it.
        prints: it is `{{ … }}`.
    """

    pieces: tuple[Piece, ...]
    prints: bool

    @property
    def start(self) -> int:
        """Where the tag begins."""
        return self.pieces[0].start

    @property
    def end(self) -> int:
        """Just behind the tag."""
        return self.pieces[-1].end

    @property
    def word(self) -> str:
        """The statement's name; empty for a print tag."""
        return "" if self.prints or len(self.pieces) < _WITH_WORD else self.pieces[1].value

    @property
    def opening(self) -> str:
        """`{%-`, as it stands there."""
        return self.pieces[0].value

    @property
    def closing(self) -> str:
        """`-%}`, as it stands there."""
        return self.pieces[-1].value


_WITH_WORD = 3  # both delimiters and a token


@dataclass(frozen=True)
class Chain:
    """A name or literal with the attributes, subscripts and calls that follow it, or the first few of them.

    Attributes:
        start, end: offsets in the source.
        text: as it stands there.
        last: the attribute, subscript or name that it ends in; empty for a call and for a computed subscript.
        tag: where it stands.
        index: of its first token in that tag.
        behind: of the token behind it.
        whole: nothing of the chain follows.
    """

    start: int
    end: int
    text: str
    last: str
    tag: Tag = field(repr=False)
    index: int
    behind: int
    whole: bool

    @property
    def before(self) -> Piece:
        """The token in front of it."""
        return self.tag.pieces[self.index - 1]

    @property
    def after(self) -> Piece:
        """The token behind it."""
        return self.tag.pieces[self.behind]

    @property
    def loose(self) -> bool:
        """Whether it is no target of an assignment, and no test or subscript hangs on it."""
        if self.after.type == "name" and self.after.value == "is":
            return False
        if self.after.type == "assign" or (self.before.type == "name" and self.before.value == "for"):
            return False
        return not (self.before.type == "name" and self.before.value == "set")

    @property
    def filters(self) -> tuple[str, ...]:
        """The names of the filters on it."""
        return tuple(self._filters)

    @cached_property
    def _filters(self) -> list[str]:
        names = []
        at, pieces = self.behind, self.tag.pieces
        while pieces[at].type == "pipe" and pieces[at + 1].type == "name":
            names.append(pieces[at + 1].value)
            at += 2
            if pieces[at].type == "lparen":
                at = _closed(pieces, at)
        return names

    def filtered(self, count: int) -> int:
        """The offset just behind the first `count` filters."""
        at, pieces = self.behind, self.tag.pieces
        for _ in range(count):
            at += 2
            if pieces[at].type == "lparen":
                at = _closed(pieces, at)
        return pieces[at - 1].end


@dataclass(frozen=True, eq=False)
class Code:
    """A template as a sequence of tags."""

    source: str = field(repr=False)
    tags: tuple[Tag, ...] = field(repr=False)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """Every chain and every beginning of one, in the order of the source, shorter ones first."""
        return tuple(chain for tag in self.tags for chain in _chains(self.source, tag))

    def near(self, span: tuple[int, int] | None) -> tuple[Chain, ...]:
        """The chains of the tags that the span touches, those nearest to its start first."""
        if span is None:
            return ()
        start, end = span
        touched = [chain for chain in self.chains if chain.tag.start < end and start < chain.tag.end]
        return tuple(sorted(touched, key=lambda chain: _distance(chain, start))[:_NEAREST])


def _distance(chain: Chain, offset: int) -> int:
    return 0 if chain.start <= offset < chain.end else min(abs(chain.start - offset), abs(chain.end - offset))


@lru_cache(maxsize=16)
def read(source: str) -> Code | None:
    """The tags of a template; None where it cannot be cut into tokens, or is too long to be looked at."""
    if len(source) > _LONGEST:
        return None
    try:
        return Code(source, tuple(_tags(source)))
    except TemplateSyntaxError:
        return None


def _tags(source: str) -> Iterator[Tag]:
    lexer, places = jinja2_lexer(), Source(source)
    pieces: list[Piece] = []
    for token in lexer.tokens(lexer.normalise(source)):
        if token.type == "data" or not isinstance(token.lineno, Spot):
            continue
        start, end = places.original(token.lineno.start), places.original(token.lineno.end)
        value = str(token.value)
        if token.type.endswith("_end"):
            value = value.rstrip()  # the delimiter carries what it strips
            end = start + len(value)
        pieces.append(Piece(token.type, value, start, end))
        if token.type.endswith("_end"):
            yield Tag(tuple(pieces), prints=token.type == "variable_end")
            pieces = []


def _chains(source: str, tag: Tag) -> Iterator[Chain]:
    pieces = tag.pieces
    if len(pieces) > _MOST_PIECES:
        return
    first = 1 if tag.prints else 2  # behind the statement's name
    for index in range(first, len(pieces) - 1):
        if not _starts(pieces, index):
            continue
        behind = index + 1
        last = pieces[index].value if pieces[index].type == "name" else ""
        if pieces[index].type in _OPENING:
            behind = _closed(pieces, index)
        for _ in range(_MOST_LINKS):
            following = _followed(pieces, behind)
            yield Chain(
                pieces[index].start,
                pieces[behind - 1].end,
                source[pieces[index].start : pieces[behind - 1].end],
                last,
                tag,
                index,
                behind,
                following is None,
            )
            if following is None:
                break
            behind, last = following


def _starts(pieces: Sequence[Piece], index: int) -> bool:
    piece, before = pieces[index], pieces[index - 1]
    if piece.type == "name":
        tested = before.type == "name" and before.value in {"is", "not"} and _is_test(pieces, index)
        named = pieces[index + 1].type == "assign" and pieces[1].value != "set"
        return piece.value not in _WORDS and before.type not in {"dot", "pipe"} and not tested and not named
    if piece.type == "lparen":
        return before.type not in {"name", "rparen", "rbracket"} or before.value in _WORDS
    return piece.type in _LITERAL and before.type != "lbracket"


def _is_test(pieces: Sequence[Piece], index: int) -> bool:
    at = index - 1
    if pieces[at].value == "not":
        at -= 1
    return pieces[at].type == "name" and pieces[at].value == "is"


def _followed(pieces: Sequence[Piece], at: int) -> tuple[int, str] | None:
    """Where the next link of a chain ends, and the name or key that it is."""
    piece = pieces[at]
    if piece.type == "dot" and pieces[at + 1].type in {"name", "integer"}:
        return at + 2, pieces[at + 1].value
    if piece.type == "lbracket":
        behind = _closed(pieces, at)
        key = pieces[at + 1].value if behind == at + 3 and pieces[at + 1].type == "string" else ""
        return behind, key
    if piece.type == "lparen":
        return _closed(pieces, at), ""
    return None


def _closed(pieces: Sequence[Piece], at: int) -> int:
    """Just behind the bracket that closes the one at `at`; the lexer has seen that there is one."""
    depth = 0
    while True:
        if pieces[at].type in _OPENING:
            depth += 1
        elif pieces[at].type in _OPENING.values():
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
        if at >= len(pieces):
            return at
