"""Dialects whose calls name the function outside of the JSON of its arguments: mistral, DeepSeek's, kimi-k2 and kin."""

from __future__ import annotations

import re
import string
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from templatelint.dialects.dialect import Dialect, ReadCalls, Reading, WriteCalls
from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Cut, Malformed, Step, extent_of
from templatelint.dialects.syntaxes.json_calls import arguments_of, dump, is_name, named, rows, value

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, TypeAlias


class Slot(Enum):
    """What stands between the marks of a call.

    Attributes:
        NAME: the function.
        ID: the call.
        NAMED_ID: the call, as `functions.NAME:NUMBER`.
        ARGUMENTS: a JSON object.
        FENCED: a JSON object in a fence, which may be missing.
    """

    NAME = 1
    ID = 2
    NAMED_ID = 3
    ARGUMENTS = 4
    FENCED = 5


class Maybe(NamedTuple):
    """A mark that a model writes, and may leave out."""

    mark: str


if TYPE_CHECKING:
    Pattern: TypeAlias = Sequence[str | Slot | Maybe]

_FENCE, _FENCE_END = "```json", "```"
_name = extent_of(r"[\w.:/-]+")
_identifier = extent_of(r"[^\s<\[]+")
_NUMBER = re.compile(r":\d+\Z")
_PREFIX = "functions."


# ---------------------------------------------------------------------------------------------------- reading


class _Parts:
    """What is read of a call so far."""

    def __init__(self) -> None:
        self.name = ""
        self.id: str | None = None
        self.arguments: Mapping[str, Any] | None = None


def sectioned(section: tuple[str, str] | None, begin: str, pattern: Pattern, *, noisy: bool = False) -> ReadCalls:
    """A reader of calls in a row, with or without marks around all of them.

    Args:
        section: marks around all calls, either of which may be missing.
        begin: the mark before a call.
        pattern: what stands behind that mark.
        noisy: text between the calls of a section is passed over.
    """

    def read(reading: Reading) -> Step[None]:
        stream = reading.stream
        opened = section is not None and (yield from stream.accept(section[0])) is not None
        while True:
            behind = stream.at
            yield from stream.blanks()
            if (yield from stream.accept(begin)) is not None:
                yield from _call(reading, pattern)
                continue
            if section is not None and opened:
                if (yield from stream.accept(section[1])) is not None:
                    reading.empty = not reading.found
                    return
                if noisy and (yield from stream.peek()):
                    yield from _noise(reading, (begin, *section))
                    continue
                reading.unclosed = section[1]
            if not reading.found:
                yield from stream.expect(begin)
            stream.at = behind
            return

    return read


def _noise(reading: Reading, marks: tuple[str, ...]) -> Step[None]:
    """Pass over text in which no call begins."""
    stream = reading.stream
    begin, opening, _ = marks
    skipped: list[str] = []
    found = yield from stream.search(marks, skipped.append)
    if found is None or found == opening:
        raise Malformed(f"{begin!r} expected")
    reading.skipped += "".join(skipped).strip()


def _call(reading: Reading, pattern: Pattern) -> Step[None]:
    """Read one call, from behind the mark that it begins with."""
    stream = reading.stream
    parts = _Parts()
    missing = ""
    for item in pattern:
        behind = stream.at
        yield from stream.blanks()
        if isinstance(item, Slot):
            yield from _SLOTS[item](reading, parts)
        elif isinstance(item, Maybe):
            yield from stream.accept(item.mark)
        elif parts.arguments is None:
            yield from stream.expect(item)
        elif missing or (yield from stream.accept(item)) is None:
            stream.at = behind
            missing = missing or item
    if parts.arguments is None:  # no pattern is without arguments
        raise Malformed("a call has no arguments")
    reading.unclosed = reading.unclosed or missing
    reading.emit(ToolCall(parts.name, parts.arguments, parts.id))


def _read_name(reading: Reading, parts: _Parts) -> Step[None]:
    stream = reading.stream
    parts.name = yield from stream.run(_name)
    if parts.name:
        return
    if not (yield from stream.peek()):
        raise Cut("the name of a function")
    raise Malformed(f"the name of a function expected, {stream.glimpse()} found")


def _read_id(reading: Reading, parts: _Parts) -> Step[None]:
    parts.id = (yield from reading.stream.run(_identifier)) or None


