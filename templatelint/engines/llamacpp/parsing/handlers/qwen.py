"""Replies of Qwen3-Coder and the families that write calls like it.

Facts: common/parsers/qwen3-coder.cpp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import parts, tagged
from templatelint.engines.llamacpp.parsing.reply import CALL, CALL_END

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter, Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_CALL = b"<tool_call>"


def qwen3_coder(text: Cursor, setting: Setting) -> None:
    """Thoughts where the template knows them, content, calls with their exact line ends; the rest is ignored."""
    thinks = "<think>" in setting.source
    text.literal(b"<|im_start|>assistant\n")
    if thinks:
        text.optional(_thought, text)
    text.blanks()
    if setting.schema is not None:
        parts.json_content(text)
    elif not setting.tools:
        parts.content(text)
    else:
        tools = parts.tools_of(setting)
        bare = () if thinks else tuple(b"<function=%s>" % tool.name for tool in tools)
        parts.content(text, _CALL, *bare)
        text.blanks()
        calls = partial(_calls, text, tools, parallel=setting.parallel, bare=not thinks)
        text.repeat(calls, least=int(setting.required), most=1)


def _thought(text: Cursor) -> None:
    text.literal(b"<think>")
    text.blanks()
    parts.reasoning(text, b"</think>", _CALL)
    text.first_of(partial(text.literal, b"</think>"), partial(text.followed_by, text.literal, _CALL))


def _calls(text: Cursor, tools: tuple[Tool, ...], *, parallel: bool, bare: bool) -> None:
    """Calls; the first may lack its opening tag."""
    if bare:
        text.optional(text.literal, _CALL + b"\n")
        _call_body(text, tools)
    else:
        _call(text, tools)
    if parallel:
        text.repeat(_call, text, tools)


def _call(text: Cursor, tools: tuple[Tool, ...]) -> None:
    text.literal(_CALL + b"\n")
    _call_body(text, tools)


def _call_body(text: Cursor, tools: tuple[Tool, ...]) -> None:
    parts.one_call(text, tools, _function)
    text.literal(b"</tool_call>")
    text.blanks()


def _function(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        text.literal(b"<function=")
        parts.name(text, tool)
        text.literal(b">\n")
    tagged.required_then_others(text, tool.schema.parameters, _argument)
    with parts.entire(text, CALL_END):
        text.literal(b"</function>\n")


def _argument(text: Cursor, parameter: Parameter) -> None:
    tagged.opening(text, b"<parameter=", parameter, b">\n")
    tagged.typed_value(text, parameter.schema.types, b"\n</parameter>\n")
