"""Dialects whose calls are JSON objects between marks: hermes and many others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from templatelint.dialects.dialect import Dialect, ReadCalls, Reading, WriteCalls
from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Malformed, Step, parse_json

_NAMES = ("name", "tool_name")
_ARGUMENTS = ("arguments", "parameters", "args")
_IDS = ("id", "tool_call_id")


def call_of(found: Any) -> ToolCall:
    """A JSON object as a call: flat, or inside `function`; arguments may be a JSON text.

    Raises:
        Malformed: it is none.
    """
    if not isinstance(found, Mapping):
        raise Malformed("a call as a JSON object expected")
    inner = found.get("function")
    if isinstance(inner, Mapping):
        found = {**found, **inner}
    name = _first(found, _NAMES) or (inner if isinstance(inner, str) else None)
    if not isinstance(name, str) or not name:
        raise Malformed("a call has no name")
    identifier = _first(found, _IDS)
    return ToolCall(name, arguments_of(_first(found, _ARGUMENTS)), None if identifier is None else str(identifier))


def _first(found: Mapping[str, Any], names: Sequence[str]) -> Any:
    return next((found[name] for name in names if name in found), None)


def arguments_of(found: Any) -> Mapping[str, Any]:
    """Arguments as data; a JSON text is parsed, nothing is no arguments.

    Raises:
        Malformed: they are no object.
    """
    if isinstance(found, str):
        try:
            found = parse_json(found) if found.strip() else None
        except ValueError as error:
            raise Malformed(f"arguments as text that is no JSON: {error}") from error
    if found is None:
        return {}
    if not isinstance(found, Mapping):
        raise Malformed("arguments that are no object")
    return found


def dump(value: Any) -> str:
    """Data as models write JSON: on one line, with every letter as it is."""
    return json.dumps(value, ensure_ascii=False)


# ------------------------------------------------------------------------------------------- reading, writing


def marked(closings: Mapping[str, str], *, required: bool = False) -> ReadCalls:
    """A reader of blocks `OPENING json CLOSING`; json is a call, an array of calls, or several in a row.

    Args:
        closings: opening mark → its closing one; empty where none follows.
        required: without the closing mark nothing counts.
    """

    def read(reading: Reading) -> Step[None]:
        stream = reading.stream
        opening = yield from stream.expect(*closings)
        closing = closings[opening]
        while True:
            yield from stream.blanks()
            for call in calls_of((yield from stream.json())):
                reading.emit(call)
            behind = stream.at
            yield from stream.blanks()
            if not closing or (yield from stream.accept(closing)):
                stream.at = stream.at if closing else behind
                return
            if (yield from stream.starts(",", "{")) is not None:
                yield from stream.accept(",")
                continue
            if required:
                yield from stream.expect(closing)
            stream.at = behind
            reading.unclosed = closing
            return

    return read


def calls_of(found: Any) -> list[ToolCall]:
    """One call, or an array of them.

    Raises:
        Malformed: anything else.
    """
    return [call_of(item) for item in found] if isinstance(found, list) else [call_of(found)]


def written(opening: str, closing: str, *, keys: tuple[str, str] = ("name", "arguments"), gap: str = "") -> WriteCalls:
    """A writer of `OPENING json CLOSING`, a block a call."""

    def write(calls: Sequence[ToolCall]) -> str:
        return gap.join(f"{opening}{dump(_object(call, keys))}{closing}" for call in calls)

    return write


def written_array(opening: str, closing: str, *, keys: tuple[str, str] = ("name", "arguments")) -> WriteCalls:
    """A writer of `OPENING [json, …] CLOSING`, one block for all calls."""

    def write(calls: Sequence[ToolCall]) -> str:
        return f"{opening}{dump([_object(call, keys) for call in calls])}{closing}"

    return write


def _object(call: ToolCall, keys: tuple[str, str]) -> dict[str, Any]:
    name, arguments = keys
    return {name: call.name, arguments: call.arguments}


HERMES = Dialect(
    name="hermes",
    openings=("<tool_call>", "<tools>"),
    read=marked({"<tool_call>": "</tool_call>", "<tools>": "</tools>"}),
    write=written("<tool_call>\n", "\n</tool_call>", gap="\n"),
    signature=r"<tool_call>\s*\{",
    aliases=("qwen", "qwen2.5", "qwen3", "granite4", "ernie4.5"),
)
