"""TL105: a developer message is refused or dropped where a system message is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._refusals import refusal, said
from templatelint.model import Fault
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

# the same conversation under a system message and under a developer message
_WITHOUT_TOOLS = ("chat-system", "developer")
_WITH_TOOLS = ("tools-offer-system", "tools-offer-developer")
CASES = (*_WITHOUT_TOOLS, *_WITH_TOOLS)

_LOST = ("refused", "dropped")


def check(view: View) -> Iterator[Fault]:
    """Compare conversations that differ in the role of their first message alone."""
    plain, tools = _fate(view, *_WITHOUT_TOOLS), _fate(view, *_WITH_TOOLS)
    if plain in _LOST:
        yield _fault(view, plain, _WITHOUT_TOOLS[1], " without tools" if tools == "kept" else "")
    elif tools in _LOST:
        yield _fault(view, tools, _WITH_TOOLS[1], " with tools" if plain == "kept" else "")


def _fate(view: View, system: str, developer: str) -> str:
    """What becomes of the developer message; nothing where a system message is lost alike, or the user's text."""
    for as_system, expected in view.rendered(system):
        if refusal(view, developer) is not None:
            return "refused"
        for case, prompt in view.rendered(developer):
            if has(prompt, case, "developer"):
                return "kept"
            return "dropped" if has(expected, as_system, "system") and has(prompt, case, "user.1") else ""
    return ""


def _fault(view: View, fate: str, case_id: str, when: str) -> Fault:
    error = view.error(case_id)
    if error is not None:
        fact, span = said(error), view.span_of(error)
    else:
        fact = "does not reach the prompt"
        span = view.mention("'developer'", '"developer"', "'system'", '"system"', "messages")
    return Fault(
        message=f"a developer message{when} {fact}",
        help="render the role `developer` as `system`, or rename it before sending",
        cases=view.ids(case_id),
        cause=fate + when,
        span=span,
    )
