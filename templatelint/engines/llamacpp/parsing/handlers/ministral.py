"""Replies of Ministral 3: names and arguments behind marks.

Facts: common/parsers/ministral3.cpp.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import json_calls, parts
from templatelint.engines.llamacpp.parsing.reply import CALL

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_CALL = b"[TOOL_CALLS]"


def ministral_3(text: Cursor, setting: Setting) -> None:
    """`[THINK]`…`[/THINK]` content `[TOOL_CALLS]` name `[ARGS]` JSON …; what stands behind is ignored."""
    text.optional(parts.thought, text, b"[THINK]", b"[/THINK]")
    text.blanks()
    if setting.schema is not None:
        parts.fenced_content(text)
    elif not setting.tools:
        parts.content(text)
    else:
        parts.content(text, _CALL)
        text.blanks()
        parts.some_calls(text, setting, _call, text, parts.tools_of(setting))


def _call(text: Cursor, tools: tuple[Tool, ...]) -> None:
    text.literal(_CALL)
    parts.one_call(text, tools, _named_call)


def _named_call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        parts.name(text, tool)
        text.literal(b"[ARGS]")
    json_calls.arguments(text)
