"""TL104: a system message behind the first one is refused, dropped, or put in the first one's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._refusals import refusal, said
from templatelint.checks._words import listed
from templatelint.model import Fault
from templatelint.reading import has, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.view import View

_FIRST = "chat-system"
_TOOLS = ("tool-call-empty", "tools-offer-system")
# case → where its further system message stands
_IN_CHAT = {"system-twice": "straight after the first", "system-later": "after an answer"}
_IN_TOOLS = {"system-after-tool": "after a tool result"}
CASES = (_FIRST, *_TOOLS, *_IN_CHAT, *_IN_TOOLS)

_FACTS = {
    "dropped": "does not reach the prompt",
    "first": "takes the place of the first one, which does not reach the prompt",
}


def check(view: View) -> Iterator[Fault]:
    """Follow two system messages through conversations that take one; tool loops only where plain chat is well."""
    found = list(_faults(view, _FIRST, _IN_CHAT))
    if not found and all(view.renders(case_id) for case_id in _TOOLS):
        found = list(_faults(view, _TOOLS[1], _IN_TOOLS))
    yield from found


def _faults(view: View, first: str, places: Mapping[str, str]) -> Iterator[Fault]:
    alone = has(view.prompt(first), view.case(first), "system")
    fates = {case_id: fate for case_id in places if (fate := _fate(view, case_id, alone=alone))}
    for fate in ("refused", *_FACTS):
        cases = [case_id for case_id in fates if fates[case_id] == fate]
        if cases:
            everywhere = len(cases) == len(fates) and len(places) > 1
            yield _fault(view, fate, cases, "" if everywhere else " " + listed(places[case] for case in cases))


def _fate(view: View, case_id: str, *, alone: bool) -> str:
    """What becomes of the two messages, where one alone is shown; nothing where other text is lost with them."""
    if refusal(view, case_id) is not None:
        return "refused"
    for case, prompt in view.rendered(case_id):
        if not all(has(prompt, case, mark) for mark in spoken(case) if not mark.startswith("tool.")):
            return ""
        if alone and not has(prompt, case, "system.2"):
            return "dropped"
        return "first" if alone and not has(prompt, case, "system") else "kept"
    return ""


def _fault(view: View, fate: str, cases: list[str], where: str) -> Fault:
    error = view.error(cases[0])
    return Fault(
        message=f"a further system message{where} {said(error) if error else _FACTS[fate]}",
        help="render the role wherever it stands, or join all system texts into the first message before sending",
        cases=view.ids(*cases),
        cause=fate + where,
        span=view.span_of(error) if error else view.mention("'system'", '"system"', "messages"),
    )
