"""Replies of Ling 3: calls with tagged keys and values, thoughts that may stay open.

Facts: common/parsers/ling3.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import parts, tagged
from templatelint.engines.llamacpp.parsing.reply import CALL, CALL_END

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter, Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_THOUGHT = b"<think>"
_THOUGHT_END = b"</think>"
_CALL = b"<tool_call>"
_ROLE_END = b"<|role_end|>"


def ling3(text: Cursor, setting: Setting) -> None:
    """Thoughts, content, calls, content; everything may be missing."""
    text.optional(_role, text)
    ends = _ends_of_thought(setting.generation_prompt)
    if setting.schema is not None:
        text.literal(_THOUGHT)
        parts.reasoning(text, *ends)
        text.literal(_THOUGHT_END)
        text.blanks()
        parts.json_content(text)
        text.end()
        return
    text.optional(_thought, text, ends)
    if setting.tools:
        text.optional(parts.content, text, _CALL)
        parts.block_of_calls(text, setting, _calls, text, setting)
    _tail(text)
    text.end()


def _role(text: Cursor) -> None:
    text.literal(b"<role>ASSISTANT</role>")
    text.blanks()


def _ends_of_thought(prompt: bytes) -> tuple[bytes, ...]:
    """A call ends a thought only where the generation prompt has opened it."""
    if prompt.rfind(_THOUGHT) > prompt.rfind(_THOUGHT_END):
        return _THOUGHT_END, _CALL
    return (_THOUGHT_END,)


def _thought(text: Cursor, ends: tuple[bytes, ...]) -> None:
    text.optional(text.literal, _THOUGHT)
    parts.reasoning(text, *ends)
    text.optional(text.literal, _THOUGHT_END)


def _tail(text: Cursor) -> None:
    text.optional(parts.content, text, _ROLE_END)
    text.optional(text.literal, _ROLE_END)


def _calls(text: Cursor, setting: Setting) -> None:
    parts.several_calls(text, setting, _call, text.blanks)
    text.blanks()
    _tail(text)


def _call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        text.literal(_CALL)
        parts.name(text, tool)
        text.blanks()
    tagged.required_then_others(text, tool.schema.parameters, _argument)
    with parts.entire(text, CALL_END):
        text.blanks()
        text.literal(b"</tool_call>")


def _argument(text: Cursor, parameter: Parameter) -> None:
    text.blanks()
    tagged.opening(text, b"<arg_key>", parameter, b"</arg_key>")
    text.blanks()
    text.literal(b"<arg_value>")
    tagged.typed_value(text, parameter.schema.types, b"</arg_value>", strings=True)
