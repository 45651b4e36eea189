"""TL209: ids of calls must have a form that clients and engines do not give them, or carry the function name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._calls import id_for_name, lost_parts
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Impact
    from templatelint.view import View

_CALL = "tool-call-empty"
CASES = (_CALL,)

# Engines whose callers make up the ids themselves: a constraint is a contract there, not a break.
_IDS_FROM_CALLERS = frozenset({"transformers"})


def check(view: View) -> Iterator[Fault]:
    """Compare usual ids with short ones, and see where the id stands in the prompt."""
    impact: Impact | None = "informs" if view.engine in _IDS_FROM_CALLERS else None
    error = view.plain(_CALL).error
    if error is not None and view.renders(_CALL) and view.case(_CALL).id.endswith("+shortids"):
        yield Fault(
            message=f"ids of calls must be nine letters and digits, others make the template raise: {error.message}",
            help="shorten ids to nine letters and digits, in calls and in results, before sending",
            cases=(_CALL,),
            cause="nine",
            span=view.span_of(error),
            impact=impact,
        )
    for case, prompt in view.rendered(_CALL):
        if id_for_name(prompt, case, lost_parts(prompt, case, 1)):
            yield Fault(
                message="the prompt shows the id of a call in place of the function name",
                help="give calls ids that carry the name, as `functions.NAME:INDEX`, before sending",
                cases=(case.id,),
                cause="name",
                span=view.mention("tool_call['id']", "tool_call.id", ".id", "tool_calls"),
                impact="informs",  # parsers of this dialect make such ids themselves
            )