def _read_named_id(reading: Reading, parts: _Parts) -> Step[None]:
    """An id that carries the name: `functions.NAME:NUMBER`, or a function's name alone."""
    stream = reading.stream
    found = yield from stream.run(_identifier)
    if not (yield from stream.peek()):
        raise Cut("the id of a call")
    numbered = _NUMBER.search(found)
    name = found[: numbered.start()] if numbered else found
    name = name.removeprefix(_PREFIX)
    if not is_name(name) or (numbered is None and not (reading.tools.given and reading.tools.known(name))):
        raise Malformed("an id that does not carry the name of a function")
    parts.name, parts.id = name, found


def _read_arguments(reading: Reading, parts: _Parts) -> Step[None]:
    parts.arguments = yield from arguments(reading)


def arguments(reading: Reading) -> Step[Mapping[str, Any]]:
    """Read arguments: a JSON object, or a JSON text that holds one.

    Raises:
        Cut: the reply ends before or in them.
        Malformed: something else stands here.
    """
    stream = reading.stream
    yield from stream.blanks()
    if (yield from stream.starts("{", '"')) is None:
        yield from stream.expect("{")
    return arguments_of((yield from value(reading)))


def _read_fenced(reading: Reading, parts: _Parts) -> Step[None]:
    stream = reading.stream
    fence = yield from stream.accept(_FENCE, _FENCE_END)
    parts.arguments = yield from arguments(reading)
    behind = stream.at
    yield from stream.blanks()
    if fence is not None and (yield from stream.accept(_FENCE_END)) is None:
        stream.at = behind
        reading.unclosed = _FENCE_END


_SLOTS = {
    Slot.NAME: _read_name,
    Slot.ID: _read_id,
    Slot.NAMED_ID: _read_named_id,
    Slot.ARGUMENTS: _read_arguments,
    Slot.FENCED: _read_fenced,
}


def _mistral(reading: Reading) -> Step[None]:
    """Read `[TOOL_CALLS]` and a JSON array of calls, or names with their arguments."""
    stream = reading.stream
    yield from stream.expect("[TOOL_CALLS]")
    yield from stream.blanks()
    if (yield from stream.starts("[", "{")) is not None:
        yield from rows(reading, ())
        return
    while True:
        parts = _Parts()
        yield from _read_name(reading, parts)
        if (yield from stream.accept("[CALL_ID]")) is not None:
            yield from _read_id(reading, parts)
        if (yield from stream.accept("[ARGS]")) is None and (
            yield from stream.starts("{", " ", "\n", "\r", "\t")
        ) is None:
            yield from stream.expect("[ARGS]", "[CALL_ID]")
        reading.emit(ToolCall(parts.name, (yield from arguments(reading)), parts.id))
        behind = stream.at
        yield from stream.blanks()
        start = stream.at
        if not (yield from stream.run(_name)) or (yield from stream.starts("[ARGS]", "[CALL_ID]")) is None:
            stream.at = behind
            return
        stream.at = start


def _functionary_v3_2(reading: Reading) -> Step[None]:
    """Read a recipient, a newline and JSON; the generation prompt has the mark before the first recipient."""
    stream = reading.stream
    marked = yield from stream.accept(">>>")
    if marked is None and reading.own and (yield from stream.accept("all\n", "all\r\n")) is not None:
        reading.empty = True
        return
    while True:
        parts = _Parts()
        yield from _read_name(reading, parts)
        doubtful = not reading.own or (marked is None and reading.tools.given)
        if doubtful and not (reading.tools.given and reading.tools.known(parts.name)):
            raise Malformed("a call of a function that is not among the tools")
        try:
            yield from stream.expect("\n", "\r\n")
            yield from stream.blanks()
            yield from stream.expect("{")
        except Cut as error:
            if marked and reading.own:
                raise
            raise Malformed("a word without arguments") from error
        stream.at -= 1
        reading.emit(ToolCall(parts.name, (yield from arguments(reading))))
        behind = stream.at
        yield from stream.blanks()
        if (yield from stream.starts(">>>all\n", ">>>all\r\n")) is not None or (
            yield from stream.accept(">>>")
        ) is None:
            stream.at = behind
            return


# ---------------------------------------------------------------------------------------------------- writing


def written(section: tuple[str, str] | None, begin: str, pattern: Pattern, *, gap: str = "") -> WriteCalls:
    """A writer of calls in a row; the marks are those of `sectioned`, with the whitespace that models write."""

    def write(calls: Sequence[ToolCall]) -> str:
        if not calls:
            return ""
        before, behind = section or ("", "")
        texts = (begin + "".join(_text(item, call, number) for item in pattern) for number, call in enumerate(calls))
        return f"{before}{gap.join(texts)}{behind}"

    return write


