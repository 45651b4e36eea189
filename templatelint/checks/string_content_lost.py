"""TL305: content as a plain string raises or never reaches the prompt; the template takes a list of parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-basic",)


def check(view: View) -> Iterator[Fault]:
    """Take what the pipeline had to do to get a usable prompt at all."""
    adapted = view.case("chat-basic").id
    if "+typed" not in adapted:
        return
    error = view.plain("chat-basic").error
    fact = f"makes the template raise: {error.message}" if error else "never reaches the prompt"
    yield Fault(
        message=f"content given as a plain string {fact}; the template takes a list of parts",
        help='send `[{"type": "text", "text": …}]`, or print `message["content"]` where it is a string',
        cases=("chat-basic",),
        cause="string",
        span=view.span_of(error) if error else view.mention("content"),
    )
