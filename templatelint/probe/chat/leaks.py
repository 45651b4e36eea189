"""What a server hands over as text → the tool call that was left in it: in which syntax, and how sure that is."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint import dialects
from templatelint.dialects.prose import Markdown
from templatelint.probe.prompts import TOOLS
from templatelint.probe.schema import fault
from templatelint.probe.telling import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.dialects.reply import Reply

LEFT = "no call arrives, what looks like one stands in content: TL910 tells of it"
_SEARCHED = 32_768  # characters of a text; a call comes early, or not at all
_LEAD = 300  # characters that a model says before a call
_NEAR = 80  # characters behind a mark within which a call names its function
_MARK = 6  # characters at which the beginning of a mark is nothing else
_EXCERPT = 120  # characters of a call that are shown
# what servers leave between a name and its arguments when they take the marks away, and what agents write there
_BETWEEN = re.compile(
    r"[^\w{}]{0,8}(?:(?:json|ARGS|arguments|parameters|(?:Action )?Input)[^\w{}]{0,8}|\d{1,3})?", re.ASCII
)
_ENDS = (")", "]", "}", ">", "`")
_BARE = "a call as bare JSON"
_TAG = re.compile(r"<\w{1,30}>$", re.ASCII)
_FENCE = re.compile(r"^\s*```\w*[ \t]*\n|\n?```\s*$")


@dataclass(frozen=True, slots=True)
class Leak:
    """A call in a text.

    Attributes:
        tool: the function, one of those that were offered.
        dialect: of the syntax; empty where no reader makes a call of it.
        marked: marks, a fence or a tag tell in which syntax it was written; else it may be what is left of one whose
            marks are gone.
        form: what it is, in words (`a call in the syntax of hermes`).
        text: how it begins.
        certain: it is meant as a call; else it may as well be an example, or be quoted.
    """

    tool: str
    dialect: str
    marked: bool
    form: str
    text: str
    certain: bool

    @property
    def shown(self) -> str:
        """How it begins, for a message."""
        return quoted(self.text, 80)


def found(text: str, tools: Sequence[Mapping[str, Any]] = TOOLS, taught: str = "") -> Leak | None:
    """The first call of an offered function that stands in a text.

    Args:
        text: what was handed over as said.
        tools: those that were offered, in OpenAI form.
        taught: the dialect of the template in force, which is looked for first.
    """
    text = text[:_SEARCHED]
    parameters = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    if not any(name in text for name in parameters):
        return None
    return _read(text, tools, parameters, taught) or next(_remains(text, parameters), None)


def mark_left(text: str, taught: str = "") -> Leak | None:
    """The mark that opens calls, or its beginning, with which a text ends whose call was taken out of it.

    Args:
        text: what was handed over as said beside a call.
        taught: the dialect that is preferred where several have the mark.
    """
    said = text[-_SEARCHED:].strip()
    fitting = [
        (dialect.name == taught, len(mark), dialect.name, mark)
        for dialect in dialects.every()
        for mark in dialect.openings
        if not mark[0].isalnum() and (said.endswith(mark) or (len(said) >= _MARK and mark.startswith(said)))
    ]
    if not fitting:
        return None
    _, _, dialect, mark = max(fitting)
    return Leak("", dialect, True, f"a mark of the syntax of {dialect}", said[-len(mark) :], True)


# ------------------------------------------------------------------------------------- calls that a reader reads


def _read(text: str, tools: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any], taught: str) -> Leak | None:
    from templatelint.dialects.reader import parse

    reply = parse(text, taught, tools) if taught else None
    if reply is None or not reply.tool_calls or any(problem.kind == "foreign" for problem in reply.problems):
        reply = parse(text, dialects.AUTO, tools)
    return _whole(text, reply, parameters) if reply.tool_calls else _begun(text, reply, parameters, taught)


def _whole(text: str, reply: Reply, parameters: Mapping[str, Any]) -> Leak:
    call = reply.tool_calls[0]
    at = _opening_at(text, reply.dialect)
    if at is not None:
        code = _code(text[:at])
        certain = code == "" or (code == "fence" and not (reply.content or "").strip())
        return Leak(
            call.name, reply.dialect, True, f"a call in the syntax of {reply.dialect}", text[at:][:_EXCERPT], certain
        )
    at = max(text.find(f'"{call.name}"'), 0) or text.find(call.name)
    start = max(0, *(text.rfind(mark, 0, at) for mark in ("\n", "{", "["))) if at > 0 else 0
    fits = not fault(call.arguments, parameters[call.name])
    certain = fits and start <= _LEAD and text.rstrip().endswith(_ENDS)
    form = _form(text, at, reply.dialect)
    return Leak(call.name, reply.dialect, form != _BARE, form, text[start:].strip()[:_EXCERPT], certain)


def _form(text: str, at: int, dialect: str) -> str:
    if dialect.endswith("pythonic"):
        return "a call as a bare Python expression"
    before = text[:at].rpartition("{")[0].rstrip().removesuffix("[").rstrip()
    tag = _TAG.search(before[-_NEAR:])
    if tag is not None:
        return f"a call as JSON in {tag[0]}"
    return "a call as JSON in a code fence" if "```" in before else _BARE


def _begun(text: str, reply: Reply, parameters: Mapping[str, Any], taught: str) -> Leak | None:
    """A call that ends too early, or that is malformed."""
    for problem in reply.problems:
        if problem.kind not in ("cut", "malformed"):
            continue
        rest = text[problem.offset :]
        named = [(rest.find(name), name) for name in parameters if name in rest]
        if not named:
            continue
        near, tool = min(named)
        dialect = _dialect_of(rest, taught) or (reply.dialect if reply.dialect != dialects.AUTO else "")
        what = "the beginning of a call" if problem.kind == "cut" else "a malformed call"
        form = f"{what} in the syntax of {dialect}" if dialect else what
        certain = near <= _NEAR and _code(text[: problem.offset]) == ""
        return Leak(tool, dialect, bool(dialect), form, rest[:_EXCERPT], certain)
    return None


def _opening_at(text: str, dialect: str) -> int | None:
    found_at = [text.find(mark) for mark in dialects.get(dialect).openings if mark in text]
    return min(found_at) if found_at else None


def _dialect_of(rest: str, taught: str) -> str:
    """Whose mark a text begins with; the template's own dialect before others, then the one with the longest mark."""
    fitting = [
        (dialect.name == taught, len(mark), dialect.name)
        for dialect in dialects.standing_in(rest)
        for mark in dialect.openings
        if rest.startswith(mark)
    ]
    return max(fitting, key=lambda each: each[:2])[2] if fitting else ""


