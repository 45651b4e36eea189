"""What a dialect is: one syntax of tool calls, as marks and three small functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Step, Stream

if TYPE_CHECKING:
    from templatelint.dialects.prose import Prose
    from templatelint.dialects.reply import Problem, ProblemKind
    from templatelint.dialects.tools import Tools


@dataclass(slots=True)
class Reading:
    """What the reader of a dialect works on.

    Attributes:
        stream: the reply; the position stands at the opening mark (at the first character of a bare call).
        tools: what may be called.
        found: the calls of this block, each with the offset behind it: those found before a fault are kept.
        own: the reply is known to be in this dialect; else what could as well be something else is no call.
        unclosed: a closing mark that is missing although the calls are whole; the reader sets it.
        empty: the block is whole and holds no call; the reader sets it.
        notes: what is odd about the calls: kind of problem, message, and text that is nowhere else.
        skipped: text in the block that is no part of a call; the reader sets it.
    """

    stream: Stream
    tools: Tools
    found: list[tuple[ToolCall, int]] = field(default_factory=list)
    own: bool = True
    unclosed: str = ""
    empty: bool = False
    skipped: str = ""
    notes: list[tuple[ProblemKind, str, str]] = field(default_factory=list)

    def drop(self, what: str, text: str) -> None:
        """A call holds text that is no part of it."""
        self.notes.append(("dropped", f"a call holds {what}", text))

    def emit(self, call: ToolCall) -> None:
        """A call is whole, up to this position."""
        self.found.append((call, self.stream.at))


# Reads one block of calls from the opening mark to its end and emits each call. Raises stream.Cut and stream.Malformed.
ReadCalls: TypeAlias = Callable[[Reading], Step[None]]


class Speech(Protocol):
    """What the reader of whole replies works on: a reply as one that consists of messages.

    Attributes:
        stream: the reply; the position stands where nothing is read yet.
        content: what is said to the user.
        reasoning: what the model thought.
        prefix: the generation prompt, or its end; None where it is not known.
        tools: what may be called.
    """

    stream: Stream
    tools: Tools
    content: Prose
    reasoning: Prose
    prefix: str | None

    def calls(self, mark: str) -> Step[bool]:
        """Read the block of calls that stands here; whether there is one. The position stays if there is none.

        Args:
            mark: what the block begins with, as a message shows it.
        """

    def report(self, problem: Problem) -> None:
        """Something is wrong with the reply."""


# Reads a whole reply from its beginning.
ReadReply: TypeAlias = Callable[[Speech], Step[None]]
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
        loose: marks at which a call may begin, though mostly none does: it is no fault if there is none.
        named: likewise, for each tool; `NAME` stands for the function's name.
        inline: calls stand in the line: whitespace beside them is text.
        speak: reads whole replies, where what is said and thought also stands inside of marks.
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
    loose: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    inline: bool = False
    speak: ReadReply | None = None
    dropped: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
