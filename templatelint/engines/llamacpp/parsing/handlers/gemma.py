"""Replies of Gemma 4: channels for thoughts, arguments in a notation of its own.

Facts: common/parsers/gemma4.cpp, common_chat_peg_gemma4_mapper in common/chat-peg-parser.cpp.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.grammar import Contradiction, TextEnded
from templatelint.engines.llamacpp.parsing.handlers import parts
from templatelint.engines.llamacpp.parsing.reply import ARGUMENT_END, CALL, TEXT, VERBATIM

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Tool
    from templatelint.engines.llamacpp.parsing.reply import Setting

_CHANNEL = b"<|channel>"
_CHANNEL_END = b"<channel|>"
_CALL = b"<|tool_call>"
_QUOTE = b'<|"|>'


def gemma4(text: Cursor, setting: Setting) -> None:
    """Thoughts and content by turns, then calls; what stands behind is ignored."""
    text.optional(text.literal, b"<|turn>model\n")
    if setting.schema is not None:
        text.optional(_thought, text)
        parts.fenced_content(text)
    elif setting.tools:
        if setting.required:
            _thought(text)
        else:
            text.repeat(_message, text, _CHANNEL, _CHANNEL_END, _CALL)
            text.until(_CALL)
        parts.some_calls(text, setting, _call, text, parts.tools_of(setting))
    else:
        text.repeat(_message, text, _CHANNEL, _CHANNEL_END, least=1)


def _message(text: Cursor, *delimiters: bytes) -> None:
    _thought(text)
    parts.content(text, *delimiters)


def _thought(text: Cursor) -> None:
    """A thought, or nothing that looks like one."""
    text.first_of(partial(_channel, text), partial(text.not_followed_by, text.literal, _CHANNEL))


def _channel(text: Cursor) -> None:
    def empty() -> None:
        text.literal(_CHANNEL)
        text.not_followed_by(text.literal, b"thought")

    text.followed_by(text.literal, _CHANNEL)
    text.repeat(empty)
    text.literal(_CHANNEL + b"thought")
    text.blanks()
    parts.reasoning(text, _CHANNEL_END)
    text.literal(_CHANNEL_END)


# ------------------------------------------------------------------------------------------------- calls


def _call(text: Cursor, tools: tuple[Tool, ...]) -> None:
    text.literal(_CALL + b"call:")
    parts.one_call(text, tools, _named_call)
    text.literal(b"<tool_call|>")


def _named_call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, CALL):
        parts.name(text, tool)
        text.followed_by(text.literal, b"{")
    _value(text)


def _value(text: Cursor) -> None:
    """A value, however deep, written down as JSON on the way; its outermost brace is that of all arguments."""
    open_: list[bytes] = []
    while True:
        if _opens(text, open_):
            continue
        if not _goes_on(text, open_):
            return


def _opens(text: Cursor, open_: list[bytes]) -> bool:
    """Read the start of a value; whether another value follows inside it."""
    first = text.text[text.at : text.at + 1]
    if not first:
        raise TextEnded
    if first == b"<":
        _string(text)
    elif first not in b"{[":
        _scalar(text, first)
    else:
        _bracket(text, first, outermost=not open_)
        text.blanks()
        closer = b"}" if first == b"{" else b"]"
        if not _closes(text, closer):
            open_.append(closer)
            if first == b"{":
                _key(text)
            return True
    return False


def _goes_on(text: Cursor, open_: list[bytes]) -> bool:
    """Close what is complete behind a value; whether another value follows."""
    while open_:
        if text.text.startswith(b",", text.at):
            _bracket(text, b",")
            text.blanks()
            if open_[-1] == b"}":
                _key(text)
            return True
        text.blanks()
        _bracket(text, open_.pop())
    return False


def _closes(text: Cursor, closer: bytes) -> bool:
    if text.at < len(text.text) and not text.text.startswith(closer, text.at):
        return False
    _bracket(text, closer)
    return True


def _bracket(text: Cursor, bracket: bytes, *, outermost: bool = False) -> None:
    """A bracket, comma or colon; the outermost opening one is written already."""
    if outermost:
        text.literal(bracket)
        return
    with text.capture(VERBATIM):
        text.literal(bracket)


def _key(text: Cursor) -> None:
    with text.whole(), text.capture(TEXT):
        text.characters(b":}", others=True)
    text.followed_by(text.literal, b":")
    text.mark(ARGUMENT_END)
    _bracket(text, b":")
    text.blanks()


def _string(text: Cursor) -> None:
    start = text.at
    try:
        text.literal(_QUOTE)
    except TextEnded:
        if text.at > start:
            text.mark(TEXT)  # the string counts as opened
        raise
    with text.capture(TEXT):
        text.until(_QUOTE)
    text.literal(_QUOTE)
    text.mark(ARGUMENT_END)


def _scalar(text: Cursor, first: bytes) -> None:
    with text.capture(VERBATIM):
        if first in b"-0123456789":
            text.number()
        elif first in b"tfn":
            text.value()
        else:
            raise Contradiction
