"""TL205: the arguments of a call appear as a quoted, escaped JSON string."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.checks._calls import other_form
from templatelint.model import Fault
from templatelint.reading import around, region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case
    from templatelint.view import View

_CALLS = ("tool-call-empty", "tool-call-text")
CASES = (*_CALLS, *(f"{case_id}+{form}" for case_id in _CALLS for form in ("wire", "native")))


def check(view: View) -> Iterator[Fault]:
    """Look for an escaped quote before an argument's name, in the engine's own form first."""
    others = [other_form(view, case_id) for case_id in _CALLS]
    for case_id in (*_CALLS, *others):
        if not view.renders(case_id):
            continue
        case, prompt = view.case(case_id), view.prompt(case_id)
        escaped = _escaped(case, prompt)
        if escaped is not None:
            yield Fault(
                message="call arguments given as a JSON string are encoded a second time: "
                f"{around(region(prompt, case), escaped)!r}",
                help="print strings as they are: `arguments if arguments is string else arguments | tojson`",
                cases=(case.id,),
                cause="escaped",
                span=view.mention("arguments", "tool_calls"),
                impact="informs" if case_id in others else None,
            )
            return


def _escaped(case: Case, prompt: str) -> int | None:
    found = re.search(rf'\\+"{re.escape(case.marks["call.1.key"])}\\+"', region(prompt, case))
    return found.start() if found else None
