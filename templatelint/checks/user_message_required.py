"""TL108: a compacted history, in which no user message is left, is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._refusals import refusal, said
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

# the parts of the history, with a user message
_PARTS = ("tool-call-empty", "tools-offer-system")
_COMPACTED = "no-user"
CASES = (*_PARTS, _COMPACTED)


def check(view: View) -> Iterator[Fault]:
    """Take the user message out of a tool loop under a system message."""
    for case_id in _PARTS:
        view.prompt(case_id)
    error = refusal(view, _COMPACTED)
    if error is not None:
        yield Fault(
            message=f"a compacted history without a user message {said(error)}",
            help="keep the last user message, or put the summary into one, when a history is compacted",
            cases=view.ids(_COMPACTED),
            cause="refused",
            span=view.span_of(error),
        )
