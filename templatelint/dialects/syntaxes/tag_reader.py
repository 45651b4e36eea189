"""The tags of a syntax → the reader of its calls."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Cut, Malformed, Step, Stream
from templatelint.dialects.syntaxes.json_calls import arguments_of, call_of, calls_of, note_others, value
from templatelint.dialects.syntaxes.tags import Opened, Tags, name_extent
from templatelint.dialects.tools import literal, unreadable

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from templatelint.dialects.dialect import ReadCalls, Reading

    # Reads one call and emits it; the last argument is whether it stands in a section.
    ReadCall: TypeAlias = Callable[[Reading, Tags, bool], Step[None]]


_NEWLINES = ("\r\n", "\n")


def reader(tags: Tags, read_call: ReadCall | None = None) -> ReadCalls:
    """A reader of blocks: a section of calls, or one call without.

    Args:
        tags: the syntax.
        read_call: reads one call, where arguments are no raw values.
    """
    step = read_call or _call

    def read(reading: Reading) -> Step[None]:
        stream = reading.stream
        section = yield from stream.accept(*(opening for opening, _ in tags.sections))
        if section is not None and tags.json_calls and (yield from _stands(stream, "{", "[")):
            found = yield from value(reading)
            for call in calls_of(found):
                reading.emit(call)
            note_others(reading, found)
            reading.empty = not reading.found
        else:
            yield from _skip(stream, tags.fillers)
            yield from step(reading, tags, section is not None)
        while not (yield from _ended(reading, tags, section)):
            yield from step(reading, tags, section is not None)

    return read


def _ended(reading: Reading, tags: Tags, section: str | None) -> Step[bool]:
    """Read what stands between one call and the next, or behind the last one; whether it was that."""
    stream = reading.stream
    behind = stream.at
    if (yield from _skip(stream, tags.fillers)):
        behind = stream.at
    if tags.sections and (yield from stream.accept(*tags.section_ends)) is not None:
        _reaches(reading)
        return True
    if section is not None:
        if (yield from stream.starts(*tags.call.marks)) is not None:
            return False
        if stream.ended and (yield from stream.peek()):
            with suppress(Malformed):
                yield from stream.expect(*tags.section_ends, *tags.call.marks)
        reading.unclosed = dict(tags.sections)[section]
    stream.at = behind
    _reaches(reading)
    return True


def _reaches(reading: Reading) -> None:
    """The last call takes the text up to here with it."""
    if reading.found:
        reading.found[-1] = (reading.found[-1][0], reading.stream.at)


def _skip(stream: Stream, fillers: tuple[str, ...]) -> Step[bool]:
    """Read blanks and what says nothing; whether there was any of the latter."""
    yield from stream.blanks()
    found = False
    while fillers and (yield from stream.accept(*fillers)) is not None:
        yield from stream.blanks()
        found = True
    return found


def _stands(stream: Stream, *literals: str) -> Step[bool]:
    """Whether one of these stands here, maybe behind blanks; the blanks are read where it does."""
    start = stream.at
    yield from stream.blanks()
    if (yield from stream.starts(*literals)) is not None:
        return True
    stream.at = start
    return False


def _looks(stream: Stream, step: Step[bool]) -> Step[bool]:
    """Whether that could be read here; nothing is."""
    start = stream.at
    try:
        return (yield from step)
    except (Malformed, Cut):
        return False
    finally:
        stream.at = start


def _call(reading: Reading, tags: Tags, sectioned: bool) -> Step[None]:
    """Read one call and emit it."""
    stream = reading.stream
    start = stream.at
    yield from stream.expect(*tags.call.marks)
    if tags.json_calls and (yield from _stands(stream, "{")):
        found = yield from value(reading)
        yield from _emit_closed(reading, tags, call_of(found))
        note_others(reading, found)
        return
    stream.at = start
    opened = yield from function(stream, tags)
    if opened.whole:
        reading.emit(ToolCall(opened.name, {}))
    elif tags.json_arguments and (yield from _stands(stream, "{")):
        arguments = arguments_of((yield from value(reading)))
        yield from _emit_closed(reading, tags, ToolCall(opened.name, arguments))
    else:
        arguments = yield from _Arguments(reading, tags, opened.name, sectioned=sectioned).read()
        yield from stream.blanks()
        if (yield from stream.starts(*tags.section_ends)) is None:
            yield from stream.expect(tags.call_end)
        else:
            reading.unclosed = tags.call_end
        reading.emit(ToolCall(opened.name, arguments))


def function(stream: Stream, tags: Tags) -> Step[Opened]:
    """Read the beginning of a call.

    Raises:
        Cut, Malformed: none stands here.
    """
    opened = yield from tags.call.read(stream)
    if name_extent(opened.name, 0) < len(opened.name):
        raise Malformed(f"{opened.name!r} is no name of a function")
    return opened


def _emit_closed(reading: Reading, tags: Tags, call: ToolCall) -> Step[None]:
    """Emit a call whose arguments tell by themselves where they end: the mark behind may be missing."""
    stream = reading.stream
    behind = stream.at
    yield from stream.blanks()
    if (yield from stream.accept(tags.call_end)) is None:
        stream.at, reading.unclosed = behind, tags.call_end
    reading.emit(call)


class _Arguments:
    """The arguments of a call in the course of being read.

    Values stand raw, so they may hold the very marks of the syntax. A mark counts only where what follows continues
    the call, and calls that a value quotes are part of it.
    """

    def __init__(self, reading: Reading, tags: Tags, function: str, *, sectioned: bool) -> None:
        self._reading = reading
        self._sectioned = sectioned
        self._stream = reading.stream
        self._tags = tags
        self._function = function
        self._marks = (tags.argument_end, tags.call_end, *tags.call.marks, *tags.argument.marks)
        self._found: dict[str, Any] = {}
        self._raws: dict[str, str] = {}

    def read(self) -> Step[dict[str, Any]]:
        """Read all of them."""
        while (yield from _stands(self._stream, *self._tags.argument.marks)):
            opened = yield from self._tags.argument.read(self._stream)
            raw = "" if opened.whole else (yield from self._value(opened.name))
            if opened.name in self._found:
                self._reading.drop(f"the argument {opened.name!r} twice", self._raws[opened.name])
            self._raws[opened.name] = raw
            self._found[opened.name] = self._typed(opened, raw)
        if self._tags.doubtful and not self._found and not self._is_sure():
            raise Malformed(f"{self._function!r} may be a word as well as a function")
        return self._found

    def _is_sure(self) -> bool:
        """Whether what stands where a name should is one."""
        tools = self._reading.tools
        return tools.known(self._function) if tools.given else self._reading.own

    def _typed(self, opened: Opened, raw: str) -> Any:
        tools = self._reading.tools
        if opened.kind == "string":
            return raw
        found = literal(raw.strip(), raw) if opened.kind else tools.value(self._function, opened.name, raw)
        if isinstance(found, str):
            schema = {"type": opened.kind} if opened.kind else tools.parameters(self._function).get(opened.name)
            why = unreadable(raw.strip(), schema)
            if why is not None:
                self._reading.notes.append(("malformed", f"the argument {opened.name!r} is read as text: {why}", ""))
        return found

    def _value(self, key: str) -> Step[str]:
        """Read a value and the mark behind it."""
        if self._tags.verbatim is not None and (yield from self._stream.accept(self._tags.verbatim[0])) is not None:
            return (yield from self._verbatim(self._tags.verbatim[1]))
        return (yield from self._raw(key))

    def _verbatim(self, end: str) -> Step[str]:
        parts: list[str] = []
        while True:
            text, _ = yield from self._stream.until(end)
            parts.append(text)
            behind = self._stream.at
            yield from self._stream.blanks()
            if (yield from self._stream.accept(self._tags.argument_end)) is not None:
                return "".join(parts)
            parts.append(end)
            self._stream.at = behind

    def _raw(self, key: str) -> Step[str]:
        stream, tags = self._stream, self._tags
        start = stream.at
        quoted = named = 0  # calls in the value that are not over; marks of such without anything behind
        while True:
            mark = yield from stream.search(self._marks, nowhere)
            end = stream.at
            if mark is None:
                raise Cut(tags.argument_end)
            if mark in tags.call.marks:
                begins = yield from _looks(stream, self._begins_call())
                quoted, named = quoted + begins, named + (not begins)
            elif mark == tags.call_end and quoted:
                quoted -= 1
            elif mark == tags.call_end and named:
                named -= 1
            elif not quoted and (yield from self._ends_value(mark, key, start)):
                return self._unpadded(between(stream, start, end), closed=mark == tags.argument_end)
            stream.at = end + len(mark)

    def _ends_value(self, mark: str, key: str, start: int) -> Step[bool]:
        """Whether the value ends at this mark; it is read if it is the one that belongs there."""
        stream, tags = self._stream, self._tags
        if mark == tags.argument_end:
            yield from stream.expect(mark)
            return (yield from _looks(stream, self._continues()))
        if tags.argument.on_a_line and (stream.at == start or stream.since(stream.at - 1) != "\n"):
            return False
        missing = yield from _looks(stream, self._ends_call() if mark == tags.call_end else self._is_next(key))
        if missing:
            self._reading.unclosed = tags.argument_end
        return missing

    def _continues(self) -> Step[bool]:
        """Whether the call goes on, or ends."""
        stream, tags = self._stream, self._tags
        yield from stream.blanks()
        if (yield from stream.starts(tags.call_end, *tags.section_ends)) is not None:
            return True
        yield from tags.argument.read(stream)
        return True

    def _begins_call(self) -> Step[bool]:
        """Whether a call stands here, not just its mark."""
        yield from function(self._stream, self._tags)
        yield from self._stream.blanks()
        return (yield from self._stream.starts(self._tags.call_end, *self._tags.argument.marks)) is not None

    def _ends_call(self) -> Step[bool]:
        """Whether the end of a call stands here, and behind it what follows such an end."""
        stream, tags = self._stream, self._tags
        yield from stream.expect(tags.call_end)
        yield from stream.blanks()
        if not self._sectioned and not (yield from stream.peek()):
            return True
        return (yield from stream.starts(*tags.section_ends, *tags.openings, *tags.fillers)) is not None

    def _is_next(self, key: str) -> Step[bool]:
        """Whether another argument begins here, one that the function may well have."""
        opened = yield from self._tags.argument.read(self._stream)
        known = self._reading.tools.parameters(self._function)
        return opened.name != key and opened.name not in self._found and (not known or opened.name in known)

    def _unpadded(self, raw: str, *, closed: bool) -> str:
        if self._tags.padding:
            before = next(filter(raw.startswith, _NEWLINES), "")
            raw = raw.removeprefix(before)
        else:
            before = ""
        if closed and not self._tags.padding:
            return raw
        # A value that stands between lines that end in one way ends before an end of that way.
        ends = (before,) if before else _NEWLINES
        return raw.removesuffix(next(filter(raw.endswith, ends), ""))


def nowhere(_: str) -> None:
    """Text that is looked at again."""


def between(stream: Stream, start: int, end: int) -> str:
    """The text from one position to another, both of them read."""
    here, stream.at = stream.at, end
    text = stream.since(start)
    stream.at = here
    return text
