"""Why llama-server does not start with a template, or cannot use it, with the place in the template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.probes import ARGUMENTS, FUNCTIONS, VALUES
from templatelint.model import RenderError

if TYPE_CHECKING:
    from jinja2 import nodes

    from templatelint.engines.llamacpp.tool_calls import NotAnalysable
    from templatelint.syntax import Syntax

_SHOWN = 120  # characters of a call in a message
_ARGUMENTS = "arguments"
# What stands in a probe, and what people are shown instead.
_PLAIN = dict(zip((*FUNCTIONS, *ARGUMENTS, *VALUES), ("f", "g", "a", "b", "x", "y"), strict=True))


def no_start(cause: RenderError) -> RenderError:
    """The server exits while it loads the model, for that cause."""
    return RenderError("no-start", f"llama-server exits at start: {cause.message}", cause.line, cause.column)


def failed_trial(cause: RenderError) -> RenderError:
    """The one user message on which the server tries a template makes it raise."""
    return RenderError(
        cause.kind, f"a single user message makes the template raise: {cause.message}", cause.line, cause.column
    )


def not_analysable(error: NotAnalysable, source: str) -> RenderError:
    """The analysis fails, and with it every request."""
    shown = error.text[max(error.text.find("{"), 0) :]
    for probed, plain in _PLAIN.items():
        shown = shown.replace(probed, plain)
    line, column = _place_of_arguments(source) or (None, None)
    return RenderError(
        "unsupported",
        "llama.cpp cannot find out how calls are written: arguments that are an object come out as text that is "
        f"not JSON: {shown[:_SHOWN]}",
        line,
        column,
    )


def _place_of_arguments(source: str) -> tuple[int, int] | None:
    """Where the template first prints a call's arguments without `tojson`."""
    from templatelint.syntax import TemplateSyntax, parse

    try:
        syntax = parse(source)
    except TemplateSyntax:
        return None
    node = _printed_arguments(syntax)
    return None if node is None else syntax.line_of(syntax.span(node)[0])


def _printed_arguments(syntax: Syntax) -> nodes.Node | None:
    from jinja2 import nodes

    from templatelint.syntax import walk

    for output in walk(syntax.root):
        if not isinstance(output, nodes.Output):
            continue
        encoded = {
            id(inner)
            for node in walk(output)
            if isinstance(node, nodes.Filter) and node.name == "tojson"
            for inner in walk(node)
        }
        for node in walk(output):
            if id(node) not in encoded and _is_arguments(node):
                return node
    return None


def _is_arguments(node: nodes.Node) -> bool:
    from jinja2 import nodes

    if isinstance(node, nodes.Getattr):
        return node.attr == _ARGUMENTS
    return isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const) and node.arg.value == _ARGUMENTS
