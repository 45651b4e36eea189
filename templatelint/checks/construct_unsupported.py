"""TL002: a filter, test, method or function that an engine's renderer lacks, also in branches that no case reaches."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.renderers.constructs import lacking

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case, RenderError
    from templatelint.view import View

_LISTED = 3  # constructs in one message
_SHOWN = 6  # of them with their places
CASES = (
    "chat-basic",
    "chat-turns-system",
    "tools-offer",
    "tools-many",
    "tool-call-empty",
    "tool-call-text",
    "tool-loop",
)


def check(view: View) -> Iterator[Fault]:
    """Take what cells ran into, then what the tree holds besides."""
    told: list[str] = []  # of renderers that tell no lines, the messages must do
    reached: dict[str, list[tuple[Case, RenderError]]] = {}
    lines: set[int | None] = set()
    for case, error in view.failures():
        lines.add(error.line)
        told += [error.message] if error.line is None else []
        if error.kind == "unsupported":
            reached.setdefault(error.message, []).append((case, error))
    for message, cells in reached.items():
        with_tools = all(case.request.tools for case, _ in cells)
        yield Fault(
            message=f"{view.renderer} cannot run this{' when tools are sent' if with_tools else ''}: {message}",
            help="write it with constructs that every renderer has; `templatelint engines` lists the renderers",
            cases=tuple(case.id for case, _ in cells),
            cause=message,
            span=view.span_of(cells[0][1]),
            need="tools" if with_tools else None,
        )
    yield from _unreached(view, lines, " ".join(told))


def _unreached(view: View, lines: set[int | None], told: str) -> Iterator[Fault]:
    """One fault for all constructs that no failure points at, each named once."""
    found: dict[str, tuple[int, int]] = {}
    for lack in lacking(view.renderer, view.syntax):
        name = view.template.source[slice(*lack.span)]
        if view.template.lines.line_of(lack.span[0])[0] not in lines and name not in told:
            found.setdefault(lack.construct, lack.span)
    if found:
        listed = ", ".join(list(found)[:_LISTED]) + (
            f" and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
        )
        yield Fault(
            message=f"{view.renderer} lacks {listed}, used where no case gets",
            help="write it with constructs that every renderer has",
            cause=listed,
            span=next(iter(found.values())),
            impact="degrades",
            related=tuple((span, f"{construct} is used here") for construct, span in [*found.items()][1:_SHOWN]),
        )
