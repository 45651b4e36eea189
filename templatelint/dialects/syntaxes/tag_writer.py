"""The tags of a syntax and a layout → the writer of its calls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from templatelint.dialects.syntaxes.checked import checked
from templatelint.dialects.syntaxes.json_calls import dump
from templatelint.dialects.syntaxes.tag_reader import reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.dialects.dialect import WriteCalls
    from templatelint.dialects.reply import ToolCall
    from templatelint.dialects.syntaxes.tags import Tags


@dataclass(frozen=True, slots=True)
class Layout:
    """How a model sets calls.

    Attributes:
        section: marks around calls; both empty where there are none.
        each: every call has a section of its own.
        line: what ends each line inside.
        gap: what stands between calls.
        around: what stands immediately before and behind each call.
    """

    section: tuple[str, str] = ("", "")
    each: bool = False
    line: str = "\n"
    gap: str = "\n"
    around: tuple[str, str] = ("", "")


def writer(tags: Tags, layout: Layout) -> WriteCalls:
    """A writer of calls in a layout."""
    return checked(reader(tags), partial(_composed, tags, layout))


def _composed(tags: Tags, layout: Layout, calls: Sequence[ToolCall]) -> str:
    before, behind = layout.around
    opening, closing = layout.section
    bodies = [f"{before}{_body(tags, layout.line, call, number)}{behind}" for number, call in enumerate(calls, 1)]
    if layout.each:
        bodies = [f"{opening}{layout.line}{body}{layout.line}{closing}" for body in bodies]
    text = layout.gap.join(bodies)
    return text if layout.each or not opening else f"{opening}{layout.line}{text}{layout.line}{closing}"


def _body(tags: Tags, line: str, call: ToolCall, number: int) -> str:
    arguments = [
        f"{tags.argument.write(key, value)}{tags.padding}{_value_text(tags, value)}{tags.padding}{tags.argument_end}"
        for key, value in call.arguments.items()
    ]
    return line.join([tags.call.write(call.name, number), *arguments, tags.call_end])


def _value_text(tags: Tags, value: Any) -> str:
    if not isinstance(value, str):
        return dump(value)
    if tags.verbatim is not None and any(character in value for character in "<&\n"):
        return f"{tags.verbatim[0]}{value}{tags.verbatim[1]}"
    return value
