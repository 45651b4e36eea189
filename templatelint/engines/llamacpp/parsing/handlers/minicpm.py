"""Replies of MiniCPM 5: a thought that must be there, calls in tags with attributes.

Facts: common/parsers/minicpm5.cpp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import parts, tagged
from templatelint.engines.llamacpp.parsing.reply import CALL, CALL_END, TEXT

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter, Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_ARGUMENT_END = b"</param>"
_CDATA = b"<![CDATA["
_CDATA_END = b"]]>"


def minicpm5(text: Cursor, setting: Setting) -> None:
    """A thought, content, calls as the last thing; they are required behind content."""
    text.literal(b"<|im_start|>assistant\n<think>")
    text.blanks()
    parts.reasoning(text, b"</think>")
    text.blanks()
    text.literal(b"</think>")
    text.blanks()
    if setting.schema is not None:
        parts.json_content(text)
        return
    if setting.tools:
        parts.content(text, b"<function")
        text.repeat(_call, text, parts.tools_of(setting), least=1, most=None if setting.parallel else 1)
    else:
        parts.content(text)
    text.end()


def _call(text: Cursor, tools: tuple[Tool, ...]) -> None:
    parts.one_call(text, tools, _named_call)
    text.blanks()


def _named_call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        text.literal(b'<function name="')
        parts.name(text, tool)
        text.literal(b'">')
    text.blanks()
    tagged.any_arguments(text, tool.schema.parameters, _argument)
    text.blanks()
    with parts.entire(text, CALL_END):
        text.literal(b"</function>")


def _argument(text: Cursor, parameter: Parameter) -> None:
    tagged.opening(text, b'<param name="', parameter, b'">')
    if parameter.schema.may_be_string:
        text.first_of(partial(_enclosed_text, text), partial(_bare_text, text))
    else:
        tagged.json_value(text, _ARGUMENT_END)
    text.blanks()


def _enclosed_text(text: Cursor) -> None:
    text.literal(_CDATA)
    with text.capture(TEXT):
        text.until(_CDATA_END)
    text.literal(_CDATA_END)
    tagged.closing(text, _ARGUMENT_END)


def _bare_text(text: Cursor) -> None:
    text.not_followed_by(text.literal, _CDATA)
    tagged.text_value(text, _ARGUMENT_END)
