"""Replies of Kimi K2, whose calls have ids that hold the name, and of Kimi K3, all in tags.

Facts: common/parsers/kimi-k2.cpp, common/parsers/kimi-k3.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import json_calls, parts, tagged
from templatelint.engines.llamacpp.parsing.reply import CALL, CALL_END, ID, TEXT, VALUE

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter, Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

# ------------------------------------------------------------------------------------------------------- K2

_K2_CALLS = b"<|tool_calls_section_begin|>"
_K2_CALL = b"<|tool_call_begin|>"


def kimi_k2(text: Cursor, setting: Setting) -> None:
    """Thoughts that a call may end too, content, calls without blanks between."""
    text.literal(b"<|im_assistant|>assistant<|im_middle|>")
    text.optional(_k2_thought, text)
    if not setting.tools:
        parts.content(text)
    else:
        parts.content(text, _K2_CALLS, _K2_CALL)
        text.optional(text.literal, _K2_CALLS)
        parts.some_calls(text, setting, _k2_call, text, parts.tools_of(setting))
        text.optional(text.literal, b"<|tool_calls_section_end|>")
    text.end()


def _k2_thought(text: Cursor) -> None:
    text.literal(b"<think>")
    parts.reasoning(text, b"</think>", _K2_CALLS, _K2_CALL)
    text.optional(text.literal, b"</think>")


def _k2_call(text: Cursor, tools: tuple[Tool, ...]) -> None:
    text.literal(_K2_CALL)
    parts.one_call(text, tools, _k2_named_call)


def _k2_named_call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        with parts.entire(text, ID):
            text.literal(b"functions.")
            parts.name(text, tool)
            text.literal(b":")
            text.characters(b"0123456789")
        text.literal(b"<|tool_call_argument_begin|>")
    json_calls.arguments(text)
    with parts.entire(text, CALL_END):
        text.optional(text.literal, b"<|tool_call_end|>")


# ------------------------------------------------------------------------------------------------------- K3

_K3_SEPARATOR = b"<|sep|>"
_K3_ANSWER = b"<|open|>response<|sep|>"
_K3_CALLS = b"<|open|>tools<|sep|>"
_K3_END = b"<|close|>message<|sep|>"
_K3_ARGUMENT_END = b"<|close|>argument<|sep|>"


def kimi_k3(text: Cursor, setting: Setting) -> None:
    """Sections for thoughts, answer and calls; what opens a section may be missing."""
    text.optional(text.literal, b'<|open|>message role="assistant"<|sep|>')
    text.optional(_k3_thought, text)
    text.optional(text.literal, _K3_ANSWER)
    parts.content(text, b"<|close|>response<|sep|>", _K3_CALLS, _K3_END)
    text.optional(text.literal, b"<|close|>response<|sep|>")
    if setting.tools:
        parts.block_of_calls(text, setting, _k3_calls, text, parts.tools_of(setting))
    _k3_trailer(text)
    text.end()


def _k3_thought(text: Cursor) -> None:
    text.optional(text.literal, b"<|open|>think<|sep|>")
    parts.reasoning(text, b"<|close|>think<|sep|>", _K3_ANSWER)
    text.optional(text.literal, b"<|close|>think<|sep|>")


def _k3_trailer(text: Cursor) -> None:
    text.optional(text.literal, _K3_END)
    text.optional(text.literal, b"<|end_of_msg|>")


def _k3_calls(text: Cursor, tools: tuple[Tool, ...]) -> None:
    text.literal(_K3_CALLS)
    text.repeat(parts.one_call, text, tools, _k3_call, least=1)
    text.literal(b"<|close|>tools<|sep|>")
    _k3_trailer(text)


def _k3_call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        text.literal(b'<|open|>call tool="')
        parts.name(text, tool)
        _k3_other_attributes(text)
    tagged.any_arguments(text, tagged.properties(tool), _k3_argument)
    with parts.entire(text, CALL_END):
        text.literal(b"<|close|>call<|sep|>")


def _k3_other_attributes(text: Cursor) -> None:
    text.literal(b'"')
    text.until(_K3_SEPARATOR)
    text.literal(_K3_SEPARATOR)


def _k3_argument(text: Cursor, parameter: Parameter) -> None:
    tagged.opening(text, b'<|open|>argument key="', parameter, b"")
    _k3_other_attributes(text)
    node = parameter.schema.node
    kind = node.get("type") if isinstance(node, dict) else None
    with text.capture(VALUE if isinstance(kind, str) and kind != "string" else TEXT):
        text.until(_K3_ARGUMENT_END)
    tagged.closing(text, _K3_ARGUMENT_END)
