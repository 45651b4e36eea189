"""Text that llama.cpp throws away: what an `if` has printed when its body runs into `continue` or `break`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import nodes

from templatelint.syntax import walk

if TYPE_CHECKING:
    from templatelint.model import Fault
    from templatelint.view import View

_RENDERER = "llama.cpp"


def with_cause(view: View, fault: Fault, *roles: str) -> Fault:
    """The fault with the place that explains it, where the renderer discards the text of these roles there."""
    found = _place(view, roles) if view.renderer == _RENDERER else None
    if found is None:
        return fault
    place, end = found
    from dataclasses import replace

    line = view.syntax.line_of(place[0])[0]
    return replace(
        fault,
        message=f"{fault.message}; llama.cpp discards what the `if` in line {line} prints before `continue` or `break`",
        help="print the text outside the `if` that holds `continue` or `break`, or use `else` in place of them",
        span=place,
        related=((end, "the round of the loop ends here"),),
    )


def _place(view: View, roles: tuple[str, ...]) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Offsets of the first `if` about one of the roles whose body prints and then leaves its loop, and of that end."""
    for node in view.syntax.all_nodes:
        if isinstance(node, nodes.If) and _asks_for(node.test, roles):
            end = _end_after_print(node.body)
            if end is not None:
                return view.syntax.span(node), view.syntax.span(end)
    return None


def _asks_for(test: nodes.Node, roles: tuple[str, ...]) -> bool:
    return any(isinstance(node, nodes.Const) and node.value in roles for node in walk(test))


def _end_after_print(body: list[nodes.Node]) -> nodes.Node | None:
    """The `continue` or `break` that leaves the body behind something printed."""
    printed = False
    for node in body:
        if isinstance(node, (nodes.Continue, nodes.Break)):
            return node if printed else None
        printed = printed or isinstance(node, (nodes.Output, nodes.If, nodes.For))
    return None
