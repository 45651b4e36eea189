"""What a template writes where tools are offered → the syntax of calls that it asks for, beside that of its history."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

from templatelint.reading import common, stretch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from templatelint.dialects.dialect import Dialect
    from templatelint.model import Case

_LONGEST = 20_000  # characters of instructions, and of a history, that are read
_LONGEST_CALL = 2_000  # characters of a call, up to its first value
_NEAR = 200  # characters about a call that may belong to it
# What stands for a name in an example: get_weather, <function-name>, {arg-key-1}, $TOOL_NAME, function name.
_PLACEHOLDER = r"[<{\[`$]{0,2}[\w.$-]{1,60}(?: [\w.$-]{1,60}){0,3}[>}\]`]{0,2}"
_IN_BRACES = re.compile(r"[\w.$ -]{1,60}\}")  # `{function-name}` begins no JSON object
_KEYWORD = re.compile(r"\s*(?:\)|[\w$]{1,60}\s*=)")
# a mark of a syntax, as far as it does not depend on the call: <tool_call>, <function=, <invoke, [ARGS]
_MARK = re.compile(r"<[^<>\s=\"']{1,60}[>=]?|\[/?[A-Z][A-Z_]*\]")
_TAG = re.compile(r"<(\w{1,60})[=>]")
_ORNAMENT = re.compile(r"[^\w/=]")
_MEMBER = re.compile(r"[\"'`](arguments|parameters|args)[\"'`]")
_OBJECT = re.compile(r"[\"'](?:name|tool_name)[\"']\s*:[^{}\n]{1,80},\s*[\"'](\w{1,40})[\"']\s*:")


class Contradiction(NamedTuple):
    """What differs: two excerpts, or the two spellings of a mark, or of the member that holds the arguments."""

    kind: str
    asked: str
    shown: str


class _Example(NamedTuple):
    """Where the instructions show a call, or the tags about one; `end` is None where it goes on from there."""

    dialect: Dialect
    start: int
    end: int | None = None


def added(offer: tuple[Case, str], plain: tuple[Case, str] | None) -> str:
    """The template's own text that stands in a prompt only where tools are offered.

    What stands between the first and the last word of the tool definitions is left out, with an empty line for it.

    Args:
        offer: a case that offers tools, and its prompt.
        plain: a case that does not, and its prompt; None where there is none.
    """
    case, prompt = offer
    parts = zip(_around_user(case, prompt), _around_user(*plain) if plain else ("", ""), strict=True)
    text = "\n\n".join(_surplus(part, other) for part, other in parts)
    definitions = [found.span() for found in re.finditer("|".join(map(re.escape, _words(case))), text)]
    if definitions:
        text = f"{text[: definitions[0][0]]}\n\n{text[definitions[-1][1] :]}"
    return text[:_LONGEST].strip()


def _around_user(case: Case, prompt: str) -> tuple[str, str]:
    user = stretch(prompt, case, "user.1")
    return (prompt, "") if user is None else (prompt[: user.start], prompt[user.end :])


def _surplus(text: str, plain: str) -> str:
    """The text without what it has in common with the plain one at either end."""
    start = common(text, plain)
    behind = common(text[start:][::-1], plain[start:][::-1])
    return text[start : len(text) - behind]


def _words(case: Case) -> Iterator[str]:
    """Words that stand in the tool definitions alone."""
    yield from (text for name, text in case.marks.items() if name.startswith("tools."))
    for tool in case.request.tools or ():
        yield from tool["function"]["parameters"]["properties"]


# ----------------------------------------------------------------------------------------- the two compared


def contradiction(text: str, dialect: Dialect, shown: str, case: Case) -> Contradiction | None:
    """Where the instructions ask for another syntax than the history has; None where they ask for the same, or none.

    Args:
        text: the instructions.
        dialect: the dialect of the history's calls.
        shown: the stretch of a prompt in which these stand.
        case: the case of that prompt.
    """
    shown = shown[:_LONGEST]
    block = _block(dialect, shown, case)
    if block is None:
        return None
    misspelt = _misspelt(text, block)
    if misspelt is None:
        misspelt = _unopened(text, block)
    if misspelt is not None:
        return misspelt
    if _example(dialect, text) is not None:  # most templates; it spares them the other dialects
        return _other_member(text, block)
    examples = [found for other in _standing_in(text) if (found := _example(other, text)) is not None]
    if any(_call(example.dialect, case).search(shown) for example in examples):
        return _other_member(text, block)
    asked = min(examples, key=lambda example: example.start, default=None) or _between_tags(text)
    if asked is None or _known(text, block, examples):
        return None
    return Contradiction("syntax", _excerpt(text[asked.start : asked.end]), _excerpt(block))


def _block(dialect: Dialect, shown: str, case: Case) -> str | None:
    """The first call, from its opening mark up to its first value."""
    found = _call(dialect, case).search(shown)
    value = shown.find(case.marks["call.1.value"], found.start()) if found else -1
    if found is None or value < 0:
        return None
    start = max(0, found.start() - _NEAR)
    opened = [at for mark in dialect.openings if (at := shown.find(mark, start, found.end())) >= 0]
    return shown[min(opened, default=_with_mark(shown, found)) : value][:_LONGEST_CALL]


def _known(text: str, block: str, examples: Sequence[_Example]) -> bool:
    """Whether the instructions know the marks of the history: that with which a call begins, and one of its own.

    A mark that both syntaxes begin with says nothing: it is what follows that differs.
    """
    marks = _MARK.findall(block)
    shared = {opening for example in examples for opening in example.dialect.openings}
    return bool(marks) and marks[0] in text and any(mark in text for mark in set(marks) - shared)


def _misspelt(text: str, block: str) -> Contradiction | None:
    """A mark that the instructions know in another spelling alone: <|tool_call|> for <tool_call>."""
    known = {_ORNAMENT.sub("", mark): mark for mark in _MARK.findall(text)}
    for mark in dict.fromkeys(_MARK.findall(block)):
        asked = known.get(_ORNAMENT.sub("", mark), mark)
        if mark not in text and asked not in block:
            return Contradiction("mark", asked, mark)
    return None


def _other_member(text: str, block: str) -> Contradiction | None:
    """JSON whose arguments stand under another name than the one that the instructions give."""
    shown, asked = _OBJECT.search(block), _OBJECT.search(text)
    if shown is None or asked is None or re.search(rf"[\"'`]{shown[1]}[\"'`]", text):
        return None
    return Contradiction("member", asked[1], shown[1])


def _unopened(text: str, block: str) -> Contradiction | None:
    """A tag of the history's calls that the instructions close without having opened it: the example has another."""
    for name in dict.fromkeys(_TAG.findall(block)):
        opened = len(re.findall(rf"<{name}[\s=>]", text))
        if text.count(f"</{name}>") > opened:
            return Contradiction("tag", f"</{name}>", f"<{name}>")
    return None


