"""Replies of MiniMax M3: arguments as nested elements, read as the schema says.

Facts: common/parsers/minimax-m3.cpp, common_chat_peg_minimax_m3_mapper in common/chat-peg-parser.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing import arguments, reply
from templatelint.engines.llamacpp.parsing.handlers import parts, tagged
from templatelint.engines.llamacpp.parsing.reply import Call

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.parsing.grammar import Cursor
    from templatelint.engines.llamacpp.parsing.parameters import Parameter, Schema, Tool
    from templatelint.engines.llamacpp.parsing.reply import Parsed, Setting

_SPACE = b"]<]minimax[>["
_THOUGHT = b"<mm:think>"
_THOUGHT_END = b"</mm:think>"
_CALLS = _SPACE + b"<tool_call>"

_DEEPEST = 32  # levels of a schema; llama.cpp has no bound
_OBJECT = "object"
_LIST = "list"
_ITEM = "item"
_END = "end"
"""What closes a member or an item, and with it the value inside."""


def parse(written: bytes, setting: Setting) -> Parsed:
    """Read a reply.

    Raises:
        reply.NoMatch: it does not fit.
    """
    read_text: list[Cursor] = []

    def grammar(text: Cursor, setting: Setting) -> None:
        read_text.append(text)
        minimax_m3(text, setting)

    parsed = reply.read(grammar, written, setting, form="peg-minimax-m3", keeps_blank_reasoning=True)
    return replace(parsed, calls=_calls_of(read_text[0]))


def minimax_m3(text: Cursor, setting: Setting) -> None:
    """A thought or the end of one, content, one block of calls as the last thing."""
    opening = setting.generation_prompt if setting.opening is None else setting.opening
    text.literal(opening.partition(_THOUGHT)[0])
    text.optional(_thought, text, setting)
    if setting.schema is not None:
        parts.fenced_content(text)
    elif not setting.tools:
        parts.content(text)
    else:
        parts.content(text, _CALLS)
        parts.block_of_calls(text, setting, _calls, text, setting)
    text.end()


def _thought(text: Cursor, setting: Setting) -> None:
    kept = partial(_kept_thought if setting.thinking else _dropped_thought, text)
    text.first_of(kept, partial(text.literal, _THOUGHT_END))


def _kept_thought(text: Cursor) -> None:
    text.literal(_THOUGHT)
    text.blanks()
    parts.reasoning(text, _THOUGHT_END)
    text.literal(_THOUGHT_END)


def _dropped_thought(text: Cursor) -> None:
    text.literal(_THOUGHT)
    text.until(_THOUGHT_END)
    text.literal(_THOUGHT_END)


# ------------------------------------------------------------------------------------------------- calls


def _calls(text: Cursor, setting: Setting) -> None:
    text.literal(_CALLS)
    text.blanks()
    parts.several_calls(text, setting, _call, text.blanks)
    text.blanks()
    text.literal(_SPACE + b"</tool_call>")


def _call(text: Cursor, tool: Tool) -> None:
    with parts.entire(text, reply.CALL):
        text.literal(_SPACE + b'<invoke name="')
        parts.name(text, tool)
        text.literal(b'">')
    text.blanks()
    _members(text, tool.schema)
    text.blanks()
    text.literal(_SPACE + b"</invoke>")
    text.mark(reply.CALL_END)


def _members(text: Cursor, schema: Schema, depth: int = 0) -> None:
    tagged.required_in_order_then_others(text, schema.parameters, partial(_member, depth=depth))


def _member(text: Cursor, parameter: Parameter, *, depth: int) -> None:
    tagged.opening(text, _SPACE + b"<", parameter, b">")
    _value(text, parameter.schema, _SPACE + b"</%s>" % tagged.bytes_of(parameter.name), depth + 1)


def _value(text: Cursor, schema: Schema, end: bytes, depth: int) -> None:
    """A value and the end of the element that it stands in."""
    kind = schema.kind if depth <= _DEEPEST else "any"
    if schema.may_be_string:
        with text.capture(reply.TEXT):
            text.until(end)
    elif kind == "anyOf":
        text.first_of(*(partial(_value, text, each, end, depth + 1) for each in schema.alternatives))
        return
    elif kind == "object" and schema.parameters:
        text.mark(_OBJECT)
        _members(text, schema, depth)
        text.blanks()
    elif kind == "array":
        text.mark(_LIST)
        text.repeat(_item, text, schema.items, depth + 1)
        text.blanks()
    else:
        with text.capture(reply.VALUE):
            text.value()
    text.literal(end)
    text.mark(_END)


def _item(text: Cursor, schema: Schema, depth: int) -> None:
    text.blanks()
    text.mark(_ITEM)
    text.literal(_SPACE + b"<item>")
    _value(text, schema, _SPACE + b"</item>", depth)


# ---------------------------------------------------------------------------------------------- assembly


def _calls_of(text: Cursor) -> tuple[Call, ...]:
    """The calls that the captured pieces amount to."""
    drafts: list[_Draft] = []
    for piece in text.pieces:
        if piece.kind == reply.CALL:
            drafts.append(_Draft())
        elif piece.kind not in (reply.CONTENT, reply.REASONING):
            drafts[-1].take(piece.kind, text.captured(piece))
    return tuple(draft.done() for draft in drafts)


@dataclass(slots=True)
class _Draft:
    """A call that is being put together.

    Attributes:
        filled: for each open object and list, whether something is in it.
        ends: for each open member and item, what its end adds.
        item: an item has begun, and its value has not.
    """

    name: bytes = b""
    arguments: bytearray = field(default_factory=lambda: bytearray(b"{"))
    filled: list[bool] = field(default_factory=lambda: [False])
    ends: list[bytes] = field(default_factory=list)
    item: bool = False

    def done(self) -> Call:
        return Call(self.name.decode("utf-8", "replace"), self.arguments.decode("utf-8", "replace"))

    def take(self, kind: str, text: bytes) -> None:
        """Take one piece into account."""
        if kind == reply.NAME:
            self.name = text
        elif kind == reply.KEY:
            self._separate()
            self.arguments += b'"' + arguments.escaped(text) + b'":'
            self.ends.append(b"")
        elif kind == _ITEM:
            self.item = True
            self.ends.append(b"")
        elif kind == _END:
            self._end(self.ends.pop())
        elif kind == reply.CALL_END:
            self.arguments += b"}"
        else:
            self._take_value(kind, text)

    def _take_value(self, kind: str, text: bytes) -> None:
        if kind == reply.TEXT:
            self._begin(b'"' + arguments.escaped(text), b'"')
        elif kind == reply.VALUE:
            if text:
                self._begin(text, b"")
        elif kind in (_OBJECT, _LIST):
            brackets = (b"{", b"}") if kind == _OBJECT else (b"[", b"]")
            self._begin(*brackets)
            self.filled.append(False)

    def _begin(self, text: bytes, end: bytes) -> None:
        if self.item:
            self._separate()
            self.item = False
        self.arguments += text
        self.ends[-1] = end

    def _end(self, end: bytes) -> None:
        self.arguments += end
        if end in (b"}", b"]"):
            self.filled.pop()

    def _separate(self) -> None:
        if self.filled[-1]:
            self.arguments += b","
        self.filled[-1] = True
