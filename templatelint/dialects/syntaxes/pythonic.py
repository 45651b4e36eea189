"""Dialects whose calls are Python's: `name(key=value, …)`, in a list or one a line, bare or between marks."""

from __future__ import annotations

import json
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from templatelint.dialects import python_literals
from templatelint.dialects.dialect import Dialect, ReadCalls, Reading, WriteCalls
from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Cut, Malformed, Refused, Step, extent_of
from templatelint.dialects.syntaxes.bare_json import begins_line, sole
from templatelint.dialects.syntaxes.json_calls import calls_of, note_others, value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_NAME = r"[\w.:/-]"
_KEY = r"""[^\s=(),'"\[\]{}<>]"""
_name = extent_of(f"{_NAME}+")
_key = extent_of(f"{_KEY}+")
_FENCE = "```"


def calls(opening: str = "", closing: str = "", *, json_too: bool = False, in_fence: bool = False) -> ReadCalls:
    """A reader of `OPENING [call, …] CLOSING`, or of calls without the brackets, one a line, there maybe in a fence.

    A list counts only as a whole. Calls without brackets count each for itself.

    Args:
        opening: mark before the calls; empty where a reply begins with the bracket.
        closing: mark behind them.
        json_too: between the marks there may be calls as JSON objects instead.
        in_fence: they stand in a fence; where the reply may be in another dialect, only there are they believed.
    """

    def read(reading: Reading) -> Step[None]:
        stream = reading.stream
        if not opening:
            yield from _unmarked(reading)
            return
        yield from stream.expect(opening)
        yield from stream.blanks()
        fenced = (yield from stream.accept(f"{_FENCE}python", f"{_FENCE}py", _FENCE)) is not None
        if in_fence and not fenced and not reading.own:
            raise Malformed("a fence expected")
        yield from stream.blanks()
        if json_too and (yield from _json(reading)):
            values = yield from value(reading)
            for call in calls_of(values):
                reading.emit(call)
            note_others(reading, values)
        elif (yield from stream.starts("[")):
            for call in (yield from _list(reading)):
                reading.emit(call)
        else:
            yield from _lines(reading)
        if fenced:
            yield from _accept(reading, _FENCE)
        if not (yield from _accept(reading, closing)):
            reading.unclosed = closing

    return read


def _unmarked(reading: Reading) -> Step[None]:
    """Read a list without marks: the whole reply, or from the start of a line on where the functions are known."""
    stream = reading.stream
    if not begins_line(stream):
        raise Malformed("a list within a line")
    yield from stream.blanks()
    found = yield from _list(reading)
    if not reading.own and not all(reading.tools.known(call.name) for call in found):
        raise Malformed("calls of functions that are not among the tools")
    for call in found:
        reading.emit(call)
    yield from sole(reading)


def _accept(reading: Reading, mark: str) -> Step[bool]:
    """Read a mark that may stand behind blanks; whether it does."""
    stream = reading.stream
    behind = stream.at
    yield from stream.blanks()
    if (yield from stream.accept(mark)) is None:
        stream.at = behind
        return False
    return True


def _json(reading: Reading) -> Step[bool]:
    """Whether an object or an array of objects stands here; nothing is read."""
    stream = reading.stream
    start = stream.at
    if (yield from stream.accept("[")) is not None:
        yield from stream.blanks()
    first = yield from stream.peek()
    stream.at = start
    return first == "{"


def _list(reading: Reading) -> Step[list[ToolCall]]:
    stream = reading.stream
    yield from stream.expect("[")
    found: list[ToolCall] = []
    while True:
        yield from stream.blanks()
        if found and (yield from stream.accept("]")) is not None:
            return found
        found.append((yield from _call(reading)))
        yield from stream.blanks()
        if (yield from stream.accept(",")) is None:
            yield from stream.expect("]")
            return found


def _lines(reading: Reading) -> Step[None]:
    """Calls one after the other, as far as there are any."""
    stream = reading.stream
    while True:
        reading.emit((yield from _call(reading)))
        behind = stream.at
        yield from stream.blanks()
        yield from stream.accept(",", ";")
        yield from stream.blanks()
        start = stream.at
        name = yield from stream.run(_name)
        if not name or (yield from stream.peek()) != "(":
            stream.at = behind
            return
        stream.at = start


