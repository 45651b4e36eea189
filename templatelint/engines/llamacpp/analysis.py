"""A template's answers to probes → how llama.cpp believes that its replies are built."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from templatelint.engines.llamacpp import markers, tool_calls
from templatelint.engines.llamacpp.markers import BLANK, BLANKS, SPACED_MARKER
from templatelint.engines.llamacpp.probes import ANSWER, REASONING, USER, Rendered
from templatelint.engines.llamacpp.tool_calls import ToolCalls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.engines.llamacpp.facts import AnalysisPatch

ReasoningMode: TypeAlias = Literal["NONE", "TAG_BASED", "TOOLS_ONLY"]
ContentMode: TypeAlias = Literal["PLAIN", "ALWAYS_WRAPPED", "WRAPPED_WITH_REASONING"]


@dataclass(frozen=True, slots=True)
class Reasoning:
    """The marks around reasoning; either may be missing."""

    mode: ReasoningMode = "NONE"
    start: bytes = b""
    end: bytes = b""


@dataclass(frozen=True, slots=True)
class Content:
    """The marks around what is said to the user."""

    mode: ContentMode = "PLAIN"
    start: bytes = b""
    end: bytes = b""


@dataclass(frozen=True, slots=True)
class Analysis:
    """What the analysis found; names as llama.cpp's own."""

    reasoning: Reasoning
    content: Content = field(default_factory=Content)
    tools: ToolCalls = field(default_factory=ToolCalls)
    assistant_start: bytes = b""
    user_start: bytes = b""

    def patched(self, source: str, patches: Sequence[AnalysisPatch]) -> Analysis:
        """The analysis with the corrections that llama.cpp keeps for known templates."""
        found = self
        for patch in patches:
            if patch.condition.holds(source) and _lacks(found, patch.only_without):
                for name, value in patch.values.items():
                    found = _replaced(found, name, value.encode() if isinstance(_member(found, name), bytes) else value)
                for name in patch.trims:
                    found = _replaced(found, name, _member(found, name).strip(BLANKS))
        return found

    def as_texts(self) -> dict[str, Any]:
        """The analysis as JSON data; bytes that are no UTF-8 become replacement characters."""
        texts: dict[str, Any] = _as_texts(self)
        return texts


def _lacks(found: Analysis, wanted: str) -> bool:
    if not wanted:
        return True
    return found.reasoning.mode == "NONE" if wanted == "reasoning" else not _member(found, wanted)


def _member(found: Analysis, name: str) -> Any:
    part, _, member = name.rpartition(".")
    return getattr(getattr(found, part) if part else found, member)


def _replaced(found: Analysis, name: str, value: Any) -> Analysis:
    part, _, member = name.rpartition(".")
    if part:
        value = replace(getattr(found, part), **{member: value})
    changed: Analysis = replace(found, **{part or member: value})
    return changed


def _as_texts(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, tuple):
        return [_as_texts(item) for item in value]
    if is_dataclass(value):
        return {each.name: _as_texts(getattr(value, each.name)) for each in fields(value)}
    return value


# ------------------------------------------------------------------------------------------ the analysis


def analyse(rendered: Rendered, source: str, patches: Sequence[AnalysisPatch]) -> Analysis:
    """Everything that llama.cpp finds out about a template without a handler.

    Raises:
        tool_calls.NotAnalysable: as `find_reasoning`.
    """
    reasoning = find_reasoning(rendered)
    found = Analysis(
        reasoning=reasoning,
        content=_content(rendered, reasoning),
        tools=_tools(rendered, reasoning),
        assistant_start=_assistant_start(rendered, reasoning),
        user_start=_user_start(rendered),
    )
    return found.patched(source, patches)


