"""Replies of GigaChat 3: content, and one call as a message of its own.

Facts: common/parsers/gigachat-v3.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import json_calls, parts
from templatelint.engines.llamacpp.parsing.reply import CALL

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_MESSAGE_END = b"<|message_sep|>\n\n"


def gigachat_v3(text: Cursor, setting: Setting) -> None:
    """Content and at most one call; what stands behind is ignored."""
    text.literal(b"assistant<|role_sep|>\n")
    if not setting.tools:
        parts.content(text)
        return
    parts.content(text, _MESSAGE_END)
    text.blanks()
    text.repeat(_call, text, parts.tools_of(setting), least=int(setting.required), most=1)


def _call(text: Cursor, tools: tuple[Tool, ...]) -> None:
    text.literal(_MESSAGE_END + b"function call<|role_sep|>\n")
    parts.one_call(text, tools, _named_call)


def _named_call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        text.literal(b"{")
        text.blanks()
        json_calls.key(text, b"name")
        text.literal(b'"')
        parts.name(text, tool)
        text.literal(b'"')
    json_calls.comma(text)
    json_calls.key(text, b"arguments")
    json_calls.arguments(text)
    text.blanks()
    text.literal(b"}")
