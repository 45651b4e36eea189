"""TL102: a leading system message raises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._refusals import said, unwrapped
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_CURE = "put the system text into the first user message before sending, or render the role"
_CURES = {
    "raised": "mend the expression, without which plain chat renders, or put the system text into the first user "
    "message before sending"
}
CASES = ("chat-basic", "chat-turns", "chat-system", "chat-turns-system")
# the same conversation with and without its system message
_PAIRS = (("chat-basic", "chat-system"), ("chat-turns", "chat-turns-system"))


def check(view: View) -> Iterator[Fault]:
    """Compare conversations that differ in the system message alone."""
    refused = [
        (case_id, error)
        for plain, case_id in _PAIRS
        if view.renders(plain) and (error := view.raised(case_id)) is not None
    ]
    if refused:
        error = refused[0][1]
        yield Fault(
            message=f"a leading system message {said(error)}",
            help=unwrapped(view, error) or _CURES.get(error.kind, _CURE),
            cases=view.ids(*(case_id for case_id, _ in refused)),
            cause="refused",
            span=view.span_of(error),
        )
