"""TL206: string and mapping arguments render in different syntax without a crash."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.checks._calls import other_form
from templatelint.model import Fault
from templatelint.reading import around, common, region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_CALL = "tool-call-empty"
CASES = (_CALL, f"{_CALL}+wire", f"{_CALL}+native")


def check(view: View) -> Iterator[Fault]:
    """Compare the same call in both shapes; the engine's callers see the other one only where they choose to."""
    other = other_form(view, _CALL)
    if not view.renders(_CALL) or not view.renders(other):
        return
    own, drifted = (region(view.prompt(case_id), view.case(case_id)) for case_id in (_CALL, other))
    if own == drifted:
        return
    at = common(own, drifted)
    case = view.case(_CALL)
    lost = case.marks["call.1.value"] in own and case.marks["call.1.value"] not in drifted
    fact = "loses its arguments when they" if lost else "is written differently when its arguments"
    as_json = re.search(rf'\\?"{case.marks["call.1.key"]}\\?"\s*:', own + drifted)
    yield Fault(
        message=f"a call {fact} are {_shape(other)}: {around(drifted, at)!r} instead of {around(own, at)!r}",
        help="write both shapes alike: `arguments if arguments is string else arguments | tojson`"
        if as_json
        else "send arguments as a mapping, which servers make of them: Jinja cannot decode a string",
        cases=(view.case(_CALL).id, view.case(other).id),
        cause="drift",
        span=view.mention("arguments", "tool_calls"),
        impact="informs",
    )


def _shape(case_id: str) -> str:
    return "a JSON string" if "+wire" in case_id else "a mapping"
