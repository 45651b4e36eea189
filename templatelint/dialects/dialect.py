"""What a dialect is: one syntax of tool calls, as marks and three small functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Step, Stream

if TYPE_CHECKING:
    from templatelint.dialects.tools import Tools


@dataclass(slots=True)
class Reading:
    """What the reader of a dialect works on.

    Attributes:
        stream: the reply; the position stands at the opening mark (at the first character of a bare call).
        tools: what may be called.
        found: the calls of this block, each with the offset behind it: those found before a fault are kept.
        unclosed: a closing mark that is missing although the calls are whole; the reader sets it.
    """

    stream: Stream
    tools: Tools
    found: list[tuple[ToolCall, int]] = field(default_factory=list)
    unclosed: str = ""

    def emit(self, call: ToolCall) -> None:
        """A call is whole, up to this position."""
        self.found.append((call, self.stream.at))


# Reads one block of calls from the opening mark to its end and emits each call. Raises stream.Cut and stream.Malformed.
ReadCalls: TypeAlias = Callable[[Reading], Step[None]]
# Calls → the text that a model writes for them.
WriteCalls: TypeAlias = Callable[[Sequence[ToolCall]], str]


@dataclass(frozen=True, slots=True)
class Dialect:
    """One syntax of tool calls.

    Attributes:
        name: what users type.
        openings: the marks at which a block of calls begins, anywhere in a reply.
        read: reads a block.
        write: writes one; calls that it cannot carry (names or texts that would end it) raise ValueError.
        signature: regular expression of a call in rendered text; `NAME` stands for the function's name, `KEY` for
            the name of its first argument.
        reasoning: pairs of marks around what the model thinks.
        bare: a reply may be one block without an opening mark; it then begins with one of these characters.
        dropped: marks that mean nothing in a reply (an end of turn, a header): they are left out of the content.
        aliases: further names that users may type.
    """

    name: str
    openings: tuple[str, ...]
    read: ReadCalls
    write: WriteCalls
    signature: str
    reasoning: tuple[tuple[str, str], ...] = (("<think>", "</think>"),)
    bare: str = ""
    dropped: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
