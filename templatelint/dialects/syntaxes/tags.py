"""Calls as tags around raw values: what the tags of a syntax are, and how their beginnings are read and written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.dialects.stream import Cut, Malformed, Step, Stream, extent_of

if TYPE_CHECKING:
    from collections.abc import Callable

# The characters of a function's name.
name_extent = extent_of(r"[\w.:/-]+")
_tag_text = extent_of(r"[^<>\n]+")
_label = extent_of(r"[^<]+")
_attribute = extent_of(r"[\w-]+")
_quoted = {'"': extent_of(r'[^"\n]+'), "'": extent_of(r"[^'\n<]+")}
_unquoted = extent_of(r"[^\s<>\"'/]+")


class Opened(NamedTuple):
    """What the beginning of a call or of an argument says.

    Attributes:
        name: of the function, or of its parameter.
        kind: `string` where the value is said to be text, any other word where it is said to be data, None where
            nothing is said.
        whole: the call ended with its beginning (`<invoke name="f"/>`).
    """

    name: str
    kind: str | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a call or of an argument.

    Attributes:
        marks: what it begins with.
        read: reads it, from the mark to where arguments or the value begin.
        write: (name, the value or the number of the call from 1) → text.
        on_a_line: in a layout of lines it begins one; only there is it believed without the mark that should precede.
    """

    marks: tuple[str, ...]
    read: Callable[[Stream], Step[Opened]]
    write: Callable[[str, Any], str]
    on_a_line: bool = True


@dataclass(frozen=True, slots=True)
class Tags:
    """One syntax: `SECTION (CALL (ARGUMENT value END)* END)* END`.

    Attributes:
        call: the beginning of a call.
        call_end: the mark behind it.
        argument: the beginning of an argument.
        argument_end: the mark behind its value.
        sections: pairs of marks that may stand around calls.
        fillers: marks that may stand before and behind a call and say nothing.
        padding: the end of a line that stands on both sides of a value and is not part of it; empty for none.
        verbatim: a pair of marks that a value may stand in.
        json_arguments: a JSON object may take the place of the arguments.
        json_calls: a JSON object may take the place of a call.
        doubtful: the beginning of a call alone is not evidence enough of one: without arguments, the function must
            be known, or the reply be known to be in this syntax.
    """

    call: Head
    call_end: str
    argument: Head
    argument_end: str
    sections: tuple[tuple[str, str], ...] = ()
    fillers: tuple[str, ...] = ()
    padding: str = ""
    verbatim: tuple[str, str] | None = None
    json_arguments: bool = False
    json_calls: bool = False
    doubtful: bool = False

    @property
    def openings(self) -> tuple[str, ...]:
        """The marks at which a block of calls may begin."""
        return (*(opening for opening, _ in self.sections), *self.call.marks)

    @property
    def section_ends(self) -> tuple[str, ...]:
        """The marks behind a section."""
        return tuple(end for _, end in self.sections)


# ------------------------------------------------------------------------------------------ beginnings


def enclosed(mark: str, end: str, *, name: bool = False) -> Head:
    """`MARK name END`, as in `<parameter=city>`.

    Args:
        mark: what stands before the name.
        end: what stands behind it.
        name: it is that of a function.
    """

    def read(stream: Stream) -> Step[Opened]:
        yield from stream.expect(mark)
        found = yield from _text(stream, name_extent if name else _tag_text)
        yield from stream.expect(end)
        return Opened(found)

    return Head((mark,), read, lambda found, _: f"{mark}{found}{end}")


def leading(mark: str, end: str = "") -> Head:
    """`MARK name`, maybe with a mark behind it, as in `<tool_call>get_time`."""

    def read(stream: Stream) -> Step[Opened]:
        yield from stream.expect(mark)
        while (yield from stream.accept("\n", "\r")) is not None:
            pass
        found = yield from _text(stream, name_extent)
        if end:
            yield from stream.blanks()
            yield from stream.expect(end)
        return Opened(found)

    return Head((mark,), read, lambda found, _: f"{mark}{found}{end}")


def labelled(marks: tuple[str, str, str], *, gap: str = "", kind: tuple[str, str] | None = None) -> Head:
    """`MARK name END VALUE`, as in `<arg_key>city</arg_key><arg_value>`.

    Args:
        marks: before the name, behind it, and before the value; the last is empty where the second one does for both.
        gap: what the model puts between the latter two.
        kind: marks around the type of the value, which may stand before the value.
    """
    mark, end, value = marks

    def read(stream: Stream) -> Step[Opened]:
        yield from stream.expect(mark)
        found = yield from _text(stream, _label)
        yield from stream.expect(end)
        stated = None
        if value:
            yield from stream.blanks()
            if kind is not None and (yield from stream.accept(kind[0])) is not None:
                stated = (yield from _text(stream, _label)).partition("[")[0]
                yield from stream.expect(kind[1])
                yield from stream.blanks()
            yield from stream.expect(value)
        return Opened(found, None if stated == "any" else stated)

    return Head((mark,), read, lambda found, _: f"{mark}{found}{end}{gap}{value}", on_a_line=False)


def attributed(
    tag: str,
    attribute: str,
    *,
    end: str = ">",
    kind: Callable[[str, Any], str] | None = None,
    escapes: tuple[tuple[str, str], ...] = (),
) -> Head:
    """`TAG attribute="name" END`, as in `<invoke name="get_time">`; quotes may be missing.

    Args:
        tag: what it begins with, up to the attributes.
        attribute: the one that holds the name.
        end: what ends it.
        kind: (name, value) → further attributes as they are written: `string="true"` or `type="…"` states what the
            value is.
        escapes: character → what stands for it in a quoted text, in the order in which they are put in.
    """

    def read(stream: Stream) -> Step[Opened]:
        yield from stream.expect(tag)
        attributes: dict[str, str] = {}
        while True:
            yield from stream.blanks()
            closing = yield from stream.accept(end, "/>") if end == ">" else stream.accept(end)
            if closing is not None:
                break
            key = yield from _text(stream, _attribute)
            yield from stream.blanks()
            yield from stream.expect("=")
            yield from stream.blanks()
            text = yield from _attribute_text(stream)
            for character, written in reversed(escapes):
                text = text.replace(written, character)
            attributes[key] = text
        if not attributes.get(attribute):
            raise Malformed(f"{attribute} expected among the attributes of {tag!r}")
        return Opened(attributes[attribute], _kind(attributes), closing == "/>")

    def write(found: str, about: Any) -> str:
        for character, written in escapes:
            found = found.replace(character, written)
        further = "" if kind is None else f" {kind(found, about)}"
        return f'{tag} {attribute}="{found}"{further}{end}'

    return Head((tag,), read, write)


def _kind(attributes: dict[str, str]) -> str | None:
    """The type that attributes state."""
    if attributes.get("string") in ("true", "false"):
        return "string" if attributes["string"] == "true" else "data"
    return attributes.get("type")


def _attribute_text(stream: Stream) -> Step[str]:
    quote = yield from stream.accept('"', "'")
    if quote is None:
        return (yield from _text(stream, _unquoted))
    text = yield from stream.run(_quoted[quote])
    yield from stream.expect(quote)
    return text


def _text(stream: Stream, extent: Callable[[str, int], int]) -> Step[str]:
    """A run of characters, blanks around it apart.

    Raises:
        Cut, Malformed: there are none.
    """
    text = (yield from stream.run(extent)).strip()
    if text:
        return text
    if not (yield from stream.peek()):
        raise Cut("a name")
    raise Malformed(f"a name expected, {stream.glimpse()} found")
