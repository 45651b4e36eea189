"""Replies of Functionary 3.2: texts behind the name of who is to read them.

Facts: common/parsers/functionary-v3-2.cpp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import json_calls, parts
from templatelint.engines.llamacpp.parsing.reply import CALL

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_NEXT = b">>>"


def functionary_v3_2(text: Cursor, setting: Setting) -> None:
    """`all` and text, or a tool's name and JSON; the second call has no `>>>`, though the model writes one."""
    text.literal(b"<|start_header_id|>assistant<|end_header_id|>\n\n" + _NEXT)
    if setting.tools:
        tools = parts.tools_of(setting)
        calls = partial(_calls, text, tools, several=setting.parallel)
        choices = [partial(_text_and_calls, text, calls), partial(_to_all, text), calls]
        if setting.required:
            choices[1:] = [partial(_calls, text, tools, several=True)]
        text.first_of(*choices)
    else:
        _to_all(text)
    text.end()


def _to_all(text: Cursor, *delimiters: bytes) -> None:
    text.literal(b"all\n")
    parts.content(text, *delimiters)


def _text_and_calls(text: Cursor, calls: partial[None]) -> None:
    _to_all(text, _NEXT)
    calls()


def _calls(text: Cursor, tools: tuple[Tool, ...], *, several: bool) -> None:
    if several:
        text.repeat(parts.one_call, text, tools, _call, least=1)
    else:
        parts.one_call(text, tools, _call)


def _call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        parts.name(text, tool)
        text.literal(b"\n")
    json_calls.arguments(text)
