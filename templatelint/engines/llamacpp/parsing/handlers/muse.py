"""Replies of Muse Glimmer: messages to recipients, calls in ATEM markup.

Facts: common/parsers/muse-glimmer.cpp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import parts, tagged
from templatelint.engines.llamacpp.parsing.reply import CALL, CALL_END

if TYPE_CHECKING:
    from collections.abc import Callable

    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter, Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_START = b"<|start|>assistant"
_MESSAGE = b"<|message|>"
_MORE = b"<|eom|>"
_ARGUMENT_END = b"</atem:parameter>"


def muse_glimmer(text: Cursor, setting: Setting) -> None:
    """Messages to itself, then calls, or a message to the user and calls."""
    text.repeat(_to_self, text)
    text.literal(_START)
    if setting.schema is not None:
        _to_user(text)
        text.first_of(partial(parts.fenced_content, text), partial(parts.json_content, text))
    elif setting.tools:
        calls = partial(parts.several_calls, text, setting, _call, partial(text.literal, _MORE + _START))
        text.first_of(*((calls,) if setting.required else (calls, partial(_answer_and_calls, text, calls))))
    else:
        _answer(text)


def _to_self(text: Cursor) -> None:
    text.literal(_START)
    parts.thought(text, b" to=self" + _MESSAGE, _MORE)


def _to_user(text: Cursor) -> None:
    text.optional(text.literal, b" to=user")
    text.literal(_MESSAGE)


def _answer(text: Cursor) -> None:
    _to_user(text)
    parts.content(text, b"<|eot|>", _MORE)


def _answer_and_calls(text: Cursor, calls: Callable[[], None]) -> None:
    def more() -> None:
        text.literal(_MORE + _START)
        calls()

    _answer(text)
    text.optional(more)


def _call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        text.literal(b" to=")
        text.until(_MESSAGE)
        text.literal(_MESSAGE + b"<atem:function_calls>")
        text.blanks()
        text.literal(b'<atem:invoke name="')
        parts.name(text, tool)
        text.literal(b'">')
        text.blanks()
    text.blanks()
    tagged.any_arguments(text, tool.schema.parameters, _argument)
    text.blanks()
    with parts.entire(text, CALL_END):
        text.literal(b"</atem:invoke>")
        text.blanks()
        text.literal(b"</atem:function_calls>")


def _argument(text: Cursor, parameter: Parameter) -> None:
    tagged.opening(text, b'<atem:parameter name="', parameter, b'">')
    tagged.text_or_json_value(text, _ARGUMENT_END, text_allowed=parameter.schema.may_be_string)
    text.blanks()
