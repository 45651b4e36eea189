"""Replies of Cohere's MoE models: thoughts, then either text or a list of calls.

Facts: common/parsers/cohere2moe.cpp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import json_calls, parts

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_TEXT = b"<|START_TEXT|>"
_ACTION = b"<|START_ACTION|>"
_THOUGHT_END = b"<|END_THINKING|>"
_KEYS = json_calls.ObjectKeys(b"tool_name", b"parameters", b"tool_call_id")


def cohere2moe(text: Cursor, setting: Setting) -> None:
    """Thoughts that what follows may end too; one of text and calls is required."""
    text.literal(b"<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>")
    text.optional(_thought, text)
    answer = partial(_text, text, setting)
    if setting.tools:
        calls = partial(_calls, text, setting)
        text.first_of(*((calls,) if setting.required else (calls, answer)))
    else:
        answer()
    text.optional(text.literal, b"<|END_OF_TURN_TOKEN|>")
    text.end()


def _thought(text: Cursor) -> None:
    text.literal(b"<|START_THINKING|>")
    parts.reasoning(text, _THOUGHT_END, _TEXT, _ACTION)
    text.optional(text.literal, _THOUGHT_END)


def _text(text: Cursor, setting: Setting) -> None:
    text.literal(_TEXT)
    if setting.schema is not None:
        parts.json_content(text)
    else:
        parts.content(text, b"<|END_TEXT|>")
    text.optional(text.literal, b"<|END_TEXT|>")


def _calls(text: Cursor, setting: Setting) -> None:
    text.literal(_ACTION)
    text.blanks()
    text.literal(b"[")
    text.blanks()
    parts.several_calls(text, setting, _call, partial(json_calls.comma, text))
    text.blanks()
    text.literal(b"]")
    text.blanks()
    text.literal(b"<|END_ACTION|>")


def _call(text: Cursor, tool: Tool) -> None:
    json_calls.object_call(text, tool, _KEYS)
