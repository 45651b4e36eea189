"""The nouns of reading replies: what a model said, thought and called, and what was wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

# cut: the reply ends inside a call. malformed: what begins like a call is none, and stays in the content.
# foreign: a call in the syntax of another dialect, read all the same. unclosed: a mark that should follow is missing.
# dropped: text in a call that is no part of it. doubtful: it may be a call; the names of the tools would tell.
# unknown-tool: a call of a function that is not among the tools.
ProblemKind: TypeAlias = Literal["cut", "malformed", "foreign", "unclosed", "dropped", "doubtful", "unknown-tool"]

BROKEN: tuple[ProblemKind, ...] = ("cut", "malformed")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call; arguments are JSON data, `id` is the one that the model wrote, or None."""

    name: str
    arguments: Mapping[str, Any]
    id: str | None = None


@dataclass(frozen=True, slots=True)
class Problem:
    """What is wrong with a reply.

    Attributes:
        message: the fact in one clause.
        offset: where it begins in the reply, in characters from 0.
        text: the text concerned, where it is in none of the reply's parts.
    """

    kind: ProblemKind
    message: str
    offset: int
    text: str = ""


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply as read back.

    Attributes:
        dialect: the one that it was read in.
        content: what is said to the user, without whitespace around calls and reasoning; None for nothing.
        reasoning_content: what the model thought; None for nothing.
        tool_calls: in their order.
        problems: in the order in which they were found.
    """

    dialect: str
    content: str | None
    reasoning_content: str | None
    tool_calls: tuple[ToolCall, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every call that was begun could be read."""
        return not any(problem.kind in BROKEN for problem in self.problems)