def outline(rendered: Rendered, source: str, patches: Sequence[AnalysisPatch]) -> Analysis:
    """The part of the analysis that prompts depend on: reasoning, the kind of calls, and whether it succeeds at all.

    Raises:
        tool_calls.NotAnalysable: it does not.
    """
    reasoning = find_reasoning(rendered)
    tools = ToolCalls()
    if rendered.capabilities.tool_calls:
        tools = tool_calls.form_of(rendered, reasoning.start, reasoning.end)
    return Analysis(reasoning, tools=tools).patched(source, patches)


def _tools(rendered: Rendered, reasoning: Reasoning) -> ToolCalls:
    if not rendered.capabilities.tool_calls:
        return ToolCalls()
    return tool_calls.find(rendered, reasoning.start, reasoning.end)


# --------------------------------------------------------------------------------------------- reasoning

_ANSWER, _REASONING, _USER = ANSWER.encode(), REASONING.encode(), USER.encode()
_ANCHOR = 64
_PAIR = 2

_WRAPPED_REASONING = re.compile(
    rb"(%(m)s)%(r)s(%(b)s%(m)s)" % {b"m": SPACED_MARKER, b"b": BLANK, b"r": re.escape(_REASONING)}
)
_REASONING_IN_CALL = re.compile(
    rb"(%(m)s)%(r)s%(b)s(%(m)s)" % {b"m": SPACED_MARKER, b"b": BLANK, b"r": re.escape(_REASONING)}
)
_REASONING_BEFORE = re.compile(rb"%(r)s%(b)s(%(m)s)?" % {b"m": SPACED_MARKER, b"b": BLANK, b"r": re.escape(_REASONING)})
_WRAPPED_ANSWER = re.compile(
    rb"(%(m)s)%(a)s%(b)s(%(m)s)" % {b"m": SPACED_MARKER, b"b": BLANK, b"a": re.escape(_ANSWER)}
)


def find_reasoning(rendered: Rendered) -> Reasoning:
    """The marks around reasoning, before any correction."""
    found = _from_history(rendered)
    found = _from_cue(rendered, found)
    return _from_calls(rendered, found) if rendered.capabilities.tool_calls else found


def _from_history(rendered: Rendered) -> Reasoning:
    """Compare an answer without and with reasoning."""
    with_reasoning = rendered.text("answer-reasoned")
    if with_reasoning is None or _REASONING not in with_reasoning:
        return Reasoning()
    compared = rendered.compare("answer", "answer-reasoned")
    if compared is None or _REASONING not in compared.difference.right:
        return Reasoning()
    if wrapped := _WRAPPED_REASONING.search(with_reasoning):
        return Reasoning("TAG_BASED", wrapped[1], wrapped[2])
    before = _REASONING_BEFORE.search(with_reasoning)
    if before is not None and before[1]:
        return Reasoning("TAG_BASED", b"", before[1])
    return Reasoning()


def _from_cue(rendered: Rendered, found: Reasoning) -> Reasoning:
    """Compare the generation prompts with thinking off and on."""
    compared = rendered.compare("cue-plain", "cue-thinking")
    if compared is None:
        return found
    left, right = compared.difference.left, compared.difference.right
    own_left, own_right = left.strip(BLANKS), right.strip(BLANKS)
    if not own_left and right:
        if own_right and compared.right.endswith(own_right) and not found.start:
            found = replace(found, mode="TAG_BASED", start=right)
    elif not own_right and left:
        if own_left and compared.left.endswith(own_left) and not found.end:
            found = Reasoning("TAG_BASED", _opened_before(compared.left, own_left) or found.start, left)
    elif own_left and own_right:
        found = _from_tails(compared.right, compared.left, found) or (
            _from_tails(compared.left, compared.right, found) or found
        )
    if found.mode == "NONE" and found.end and not found.start:
        return replace(found, mode="TAG_BASED")
    return found


def _opened_before(prompt: bytes, closing: bytes) -> bytes:
    """The marker right before a closing one at the end of a prompt."""
    pieces = _printed(prompt)
    if len(pieces) >= _PAIR and pieces[-1].text == closing and pieces[-2].marker:
        return pieces[-2].text
    return b""