def _text(item: str | Slot | Maybe, call: ToolCall, number: int) -> str:
    if isinstance(item, Maybe):
        return item.mark
    if isinstance(item, str):
        return item
    if item is Slot.NAME:
        return named(call)
    if item is Slot.NAMED_ID:
        return f"{_PREFIX}{named(call)}:{number}"
    if item is Slot.ID:
        return call.id or f"{number:010}"
    body = dump(call.arguments)
    return body if item is Slot.ARGUMENTS else f"{_FENCE}\n{body}\n{_FENCE_END}"


def _bare(pattern: Pattern) -> Pattern:
    """The pattern as it is read: whitespace between marks may be missing."""
    return [item.strip() if isinstance(item, str) else item for item in pattern if item != "\n"]


def _write_mistral(calls: Sequence[ToolCall]) -> str:
    return "".join(f"[TOOL_CALLS]{named(call)}[ARGS]{dump(call.arguments)}" for call in calls)


# --------------------------------------------------------------------------------------------------- dialects


class _Layout(NamedTuple):
    """Calls in a row: the marks around all, the mark before each, what follows it, and what stands between."""

    section: tuple[str, str] | None
    begin: str
    pattern: Pattern
    gap: str = ""
    noisy: bool = False

    def reader(self) -> ReadCalls:
        return sectioned(self.section, self.begin, _bare(self.pattern), noisy=self.noisy)

    def writer(self) -> WriteCalls:
        return written(self.section, self.begin, self.pattern, gap=self.gap)


_DEEPSEEK = ("<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>")
_DEEPSEEK_CALL, _DEEPSEEK_END, _SEPARATOR = "<｜tool▁call▁begin｜>", "<｜tool▁call▁end｜>", "<｜tool▁sep｜>"
_DEEPSEEK_DROPPED = ("<｜end▁of▁sentence｜>",)
_V3 = _Layout(
    _DEEPSEEK,
    _DEEPSEEK_CALL,
    (f"function{_SEPARATOR}", Slot.NAME, "\n", Slot.FENCED, _DEEPSEEK_END),
    gap="\n",
)
_V3_1 = _Layout(_DEEPSEEK, _DEEPSEEK_CALL, (Slot.NAME, _SEPARATOR, Slot.ARGUMENTS, _DEEPSEEK_END))
_KIMI = _Layout(
    ("<|tool_calls_section_begin|>", "<|tool_calls_section_end|>"),
    "<|tool_call_begin|>",
    (Slot.NAMED_ID, "<|tool_call_argument_begin|>", Slot.ARGUMENTS, "<|tool_call_end|>"),
    noisy=True,
)
_SOLAR = _Layout(
    ("<|tool_calls|>", "<|calls|>"),
    "<|tool_call:begin|>",
    (Slot.ID, "<|tool_call:name|>", Slot.NAME, "<|tool_call:args|>", Slot.ARGUMENTS, "<|tool_call:end|>"),
)
_PLAMO = _Layout(
    ("<|plamo:begin_tool_requests:plamo|>", "<|plamo:end_tool_requests:plamo|>"),
    "<|plamo:begin_tool_request:plamo|>",
    (
        "<|plamo:begin_tool_name:plamo|>",
        Slot.NAME,
        "<|plamo:end_tool_name:plamo|>",
        "<|plamo:begin_tool_arguments:plamo|>",
        Maybe("<|plamo:constrain|>json"),
        Maybe("<|plamo:msg|>"),
        Slot.ARGUMENTS,
        "<|plamo:end_tool_arguments:plamo|>",
        "<|plamo:end_tool_request:plamo|>",
    ),
)
_HUNYUAN = _Layout(
    ("<tool_calls>", "</tool_calls>"), "<tool_call>", (Slot.NAME, "\n", Slot.FENCED, "</tool_call>"), gap="\n"
)
_STEP5 = _Layout(None, "<|CALL_START|>", ("function", "\n", Slot.NAME, "\n", Slot.ARGUMENTS, "<|CALL_END|>"))
_FUNCTIONARY = _Layout(None, "<function=", (Slot.NAME, ">", Slot.ARGUMENTS, "</function>"))
_RECIPIENT = _Layout(None, ">>>", (Slot.NAME, "\n", Slot.ARGUMENTS))

