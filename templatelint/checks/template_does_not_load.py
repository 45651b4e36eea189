"""TL001: the engine cannot parse, compile or start with the template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ()


def check(view: View) -> Iterator[Fault]:
    """Say what the engine says when it loads the template."""
    error = view.load_error
    if error is None or error.out_of_budget:
        return
    starts = error.kind != "no-start"
    yield Fault(
        message=f"the template does not load: {error.message}" if starts else error.message,
        help=_help(error.message)
        if starts
        else "guard what may be undefined and print data with `| tojson`, or start the server with another template "
        "(`--chat-template-file`)",
        cause="loads" if starts else "starts",
        span=view.span_of(error),
    )


def _help(message: str) -> str:
    if "nested too deeply" in message:
        return "flatten the nesting at this place"
    if "unknown tag" in message:
        return "use only tags that the engine knows, and close every block"
    return "mend the syntax at this place; requests fail, or another template is used silently, until it parses"
