"""TL303: the result of a tool as a list of parts crashes or is dumped, on an engine that passes it through."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.checks._calls import knows_tools
from templatelint.checks._parts import faults

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Fault
    from templatelint.view import View

_WHOSE = {"tool-result-typed": ("tool", "tool-call-empty")}
CASES = ("tools-offer", "tool-call-empty", *_WHOSE)


def check(view: View) -> Iterator[Fault]:
    """See what becomes of lists of text parts; callers of Python libraries choose strings where they want to."""
    if not knows_tools(view):
        return  # it writes results as it writes any message, of which TL302 tells
    for fault in faults(view, _WHOSE):
        yield replace(fault, impact="informs" if view.client_form == "native" else None)
