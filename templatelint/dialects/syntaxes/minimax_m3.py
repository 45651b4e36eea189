"""MiniMax M3's dialect: a mark before every tag, arguments as elements that nest, `<item>` for what a list holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.dialects.dialect import Dialect, Reading
from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Cut, Malformed, Step, Stream, extent_of
from templatelint.dialects.syntaxes.checked import checked
from templatelint.dialects.syntaxes.json_calls import dump
from templatelint.dialects.syntaxes.tag_reader import between, function, nowhere, reader
from templatelint.dialects.syntaxes.tags import Tags, attributed, enclosed
from templatelint.dialects.tools import kinds_of, value_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_MARK = "]<]minimax[>["
_SECTION = (f"{_MARK}<tool_call>", f"{_MARK}</tool_call>")
_CALL = "invoke"
_ITEM = "item"
_DEEPEST = 100
_TAGS = Tags(
    call=attributed(f"{_MARK}<{_CALL}", "name"),
    call_end=f"{_MARK}</{_CALL}>",
    argument=enclosed(f"{_MARK}<", ">"),
    argument_end=f"{_MARK}</",
    sections=(_SECTION,),
)
_tag = extent_of(r"[^<>\n]+")

# --------------------------------------------------------------------------------------- elements → values


@dataclass(slots=True)
class _Element:
    """An element in the course of being read.

    Attributes:
        name: that of its end tag.
        start: the position where what it holds begins.
        children: the elements in it.
        text: what it holds, where that is text.
        mixed: there is text beside the children, so that they are text, too.
    """

    name: str
    start: int
    children: list[_Element] = field(default_factory=list)
    text: str = ""
    mixed: bool = False


def _value(element: _Element, schema: Any) -> Any:
    kinds = kinds_of(schema)
    if element.children and not element.mixed:
        listed = "array" in kinds or ("object" not in kinds and all(child.name == _ITEM for child in element.children))
        return _list(element.children, schema) if listed else _object(element.children, schema)
    if not element.text.strip() and "string" not in kinds and kinds & {"array", "object"}:
        return [] if "array" in kinds else {}
    return value_of(element.text, schema)


def _list(elements: Sequence[_Element], schema: Any) -> list[Any]:
    items = schema.get("items") if isinstance(schema, Mapping) else None
    return [_value(element, items) for element in elements]


def _object(elements: Sequence[_Element], schema: Any) -> dict[str, Any]:
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    schemas = properties if isinstance(properties, Mapping) else {}
    return {element.name: _value(element, schemas.get(element.name)) for element in elements}


# ------------------------------------------------------------------------------------------- text → elements


def _read_call(reading: Reading, tags: Tags, _sectioned: bool) -> Step[None]:
    opened = yield from function(reading.stream, tags)
    elements = [] if opened.whole else (yield from _elements(reading.stream))
    schema = {"properties": reading.tools.parameters(opened.name)}
    reading.emit(ToolCall(opened.name, _object(elements, schema)))


def _elements(stream: Stream) -> Step[list[_Element]]:
    """Read what stands in a call, and its end."""
    opened = [_Element(_CALL, stream.at)]
    behind_tag = stream.at
    while True:
        if (yield from stream.search((_MARK,), nowhere)) is None:
            raise Cut(_TAGS.call_end)
        end = stream.at
        yield from stream.expect(_MARK)
        tag = yield from _tag_here(stream)
        if not _counts(tag, opened):
            stream.at = end + len(_MARK)
            continue
        text = bool(between(stream, behind_tag, end).strip())
        if len(opened) == 1 and (text or (tag.name == _CALL and not tag.closes)):
            raise Malformed("an argument, or the end of a call, expected")
        opened[-1].mixed |= text and not (tag.closes and not opened[-1].children)
        behind_tag = stream.at
        if not tag.closes:
            opened.append(_Element(tag.name, stream.at))
            continue
        # What is still open inside of it was no element but text.
        while opened[-1].name != tag.name:
            opened.pop()
            opened[-1].mixed = True
        closed = opened.pop()
        if not opened:
            return closed.children
        if closed.mixed or not closed.children:
            closed.text = between(stream, closed.start, end)
        opened[-1].children.append(closed)


class _Tag(NamedTuple):
    """A tag; without a name it is none."""

    closes: bool
    name: str


def _counts(tag: _Tag, opened: Sequence[_Element]) -> bool:
    """Whether the tag is one in this place, not text that looks like it."""
    if not tag.name or not tag.closes:
        return bool(tag.name) and len(opened) <= _DEEPEST
    if tag.name == _CALL and len(opened) == 1:
        return True
    return any(element.name == tag.name for element in opened[1:])


def _tag_here(stream: Stream) -> Step[_Tag]:
    """Read a tag, behind its mark."""
    mark = yield from stream.accept("</", "<")
    if mark is None:
        return _Tag(closes=False, name="")
    name = yield from stream.run(_tag)
    if (yield from stream.accept(">")) is None:
        return _Tag(closes=False, name="")
    # The beginning of a call that a value quotes has an attribute, its end none.
    return _Tag(mark == "</", _CALL if mark == "<" and name.startswith(f"{_CALL} ") else name)


# --------------------------------------------------------------------------------------------- values → text


def _written(calls: Sequence[ToolCall]) -> str:
    bodies = [
        f"{_TAGS.call.write(call.name, number)}{_content(call.arguments)}{_TAGS.call_end}\n"
        for number, call in enumerate(calls, 1)
    ]
    return f"{_SECTION[0]}\n{''.join(bodies)}{_SECTION[1]}"


def _content(value: Any) -> str:
    if isinstance(value, Mapping):
        return "".join(_written_element(name, inner) for name, inner in value.items())
    if isinstance(value, list):
        return "".join(_written_element(_ITEM, inner) for inner in value)
    return value if isinstance(value, str) else dump(value)


def _written_element(name: str, value: Any) -> str:
    return f"{_MARK}<{name}>{_content(value)}{_MARK}</{name}>"


_read = reader(_TAGS, _read_call)

MINIMAX_M3 = Dialect(
    name="minimax-m3",
    openings=_TAGS.openings,
    read=_read,
    write=checked(_read, _written),
    signature=r'\]<\]minimax\[>\[<invoke name="NAME"',
    reasoning=(("<mm:think>", "</mm:think>"), ("<think>", "</think>")),
    dropped=("[e~[",),
)