def _from_tails(base: bytes, other: bytes, found: Reasoning) -> Reasoning | None:
    """Two markers that one prompt has behind the end of the other."""
    anchor = base[-_ANCHOR:]
    at = other.rfind(anchor)
    if at < 0 or at + len(anchor) >= len(other):
        return None
    pieces = _printed(other[at + len(anchor) :].strip(BLANKS))
    if len(pieces) != _PAIR or not all(piece.marker for piece in pieces):
        return None
    return Reasoning("TAG_BASED", found.start or pieces[0].text, found.end or pieces[1].text)


def _printed(text: bytes) -> list[markers.Segment]:
    return [piece for piece in markers.segments(text) if piece.text.strip(BLANKS)]


def _from_calls(rendered: Rendered, found: Reasoning) -> Reasoning:
    """Reasoning that is printed beside tool calls only."""
    answer, call = rendered.text("tools-answer-reasoned"), rendered.text("tools-call-reasoned")
    if answer is None or call is None or _REASONING in answer or _REASONING not in call:
        return found
    if wrapped := _REASONING_IN_CALL.search(call):
        return Reasoning("TOOLS_ONLY", wrapped[1], wrapped[2])
    before = _REASONING_BEFORE.search(call)
    return Reasoning("TOOLS_ONLY", found.start, (before[1] if before else None) or b"")


# ------------------------------------------------------------------------------------- content and turns


def _content(rendered: Rendered, reasoning: Reasoning) -> Content:
    """The marks around an answer, from what calls and reasoning have in its place."""
    beside_call = rendered.compare("tools-answer", "other-call")
    beside_reasoning = rendered.compare("tools-answer", "tools-reasoning")
    if beside_call is None or beside_reasoning is None:
        return Content()
    own, rest = beside_call.difference.left, beside_reasoning.difference.left
    if own.strip(BLANKS) == _ANSWER:
        if not rest or rest[:1] not in BLANKS:
            return Content()
        if reasoning.mode != "NONE" and reasoning.end:
            after = re.compile(re.escape(reasoning.end) + BLANK + re.escape(_ANSWER))
            if after.search(rest):
                return Content()
    if reasoning.end and reasoning.end in rest:
        rest = rest.partition(reasoning.end)[2]
    wrapped = _WRAPPED_ANSWER.search(rest if len(rest) > len(own) else own)
    return Content("ALWAYS_WRAPPED", wrapped[1], wrapped[2]) if wrapped else Content()


def _assistant_start(rendered: Rendered, reasoning: Reasoning) -> bytes:
    """What an answer begins with."""
    compared = rendered.compare("user", "answer")
    if compared is None:
        return b""
    start = compared.difference.right.partition(_ANSWER)[0]
    for mark in (reasoning.start, reasoning.end):
        if mark and (bare := mark.strip(BLANKS)) in start:
            start = start[: start.find(bare)]
    return start.strip(BLANKS)


def _user_start(rendered: Rendered) -> bytes:
    """What a user's message begins with, less what closes the turn before it."""
    compared = rendered.compare("nothing", "user") or rendered.compare("exchange", "exchange-user")
    if compared is None:
        return b""
    text = compared.difference.right
    if _ANSWER in text:
        text = text.partition(_ANSWER)[2]
    pieces = markers.segments(text.partition(_USER)[0])
    kept = []
    opened = False  # by a marker: text does not open a turn
    for piece in pieces:
        if not opened and _closes(piece):
            continue
        opened |= piece.marker
        kept.append(piece.text)
    return b"".join(kept).strip(BLANKS)


def _closes(piece: markers.Segment) -> bool:
    if piece.marker:
        return b"end" in piece.text.lower() or b"close" in piece.text.lower()
    return not piece.text.strip(BLANKS)
