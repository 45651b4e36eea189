"""Replies as tests read them: whole and character by character, which must come to the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.dialects.reader import Reader, parse
from templatelint.dialects.reply import ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.dialects.reply import Reply

TRICKY = ToolCall(
    "save_note",
    {
        "title": 'Zoë\'s "海図" 🌊',
        "body": "a\nb\\n\tc\r\n] } </tool_call> <|call|> [TOOL_CALLS] ``` <|tool_call_end|> \u2028",
        "number": 12,
        "large": 10**20,
        "negative": -0.5,
        "small": 1e-7,
        "digits": "007",
        "word": "null",
        "yes": True,
        "nothing": None,
        "nested": {"list": [1, [], {"k": False}], "empty": {}, "text": "}", "json": '{"a": 1}'},
        "": " ",
    },
)
TWO = (ToolCall("get_time", {}), ToolCall("weather.get-all", {"city": "Oslo"}))


def tools(*names: str) -> list[dict[str, Any]]:
    """Functions of these names that take anything."""
    return [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in names]


def read(text: str, dialect: str, tools: Sequence[Mapping[str, Any]] | None = None, prefix: str | None = "") -> Reply:
    """The reply, read whole; read character by character it is the same."""
    whole = parse(text, dialect, tools, prefix)
    reader = Reader(dialect, tools, prefix)
    for character in text:
        reader.feed(character)
    assert reader.close() == whole
    return whole


def plain(reply: Reply) -> list[tuple[str, Mapping[str, Any]]]:
    """The calls of a reply without ids."""
    return [(call.name, call.arguments) for call in reply.tool_calls]


def kinds(reply: Reply) -> list[str]:
    """What is wrong with a reply."""
    return [problem.kind for problem in reply.problems]
