"""TL212: an empty list or a null in place of the tool calls of a plain answer crashes or changes its turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import around, common

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_WITHOUT = "chat-turns"
_EMPTY = {"tool-calls-empty-list": "an empty list of tool calls", "tool-calls-null": "null in place of tool calls"}
CASES = (_WITHOUT,)
CALL_CASES = tuple(_EMPTY)


def check(view: View) -> Iterator[Fault]:
    """Compare the answer with the same one without that member."""
    plain = view.prompt(_WITHOUT)
    bad: dict[str, tuple[str, tuple[int, int] | None]] = {}
    for case_id, what in _EMPTY.items():
        error = view.raised(case_id)
        if error is not None:
            bad[case_id] = f"{what} on a plain answer makes the template raise: {error.message}", view.span_of(error)
        elif view.renders(case_id) and (prompt := view.prompt(case_id)) != plain:
            at = common(prompt, plain)
            fact = f"{what} changes a plain answer: {around(prompt, at)!r} for {around(plain, at)!r}"
            bad[case_id] = fact, view.mention("tool_calls")
    if bad:
        fact, span = next(iter(bad.values()))
        yield Fault(
            message=fact,
            help="ask for `message.tool_calls` itself, which is false where it is empty, not whether it is there",
            cases=tuple(bad),
            cause=fact.split(":")[0],
            span=span,
        )
