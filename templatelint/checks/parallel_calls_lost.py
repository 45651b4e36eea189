"""TL207: two calls in one assistant turn are refused, or one of them is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._calls import lost_parts
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case
    from templatelint.view import View

_SINGLE = ("tool-call", "tool-call-empty", "tool-call-text")
_TWO = ("tool-parallel", "tool-parallel-same")
CASES = (*_SINGLE, *_TWO)


def check(view: View) -> Iterator[Fault]:
    """Compare one call with two."""
    if not any(view.renders(case_id) for case_id in _SINGLE):
        return
    for case_id in _TWO:
        error = view.error(case_id)
        if error is not None and error.kind == "refused":
            yield Fault(
                message=f"two calls in one assistant turn are refused: {error.message}",
                help="send one call a turn, or set `parallel_tool_calls: false`",
                cases=(case_id,),
                cause="refused",
                span=view.span_of(error),
            )
            return
    lost = [case.id for case, prompt in view.rendered(*_TWO) if _second_alone_lost(prompt, case)]
    if lost:
        yield Fault(
            message="of two calls in one assistant turn only the first reaches the prompt",
            help="loop over `message['tool_calls']`, or set `parallel_tool_calls: false` in requests",
            cases=tuple(lost),
            cause="dropped",
            span=view.mention("tool_calls[0]", "tool_calls"),
            partial=True,
        )


def _second_alone_lost(prompt: str, case: Case) -> bool:
    """Whether the name or the value of the second call is missing where that of the first is shown."""
    return not {"name", "value"}.isdisjoint(set(lost_parts(prompt, case, 2)).difference(lost_parts(prompt, case, 1)))