# ---------------------------------------------------------------------------------- calls, and examples of them


def _call(dialect: Dialect, case: Case) -> re.Pattern[str]:
    """The call of the case in that dialect."""
    return _pattern(dialect, re.escape(case.marks["call.1.name"]), re.escape(case.marks["call.1.key"]))


@cache
def _pattern(dialect: Dialect, name: str, key: str) -> re.Pattern[str]:
    """A call of such names; quotes about a placeholder are often left out."""
    signature = dialect.signature
    if name == _PLACEHOLDER:
        signature = signature.replace('"NAME"', '"?NAME"?')
    return re.compile(signature.replace("NAME", name).replace("KEY", key))


def _example(dialect: Dialect, text: str) -> _Example | None:
    """The first example in the text that the dialect fits."""
    if not _may_fit(dialect, text):
        return None
    for found in _pattern(dialect, _PLACEHOLDER, _PLACEHOLDER).finditer(text):
        if _is_example(dialect, text, found):
            return _Example(dialect, found.start())
    return None


def _may_fit(dialect: Dialect, text: str) -> bool:
    """Whether something of the dialect is in the text; expressions take long to compile."""
    if any(opening in text for opening in dialect.openings):
        return True
    if '"name":' in dialect.signature:
        return '"name"' in text and _MEMBER.search(text) is not None
    return bool(dialect.bare) and "(" in text


def _is_example(dialect: Dialect, text: str, found: re.Match[str]) -> bool:
    behind = text[found.end() : found.end() + _NEAR]
    if found[0].endswith("{") and _IN_BRACES.match(behind):
        return False
    if found[0].startswith(dialect.openings):
        return True
    # without a mark: prose must not look like it, and it is no part of an example that has one
    prose = found[0].endswith("(") and _KEYWORD.match(behind) is None
    return not prose and _with_mark(text, found) == found.start()


def _with_mark(text: str, found: re.Match[str]) -> int:
    """Where a call begins: at the opening mark of any dialect that stands right before it."""
    openings = _openings(text)
    if found[0].startswith(openings):
        return found.start()
    before = text[max(0, found.start() - _NEAR) : found.start()].rstrip("[{ \n\t")
    opening = max((mark for mark in openings if before.endswith(mark)), key=len, default=None)
    return found.start() if opening is None else text.rindex(opening, 0, found.start())


def _between_tags(text: str) -> _Example | None:
    """Where prose asks for calls between an opening and a closing tag: <tool_call></tool_call>."""
    for dialect in _standing_in(text):
        for opening in dialect.openings:
            tag = re.escape(opening)
            if opening.startswith("<") and opening in text and tag in dialect.signature:
                found = re.search(f"{tag}.{{0,12}}{tag.replace('<', '</', 1)}", text)
                if found is not None:
                    return _Example(dialect, *found.span())
    return None


def _standing_in(text: str) -> Iterable[Dialect]:
    from templatelint import dialects

    return dialects.standing_in(text)


@lru_cache(maxsize=4)
def _openings(text: str) -> tuple[str, ...]:
    return tuple(opening for dialect in _standing_in(text) for opening in dialect.openings if opening in text)


def _excerpt(text: str) -> str:
    line = " ".join(text[:_NEAR].split())
    return line if len(line) <= 72 else f"{line[:71]}…"  # noqa: PLR2004 (what fits on a line)
