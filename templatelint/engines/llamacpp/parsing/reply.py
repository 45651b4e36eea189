"""What a grammar captured of a reply → content, reasoning and tool calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

from templatelint.engines.llamacpp.markers import BLANKS
from templatelint.engines.llamacpp.parsing import arguments
from templatelint.engines.llamacpp.parsing.grammar import Contradiction, Cursor, TextEnded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

CONTENT = "content"
REASONING = "reasoning"
CALL = "call"
"""What opens a call; its name is inside, or follows."""
NAME = "name"
ID = "id"
ARGUMENTS = "arguments"
"""All arguments as one JSON object; anything else counts as none."""
ARGUMENT = "argument"
"""What opens one argument; its key is inside."""
KEY = "key"
TEXT = "text"
"""A value that is text as it stands."""
VALUE = "value"
"""A value in JSON or Python."""
ARGUMENT_END = "argument-end"
VERBATIM = "verbatim"
"""A part of the text of the arguments, as it stands."""
CALL_END = "call-end"


class NoMatch(Exception):
    """The reply does not fit the grammar, or what it captured is no text: the whole request fails."""

    def __init__(self, form: str = "peg-native", *, reason: str = "") -> None:
        super().__init__(reason or f"The model produced output that does not match the expected {form} format")


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call as the client gets it; `arguments` is JSON text, and no JSON where the reply was cut."""

    name: str
    arguments: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Parsed:
    """A reply as the client gets it."""

    content: str = ""
    reasoning: str = ""
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """What a grammar depends on besides the template's family.

    Attributes:
        generation_prompt: what the reply is read behind; bytes, since it may begin inside a character.
        tools: the definitions of the request as `validation.ChatRequest` has them; none where `tool_choice` is none.
        parallel: more than one call is taken.
        required: `tool_choice` is required: there must be a call.
        source: the template's source as llama.cpp parses it.
        variables: what the template was rendered with.
        thinking: the server's idea of whether the model is to think.
        schema: what the content must meet; None where the request has no schema.
        opening: the generation prompt of the template, where a continued message has another; else None.
    """

    generation_prompt: bytes
    tools: Sequence[Mapping[str, Any]] = ()
    parallel: bool = True
    required: bool = False
    source: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    thinking: bool = True
    schema: Mapping[str, Any] | None = None
    opening: bytes | None = None


if TYPE_CHECKING:
    Grammar: TypeAlias = Callable[[Cursor, Setting], object]


def read(grammar: Grammar, reply: bytes, setting: Setting, *, form: str = "peg-native", **options: Any) -> Parsed:
    """Read a reply behind its generation prompt.

    Args:
        grammar: what consumes the text.
        reply: what the model wrote.
        setting: what the grammar depends on.
        form: the name of the format in the error.
        options: of `assembled`.

    Raises:
        NoMatch: something contradicts the grammar, or an argument is no UTF-8.
    """
    text = Cursor(setting.generation_prompt + reply)
    try:
        grammar(text, setting)
    except TextEnded:
        pass
    except Contradiction:
        raise NoMatch(form) from None
    try:
        return assembled(text, **options)
    except UnicodeDecodeError as error:
        raise NoMatch(reason=f"an argument of a call is not UTF-8: {error.reason} at byte {error.start}") from error


def assembled(text: Cursor, *, keeps_blank_reasoning: bool = False) -> Parsed:
    """What the captured pieces amount to.

    Args:
        text: read as far as it could be.
        keeps_blank_reasoning: reasoning of nothing but white space is kept.
    """
    content, reasoning = [], []
    calls = _Calls()
    for piece in text.pieces:
        if piece.kind == CONTENT:
            content.append(text.shown(piece))
        elif piece.kind == REASONING:
            reasoning.append(text.shown(piece))
        else:
            calls.take(piece.kind, text.captured(piece))
    thoughts = "".join(reasoning)
    if not keeps_blank_reasoning and not thoughts.strip(" \n\r\t"):
        thoughts = ""
    return Parsed("".join(content), thoughts, calls.done())


@dataclass(slots=True)
class _Draft:
    """A call that is being put together."""

    name: bytes = b""
    arguments: bytearray = field(default_factory=bytearray)
    id: bytes = b""

    def done(self) -> Call:
        return Call(_text(self.name), _text(self.arguments), _text(self.id))


class _Calls:
    """The calls so far; arguments may come before the name."""

    def __init__(self) -> None:
        self._named: list[_Draft] = []
        self._draft: _Draft | None = None
        self._early = bytearray()  # arguments before the name
        self._keys = 0
        self._in_text = False

    def done(self) -> tuple[Call, ...]:
        return tuple(draft.done() for draft in self._named)

    def take(self, kind: str, text: bytes) -> None:
        """Take one piece into account."""
        if kind == CALL:
            self._draft, self._early, self._keys, self._in_text = _Draft(), bytearray(), 0, False
        elif kind == ARGUMENT:
            self._in_text = False
        elif self._draft is not None:
            self._take(kind, text, self._draft)

    def _take(self, kind: str, text: bytes, draft: _Draft) -> None:
        if kind == ID:
            draft.id = _unquoted(text.rstrip(BLANKS))
        elif kind == NAME:
            self._name(text, draft)
        elif kind == ARGUMENTS and text.startswith(b"{"):
            self._write(text.rstrip(BLANKS), draft, anew=True)
        elif kind == CALL_END:
            self._close(draft)
        else:
            self._take_argument(kind, text, draft)

    def _take_argument(self, kind: str, text: bytes, draft: _Draft) -> None:
        if kind == KEY:
            self._write(self._separator(draft) + arguments.key(text) + b":", draft)
            self._keys += 1
        elif kind == TEXT:
            self._write((b"" if self._in_text and text else b'"') + arguments.escaped(text), draft)
            self._in_text = True
        elif kind == VALUE:
            self._write(arguments.as_json(text), draft)
        elif kind == VERBATIM:
            self._write(text, draft)
        elif kind == ARGUMENT_END:
            self._end_text(draft)

    def _name(self, text: bytes, draft: _Draft) -> None:
        named = bool(draft.name)
        draft.name = text.rstrip(BLANKS)
        if self._early:
            draft.arguments, self._early = self._early, bytearray()
        elif not draft.arguments:
            draft.arguments += b"{"
        if not named:
            self._named.append(draft)

    def _separator(self, draft: _Draft) -> bytes:
        if self._keys:
            return b","
        return b"" if (draft.arguments if draft.name else self._early) else b"{"

    def _write(self, text: bytes, draft: _Draft, *, anew: bool = False) -> None:
        target = draft.arguments if draft.name else self._early
        if anew:
            target.clear()
        target += text

    def _end_text(self, draft: _Draft) -> None:
        if self._in_text:
            self._write(b'"', draft)
            self._in_text = False

    def _close(self, draft: _Draft) -> None:
        self._end_text(draft)
        draft.arguments += b"}" * arguments.open_braces(bytes(draft.arguments))
        if not draft.name:
            self._draft = None


def _unquoted(text: bytes) -> bytes:
    quoted = len(text) > 1 and text.startswith(b'"') and text.endswith(b'"')
    return text[1:-1] if quoted else text


def _text(text: bytes | bytearray) -> str:
    return text.decode("utf-8", "replace")
