"""Replies in channels (gpt-oss), and the dialect of LLM-jp with blanks behind the marks.

Facts: common/parsers/gpt-oss.cpp, common/parsers/llm-jp-harmony.cpp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import json_calls, parts
from templatelint.engines.llamacpp.parsing.reply import CALL

if TYPE_CHECKING:
    from collections.abc import Callable

    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_CHANNEL = b"<|channel|>"
_MESSAGE = b"<|message|>"
_END = b"<|end|>"
_WORD = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"


def gpt_oss(text: Cursor, setting: Setting) -> None:
    """Analysis and commentary, then a call or the final message."""
    _Strict(text).read(setting)


def llm_jp_harmony(text: Cursor, setting: Setting) -> None:
    """The same with blanks behind the marks, and with more than one call."""
    _Spaced(text).read(setting)


class _Strict:
    """A reply as gpt-oss writes it."""

    def __init__(self, text: Cursor) -> None:
        self.text = text

    def read(self, setting: Setting) -> None:
        """The whole reply."""
        text = self.text
        if setting.schema is not None:
            text.repeat(self._message, self._analysis)
            self._start()
            self._channel(b"final")
            self._constraint()
            self._begin()
            parts.json_content(text)
            return
        text.repeat(self._message, self._aside)
        self._start()
        if setting.tools:
            calls = partial(self._calls, setting)
            text.first_of(*((calls,) if setting.required else (calls, self._final)))
        else:
            self._answer()

    # -------------------------------------------------------------------------------------- marks

    def _start(self) -> None:
        self.text.literal(b"<|start|>assistant")

    def _channel(self, name: bytes) -> None:
        self.text.literal(_CHANNEL + name)

    def _begin(self) -> None:
        self.text.literal(_MESSAGE)

    def _constrain(self) -> None:
        self.text.literal(b"<|constrain|>")

    # ----------------------------------------------------------------------------------- messages

    def _message(self, body: Callable[[], object]) -> None:
        self._start()
        body()

    def _aside(self) -> None:
        """What may stand before the last message."""
        self.text.first_of(self._preamble, self._analysis)

    def _preamble(self) -> None:
        self._channel(b"commentary")
        self._begin()
        parts.content(self.text, _END)
        self.text.literal(_END)

    def _analysis(self) -> None:
        self._stray()
        self._channel(b"analysis")
        self._begin()
        parts.reasoning(self.text, _END)
        self.text.literal(_END)

    def _final(self) -> None:
        self._stray()
        self._channel(b"final")
        self._begin()
        parts.content(self.text, _END)

    def _answer(self) -> None:
        """The last message of a request without tools."""
        self.text.first_of(self._final, self._unsolicited)

    def _unsolicited(self) -> None:
        """A call that nobody can answer is read over."""
        with self.text.whole():
            self.text.optional(self._call_channel)
            self.text.literal(b" to=")
            self.text.until(_END)
            self.text.literal(_END)

    def _stray(self) -> None:
        """The small model announces a channel before it opens another."""

        def announced() -> None:
            self._channel(b"commentary")
            self.text.optional(self.text.literal, b" to=assistant")

        self.text.optional(announced)

    # -------------------------------------------------------------------------------------- calls

    def _calls(self, setting: Setting) -> None:
        parts.one_call(self.text, parts.tools_of(setting), self._call)

    def _call(self, _: Cursor, tool: Tool) -> None:
        self.text.first_of(
            partial(self._addressed, partial(self._recipient, tool), self._call_channel),
            partial(self._addressed, self._call_channel, partial(self._recipient, tool)),
        )

    def _addressed(self, *header: Callable[[], object]) -> None:
        with parts.entire(self.text, CALL):
            for part in header:
                part()
            self._constraint()
            self._begin()
        json_calls.arguments(self.text)

    def _recipient(self, tool: Tool) -> None:
        self.text.literal(b" to=functions.")
        parts.name(self.text, tool)

    def _call_channel(self) -> None:
        self.text.first_of(partial(self._channel, b"commentary"), partial(self._channel, b"analysis"))

    def _constraint(self) -> None:
        def constraint() -> None:
            self.text.blanks()
            self.text.optional(self._constrain)
            self.text.characters(_WORD)

        self.text.optional(constraint)


class _Spaced(_Strict):
    """A reply as LLM-jp writes it."""

    def _start(self) -> None:
        self.text.literal(b"<|start|>")
        self._spaces()
        self.text.literal(b"assistant")

    def _channel(self, name: bytes) -> None:
        self.text.literal(_CHANNEL)
        self._spaces()
        self.text.literal(name)

    def _begin(self) -> None:
        self.text.literal(_MESSAGE)
        self.text.optional(self.text.literal, b" ")

    def _constrain(self) -> None:
        super()._constrain()
        self._spaces()

    def _answer(self) -> None:
        self._final()

    def _stray(self) -> None:
        """No model is known to do that."""

    def _calls(self, setting: Setting) -> None:
        def between() -> None:
            self.text.literal(_END)
            self._start()

        parts.several_calls(self.text, setting, self._call, between)

    def _spaces(self) -> None:
        self.text.characters(b" ", least=0)
