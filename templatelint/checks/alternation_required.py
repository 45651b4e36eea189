"""TL106: consecutive messages of one role are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._words import listed
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-turns", "tool-call", "chat-two-users", "chat-two-assistants", "tool-interrupted")
# (renders, refused, what the second has that the first has not)
_PAIRS = (
    ("chat-turns", "chat-two-users", "two user messages in a row"),
    ("chat-turns", "chat-two-assistants", "two assistant messages in a row"),
    ("tool-call", "tool-interrupted", "a user message right after a tool result"),
)


def check(view: View) -> Iterator[Fault]:
    """Compare refused sequences with accepted ones of the same parts."""
    if not view.renders("chat-turns"):
        return
    refused = [
        (what, case_id, error)
        for plain, case_id, what in _PAIRS
        if view.renders(plain) and (error := view.raised(case_id)) is not None
    ]
    if refused:
        shapes = listed(what for what, _, _ in refused)
        error = refused[0][2]
        yield Fault(
            message=f"{shapes} {'is' if len(refused) == 1 else 'are'} refused: {error.message}",
            help="join consecutive messages of one role before sending",
            cases=tuple(case_id for _, case_id, _ in refused),
            cause="alternation",
            span=view.span_of(error),
        )
