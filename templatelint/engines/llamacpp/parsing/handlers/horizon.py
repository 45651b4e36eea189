"""Replies of K2 Horizon: calls with tagged keys and values, or in JSON where a variable of the template says so.

Facts: common/parsers/k2-horizon.cpp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import json_calls, parts, tagged
from templatelint.engines.llamacpp.parsing.reply import CALL, CALL_END

if TYPE_CHECKING:
    from collections.abc import Callable

    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter, Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_CALLS = b"<ifm|tool_calls>"
_CALL = b"<ifm|tool_call>"
_CALL_END = b"</ifm|tool_call>"
_THOUGHTS = {"medium": b"ifm|think_fast", "low": b"ifm|think_faster"}
_THOUGHT = b"ifm|think"


def k2_horizon(text: Cursor, setting: Setting) -> None:
    """Thoughts, content, a section of calls; what stands behind is ignored."""
    text.literal(b"<|ifm|im_start|>assistant\n")
    text.optional(_thought, text, _thought_tag(setting))
    text.blanks()
    if setting.schema is not None:
        parts.json_content(text)
    elif not setting.tools:
        parts.content(text)
    else:
        if not setting.required:
            parts.content(text, _CALLS)
            text.blanks()
        text.repeat(_calls, text, setting, least=int(setting.required), most=1)


def _thought_tag(setting: Setting) -> bytes:
    if not setting.thinking and "enable_thinking" in setting.source:
        return _THOUGHT
    effort = setting.variables.get("reasoning_effort")
    return _THOUGHTS.get(effort, _THOUGHT) if isinstance(effort, str) else _THOUGHT


def _thought(text: Cursor, tag: bytes) -> None:
    text.literal(b"<%s>" % tag)
    text.blanks()
    parts.reasoning(text, b"</%s>" % tag)
    text.literal(b"</%s>" % tag)


def _calls(text: Cursor, setting: Setting) -> None:
    call = _call_in(setting.variables.get("tool_call_format", "xml"))
    text.literal(_CALLS)
    text.blanks()
    parts.several_calls(text, setting, call, text.blanks)
    text.blanks()
    text.literal(b"</ifm|tool_calls>")


def _call_in(form: object) -> Callable[[Cursor, Tool], None]:
    if form == "json":
        return _json_call
    return partial(_tagged_call, typed=form == "xml_typed")


def _json_call(text: Cursor, tool: Tool) -> None:
    text.literal(_CALL)
    text.blanks()
    json_calls.object_call(text, tool, json_calls.ObjectKeys())
    text.blanks()
    text.literal(_CALL_END)


def _tagged_call(text: Cursor, tool: Tool, *, typed: bool) -> None:
    with parts.entire(text, CALL):
        text.literal(_CALL)
        parts.name(text, tool)
        text.literal(b"\n")
    tagged.required_then_others(text, tool.schema.parameters, partial(_argument, typed=typed))
    text.blanks()
    with parts.entire(text, CALL_END):
        text.literal(_CALL_END)


def _argument(text: Cursor, parameter: Parameter, *, typed: bool) -> None:
    text.blanks()
    tagged.opening(text, b"<ifm|arg_key>", parameter, b"</ifm|arg_key>")
    text.blanks()
    if typed:
        text.optional(_type, text)
    text.literal(b"<ifm|arg_value>")
    tagged.typed_value(text, parameter.schema.types, b"</ifm|arg_value>")


def _type(text: Cursor) -> None:
    text.literal(b"<ifm|arg_type>")
    text.until(b"</ifm|arg_type>")
    text.literal(b"</ifm|arg_type>")
    text.blanks()
