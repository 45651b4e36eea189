"""Replies of LFM2 and LFM2.5: a list of calls in Python's notation.

Facts: common/parsers/lfm2.cpp, python_style_tool_calls in common/chat-peg-parser.cpp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.grammar import PYTHON_OR_JSON
from templatelint.engines.llamacpp.parsing.handlers import parts, tagged
from templatelint.engines.llamacpp.parsing.reply import ARGUMENT_END, CALL, CALL_END, VALUE

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter, Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_CALLS = b"<|tool_call_start|>"
_THOUGHT = "<think>"


def lfm2(text: Cursor, setting: Setting) -> None:
    """Thoughts where the template knows them, content, calls as the last thing; they are required behind content."""
    text.literal(b"<|im_start|>assistant\n")
    if _THOUGHT in setting.source:
        text.optional(parts.thought, text, b"<think>", b"</think>")
    if setting.tools:
        parts.content(text, _CALLS)
        _calls(text, setting)
    elif setting.schema is not None:
        parts.json_content(text)
    else:
        parts.content(text)
    text.end()


def _calls(text: Cursor, setting: Setting) -> None:
    text.literal(_CALLS + b"[")
    text.blanks()
    parts.several_calls(text, setting, _call, partial(_comma, text))
    text.blanks()
    text.literal(b"]<|tool_call_end|>")


def _call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        parts.name(text, tool)
        text.literal(b"(")
    text.blanks()
    _arguments(text, tagged.properties(tool))
    text.blanks()
    with parts.entire(text, CALL_END):
        text.literal(b")")


def _comma(text: Cursor) -> None:
    text.literal(b",")
    text.blanks()


def _arguments(text: Cursor, parameters: list[Parameter]) -> None:
    """At least one where the tool has any, in any order."""

    def another() -> None:
        _comma(text)
        tagged.one_argument(text, parameters, _argument)

    if parameters:
        tagged.one_argument(text, parameters, _argument)
        text.repeat(another)


def _argument(text: Cursor, parameter: Parameter) -> None:
    tagged.opening(text, b"", parameter, b"=")
    node = parameter.schema.node
    with text.capture(VALUE):
        if isinstance(node, dict) and node.get("type") == "string":
            text.string(b"\"'")
        else:
            text.value(PYTHON_OR_JSON)
    text.mark(ARGUMENT_END)
