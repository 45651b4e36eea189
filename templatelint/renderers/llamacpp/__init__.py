"""Templates → text as llama.cpp's own Jinja renders them, and what of the input they looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint.renderers import RenderFailure

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime


@dataclass(frozen=True, slots=True)
class Stats:
    """What a render did with one value of its input.

    Attributes:
        used: it was looked up, tested, filtered or turned into text as part of a larger value.
        ops: filters by name (aliases resolved: `strip` for `trim`, `length` for `count`), tests as `is NAME`,
            the name of every attribute asked of it, `slice`, `array_access` (looped over, or indexed by an integer),
            `object_access` (looked into by key).
    """

    used: bool
    ops: frozenset[str]


class Usage:
    """What a render did with its input; strings, lists and mappings are tracked, other scalars are not."""

    def of(self, *path: str | int) -> Stats:
        """The statistics of the value at that path of the variables, such as `of("messages", 0, "content")`.

        Raises:
            LookupError: no tracked value is there.
        """
        raise LookupError(path)


class Program:
    """A template ready to render.

    Attributes:
        source: the template as it was given.
    """

    def __init__(self, source: str) -> None:
        self.source = source

    def render(self, variables: Mapping[str, Any], now: datetime) -> str:
        """The template's text with these variables (JSON data, left as they are); `now` is what the clock tells.

        Raises:
            RenderFailure: there is no text.
        """
        raise NotImplementedError

    def render_tracked(self, variables: Mapping[str, Any], now: datetime) -> tuple[str | RenderFailure, Usage]:
        """The text or why there is none, and what the render did with the variables."""
        raise NotImplementedError


def compile_template(source: str) -> Program:
    """Make a template ready to render.

    Raises:
        RenderFailure: llama.cpp does not parse it: `unsupported` where it lacks the construct, else `syntax`.
    """
    return Program(source)
