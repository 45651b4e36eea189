"""A writer of calls and the reader of their syntax → a writer that refuses what would not come back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from templatelint.dialects.dialect import ReadCalls, Reading, WriteCalls
from templatelint.dialects.stream import Cut, Malformed, Stream
from templatelint.dialects.syntaxes.json_calls import dump
from templatelint.dialects.tools import Tools, kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.dialects.reply import ToolCall


def checked(read: ReadCalls, compose: WriteCalls) -> WriteCalls:
    """A writer that writes only what a reader of blocks gives back where the types of arguments are known."""

    def write(calls: Sequence[ToolCall]) -> str:
        try:
            text = compose(calls) if calls else ""
            if [_plain(call) for call in _read_back(read, text, calls)] == [_plain(call) for call in calls]:
                return text
        except (Malformed, Cut, ValueError, RecursionError):
            pass
        raise ValueError("a name or a text would be read as something else")

    return write


def _plain(call: ToolCall) -> tuple[str, str]:
    return call.name, dump(call.arguments)


def _read_back(read: ReadCalls, text: str, calls: Sequence[ToolCall]) -> list[ToolCall]:
    stream = Stream()
    stream.add(text)
    stream.ended = True
    tools = Tools(_definitions(calls))
    found: list[ToolCall] = []
    while stream.rest().strip():
        reading = Reading(stream, tools)
        for step in (stream.blanks(), read(reading)):
            for _ in step:
                pass
        found += [call for call, _ in reading.found]
    return found


def _definitions(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    """Tools that take what is passed."""
    names = dict.fromkeys(call.name for call in calls)
    return [
        {"name": name, "parameters": _schema([call.arguments for call in calls if call.name == name])} for name in names
    ]


def _schema(values: Sequence[Any]) -> dict[str, Any]:
    """A schema that allows values, and says what they consist of."""
    properties: dict[str, list[Any]] = {}
    items: list[Any] = []
    for value in values:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                properties.setdefault(key, []).append(inner)
        elif isinstance(value, list):
            items += value
    return {
        "type": list(dict.fromkeys(map(kind_of, values))),
        "properties": {key: _schema(inner) for key, inner in properties.items()},
        "items": _schema(items) if items else {},
    }
