"""MiniMax M3's dialect: a mark before every tag, arguments as elements that nest, `<item>` for what a list holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from templatelint.dialects.checked import checked
from templatelint.dialects.dialect import Dialect, Reading
from templatelint.dialects.json_calls import dump
from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Cut, Malformed, Step, Stream, extent_of
from templatelint.dialects.tag_reader import between, function, nowhere, reader
from templatelint.dialects.tags import Tags, attributed, enclosed
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
    open_elements = [_Element(_CALL, stream.at)]
    behind_tag = stream.at
    while True:
        if (yield from stream.search((_MARK,), nowhere)) is None:
            raise Cut(_TAGS.call_end)
        end = stream.at
        yield from stream.expect(_MARK)
        closes, name = yield from _tag_here(stream)
        names = [element.name for element in open_elements]
        if not name or (closes and (name not in names or (name == _CALL and len(names) > 1))):
            # Not a tag, or the end of nothing: text.
            stream.at = end + len(_MARK)
            continue
        innermost = open_elements[-1]
        innermost.mixed |= bool(innermost.children or not closes) and bool(between(stream, behind_tag, end).strip())
        behind_tag = stream.at
        if not closes:
            if len(open_elements) > _DEEPEST:
                raise Malformed(f"nested deeper than {_DEEPEST}")
            open_elements.append(_Element(name, stream.at))
            continue
        # What is still open inside of it was no element but text.
        while open_elements[-1].name != name:
            open_elements.pop()
            open_elements[-1].mixed = True
        closed = open_elements.pop()
        if not open_elements:
            if closed.mixed or (not closed.children and between(stream, closed.start, end).strip()):
                raise Malformed("text beside the arguments of a call")
            return closed.children
        if closed.mixed or not closed.children:
            closed.text = between(stream, closed.start, end)
        open_elements[-1].children.append(closed)


def _tag_here(stream: Stream) -> Step[tuple[bool, str]]:
    """Read a tag: whether it closes, and the name; an empty name where it is none."""
    mark = yield from stream.accept("</", "<")
    if mark is None:
        return False, ""
    name = yield from stream.run(_tag)
    if (yield from stream.accept(">")) is None:
        return False, ""
    # The beginning of a call that a value quotes ends like one.
    return mark == "</", _CALL if mark == "<" and name.startswith(f"{_CALL} ") else name


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
