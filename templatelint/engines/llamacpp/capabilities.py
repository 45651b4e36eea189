"""A template → what llama.cpp believes that it supports: probe conversations, judged by what was read of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from templatelint.renderers import RenderFailure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from templatelint.renderers.llamacpp import Program, Usage

Messages = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The nine answers, named as the server names them in `/props` without the `supports_` in front."""

    string_content: bool = True
    typed_content: bool = False
    system_role: bool = True
    tools: bool = True
    tool_calls: bool = True
    parallel_tool_calls: bool = True
    object_arguments: bool = False
    preserve_reasoning: bool = False
    reasoning_effort: bool = False

    def as_props(self) -> dict[str, bool]:
        """The map as `/props` gives it."""
        return {f"supports_{name}": getattr(self, name) for name in self.__slots__}


# -------------------------------------------------------------------------------------- the conversations

_MARK = "STRING_MARKER"
_REASONING = "<REASONING_CONTENT_PLACEHOLDER>"
_IDS = ("call00001", "call00002")
_USER = {"role": "user", "content": "User message"}
_TOOLS = [
    {
        "name": "tool",
        "type": "function",
        "function": {
            "name": "tool1",
            "description": "Tool description",
            "parameters": {
                "type": "object",
                "properties": {"arg": {"type": "string", "description": "Arg description"}},
                "required": ["arg"],
            },
        },
    }
]


def _said(content: Any) -> Messages:
    return [{"role": "user", "content": content}]


def _called(arguments: Any, count: int) -> Messages:
    """A user's question, the assistant's calls, one result, the answer, and another question."""
    calls = [
        {"id": call_id, "type": "function", "function": {"name": "tool1", "arguments": arguments}}
        for call_id in _IDS[:count]
    ]
    return [
        dict(_USER),
        {"role": "assistant", "content": "", "tool_calls": calls},
        {"role": "tool", "content": "Tool response", "tool_call_id": _IDS[0]},
        {"role": "assistant", "content": "The tool response was 'tool response'"},
        dict(_USER),
    ]


def _reasoned() -> Messages:
    turns = [
        {"role": "assistant", "content": "Assistant message", "reasoning_content": reasoning}
        for reasoning in (_REASONING, "Reasoning content")
    ]
    return [dict(_USER), turns[0], dict(_USER), turns[1], dict(_USER)]


# ------------------------------------------------------------------------------------------ the probing


@dataclass(frozen=True, slots=True)
class _Probing:
    """One template under test; what a probe prints is None where it raised."""

    program: Program
    now: datetime

    def run(
        self, messages: Messages, tools: Sequence[Any] = (), variables: Mapping[str, Any] | None = None
    ) -> tuple[str | None, Usage]:
        """One probe; once more with empty reasoning on the assistant's messages where it raised without."""
        text, usage = self._render(messages, tools, variables or {})
        if text is None and any(_lacks_reasoning(message) for message in messages):
            filled = [m | {"reasoning_content": ""} if _lacks_reasoning(m) else m for m in messages]
            text, usage = self._render(filled, tools, variables or {})
        return text, usage

    def _render(
        self, messages: Messages, tools: Sequence[Any], variables: Mapping[str, Any]
    ) -> tuple[str | None, Usage]:
        context = {
            "messages": messages,
            "tools": list(tools),
            "bos_token": "",
            "eos_token": "",
            "add_generation_prompt": True,
            **variables,
        }
        text, usage = self.program.render_tracked(context, self.now)
        return (None if isinstance(text, RenderFailure) else text), usage


def _lacks_reasoning(message: Mapping[str, Any]) -> bool:
    return message["role"] == "assistant" and "reasoning_content" not in message


def probe(program: Program, now: datetime) -> Capabilities:
    """What the template of the program supports, as llama.cpp finds out when it loads it."""
    probing = _Probing(program, now)
    found = _content(probing, Capabilities())
    found = replace(found, system_role=_system_role(probing))
    found = _object_arguments(probing, found)
    if not found.object_arguments:
        found = _string_arguments(probing, found)
    return replace(
        found,
        parallel_tool_calls=_parallel_calls(probing, found),
        preserve_reasoning=_preserve_reasoning(probing),
        reasoning_effort=_reasoning_effort(probing),
    )


def _content(probing: _Probing, found: Capabilities) -> Capabilities:
    """Whether content may be a string, and whether it may be a list of parts."""
    text, usage = probing.run(_said(_MARK))
    operations = usage.of("messages", 0, "content").ops
    as_list = _as_list(operations)
    typed = as_list
    if "is string" in operations:
        empty, usage = probing.run(_said([]))
        typed |= empty is not None and _as_list(usage.of("messages", 0, "content").ops)
    string = text is not None and not (as_list and _MARK not in text)
    return replace(found, string_content=string, typed_content=typed)


def _as_list(operations: frozenset[str]) -> bool:
    return "selectattr" in operations or "array_access" in operations


def _system_role(probing: _Probing) -> bool:
    """Whether a system message is looked at, even by a render that fails."""
    _, usage = probing.run([{"role": "system", "content": "System message"}, dict(_USER)])
    return usage.of("messages", 0, "content").used


def _object_arguments(probing: _Probing, found: Capabilities) -> Capabilities:
    """A call whose arguments are an object; a render that fails tells nothing."""
    text, usage = probing.run(_called({"arg": "value"}, 1), _TOOLS)
    if text is None:
        return found
    found = _tool_use(found, usage)
    read = usage.of("messages", 1, "tool_calls", 0, "function", "arguments", "arg").used
    return replace(found, object_arguments=found.tool_calls and read)


def _string_arguments(probing: _Probing, found: Capabilities) -> Capabilities:
    """The same with arguments as JSON text; a render that fails denies tools altogether."""
    text, usage = probing.run(_called('{"arg": "value"}', 1), _TOOLS)
    if text is None:
        return replace(found, tools=False, tool_calls=False)
    return _tool_use(found, usage)


def _tool_use(found: Capabilities, usage: Usage) -> Capabilities:
    return replace(
        found,
        tools=found.tools and usage.of("tools", 0, "function", "name").used,
        tool_calls=found.tool_calls and usage.of("messages", 1, "tool_calls").used,
    )


def _parallel_calls(probing: _Probing, found: Capabilities) -> bool:
    """Whether the second of two calls is looked at."""
    arguments: Any = {"arg": "value"} if found.object_arguments else '{"arg": "value"}'
    text, usage = probing.run(_called(arguments, 2), _TOOLS)
    return text is not None and usage.of("messages", 1, "tool_calls", 1, "function").used


def _preserve_reasoning(probing: _Probing) -> bool:
    """Whether reasoning of an earlier turn is printed, not merely read."""
    switches = {"enable_thinking": True} | preservation(enabled=True)
    text, _ = probing.run(_reasoned(), variables=switches)
    return text is not None and _REASONING in text


def _reasoning_effort(probing: _Probing) -> bool:
    """Whether the wanted effort is looked at, under either of its names."""
    _, usage = probing.run(_said("User message"), variables={"enable_thinking": True} | effort("low"))
    return usage.of("reasoning_effort").used or usage.of("reasoning_strength").used


def preservation(*, enabled: bool) -> dict[str, Any]:
    """N18: the variables by which templates are told to keep the reasoning of earlier turns."""
    return {
        "preserve_thinking": enabled,
        "clear_thinking": not enabled,
        "truncate_history_thinking": not enabled,
        "drop_thinking": not enabled,
    }


def effort(level: str) -> dict[str, Any]:
    """N18: the variables by which templates are told how much to reason."""
    return {"reasoning_effort": level, "reasoning_strength": level}
