"""What a render knows at some point: the clock, the variables in sight, and jumps under way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.renderers.llamacpp.pieces import joined
from templatelint.renderers.llamacpp.usage import note_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from datetime import datetime

    from templatelint.renderers.llamacpp.values import Value


class Run:
    """What one render knows.

    Attributes:
        now: what the clock tells.
        watching: whether the input remembers what happens to it.
        piecewise: whether strings remember the pieces they were made of.
        join: texts → one text.
    """

    __slots__ = ("join", "now", "piecewise", "watching")

    def __init__(self, now: datetime, *, watching: bool, piecewise: bool) -> None:
        self.now = now
        self.watching = watching
        self.piecewise = piecewise
        self.join: Callable[[Iterable[str]], str] = joined if piecewise else "".join

    def read_whole(self, value: Value) -> None:
        """Remember that a value was turned into text with all that it holds."""
        if self.watching:
            note_whole(value)


class Scope(dict[str, Any]):
    """Variables that are visible somewhere; an inner scope is a copy, so that nothing set in it gets out."""

    __slots__ = ("run",)
    run: Run

    def inner(self) -> Scope:
        """A scope inside this one."""
        scope = Scope(self)
        scope.run = self.run
        return scope


def outermost(variables: Mapping[str, Value], run: Run) -> Scope:
    """The scope in which a template starts."""
    scope = Scope({"true": True, "True": True, "false": False, "False": False, "none": None, "None": None})
    scope.update(variables)
    scope.run = run
    return scope


class Jump(Exception):
    """`break` or `continue` on its way to the loop around it, which may be that of a macro's caller."""


class Break(Jump):
    """`break`."""


class Continue(Jump):
    """`continue`."""
