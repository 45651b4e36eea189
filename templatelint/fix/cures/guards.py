"""Guards for what may be missing: content, members of a tool, names, the list of tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.fix.code import Edit
from templatelint.fix.cure import Cure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.fix.code import Chain, Code
    from templatelint.fix.cure import Proposals
    from templatelint.fix.proof import Change
    from templatelint.model import Finding

_MEMBER = re.compile(r"has no attribute '(\w+)'")
_NAME = re.compile(r"'(\w+)' is used where")


def wrapped(chain: Chain, fallback: str) -> Edit:
    """`(chain or fallback)`."""
    return Edit(chain.start, chain.end, f"({chain.text} or {fallback})")


def assigned(code: Code, chain: Chain) -> Iterator[Chain]:
    """What a name was last set to before it is used here, as the chains of that statement, from its start."""
    for tag in reversed(code.tags):
        if tag.end <= chain.start and tag.word == "set" and tag.pieces[2].value == chain.text:
            yield from (other for other in code.chains if other.tag is tag and other.index > 3)  # noqa: PLR2004 (set NAME =)


def _null_content(finding: Finding, code: Code) -> Proposals:
    """`(message.content or '')` where the engine ran into it, or where the variable that failed was set."""
    near = [chain for chain in code.near(finding.span) if chain.loose]
    for chain in near:
        if chain.last == "content":
            yield [wrapped(chain, "''")]
    for chain in near:
        if chain.whole and chain.text.isidentifier():
            for source in assigned(code, chain):
                if source.last == "content" or "content" in source.text:
                    yield [wrapped(source, "''")]
    for chain in near:
        if chain.whole and chain.text.isidentifier():
            yield [wrapped(chain, "''")]


def _bare(change: Change) -> bool:
    """A turn with calls has no content, and raised or showed a word for it."""
    bare = any(
        message.get("tool_calls") and message.get("content") is None
        for message in change.request.messages
        if message.get("role") == "assistant"
    )
    return bare and (change.healed or change.prompts is not None) and change.like("empty")


def _tool_member(finding: Finding, code: Code) -> Proposals:
    """`(tool.function.description or '')`, `(tool.function.parameters or {})`."""
    missing = _MEMBER.search(finding.message)
    near = [chain for chain in code.near(finding.span) if chain.loose]
    named = [chain for chain in near if missing is None or chain.last == missing[1]]
    for chain in named or near:
        if not chain.last or chain.text in _OWN:
            continue
        if chain.last in _MAPPINGS or chain.filters:
            yield [Edit(chain.start, chain.end, f"({chain.text} if {chain.text} is defined else {{}})")]
            yield [wrapped(chain, "{}")]
        else:
            yield [wrapped(chain, "''")]
    for chain in near:
        if chain.whole and chain.text.isidentifier() and chain.text not in _OWN:
            yield [wrapped(chain, "''")]


_MAPPINGS = frozenset({"parameters", "properties", "schema", "arguments"})
_OWN = frozenset({"tool", "tools", "loop", "function", "messages"})


def _incomplete(change: Change) -> bool:
    """A tool lacks a member, and the template raised."""
    return (change.healed or change.joins) and any(map(_lacks, change.request.tools or ()))


def _lacks(tool: object) -> bool:
    function = tool.get("function", tool) if isinstance(tool, dict) else {}
    if not function.get("description") or not function.get("parameters"):
        return True
    properties = function["parameters"].get("properties") or {}
    plain = all(isinstance(spec, dict) and isinstance(spec.get("type"), str) for spec in properties.values())
    return not plain or not all(spec.get("description") for spec in properties.values())


def _undefined(finding: Finding, code: Code) -> Proposals:
    """`(name or '')` where a name is set on some paths only; jinja2's filter in place of Python's function."""
    found = _NAME.search(finding.message)
    if found is None:
        return
    name = found[1]
    uses = [chain for chain in code.chains if chain.text == name and chain.loose]
    near = [chain for chain in uses if chain in code.near(finding.span)]
    for chain in near:
        if chain.whole:
            yield [Edit(chain.start, chain.end, f"({name} | default(''))")]
    if name == "str":
        calls = [chain for chain in code.chains if chain.text.startswith("str(") and not chain.last]
        yield [Edit(chain.start, chain.end, f"({chain.text[4:-1]} | string)") for chain in calls]


def _raised(change: Change) -> bool:
    return change.healed


def _tools(finding: Finding, code: Code) -> Proposals:
    """`tools is defined and …`, `(tools or [])`."""
    if not _ABOUT_TOOLS.search(finding.message):
        return
    every = list(_bare_tests(code))
    yield from ([edit] for edit in every)
    if len(every) > 1:
        yield every
    for chain in code.near(finding.span):
        if chain.text == "tools" and chain.whole and chain.loose:
            yield [wrapped(chain, "[]")]


# llama.cpp of what is undefined, jinja2 of none
_ABOUT_TOOLS = re.compile(r"\btools\b|'NoneType' object is not iterable|length of value of type none")


def _bare_tests(code: Code) -> Iterator[Edit]:
    """Guards for `tools is not none` and `tools is none` in an `if` that does not ask whether tools are defined."""
    for tag in code.tags:
        pieces = tag.pieces
        values = [piece.value for piece in pieces]
        if tag.word not in {"if", "elif"} or "defined" in values:
            continue
        for at, piece in enumerate(pieces):
            if piece.value != "tools" or values[at - 1] == ".":
                continue
            if values[at + 1 : at + 4] == ["is", "not", "none"]:
                yield Edit(piece.start, piece.start, "tools is defined and ")
            elif values[at + 1 : at + 3] == ["is", "none"]:
                yield Edit(piece.start, pieces[at + 2].end, "(tools is not defined or tools is none)")


def _without_tools(change: Change) -> bool:
    return not change.request.tools and (change.healed or change.joins)


def _empty_calls(finding: Finding, code: Code) -> Proposals:
    """`message.tool_calls` in place of whether it is there."""
    del finding
    edits: list[Edit] = []
    for chain in code.chains:
        pieces, at = chain.tag.pieces, chain.behind
        if not chain.whole or chain.tag.word not in {"if", "elif", "set"} or (edits and chain.start < edits[-1].end):
            continue
        words = [piece.value for piece in pieces[at : at + 3]]
        before = [piece.value for piece in pieces[max(0, chain.index - 2) : chain.index]]
        if chain.last == "tool_calls" and words[:2] == ["is", "defined"]:
            nor_none = re.compile(rf"\s+and\s+{re.escape(chain.text)}\s+is\s+not\s+none\b")
            also = nor_none.match(code.source, pieces[at + 1].end)
            edits.append(Edit(chain.end, also.end() if also else pieces[at + 1].end, ""))
        elif chain.last == "tool_calls" and words == ["is", "not", "none"]:
            edits.append(Edit(chain.end, pieces[at + 2].end, ""))
        elif chain.last == "tool_calls" and words == ["is", "not", "defined"]:
            edits.append(Edit(chain.start, pieces[at + 2].end, f"not {chain.text}"))
        elif before == ["tool_calls", "in"]:
            edits.append(Edit(pieces[chain.index - 2].start, chain.end, f"{chain.text}.tool_calls"))
    yield from ([edit] for edit in edits)
    if len(edits) > 1:
        yield edits


def _no_calls(change: Change) -> bool:
    """The calls of a message are an empty list or null; what failed there may now fail further on."""
    return not change.broken and any(
        "tool_calls" in message and not message["tool_calls"] for message in change.request.messages
    )


CURES = (
    Cure("content that may be missing is guarded", ("TL301",), _null_content, _bare, steps=5),
    Cure("tool calls that are empty are none", ("TL212",), _empty_calls, _no_calls),
    Cure("a member that a tool may lack is guarded", ("TL210",), _tool_member, _incomplete, steps=5),
    Cure("a name that may be undefined is guarded", ("TL003", "TL102", "TL113"), _undefined, _raised, steps=4),
    Cure(
        "tools that may be missing are guarded", ("TL001", "TL003", "TL102", "TL113", "TL210"), _tools, _without_tools
    ),
)
