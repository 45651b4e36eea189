"""Capabilities of engines → the message contract: what a client must observe, in words, what costs most first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from templatelint.errors import clip

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from templatelint.capabilities import Capabilities

_Holds: TypeAlias = "Callable[[Capabilities], bool]"


@dataclass(frozen=True, slots=True)
class Term:
    """One clause of a contract.

    Attributes:
        id: stable name, for programs.
        text: what the client is to do, or not to expect.
        engines: those on which it holds.
        everywhere: those are all on which anything is known.
    """

    id: str
    text: str
    engines: tuple[str, ...]
    everywhere: bool

    def __str__(self) -> str:
        return self.text if self.everywhere else f"{self.text} (on {', '.join(self.engines)})"


def contract(capabilities: Mapping[str, Capabilities]) -> tuple[Term, ...]:
    """The terms that hold on at least one engine; engines of which nothing is known have no say."""
    known = {engine: facts for engine, facts in capabilities.items() if facts.loads}
    found = _no_chat(known)
    for name, text, holds in _TERMS:
        engines = tuple(engine for engine, facts in known.items() if holds(facts))
        if engines:
            found.append(Term(name, text, engines, len(engines) == len(known)))
    return tuple(found)


def _no_chat(known: Mapping[str, Capabilities]) -> list[Term]:
    """Where nothing is answered, or no plain chat: what is said there, each once."""
    groups: dict[tuple[str, str], list[str]] = {}
    for engine, facts in known.items():
        fails = _FAILS.get(facts.chat or "")
        if fails is not None:
            which = ("no-requests", "every request") if not facts.prompts else ("no-chat", "plain chat")
            name, text = which[0], f"{which[1]} {fails}: {clip(facts.errors.get('chat', ''), _WORDS)}"
            groups.setdefault((name, text), []).append(engine)
    ordered = sorted(groups.items(), key=lambda group: group[0][0] != "no-requests")
    return [Term(name, text, tuple(engines), len(engines) == len(known)) for (name, text), engines in ordered]


# what becomes of plain chat → in words
_FAILS = {"refused": "is refused", "raises": "makes the template raise", "over budget": "is too much to render"}
_WORDS = 200  # characters of what a template says


def _is(fact: str, *words: str | bool) -> _Holds:
    return lambda facts: getattr(facts, fact) in words


def _with_system(further: _Holds) -> _Holds:
    """Where a system message reaches the model at all."""
    return lambda facts: facts.system in {"honoured", "merged"} and further(facts)


def _with_calls(further: _Holds) -> _Holds:
    """Where calls of the history do."""
    return lambda facts: facts.tool_calls in {"shown", "partly"} and further(facts)


def _one_shape(fact: str, other: str) -> _Holds:
    """Arguments arrive in one shape and not in the other."""
    # what an engine rejects by itself is no news to its clients: its interface has no such shape
    return lambda facts: getattr(facts, fact) == "fine" and getattr(facts, other) not in {"fine", "rejected", None}


def _one_system(facts: Capabilities) -> bool:
    return facts.later_system in {"dropped", "refused", "replaces", "moved"}


def _chat_only(facts: Capabilities) -> bool:
    return facts.tools in {"dropped", "refused"} and facts.tool_calls in {"dropped", "refused"}


def _beyond_chat(further: _Holds) -> _Holds:
    """Where the model learns of tools at all."""
    return lambda facts: not _chat_only(facts) and further(facts)


def _field(facts: Capabilities) -> bool:
    return facts.reasoning_fields is not None and "reasoning_content" not in facts.reasoning_fields


_NOT_PARTS = frozenset({"raises", "lost", "printed", "first only"})
_TERMS: tuple[tuple[str, str, _Holds], ...] = (
    (
        "content-parts",
        "content as a list of parts, not a string",
        lambda facts: facts.string_content in {"lost", "raises"} and facts.typed_content in {"fine", "first only"},
    ),
    ("no-system", "no system message: it is refused", _is("system", "refused")),
    ("system-lost", "no system message: it never reaches the model", _is("system", "dropped")),
    ("one-system", "one system message, only first", _with_system(_one_system)),
    (
        "no-system-with-tools",
        "no system message beside tools: it is lost",
        _with_system(_is("system_with_tools", "dropped", "refused")),
    ),
    ("chat-only", "plain chat only: the model sees neither tools nor calls of them", _chat_only),
    ("no-tools", "no tools: a request with definitions is refused", _beyond_chat(_is("tools", "refused"))),
    ("tools-lost", "no tools: the model never sees their definitions", _beyond_chat(_is("tools", "dropped"))),
    ("tools-with-system", "tools only beside a system message", _is("tools", "with system only")),
    ("tools-some", "not every tool reaches the model in every conversation", _is("tools", "some")),
    ("no-calls", "no tool calls in the history: they are refused", _beyond_chat(_is("tool_calls", "refused"))),
    (
        "calls-lost",
        "no tool calls in the history: the model never sees them",
        _beyond_chat(_is("tool_calls", "dropped")),
    ),
    ("calls-partly", "calls of the history lose their name or their arguments", _is("tool_calls", "partly")),
    ("no-results", "no messages of the role tool: they are refused", _beyond_chat(_is("tool_results", "refused"))),
    (
        "results-lost",
        "no messages of the role tool: the model never sees them",
        _beyond_chat(_is("tool_results", "dropped")),
    ),
    (
        "arguments-mapping",
        "arguments as a mapping, not a JSON string",
        _with_calls(_one_shape("object_arguments", "string_arguments")),
    ),
    (
        "arguments-string",
        "arguments as a JSON string, not a mapping",
        _with_calls(_one_shape("string_arguments", "object_arguments")),
    ),
    ("ids-nine", "call ids of nine letters and digits", _is("call_ids", "nine")),
    ("ids-name", "call ids as functions.NAME:INDEX: they stand for the name", _is("call_ids", "name")),
    ("result-name", "the function's name with every tool result", _is("tool_results", "need a name")),
    (
        "content-not-null",
        'content "" beside tool calls, not null',
        _with_calls(_is("null_content", "raises", "word", "lost")),
    ),
    (
        "content-present",
        "a content member on every message, calls too",
        _with_calls(_is("absent_content", "raises", "word", "lost")),
    ),
    (
        "one-call",
        "one call a turn",
        _with_calls(_is("parallel_tool_calls", "first only", "refused")),
    ),
    (
        "calls-alone",
        "no text beside tool calls: one of the two is lost",
        _with_calls(_is("text_with_calls", "dropped", "lost", "raises")),
    ),
    (
        "tools-again",
        "the tools again in every request whose history has calls",
        _with_calls(_is("history_without_tools", "dropped", "refused")),
    ),
    ("alternate", "roles alternate user/assistant", _is("consecutive_users", "refused", "dropped")),
    (
        "answer-after-tool",
        "an answer between a tool result and the next user message",
        lambda facts: (
            facts.user_after_tool in {"refused", "dropped"} and facts.consecutive_users not in {"refused", "dropped"}
        ),
    ),
    ("user-first", "a user message before the first answer", _is("assistant_first", "refused", "dropped")),
    ("some-user", "at least one user message", _is("no_user", "refused", "dropped")),
    (
        "no-developer",
        "instructions as system, not as developer messages",
        _with_system(_is("developer", "dropped", "refused")),
    ),
    (
        "content-string",
        "content as a string, not a list of parts",
        lambda facts: facts.string_content == "fine" and facts.typed_content in _NOT_PARTS,
    ),
    (
        "results-string",
        "tool results as strings, not lists of parts",
        lambda facts: facts.typed_tool_results in _NOT_PARTS and facts.typed_content not in _NOT_PARTS,
    ),
    ("system-merged", "system text is weighed as part of a user turn", _is("system", "merged")),
    (
        "reasoning-field-reasoning",
        "reasoning in the field `reasoning`",
        lambda facts: _field(facts) and facts.reasoning_fields is not None and "reasoning" in facts.reasoning_fields,
    ),
    (
        "reasoning-field-thinking",
        "reasoning in the field `thinking`",
        lambda facts: _field(facts) and facts.reasoning_fields == ("thinking",),
    ),
    ("thought-opened", "answers begin inside a think block: only its end will come", _is("thought", "opens")),
)
