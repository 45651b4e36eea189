"""TL205: the arguments of a call, or a result, appear as a quoted, escaped JSON string."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.checks._calls import lost_parts, other_form
from templatelint.model import Fault
from templatelint.reading import around, message_text, region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Case
    from templatelint.view import View

_CALLS = ("tool-call-empty", "tool-call-text", "tool-call-first")
_RESULT = "tool-result-json"
CASES = (*_CALLS, *(f"{case_id}+{form}" for case_id in _CALLS for form in ("wire", "native")), _RESULT)

# a JSON object encoded as a string
_ENCODED = re.compile(r'"\{\s*\\"(?P<key>\w+)\\"')
_MEMBER = (":", ",", "[", "{")  # what stands in front of a string that is part of what the template writes as JSON


def check(view: View) -> Iterator[Fault]:
    """Look for escaped quotes about the names of arguments, in the engine's own form first, and of results."""
    yield from _of_calls(view)
    if view.renders(_RESULT):
        yield from _of_results(view)


def _of_calls(view: View) -> Iterator[Fault]:
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


def _of_results(view: View) -> Iterator[Fault]:
    case, prompt = view.case(_RESULT), view.prompt(_RESULT)
    text = message_text(case, case.marks["tool.1"])
    for found in _ENCODED.finditer(prompt):
        if f'"{found["key"]}"' in text and not prompt[: found.start()].rstrip().endswith(_MEMBER):
            yield Fault(
                message="a tool result that is JSON text is encoded a second time: "
                f"{around(prompt, found.start('key'))!r}",
                help="print text as it is: `content if content is string else content | tojson`",
                cases=(case.id,),
                cause="result",
                span=view.mention("'tool'", '"tool"', "messages"),
                impact="informs",
                total=False,
            )
            return


def _escaped(case: Case, prompt: str) -> int | None:
    if "value" in lost_parts(prompt, case, 1):
        return None
    found = re.search(rf'\\+"{re.escape(case.marks["call.1.key"])}\\+"', region(prompt, case))
    return found.start() if found else None
