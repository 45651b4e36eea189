"""TL213: no known dialect fits the calls that the template renders."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import call_syntax
from templatelint.checks._calls import lost_parts
from templatelint.model import Fault
from templatelint.reading import positions, region, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case
    from templatelint.view import View

_CALLS = ("tool-call-empty", "tool-call-text", "tool-call")
CASES = (*_CALLS, *call_syntax.FIRST)
CALL_CASES = call_syntax.CASES
READ_BACK = _CALLS[:1]


def check(view: View) -> Iterator[Fault]:
    """Look for a call in the prompt, and then for a dialect that it is written in."""
    if view.reply(_CALLS[0]) is not None:
        return  # the engine makes its parser up from the template: another rule says whether that reads the calls
    shown = next((cell for cell in view.rendered(*_CALLS) if not lost_parts(cell[1], cell[0], 1)), None)
    if shown is None or call_syntax.of(view).dialect is not None:
        return
    case, prompt = shown
    yield Fault(
        message=f"calls are written in no syntax that a known parser reads: {_call(region(prompt, case), case)!r}",
        help="write calls in the syntax that the model was trained on; where engines have no parser for it, "
        "read the calls out of the text yourself",
        cases=(case.id,),
        cause="unknown",
        span=view.mention("tool_calls"),
    )


def _call(text: str, case: Case) -> str:
    """The call in the prompt, as far as a message shows it."""
    at = [positions(text, case.marks[f"call.1.{part}"])[0] for part in ("name", "value")]
    return shortened(" ".join(text[max(0, min(at) - 24) : max(at) + 16].split()))
