"""A call as a template rendered it → which dialect that is, and what the dialect's reader does not get back of it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from templatelint import dialects
from templatelint.dialects.dialect import Dialect, Reading
from templatelint.dialects.stream import Cut, Malformed, Stream
from templatelint.dialects.tools import Tools, kind_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.dialects.reply import ToolCall

_LONGEST = 40  # characters of a value that a clause repeats
_LONGEST_TEXT = 32_768  # characters that are looked at; what follows the call's first turn is not about it
_PATIENCE = 20  # marks at which no call can be read; what follows is not looked at


def recognise(text: str, call: ToolCall, tools: Sequence[Mapping[str, Any]] | None = None) -> str | None:
    """The name of the dialect in which the call is written; None where none fits.

    Args:
        text: the stretch of a prompt in which the call stands: what follows the user's text, up to the call's result.
        call: the call as it was sent, with at least one argument: by its place dialects differ.
        tools: the tools of the request, in OpenAI form: where several dialects fit, that one is meant which gives the
            call back.
    """
    text = text[:_LONGEST_TEXT]
    first = None
    for dialect in dialects.standing_in(text):
        if _fits(dialect, text, call):
            if _difference(dialect, text, [call], tools) is None:
                return dialect.name
            first = first or dialect.name
    return first


def difference(
    dialect: str, text: str, calls: Sequence[ToolCall], tools: Sequence[Mapping[str, Any]] | None = None
) -> str | None:
    """What the dialect's reader does not give back of calls as a template rendered them, as a clause; None for nothing.

    Text beside the calls, the ends of turns and ids do not count. A missing closing mark does not count where the
    reader does not need it.

    Args:
        dialect: a dialect's name.
        text: the stretch of a prompt in which the calls stand, up to the result of the first.
        calls: the calls as they were sent.
        tools: the tools of the request, in OpenAI form: they decide the types of what the dialect leaves raw.

    Raises:
        TemplatelintError: there is no such dialect.
    """
    return _difference(dialects.get(dialect), text[:_LONGEST_TEXT], calls, tools)


def _fits(dialect: Dialect, text: str, call: ToolCall) -> bool:
    """Whether the dialect's signature is in the text; expressions are compiled only where its marks are."""
    if not dialect.bare and not any(opening in text for opening in dialect.openings):
        return False
    return _signature(dialect, call).search(text) is not None


def _signature(dialect: Dialect, call: ToolCall) -> re.Pattern[str]:
    key = next(iter(call.arguments), "")
    return re.compile(dialect.signature.replace("NAME", re.escape(call.name)).replace("KEY", re.escape(key)))


# ---------------------------------------------------------------------------------------------- reading back


def _difference(
    dialect: Dialect, text: str, calls: Sequence[ToolCall], tools: Sequence[Mapping[str, Any]] | None
) -> str | None:
    found, fault = _read(dialect, text, calls, Tools(tools))
    if not found:
        return f"no call is read: {fault or 'none of the marks before one is there'}"
    if len(found) != len(calls):
        return f"{len(found)} call{'s are' if len(found) > 1 else ' is'} read instead of {len(calls)}"
    return next(filter(None, map(_altered, calls, found)), None)


def _read(dialect: Dialect, text: str, calls: Sequence[ToolCall], tools: Tools) -> tuple[list[ToolCall], str]:
    """The calls that the dialect's reader finds, and what kept it from reading the first block that it could not."""
    stream = Stream()
    stream.add(text)
    stream.ended = True
    found: list[ToolCall] = []
    faults: list[str] = []
    for starts in (_openings(dialect, text), _bare_starts(dialect, text, calls)):
        for start in starts:
            if start < stream.at or len(faults) == _PATIENCE:
                continue
            stream.at = start
            reading = Reading(stream, tools)
            try:
                for _ in dialect.read(reading):
                    pass
            except Malformed as error:
                faults.append(str(error))
            except Cut as error:
                faults.append(f"{error.args[0]!r} is missing")
            found += [call for call, _ in reading.found]
            stream.at = reading.found[-1][1] if reading.found else start
        if found:
            break
        stream.at = 0
    return found, faults[0] if faults else ""


def _openings(dialect: Dialect, text: str) -> Iterator[int]:
    """Where blocks may begin with a mark."""
    if dialect.openings:
        longest_first = sorted(dialect.openings, key=len, reverse=True)
        yield from (mark.start() for mark in re.finditer("|".join(map(re.escape, longest_first)), text))


def _bare_starts(dialect: Dialect, text: str, calls: Sequence[ToolCall]) -> Iterator[int]:
    """Where blocks begin without a mark: a reply begins there, whatever the template puts before it."""
    if not dialect.bare:
        return
    end = 0
    for call in calls:
        found = _signature(dialect, call).search(text, end)
        if found is not None:
            end = found.end()
            yield next((at for at in range(found.start(), end) if text[at] in dialect.bare), found.start())


def _altered(sent: ToolCall, read: ToolCall) -> str | None:
    """How a call differs from the one that was sent."""
    if read.name != sent.name:
        return f"the name is read as {_shown(read.name)} instead of {_shown(sent.name)}"
    for key, value in sent.arguments.items():
        if key not in read.arguments:
            return f"the argument {key} is not read"
        if not _same(value, read.arguments[key]):
            return f"the argument {key} is read as {_shown(read.arguments[key])} instead of {_shown(value)}"
    added = [key for key in read.arguments if key not in sent.arguments]
    return f"an argument {added[0]} is read that was not sent" if added else None


def _same(one: Any, other: Any) -> bool:
    """Whether two JSON values are the same; numbers are, whether or not they have a fraction."""
    kinds = kind_of(one), kind_of(other)
    if kinds == ("object", "object"):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if kinds == ("array", "array"):
        return len(one) == len(other) and all(map(_same, one, other))
    if set(kinds) <= {"integer", "number"}:
        return bool(one == other)
    return kinds[0] == kinds[1] and bool(one == other)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST // 2]}…{text[-_LONGEST // 2 :]}"
