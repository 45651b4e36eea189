"""Characters that no reader sees: a leading mark, and line ends and indentation that only some engines take out."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from templatelint.fix.code import Edit
from templatelint.fix.cure import Cure
from templatelint.fix.cures.constructs import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.fix.code import Code
    from templatelint.fix.cure import Proposals
    from templatelint.fix.proof import Change
    from templatelint.model import Finding

_MARKS = re.compile("[\ufeff\u200b\u200c\u200d\u2060]+")
_COMMENT = re.compile(r"\{#.*?#\}", re.DOTALL)
_NEWLINE = re.compile(r"\r\n|\r|\n")
_BLANKS = re.compile(r"[ \t]+")


def _unmarked(finding: Finding, code: Code) -> Proposals:
    """The template without the invisible characters that it starts with."""
    del finding
    found = _MARKS.match(code.source)
    if found:
        yield [Edit(0, found.end(), "")]


def _without_mark(change: Change) -> bool:
    """The mark, and nothing else, is gone from the start of the prompt."""
    if change.prompts is None:
        return False
    before, after = change.prompts
    return _MARKS.sub("", before, count=1) == after


# ------------------------------------------------------------------------------------------- trimming


@dataclass(frozen=True)
class _Mark:
    """A tag or a comment, or an end of the template (`sign` is `+` where nothing is ever taken away)."""

    start: int
    end: int
    trims: bool
    opening: str
    closing: str


def _dashed(finding: Finding, code: Code) -> Proposals:
    """`-` in the tags, so that nothing is left to `trim_blocks` and `lstrip_blocks`."""
    del finding
    if "endraw" in code.source:
        return
    marks = list(_marks(code))
    edits: dict[tuple[int, int], Edit] = {}
    for left, right in pairwise(marks):
        for edit in _between(code.source, left, right):
            edits[edit.start, edit.end] = edit
    if edits:
        yield list(edits.values())


def _marks(code: Code) -> Iterator[_Mark]:
    source = code.source
    length = len(source) - len(_final(source))
    yield _Mark(0, 0, trims=False, opening="", closing="start")
    at = 0
    for tag in code.tags:
        yield from _comments(source, at, tag.start)
        yield _Mark(tag.start, tag.end, not tag.prints, _sign(tag.opening), _sign(tag.closing))
        at = tag.end
    yield from _comments(source, at, length)
    yield _Mark(length, length, trims=False, opening="end", closing="")


def _final(source: str) -> str:
    """The newline that ends the template, which no engine keeps."""
    return next((end for end in ("\r\n", "\n", "\r") if source.endswith(end)), "")


def _comments(source: str, start: int, end: int) -> Iterator[_Mark]:
    for comment in _COMMENT.finditer(source, start, end):
        text = comment[0]
        opening, closing = (sign if sign in "-+" else "" for sign in (text[2], text[-3]))
        yield _Mark(comment.start(), comment.end(), trims=True, opening=opening, closing=closing)


def _sign(delimiter: str) -> str:
    return next((sign for sign in "-+" if sign in delimiter), "")


def _between(source: str, left: _Mark, right: _Mark) -> Iterator[Edit]:
    """What makes the text between two tags the same whether they are trimmed or not."""
    text = source[left.end : right.start]
    trimmed, whole = _kept(text, left, right, trims=True), _kept(text, left, right, trims=False)
    if trimmed == whole:
        return
    dash_left, dash_right = left.closing in {"", "-"}, right.opening in {"", "-"}
    if dash_left and text.lstrip() == trimmed:
        yield from _dash(left.end - 2, left)
    elif dash_right and text.rstrip() == trimmed:
        yield Edit(right.start + 2, right.start + 2, "-")
    elif dash_left and dash_right and text.strip() == trimmed:
        yield from _dash(left.end - 2, left)
        if right.opening == "":
            yield Edit(right.start + 2, right.start + 2, "-")
    elif _kept(trimmed, left, right, trims=True) == trimmed == _kept(trimmed, left, right, trims=False):
        yield Edit(left.end, right.start, trimmed)
    else:
        core = trimmed.strip()
        lead = trimmed[: len(trimmed) - len(trimmed.lstrip())]
        trail = trimmed[len(lead) + len(core) :]
        printed = [f"{{{{ {quoted(part)} }}}}" if part else "" for part in (lead, trail)]
        yield Edit(left.end, right.start, printed[0] + core + printed[1])


def _dash(at: int, left: _Mark) -> Iterator[Edit]:
    if left.closing == "":
        yield Edit(at, at, "-")


def _kept(text: str, left: _Mark, right: _Mark, *, trims: bool) -> str:
    """What is left of the text between two tags, by their signs and the two settings."""
    on_new_line = left.closing == "start"
    if left.closing == "-":
        text = text.lstrip()
    elif trims and left.trims and left.closing == "" and (newline := _NEWLINE.match(text)):
        text, on_new_line = text[newline.end() :], True
    if right.opening == "-":
        return text.rstrip()
    if trims and right.trims and right.opening == "":
        line = max(text.rfind("\n"), text.rfind("\r")) + 1
        if (line or on_new_line) and _BLANKS.fullmatch(text, line):
            return text[:line]
    return text


def _untrimmed_engine(change: Change) -> bool:
    """Engines that set neither are those that the finding is about."""
    return (
        change.engine == "tgi" and change.prompts is not None and _inked(change.prompts[0]) == _inked(change.prompts[1])
    )


def _inked(text: str) -> str:
    return "".join(text.split())


# -------------------------------------------------------------------------------------- the final newline


def _newline_printed(finding: Finding, code: Code) -> Proposals:
    """A print tag in place of the newline that ends the template, which engines drop."""
    del finding
    final = _final(code.source)
    if final:
        at = len(code.source) - len(final)
        yield [Edit(at, at, "{{ '\\n' }}")]


def _newline_added(change: Change) -> bool:
    return change.prompts is not None and _inked(change.prompts[0]) == _inked(change.prompts[1])


CURES = (
    Cure("an invisible character at the start is removed", ("TL008",), _unmarked, _without_mark),
    Cure("tags take out the whitespace that some engines leave", ("TL005",), _dashed, _untrimmed_engine, exact=True),
    Cure("the final newline is printed", ("TL505",), _newline_printed, _newline_added),
)
