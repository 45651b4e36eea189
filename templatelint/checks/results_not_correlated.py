"""TL208: nothing in the prompt shows which result answers which of two calls of the same function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._calls import knows_tools, lost_parts
from templatelint.checks._refusals import refusal
from templatelint.model import Fault
from templatelint.reading import has, positions, stretch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case
    from templatelint.view import View

# The second answers the calls in the other order: its results are those of the first with each other's id.
_IN_ORDER, _CROSSED = "tool-parallel-same", "tool-parallel-crossed"
CASES = ("tools-offer", "tool-call-empty", _IN_ORDER, _CROSSED)


def check(view: View) -> Iterator[Fault]:
    """Let the results trade ids: that changes what they mean, and so has to change the prompt."""
    case, prompt = view.case(_IN_ORDER), view.prompt(_IN_ORDER)
    if not all(has(prompt, case, mark) for mark in ("tool.1", "tool.2")):
        return  # nothing to tell apart
    called = "value" not in lost_parts(prompt, case, 2)
    if not called and ("value" not in lost_parts(prompt, case, 1) or not knows_tools(view)):
        return  # the second call alone is lost, or results are written as any message is
    error = refusal(view, _CROSSED)
    if error is not None:
        yield Fault(
            message=f"results in another order than the calls make the template raise: {error.message}",
            help="send the results in the order of the calls",
            cases=(view.case(_CROSSED).id,),
            cause="refused",
            span=view.span_of(error),
            impact="breaks",
        )
        return
    for other, crossed in view.rendered(_CROSSED):
        if crossed == prompt:
            yield Fault(
                message="two results of the same function are told apart by their order alone: "
                "the prompt stays the same when they trade ids",
                help="send results in the order of the calls, or print the id beside each call and each result",
                cases=(case.id, other.id),
                cause="order",
                span=view.mention("'tool'", '"tool"', "tool_call_id", "messages"),
            )
        elif called and _dangling(prompt, case):
            yield Fault(
                message="results carry the ids of their calls, and the calls are shown without them",
                help="print each call's id beside the call too",
                cases=(case.id,),
                cause="dangling",
                span=view.mention("tool_call_id", "tool_calls"),
            )


def _dangling(prompt: str, case: Case) -> bool:
    """Whether ids stand only behind the calls, and the calls have no number of the template's own (Kimi K2)."""
    first = stretch(prompt, case, "tool.1")
    ids = positions(prompt, case.marks["call.1.id"])
    if first is None or not ids or prompt.rfind(case.marks["call.2.value"]) > ids[0]:
        return False
    return not positions(prompt, f"{case.marks['call.1.name']}:0")
