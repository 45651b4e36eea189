"""Replies of DeepSeek V3.2 and V4: calls in DSML, which may interrupt a thought.

Facts: common/parsers/deepseek.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import parts, tagged
from templatelint.engines.llamacpp.parsing.reply import CALL, CALL_END

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter, Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_MARK = "｜DSML｜".encode()
_THOUGHT = b"<think>"
_THOUGHT_END = b"</think>"
_ARGUMENT_END = b"</%sparameter>" % _MARK
_EMPTY_LINE = b"\n\n"


def deepseek_v3_2(text: Cursor, setting: Setting) -> None:
    """Thoughts, content, one block of calls as the last thing; V4 is told by the name of the block."""
    _Reply(text, setting, "function_calls" not in setting.source).read()


@dataclass(frozen=True, slots=True)
class _Reply:
    text: Cursor
    setting: Setting
    v4: bool

    def read(self) -> None:
        text, setting = self.text, self.setting
        text.literal("<｜Assistant｜>".encode())
        if setting.schema is not None:
            self._thought()
            parts.fenced_content(text)
        elif not setting.tools:
            self._thought()
            parts.content(text)
        elif setting.thinking:
            text.first_of(self._thought_with_calls, self._thought_then_calls)
        else:
            self._thought_then_calls()
        text.end()

    def _thought(self) -> None:
        if self.setting.thinking:
            self.text.optional(parts.thought, self.text, _THOUGHT, _THOUGHT_END)
        elif self.v4:
            self.text.optional(self.text.literal, _THOUGHT_END)
        else:
            self.text.optional(self._no_thought)

    def _no_thought(self) -> None:
        """What the generation prompt has in place of a thought, whatever stands in it."""
        self.text.literal(_THOUGHT)
        self.text.until(_THOUGHT_END)
        self.text.literal(_THOUGHT_END)

    def _thought_with_calls(self) -> None:
        self.text.literal(_THOUGHT)
        parts.reasoning(self.text, _EMPTY_LINE + self._open, self._open, _THOUGHT_END)
        self.text.blanks()
        self._calls()

    def _thought_then_calls(self) -> None:
        text = self.text
        self._thought()
        text.not_followed_by(text.literal, _THOUGHT)
        parts.content(text, _EMPTY_LINE + self._open, self._open)
        text.blanks()
        parts.block_of_calls(text, self.setting, self._calls)

    # ------------------------------------------------------------------------------------------ calls

    @property
    def _block(self) -> bytes:
        return _MARK + (b"tool_calls" if self.v4 else b"function_calls")

    @property
    def _open(self) -> bytes:
        return b"<%s>" % self._block

    def _calls(self) -> None:
        text = self.text
        text.literal(self._open)
        text.blanks()
        parts.several_calls(text, self.setting, _call, text.blanks)
        text.blanks()
        text.literal(b"</%s>" % self._block)


def _call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        text.literal(b'<%sinvoke name="' % _MARK)
        parts.name(text, tool)
        text.literal(b'">\n')
    tagged.required_in_order_then_others(text, tool.schema.parameters, _argument)
    text.blanks()
    with parts.entire(text, CALL_END):
        text.literal(b"</%sinvoke>" % _MARK)


def _argument(text: Cursor, parameter: Parameter) -> None:
    texts = parameter.schema.may_be_string
    told = b"true" if texts else b"false"
    tagged.opening(text, b'<%sparameter name="' % _MARK, parameter, b'" string="%s">' % told)
    tagged.text_or_json_value(text, _ARGUMENT_END, text_allowed=texts)
