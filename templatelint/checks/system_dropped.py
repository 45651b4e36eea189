"""TL101: a leading system message never reaches the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._discarded import with_cause
from templatelint.model import Fault
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-system", "chat-turns-system", "tools-offer-system", "tool-loop-system")


def check(view: View) -> Iterator[Fault]:
    """Follow the system text through conversations with and without tools."""
    seen = list(view.rendered(*CASES))
    kept = [case.id for case, prompt in seen if has(prompt, case, "system")]
    # where an engine moves the text into a message that is dropped, that message is what is lost
    lost = [case.id for case, prompt in seen if case.id not in kept and (not kept or has(prompt, case, "user.1"))]
    if not lost:
        return
    if not kept:
        when = ""
    elif all(case_id.startswith("tool") for case_id in lost):
        when = " when tools are sent"
    else:
        when = f" in {', '.join(lost)} (it does in {', '.join(kept)})"
    fault = Fault(
        message=f"a leading system message does not reach the prompt{when}",
        help="print the system message, or put its text into the first user message before sending",
        cases=tuple(lost),
        cause=when,
        span=view.mention("'system'", '"system"', "messages"),
    )
    yield with_cause(view, fault, "system")