MISTRAL = Dialect(
    name="mistral",
    openings=("[TOOL_CALLS]",),
    read=_mistral,
    write=_write_mistral,
    signature=r"\[TOOL_CALLS\]\s*(?:\[?\s*\{|NAME(?:\[CALL_ID\][^\[]*)?(?:\[ARGS\]|\s*\{))",
    reasoning=(("[THINK]", "[/THINK]"), ("<think>", "</think>")),
    inline=True,
    dropped=("</s>",),
    aliases=("magistral", "ministral", "devstral"),
)
DEEPSEEK_V3 = Dialect(
    name="deepseek-v3",
    openings=(_DEEPSEEK[0], _DEEPSEEK_CALL),
    read=_V3.reader(),
    write=_V3.writer(),
    signature=rf"{_DEEPSEEK_CALL}function{_SEPARATOR}NAME\s*```json",
    dropped=_DEEPSEEK_DROPPED,
    aliases=("deepseek", "deepseekv3", "deepseek-r1", "deepseek-v2.5"),
)
DEEPSEEK_V3_1 = Dialect(
    name="deepseek-v3.1",
    openings=(_DEEPSEEK[0], _DEEPSEEK_CALL),
    read=_V3_1.reader(),
    write=_V3_1.writer(),
    signature=rf"{_DEEPSEEK_CALL}NAME{_SEPARATOR}\s*[{{\"]",
    dropped=_DEEPSEEK_DROPPED,
    aliases=("deepseek-v31", "deepseekv31"),
)
KIMI_K2 = Dialect(
    name="kimi-k2",
    openings=("<|tool_calls_section_begin|>", "<|tool_call_begin|>"),
    read=_KIMI.reader(),
    write=_KIMI.writer(),
    signature=r"<\|tool_call_begin\|>[^<]*<\|tool_call_argument_begin\|>",
    reasoning=(("<think>", "</think>"), ("◁think▷", "◁/think▷")),
    inline=True,
    dropped=("<|im_end|>",),
    aliases=("kimi", "kimik2"),
)
HUNYUAN_DENSE = Dialect(
    name="hunyuan-dense",
    openings=("<tool_calls>",),
    read=_HUNYUAN.reader(),
    write=_HUNYUAN.writer(),
    signature=r"<tool_calls>\s*<tool_call>NAME\s*```json",
    dropped=("<answer>", "</answer>"),
)
FUNCTIONARY_V3_1 = Dialect(
    name="functionary-v3.1",
    openings=("<function=",),
    read=_FUNCTIONARY.reader(),
    write=_FUNCTIONARY.writer(),
    signature=r"<function=NAME>\s*[{\"]",
    dropped=("<|eom_id|>", "<|eot_id|>"),
    aliases=("kanana", "llama3.1-custom"),
)
FUNCTIONARY_V3_2 = Dialect(
    name="functionary-v3.2",
    openings=(),
    read=_functionary_v3_2,
    write=_RECIPIENT.writer(),
    signature=r">>>NAME\n\s*[{\"]",
    bare=string.ascii_letters + "_",
    loose=(">>>",),
    dropped=(">>>all\n", ">>>all\r\n", "<|eot_id|>"),
    aliases=("functionary",),
)
SOLAR_OPEN = Dialect(
    name="solar-open",
    openings=("<|tool_calls|>", "<|tool_call:begin|>"),
    read=_SOLAR.reader(),
    write=_SOLAR.writer(),
    signature=r"<\|tool_call:name\|>NAME<\|tool_call:args\|>",
    reasoning=(("<|think|>", "<|end|><|begin|>assistant"),),
    dropped=("<|content|>", "<|begin|>assistant", "<|end|>", "<|flush|>"),
    aliases=("solar",),
)
STEP5 = Dialect(
    name="step5",
    openings=("<|CALL_START|>",),
    read=_STEP5.reader(),
    write=_STEP5.writer(),
    signature=r"<\|CALL_START\|>function\s+NAME\s*[{\"]",
    dropped=("<|EOT|>",),
    aliases=("step-audio",),
)
PLAMO3 = Dialect(
    name="plamo3",
    openings=(_PLAMO.section[0] if _PLAMO.section else "", _PLAMO.begin),
    read=_PLAMO.reader(),
    write=_PLAMO.writer(),
    signature=r"<\|plamo:begin_tool_name:plamo\|>NAME<\|plamo:end_tool_name:plamo\|>",
    reasoning=(("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),),
    dropped=("<|plamo:tag|>",),
    aliases=("plamo",),
)
