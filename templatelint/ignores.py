"""A template's source → the comments in it that ignore rules, and what is wrong with them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from jinja2.exceptions import TemplateSyntaxError

from templatelint import cards
from templatelint.errors import TemplatelintError
from templatelint.lexer import JINJA2, Lexer, jinja2_lexer
from templatelint.nearest import nearest
from templatelint.syntax import Source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Model, Template

WORD = "templatelint"
FORM = "{# templatelint: ignore[TL201] reason #}"
_DIRECTIVE = re.compile(
    rf"[-+]?\s*+{WORD}\s*+:\s*+(?P<word>[\w-]*+)\s*+(?P<listed>\[(?P<rules>[^\]]*+)\])?(?P<reason>.*+)", re.DOTALL
)
_IGNORE = "ignore"
_CLOSING = 2  # characters of `#}`
# characters to read again, for all comments of a template: to see what one does takes four readings
_READ_AGAIN = 300_000


@dataclass(frozen=True)
class Problem:
    """Why a comment does not do what it is meant to.

    Attributes:
        kind: stable name of the problem.
        untrimmed: only engines that leave the newlines of comments in the prompt have it.
    """

    kind: str
    message: str
    help: str
    untrimmed: bool = False


@dataclass(frozen=True)
class Ignore:
    """One comment that is addressed to us.

    Attributes:
        span: offsets in the source, delimiters included.
        text: the comment as it stands there.
        start: offset at which its line starts, a byte-order mark left out.
        line: the line in which it begins, from 1.
        first: the line below it.
        last: the first line below it that is not another such comment.
        head: only comments and white space are in front of it.
        rules: ids of the rules that it ignores; empty where it has no effect.
        reason: the user's words.
        problems: what is wrong with it.
    """

    span: tuple[int, int]
    text: str
    start: int
    line: int
    first: int
    last: int
    head: bool
    rules: tuple[str, ...] = ()
    reason: str = ""
    problems: tuple[Problem, ...] = ()


def honoured(model: Model, template: Template) -> bool:
    """Whether comments count: a person wrote this text as it stands, and the file is the user's own."""
    return model.local and template.origin.locatable and not template.origin.escaped


@lru_cache(maxsize=8)
def ignores(source: str) -> tuple[Ignore, ...]:
    """The comments that are addressed to us, in their order."""
    if WORD not in source:
        return ()
    places = Source(source)
    text = jinja2_lexer().normalise(source)
    comments: list[tuple[int, int]] = []
    try:
        for _ in jinja2_lexer().tokens(text, comments):
            pass
    except TemplateSyntaxError:
        pass  # what comes before the error is read; the error is another rule's
    spans = [(places.original(start), places.original(end - 1) + 1) for start, end in comments]
    found: list[Ignore] = []
    examined = 1 + _READ_AGAIN // len(source)
    behind = len(source) - len(source.lstrip("\ufeff"))  # what is in front of it is no part of the head
    head = True
    for start, end in spans:
        head = head and not source[behind:start].strip()
        behind = end
        directive = _DIRECTIVE.match(source[start + _CLOSING : end - _CLOSING].removesuffix("-").removesuffix("+"))
        if directive is not None:
            line, below = places.line_of(start)[0], places.line_of(end - 1)[0] + 1
            line_start = places.start(line) + (line == 1 and source.startswith("\ufeff"))
            comment = Ignore((start, end), source[start:end], line_start, line, below, below, head)
            found.append(_read(comment, directive, source, examine=len(found) < examined))
    return tuple(_stacked(found))


def _stacked(found: list[Ignore]) -> Iterator[Ignore]:
    """Each with the line that it is meant for: several may stand above it."""
    last: dict[int, int] = {}
    for comment in reversed(found):
        last[comment.line] = last.get(comment.first, comment.first)
    yield from (replace(comment, last=last[comment.line]) for comment in found)


