"""Dialects whose calls are JSON without a mark: what a reply begins with, or what leaks into its text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.dialects.dialect import Dialect, Reading
from templatelint.dialects.stream import Cut, Malformed, Refused, Step, Stream
from templatelint.dialects.syntaxes.json_calls import calls_of, note_others, rows, value, written, written_array

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.dialects.reply import ToolCall

_PYTHON_TAGS = ("<|python_tag|>", "<|python_start|>")
_FENCES = ("```json", "```")
_GAPS = ("", " ", "\n", "\n  ", "\n    ", "\n\t", "\r\n", "\r\n  ", "\r\n    ")
_MEMBERS = ("name", "type", "function", "arguments", "parameters", "id")
_BEGINNINGS = tuple(f'{bracket}{{{gap}"{member}"' for bracket in ("", "[") for gap in _GAPS for member in _MEMBERS)
# How a call begins, so far that it is none by chance: its name stands there, and the key of its arguments or less.
_BEGUN = re.compile(
    r"""\s*\[?\s*\{\s*(?:"(?:id|type)"\s*:\s*"[^"\\]*"\s*,\s*)*"(?:name|function)"\s*:\s*"([\w.:/-]+)"\s*"""
    r"""(?:(,\s*"(?:arguments|parameters|args)")|,\s*"\w*\Z|,?\s*\Z)"""
)
_OPENING = re.compile(r"<\w+>\s*\Z")  # a mark of another syntax, which tells by itself what is wrong
_LONGEST_BEGINNING = 1000  # characters


def _calls(reading: Reading, *, known: bool) -> Step[list[ToolCall]]:
    """Read one JSON value that is a call or an array of them.

    Args:
        reading: the position stands at the value.
        known: only functions that are among the tools count, and if there are none, nothing does.
    """
    stream = reading.stream
    try:
        found = yield from value(reading)
        calls = calls_of(found, whole=True)
    except Malformed as error:
        begun = _BEGUN.match(stream.between(stream.at, stream.at + _LONGEST_BEGINNING))
        told = _OPENING.search(stream.between(max(0, stream.at - _LONGEST_BEGINNING), stream.at))
        if begun and begun[2] and not told and reading.tools.given and reading.tools.known(begun[1]):
            raise Refused(str(error), f"a call of {begun[1]} that cannot be read: {error}") from error
        raise
    except Cut:
        if _is_begun(stream.rest(), reading, known=known):
            raise
        raise Malformed("JSON that does not end") from None
    if not calls:
        raise Malformed("an array without calls")
    if known and not reading.tools.given:
        raise _doubt(calls[0].name)
    if not all(_counts(call.name, reading, known=known) for call in calls):
        raise Malformed("a call of a function that is not among the tools")
    note_others(reading, found)
    return calls


def _counts(name: str, reading: Reading, *, known: bool) -> bool:
    if known and not reading.tools.given:
        return False
    return (reading.own and not known) or reading.tools.known(name)


def _is_begun(text: str, reading: Reading, *, known: bool) -> bool:
    """Whether JSON that does not end would have been a call."""
    found = _BEGUN.match(text[:_LONGEST_BEGINNING])
    if found is None or not _counts(found[1], reading, known=known):
        return False
    return bool(found[2]) or reading.tools.given


def _in_a_row(reading: Reading, *, known: bool, marks: Sequence[str] = ()) -> Step[None]:
    """Read calls, one at least, with commas, semicolons, newlines or these marks between them."""
    stream = reading.stream
    for call in (yield from _calls(reading, known=known)):
        reading.emit(call)
    while True:
        behind = stream.at
        yield from stream.blanks()
        if (yield from stream.accept(",", ";", *marks)) is not None:
            yield from stream.blanks()
            yield from stream.accept(*marks)
            yield from stream.blanks()
        if (yield from stream.starts("{")) is None:
            stream.at = behind
            return
        try:
            calls = yield from _calls(reading, known=known)
        except Malformed:
            stream.at = behind
            return
        for call in calls:
            reading.emit(call)


def _llama(reading: Reading) -> Step[None]:
    stream = reading.stream
    if (yield from stream.accept(*_PYTHON_TAGS)) is None:
        yield from stream.blanks()
        if not reading.own and (yield from stream.starts("[")) is not None:
            raise Malformed("an array")  # xlam's, as far as anybody knows
        yield from _in_a_row(reading, known=False, marks=_PYTHON_TAGS)
        yield from sole(reading)
        return
    while True:
        yield from rows(reading, ("<|python_end|>",))
        reading.unclosed = ""
        behind = stream.at
        yield from stream.blanks()
        yield from stream.accept(",", ";")
        yield from stream.blanks()
        if (yield from stream.accept(*_PYTHON_TAGS)) is None:
            stream.at = behind
            return


def _xlam(reading: Reading) -> Step[None]:
    stream = reading.stream
    yield from stream.blanks()
    if (yield from stream.starts("[")) is None:
        raise Malformed("an array of calls expected")
    yield from _in_a_row(reading, known=False)
    yield from sole(reading)


def _text(reading: Reading) -> Step[None]:
    """Read calls between tags that belong around tools, in a fence, or bare in the text."""
    stream = reading.stream
    first = not _before(stream)
    mark = yield from stream.accept("<tools>", *_FENCES)
    if mark is None and not begins_line(stream):
        raise Malformed("JSON within a line")
    yield from stream.blanks()
    if (yield from stream.starts("{", "[")) is None:
        raise Malformed("JSON expected")
    sure = mark == "<tools>" or (reading.own and first and not reading.tools.given)
    yield from _in_a_row(reading, known=not sure)
    if mark is not None:
        behind = stream.at
        yield from stream.blanks()
        if (yield from stream.accept("</tools>" if mark == "<tools>" else _FENCES[-1])) is None:
            stream.at = behind
    if mark != "<tools>" and not reading.tools.given and not (yield from _ends(reading)):
        name = reading.found[0][0].name
        reading.found.clear()
        raise _doubt(name)


def _before(stream: Stream) -> str:
    """What of the reply stands before this position and is held, without marks at its end."""
    return stream.between(0, stream.at).rstrip() if stream.offset == stream.at else "…"


def begins_line(stream: Stream) -> bool:
    """Whether a line begins here, or what stands before is a mark."""
    held = stream.between(max(0, stream.at - _LONGEST_BEGINNING), stream.at)
    before = held.rstrip()
    return not before or before.endswith(">") or "\n" in held[len(before) :]


def sole(reading: Reading) -> Step[None]:
    """Nothing may follow calls of which only the syntax tells that they are some.

    Raises:
        Malformed: something does.
    """
    if not reading.own and not reading.tools.given and not (yield from _ends(reading)):
        reading.found.clear()
        raise Malformed("what may be a call in the middle of text")


def _ends(reading: Reading) -> Step[bool]:
    """Whether nothing follows but marks; nothing is read."""
    stream = reading.stream
    behind = stream.at
    yield from stream.blanks()
    following = yield from stream.peek()
    stream.at = behind
    return following in ("", "<")


def _doubt(name: str) -> Refused:
    said = f"it may be a call of {name}: the definitions of the tools (--tools) decide"
    return Refused("a call of what may be no function", said, "doubtful")


LLAMA3_JSON = Dialect(
    name="llama3-json",
    openings=_PYTHON_TAGS,
    read=_llama,
    write=written("", "", keys=("name", "parameters"), gap="; "),
    signature=(
        r"""(?:(?<![>\]\[(,\w])(?<!plugin\|>\n)\{|<\|python_(?:tag|start|end)\|>\s*\{)\s*"name":\s*"NAME",\s*"parameters":"""
        r"""|(?<![>\]\[(,\w])(?<![>\],]\s)(?<!": )(?<!json\n)\{\s*"name":\s*"NAME",\s*"arguments":"""
        r"""|<\|python_tag\|>\s*\{"""
    ),
    bare="{[",
    inline=True,
    dropped=(
        "<|eot_id|>",
        "<|eom_id|>",
        "<|start_header_id|>assistant<|end_header_id|>",
        "<|eot|>",
        "<|eom|>",
        "<|header_start|>assistant<|header_end|>",
    ),
    aliases=("llama3", "llama3.1", "llama3.3", "llama4-json"),
)
XLAM = Dialect(
    name="xlam",
    openings=(),
    read=_xlam,
    write=written_array("", ""),
    # vLLM hands templates the members of a call in the other order
    signature=r"""(?<![>\]])\[\s*\{\s*"(?:name":\s*"NAME",\s*"arguments|arguments)":""",
    bare="[",
    dropped=("<|im_end|>", "<|eot_id|>"),
    aliases=("xlam2",),
)
# What models write that have seen another form than the one they were asked for. No template means it.
JSON_TEXT = Dialect(
    name="json-text",
    openings=(),
    read=_text,
    write=written("```json\n", "\n```", gap="\n"),
    signature=r"(?!)",
    bare="{[",
    loose=("<tools>", *_FENCES, *_BEGINNINGS),
)
