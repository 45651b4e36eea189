"""A template's source → what of it is tag, text or comment, and where in it something stands for a reader."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from jinja2.exceptions import TemplateSyntaxError

from templatelint.lexer import Spot, jinja2_lexer
from templatelint.syntax import Source

if TYPE_CHECKING:
    from collections.abc import Iterable

_BLANK = "\0"
_NAME = re.compile(r"\.?[^\W\d]\w*(?:\.\w+)*")
_START = r"(?:(?<!\w)|(?<=\\[nrt]))"  # the n of '\nuser' is no part of the name


class _Passages(NamedTuple):
    """The source thrice, each time with something blanked: offsets stay what they are."""

    tags: str
    text: str
    both: str


def mention(source: str, text: str) -> tuple[int, int] | None:
    """Offsets of the first place where the text stands in a tag, or else outside of tags; comments do not count.

    A name, with or without attributes, is found as a whole: `content` does not stand in `reasoning_content`.
    """
    wanted = re.escape(text)
    if _NAME.fullmatch(text):
        wanted = rf"{'' if text[0] == '.' else _START}{wanted}(?!\w)"
    passages = _passages(source)
    found = re.search(wanted, passages.tags) or re.search(wanted, passages.text)
    return found.span() if found else None


def without_comments(source: str) -> str:
    """The source with the characters of its comments blanked."""
    return _passages(source).both if "{#" in source else source


class Tag(NamedTuple):
    """Offsets of a tag: where it begins, where its closing does, and where what that takes in ends."""

    start: int
    closing: int
    end: int


class Marks(NamedTuple):
    """What of a source is no text; what follows an error is taken for text."""

    tags: tuple[Tag, ...]
    comments: tuple[tuple[int, int], ...]


@lru_cache(maxsize=8)
def marks(source: str) -> Marks:
    """The tags and the comments, in their order."""
    places, lexer = Source(source), jinja2_lexer()
    comments: list[tuple[int, int]] = []
    tags: list[Tag] = []
    begin = 0
    try:
        for token in lexer.tokens(lexer.normalise(source), comments):
            if isinstance(token.lineno, Spot) and token.type.endswith("_begin"):
                begin = token.lineno.start
            elif isinstance(token.lineno, Spot) and token.type.endswith("_end"):
                tags.append(Tag(*map(places.original, (begin, token.lineno.start, token.lineno.end))))
    except TemplateSyntaxError:
        pass  # what comes before it is read; the error is a rule's
    return Marks(tuple(tags), tuple((places.original(start), places.original(end - 1) + 1) for start, end in comments))


@lru_cache(maxsize=8)  # of the same template, on each engine
def _passages(source: str) -> _Passages:
    found = marks(source)
    tags = [(tag.start, tag.end) for tag in found.tags]
    both = _blanked(source, found.comments)
    edges = [0, *(edge for span in tags for edge in span), len(source)]
    return _Passages(_blanked(both, zip(edges[::2], edges[1::2], strict=True)), _blanked(both, tags), both)


def _blanked(source: str, spans: Iterable[tuple[int, int]]) -> str:
    """The source with these spans blanked, given in order."""
    pieces, at = [], 0
    for start, end in spans:
        pieces += [source[at:start], _BLANK * (end - start)]
        at = end
    return "".join([*pieces, source[at:]])
