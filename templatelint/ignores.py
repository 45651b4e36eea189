"""A template's source → the comments in it that ignore rules, and what is wrong with them."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from jinja2.exceptions import TemplateSyntaxError

from templatelint import cards, passages
from templatelint.errors import TemplatelintError, clip
from templatelint.lexer import JINJA2, Lexer, jinja2_lexer
from templatelint.nearest import nearest
from templatelint.syntax import Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.model import Lines, Model, Template

WORD = "templatelint"
TOLD = 20  # faults of the comments of one template
FORM = "{# templatelint: ignore[TL201] reason #}"
_DIRECTIVE = re.compile(
    rf"[-+]?\s*+(?P<name>{WORD})\s*+(?:(?P<colon>:)\s*+(?P<word>[\w-]*+)|-?(?P<near>ignor\w*+)(?=\s*+[\[(:]))"
    r"\s*+(?P<listed>\[(?P<rules>[^\]]*+)\])?(?P<reason>.*+)",
    re.DOTALL | re.IGNORECASE,
)
_SECOND = re.compile(r"\[([\w\s,-]++)\]")
_SPACE = re.compile(r"\s*+")
_BLANKS = re.compile(r"[ \t]*+")
_IGNORE = "ignore"
_SECURITY = "TL8"  # how the ids of rules begin that nobody excuses in the template itself
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
        last: the last line of the code that begins below it: blank lines and other comments may stand in between, and a
            tag has all of its lines.
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
    if WORD not in source.lower():
        return ()
    code = _code(source)
    found: list[Ignore] = []
    examined = 1 + _READ_AGAIN // len(source)
    wrong = 0
    behind = len(source) - len(source.lstrip("\ufeff"))  # what is in front of it is no part of the head
    head = True
    for (start, end), meant in zip(code.comments, code.meant, strict=True):
        head = head and not source[behind:start].strip()
        behind = end
        directive = _DIRECTIVE.match(source[start + _CLOSING : end - _CLOSING].removesuffix("-").removesuffix("+"))
        if directive is not None and _addressed(directive):
            line, below = code.lines.line_of(start)[0], code.lines.line_of(end - 1)[0] + 1
            line_start = code.lines.start(line) + (line == 1 and source.startswith("\ufeff"))
            last = max(below, code.run(code.lines.line_of(meant)[0])[1])
            comment = Ignore((start, end), source[start:end], line_start, line, below, last, head)
            found.append(_read(comment, directive, source, examine=len(found) < examined, suggest=wrong < TOLD))
            wrong += bool(found[-1].problems)
    return tuple(found)


def above(source: str, line: int) -> int:
    """The line at or above that one which a comment can be put above, without standing inside of a tag."""
    return _code(source).run(line)[0]


@dataclass(frozen=True)
class _Code:
    """What a template consists of beside text.

    Attributes:
        comments: offsets of each.
        meant: the offset at which what each stands above begins, white space and other comments passed over.
        runs: first and last line of tags and comments; those that share a line are one.
    """

    lines: Lines
    comments: tuple[tuple[int, int], ...]
    meant: tuple[int, ...]
    runs: tuple[tuple[int, int], ...]

    def run(self, line: int) -> tuple[int, int]:
        """The lines that hang together with that one."""
        at = bisect_right(self.runs, (line, self.lines.count + 1)) - 1
        first, last = self.runs[at] if at >= 0 else (line, line)
        return (first, last) if line <= last else (line, line)


@lru_cache(maxsize=8)
def _code(source: str) -> _Code:
    places, spans = Source(source), passages.marks(source).comments
    tags = [(tag.start, tag.closing + 1) for tag in passages.marks(source).tags]
    runs: list[tuple[int, int]] = []
    for start, end in sorted([*tags, *spans]):
        first, last = places.line_of(start)[0], places.line_of(end - 1)[0]
        if runs and first <= runs[-1][1]:
            runs[-1] = runs[-1][0], max(last, runs[-1][1])
        else:
            runs.append((first, last))
    meant: list[int] = []
    following, target = -1, len(source)
    for start, end in reversed(spans):
        found = _SPACE.match(source, end)
        code = found.end() if found else end
        target = target if code == following else code
        meant.append(target)
        following = start
    return _Code(places, spans, tuple(reversed(meant)), tuple(runs))


# -------------------------------------------------------------------------------------------- what it says


def _addressed(directive: re.Match[str]) -> bool:
    """Whether it is for us: with our name as we write it, or meant to ignore something."""
    return directive["name"] == WORD or (directive["word"] or _IGNORE).lower().startswith("ignor")


def _read(comment: Ignore, directive: re.Match[str], source: str, *, examine: bool, suggest: bool) -> Ignore:
    """The comment with what it says, or what is wrong with it."""
    reason = " ".join(directive["reason"].split())
    wrong = _misspelt(directive) or _misplaced(comment, source) or _malformed(directive, reason)
    if wrong is not None:
        return replace(comment, problems=(wrong,))
    rules: list[str] = []
    problems: list[Problem] = []
    for word in filter(None, map(str.strip, directive["rules"].split(","))):
        rule = _ids().get(word.lower())
        if rule is not None and rule.startswith(_SECURITY):
            problems.append(_inexcusable(rule))
        elif rule is not None:
            rules.append(rule)
        else:
            problems.append(_unknown(word, suggest=suggest and len(problems) < TOLD))
    if examine:
        problems += _changes(comment, source)
    return replace(comment, rules=tuple(dict.fromkeys(rules)), reason=reason, problems=tuple(problems))


@cache
def _ids() -> Mapping[str, str]:
    """The id of each rule by its id or name in lower case."""
    every = cards.all_cards().values()
    return {**{card.id.lower(): card.id for card in every}, **{card.name: card.id for card in every}}


def _inexcusable(rule: str) -> Problem:
    return Problem(
        f"security {rule}",
        f"the ignore comment has no effect on {rule}: whoever wrote the template may not excuse it",
        "per-file-ignores of the settings, or a baseline, accept it",
    )


def _unknown(word: str, *, suggest: bool) -> Problem:
    kind, fact = f"unknown {word}", "the ignore comment names "
    parts = word.split()
    if len(parts) > 1 and all(part.lower() in _ids() for part in parts):
        return Problem(kind, f"{fact}rules without a comma: {clip(word)}", "separate them with commas")
    begun = [rule for rule in cards.all_cards() if word.upper() != "T" and rule.startswith(word.upper())]
    if begun:
        return Problem(
            kind, f"{fact}the beginning of ids, {word}", f"name each rule in full, with commas: {', '.join(begun[:2])}"
        )
    help_ = "templatelint rule lists them"
    if suggest:
        try:
            cards.get(word)
        except TemplatelintError as error:
            help_ = error.help or help_
    return Problem(kind, f'{fact}an unknown rule "{clip(word)}"', help_)


def _misspelt(directive: re.Match[str]) -> Problem | None:
    """What keeps a comment from being one for us that is meant to be."""
    form = f"the form is {FORM}"
    if directive["colon"] is None:
        return Problem("colon", f'the comment has no effect: no colon stands behind "{directive["name"]}"', form)
    if directive["name"] != WORD:
        return Problem("name", f'the comment has no effect: it is for "{directive["name"]}", not for "{WORD}"', form)
    return None


def _misplaced(comment: Ignore, source: str) -> Problem | None:
    start, end = comment.span
    before = source[comment.start : start].strip(" \t")
    end = _behind_blanks(source, end)
    if not before and source[end : end + 1] in ("", "\n", "\r"):
        return None
    side = "in front of" if before else "behind"
    return Problem(
        "beside", f"the ignore comment has no effect: text stands {side} it in its line", "give it a line of its own"
    )


def _behind_blanks(source: str, at: int) -> int:
    blanks = _BLANKS.match(source, at)
    return blanks.end() if blanks else at


def _malformed(directive: re.Match[str], reason: str) -> Problem | None:
    word = directive["word"]
    if word != _IGNORE:
        close = nearest(word, [_IGNORE])
        meant = f"did you mean {close}? " if close else ""
        return Problem(
            "word", f'the comment has no effect: unknown word "{clip(word)}" in it', f"{meant}the form is {FORM}"
        )
    if not (directive["rules"] or "").strip(" \t\r\n,"):
        return Problem("rules", "the ignore comment has no effect: it names no rule", f"the form is {FORM}")
    second = _SECOND.match(reason)
    if second is not None and all(part.lower() in _ids() for part in second[1].replace(",", " ").split()):
        return Problem(
            "bracket",
            f"the ignore comment has no effect: a second bracket {clip(second[0])} stands behind the first",
            "name all rules in one bracket, with commas",
        )
    if not any(map(str.isalnum, reason)):
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
    end = comment.span[1]
    code = _behind_blanks(source, end)
    if code > end and not trimmed and _alike(comment, comment.text, source[:end] + source[code:], trims=True):
        yield Problem("blanks", f"{fact}blanks behind it at the end of its line are printed", "take these blanks out")
        return
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
    behind = _behind_blanks(source, end)
    behind += 2 if source.startswith("\r\n", behind) else 1
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
