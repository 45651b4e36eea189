"""TL805: time, memory or output beyond the budget."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-basic", "chat-long", "tools-offer", "tool-loop")


def check(view: View) -> Iterator[Fault]:
    """Report the first cell (or the loading) that ran out of budget."""
    error = view.load_error
    if error is not None and error.out_of_budget:
        yield _fault("loading the template", error.message, (), None)
        return
    for case, failure in view.failures():
        if failure.out_of_budget:
            fault = _fault(f"rendering {case.id}", failure.message, (case.id,), view.span_of(failure))
            yield replace(fault, need="tools" if case.request.tools else None)
            return


def _fault(doing: str, message: str, cases: tuple[str, ...], span: tuple[int, int] | None) -> Fault:
    return Fault(
        message=f"{doing} goes beyond the budget: {message}",
        help="bound the loop, repetition or recursion; a server that renders this stops answering",
        cases=cases,
        cause="work",
        span=span,
    )