def _code(before: str) -> str:
    markdown = Markdown()
    markdown.add(before)
    return markdown.code


# ------------------------------------------------------------------------- calls that have lost what a reader needs


def _remains(text: str, parameters: Mapping[str, Any]) -> Iterator[Leak]:
    """A function's name and arguments behind it that fit: what is left where a server hides special tokens."""
    whole = _FENCE.sub("", text).strip()
    for name, schema in parameters.items():
        for place in re.finditer(rf"{re.escape(name)}(?!\w)", text):
            between = _BETWEEN.match(text, place.end())
            brace = between.end() if between else place.end()
            if text.startswith("{", brace):
                value, end = _object(text, brace)
                if value is not None and not fault(value, schema):
                    behind = text[end:].strip().strip("`").strip()
                    certain = place.start() <= _LEAD and (not behind or not behind[0].isalnum())
                    yield _remainder(name, text[place.start() :], "arguments", certain=certain)
            elif text.startswith("(", place.end()):
                alone = whole.startswith(f"{name}(") and whole.endswith(")") and whole.count("\n") <= 1
                if text[place.end() + 1 : place.end() + 1 + _NEAR].lstrip().startswith(tuple(schema["properties"])):
                    yield _remainder(name, text[place.start() :], "arguments in parentheses", certain=alone)


def _remainder(name: str, text: str, what: str, *, certain: bool) -> Leak:
    return Leak(name, "", False, f"the function's name with its {what}, without marks", text[:_EXCERPT], certain)


def _object(text: str, at: int) -> tuple[Mapping[str, Any] | None, int]:
    try:
        value, end = json.JSONDecoder().raw_decode(text, at)
    except (ValueError, RecursionError):
        return None, at
    return (value, end) if isinstance(value, Mapping) else (None, at)