def _read(comment: Ignore, directive: re.Match[str], source: str, *, examine: bool) -> Ignore:
    """The comment with what it says, or what is wrong with it."""
    reason = " ".join(directive["reason"].split())
    placed = _misplaced(comment, source)
    if placed is not None:
        return replace(comment, problems=(placed,))
    malformed = _malformed(directive, reason)
    if malformed is not None:
        return replace(comment, problems=(malformed,))
    rules: list[str] = []
    problems: list[Problem] = []
    for word in directive["rules"].split(","):
        try:
            rules.append(cards.get(word.strip()).id)
        except TemplatelintError as error:
            message = f"the ignore comment names an {error.message}"
            problems.append(Problem(f"unknown {word.strip()}", message, error.help or ""))
    if examine:
        problems += _changes(comment, source)
    return replace(comment, rules=tuple(dict.fromkeys(rules)), reason=reason, problems=tuple(problems))


def _misplaced(comment: Ignore, source: str) -> Problem | None:
    start, end = comment.span
    before = source[comment.start : start].strip(" \t")
    if not before and source[end : end + 1] in ("", "\n", "\r"):
        return None
    side = "in front of" if before else "behind"
    return Problem(
        "beside", f"the ignore comment has no effect: text stands {side} it in its line", "give it a line of its own"
    )


def _malformed(directive: re.Match[str], reason: str) -> Problem | None:
    word = directive["word"]
    if word != _IGNORE:
        close = nearest(word, [_IGNORE])
        meant = f"did you mean {close}? " if close else ""
        return Problem("word", f'the comment has no effect: unknown word "{word}" in it', f"{meant}the form is {FORM}")
    if not (directive["rules"] or "").strip(" \t\r\n,"):
        return Problem("rules", "the ignore comment has no effect: it names no rule", f"the form is {FORM}")
    if not reason:
        return Problem(
            "reason", "the ignore comment has no effect: it gives no reason", "write the reason behind the bracket"
        )
    return None


# ---------------------------------------------------------------------------------- what it does to prompts


def _changes(comment: Ignore, source: str) -> Iterator[Problem]:
    """Where the template would say something else without the comment's line: then it is no mere comment."""
    trimmed = _alike(comment, comment.text, source, trims=True)
    if trimmed and _alike(comment, comment.text, source, trims=False):
        return
    fact = "the ignore comment changes the prompt: "
    if comment.text[_CLOSING] in "-+" or comment.text[-_CLOSING - 1] in "-+":
        yield Problem(
            "prompt", f"{fact}its sign takes or leaves white space of the text", "write it without `-` and `+`"
        )
        return
    tight = f"{{#-{comment.text[_CLOSING:-_CLOSING]}-#}}"
    whole = all(_alike(comment, tight, source, trims=trims) for trims in (True, False))
    cure = "write it as {#- … -#}" if whole else "move it to where tags take the white space, and write it as {#- … -#}"
    if trimmed:
        stays = "its line end stays where the engine sets no `trim_blocks`"
        yield Problem("line end", f"{fact}{stays}", cure, untrimmed=True)
    else:
        yield Problem("prompt", f"{fact}the newline in front of it stays, which would go without it", cure)


def _alike(comment: Ignore, text: str, source: str, *, trims: bool) -> bool:
    """Whether the template says the same with the comment written like that and without its line."""
    start, end = comment.span
    behind = end + (2 if source.startswith("\r\n", end) else 1)
    with_it = _said(source[:start] + text + source[end:], trims=trims)
    return with_it is None or with_it == _said(source[: comment.start] + source[behind:], trims=trims)


def _said(source: str, *, trims: bool) -> list[tuple[str, object]] | None:
    """The template's tokens, data in one piece; None where it has none."""
    lexer = jinja2_lexer() if trims else _untrimmed()
    said: list[tuple[str, object]] = []
    try:
        for token in lexer.tokens(lexer.normalise(source)):
            if token.type == "data" and said and said[-1][0] == "data":
                said[-1] = ("data", f"{said[-1][1]}{token.value}")
            elif not token.type.endswith("_end"):
                said.append((token.type, token.value.rstrip("-") if token.type.endswith("_begin") else token.value))
    except TemplateSyntaxError:
        return None
    return said


@cache
def _untrimmed() -> Lexer:
    return Lexer(replace(JINJA2, trim_blocks=False, lstrip_blocks=False))