def _call(reading: Reading) -> Step[ToolCall]:
    stream = reading.stream
    name = yield from stream.run(_name)
    if (yield from stream.accept("(")) is None:
        if (yield from stream.peek()) or not _may_become(name, reading):
            raise Malformed(f"'(' expected behind {name!r}, {stream.glimpse()} found")
        raise Cut("(")
    if not name:
        raise Malformed("a call has no name")
    arguments: dict[str, Any] = {}
    while True:
        yield from stream.blanks()
        if (yield from stream.accept(")")) is not None:
            return ToolCall(name, arguments)
        key = yield from stream.run(_key)
        yield from stream.blanks()
        if not key and (yield from stream.peek()):
            raise Malformed(f"the name of an argument expected, {stream.glimpse()} found")
        yield from stream.expect("=")
        yield from stream.blanks()
        if key in arguments:
            raise Malformed(f"{key} is given twice")
        arguments[key] = yield from _value(reading, name)
        yield from stream.blanks()
        if (yield from stream.accept(",")) is None and (yield from stream.starts(")")) is None:
            yield from stream.expect(",")


def _value(reading: Reading, function: str) -> Step[Any]:
    try:
        return python_literals.read((yield from reading.stream.value_text(python_literals.NESTING)))
    except Malformed as error:
        if reading.tools.given and reading.tools.known(function):
            raise Refused(str(error), f"a call of {function} that cannot be read: {error}") from error
        raise


def _may_become(name: str, reading: Reading) -> bool:
    """Whether a name that the end of the reply cut short may have been that of a function."""
    if not reading.tools.given:
        return reading.own
    return any(known.startswith(name) for known in reading.tools.names)


# -------------------------------------------------------------------------------------------------- writing


def written(opening: str, closing: str, between: str, value: Callable[[Any], str], *, gap: str = ", ") -> WriteCalls:
    """A writer of `OPENING call BETWEEN call CLOSING`.

    Args:
        opening: what stands before the calls.
        closing: what stands behind them.
        between: what stands between two calls.
        value: data → its text.
        gap: what stands between two arguments.
    """

    def write(calls: Sequence[ToolCall]) -> str:
        return opening + between.join(_written(call, value, gap) for call in calls) + closing

    return write


def _written(call: ToolCall, value: Callable[[Any], str], gap: str) -> str:
    if not re.fullmatch(f"{_NAME}+", call.name):
        raise ValueError(f"{call.name!r} is no name of a function in Python's syntax")

    def arguments() -> Iterator[str]:
        for key, found in call.arguments.items():
            if not re.fullmatch(f"{_KEY}+", key):
                raise ValueError(f"{key!r} is no name of an argument in Python's syntax")
            yield f"{key}={value(found)}"

    return f"{call.name}({gap.join(arguments())})"


_json_text = partial(json.dumps, ensure_ascii=False, allow_nan=False)

LLAMA4_PYTHONIC = Dialect(
    name="llama4-pythonic",
    openings=("<|python_start|>",),
    read=calls("<|python_start|>", "<|python_end|>"),
    write=written("<|python_start|>[", "]<|python_end|>", ", ", python_literals.write),
    signature=r"<\|python_start\|>\s*\[\s*NAME\(",
    dropped=("<|eot|>", "<|eom|>"),
    aliases=("llama4",),
)
OLMO3 = Dialect(
    name="olmo3",
    openings=("<function_calls>",),
    read=calls("<function_calls>", "</function_calls>"),
    write=written("<function_calls>", "</function_calls>", "\n", _json_text),
    signature=r"<function_calls>\s*NAME\(",
    dropped=("<|im_end|>", "<|endoftext|>"),
    aliases=("olmo",),
)
MINICPM3 = Dialect(
    name="minicpm3",
    openings=("<|tool_call_start|>",),
    read=calls("<|tool_call_start|>", "<|tool_call_end|>", in_fence=True),
    write=written("<|tool_call_start|>\n```python\n", "\n```\n<|tool_call_end|>", "\n", _json_text, gap=","),
    signature=r"<\|tool_call_start\|>\s*```python\s*NAME\(",
    reasoning=(("<|thought_start|>", "<|thought_end|>"), ("<think>", "</think>")),
    dropped=("<|im_end|>",),
)
LFM2 = Dialect(
    name="lfm2",
    openings=("<|tool_call_start|>",),
    read=calls("<|tool_call_start|>", "<|tool_call_end|>", json_too=True),
    write=written("<|tool_call_start|>[", "]<|tool_call_end|>", ", ", python_literals.write),
    signature=r"<\|tool_call_start\|>\s*\[?\s*(?:NAME\(|\{)",
    dropped=("<|im_end|>",),
    aliases=("lfm2.5",),
)
PYTHONIC = Dialect(
    name="pythonic",
    openings=(),
    read=calls(),
    write=written("[", "]", ", ", python_literals.write),
    signature=r"\[\s*NAME\(",
    bare="[",
    named=("[NAME(", "[ NAME(", "[\n    NAME(", "[\n  NAME(", "[\nNAME("),
    dropped=("<|eot_id|>", "<|eom_id|>", "<|eot|>"),
    aliases=("llama3.2",),
)
