"""TL213: no known dialect fits the calls that the template renders, or they begin in one and do not end in it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint import call_syntax
from templatelint.checks._calls import lost_parts
from templatelint.checks._markers import PARTS
from templatelint.model import Fault
from templatelint.reading import MARKER, has, positions, region, shortened

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.call_syntax import CallSyntax
    from templatelint.model import Case
    from templatelint.view import View

_CALLS = ("tool-call-empty", "tool-call-text", "tool-call")
CASES = (*_CALLS, *call_syntax.FIRST)
CALL_CASES = call_syntax.CASES
READ_BACK = _CALLS[:1]
_CLOSER = re.compile(r"</\w+>|<[|｜][^<>\s]+>|\[/\w+\]|[\]})]")
# of a pair whose halves are counted: another rule says that one is missing
_COUNTED = frozenset(closer for _, closers in PARTS for closer in closers)
_LISTED = re.compile(r"\[\s*\{[^\[\]{}]*$")  # a call in JSON as the first of a list, up to its arguments


def check(view: View) -> Iterator[Fault]:
    """Look for a call in the prompt, and then for a dialect that it is written in."""
    if view.reply(_CALLS[0]) is not None:
        return  # the engine makes its parser up from the template: another rule says whether that reads the calls
    written = call_syntax.of(view)
    if written.dialect is not None:
        yield from _unfinished(view, written, view.case(written.case))
        return
    shown = next((cell for cell in view.rendered(*_CALLS) if not lost_parts(cell[1], cell[0], 1)), None)
    if shown is None or not has(shown[1], shown[0], "user.1"):
        return  # without the user's text nothing tells where calls begin, and another rule says that it is missing
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


def _unfinished(view: View, written: CallSyntax, case: Case) -> Iterator[Fault]:
    """A call without what the dialect writes behind its last argument."""
    from templatelint import dialects

    value = case.marks["call.1.value"]
    try:
        usual = dialects.get(written.dialect or "").write(call_syntax.calls_of(case)[:1])
    except ValueError:
        return  # the dialect cannot write it
    before, _, behind = written.calls.partition(value)
    missing = next(_missing(usual.rpartition(value)[2], before, behind), None)
    if missing is not None:
        yield Fault(
            message=f"calls begin as in the dialect {written.dialect} and do not end so: {missing!r} is missing in "
            f"{shortened(' '.join(behind.split()))!r}",
            help=f"write {missing!r} behind a call, as the model was trained to: parsers wait for it",
            cases=(written.case,),
            cause=f"end {missing}",
            span=view.mention("tool_calls"),
        )


def _missing(usual: str, before: str, behind: str) -> Iterator[str]:
    """What closes a call in the dialect, and does not follow it in the prompt."""
    at = 0
    for closer in _CLOSER.findall(usual):
        found = behind.find(closer, at)
        if found >= 0:
            at = found + len(closer)
        elif closer not in _COUNTED:
            yield closer
    own = behind[: next((mark.start() for mark in MARKER.finditer(behind)), len(behind))]
    if _LISTED.search(before[: before.rfind("{")]) and "]" not in own:
        yield "]"
