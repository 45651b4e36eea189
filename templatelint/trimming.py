"""A template's source → the whitespace that `trim_blocks` and `lstrip_blocks` take out of it, tag by tag."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

from jinja2.exceptions import TemplateSyntaxError
from jinja2.lexer import Token

from templatelint.lexer import JINJA2, Lexer, jinja2_lexer

if TYPE_CHECKING:
    from collections.abc import Iterator

# A newline after a tag, or blanks before one on its line: without any there is nothing to look for.
_ANY = re.compile(r"[^-+][%#]}(?:\r\n|\r|\n)|(?:^|[\r\n])[ \t]+{[%#][^-+]")
_OPENING = frozenset({"if", "for", "macro", "call", "filter", "set", "generation", "block", "with", "autoescape"})


@dataclass(frozen=True)
class Trimmed:
    """Whitespace that the two settings take away.

    Attributes:
        at: the `Spot` of what opens the tag behind it (closes the one before it, at the end of the template).
        always: every prompt of a conversation would hold it.
    """

    at: int
    always: bool


@lru_cache(maxsize=8)
def trimmed(source: str) -> Trimmed | None:
    """The first such place that is in every prompt, or else the first one; None where the settings change nothing."""
    if not _ANY.search(source):
        return None
    try:
        places = list(_places(source))
    except TemplateSyntaxError:
        return None
    return next((place for place in places if place.always), places[0] if places else None)


def _places(source: str) -> Iterator[Trimmed]:
    lexer = jinja2_lexer()
    text = lexer.normalise(source)
    untrimmed = Lexer(replace(JINJA2, trim_blocks=False, lstrip_blocks=False))
    open_tags: list[bool] = []  # of each tag that is open, whether its body is part of every prompt
    statement: list[Token] = []
    for (token, data), (_, whole) in zip(
        _with_data(lexer.tokens(text)), _with_data(untrimmed.tokens(text)), strict=True
    ):
        if data != whole:
            yield Trimmed(token.lineno, all(open_tags))
        statement.append(token)
        if token.type == "block_end":
            _follow(open_tags, statement)
        if token.type.endswith("_end"):
            statement = []


def _with_data(tokens: Iterator[Token]) -> Iterator[tuple[Token, str]]:
    """Each token of a tag, with the data in front of it; then an end, which stands where the last tag does."""
    data, last = "", Token(1, "end", "")
    for token in tokens:
        if token.type == "data":
            data += token.value
        else:
            yield token, data
            data, last = "", token
    yield Token(last.lineno, "end", ""), data


def _follow(open_tags: list[bool], statement: list[Token]) -> None:
    """What a complete statement (its delimiters included) opens or closes."""
    # in what is no template, a tag may be empty or start with a number
    word, *rest = [str(token.value) for token in statement[1:-1]] or [""]
    if word.startswith("end") and open_tags:
        open_tags.pop()
    elif word in {"else", "elif"} and open_tags:
        open_tags[-1] = False
    elif word in _OPENING and not (word == "set" and "=" in rest):
        # the one body that every conversation enters
        open_tags.append(word == "for" and rest[-2:] == ["in", "messages"])
