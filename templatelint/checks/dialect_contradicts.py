"""TL214: the syntax that the system text asks for differs from the one that the history shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import call_syntax
from templatelint.model import Fault
from templatelint.reading import has, region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.checks._instructions import Contradiction
    from templatelint.view import View

_OFFER, _PLAIN = "tools-offer", "chat-basic"
CASES = (_OFFER, _PLAIN, *call_syntax.FIRST)
CALL_CASES = call_syntax.CASES


def check(view: View) -> Iterator[Fault]:
    """Read what the template adds where tools are offered beside how it writes a call."""
    offer, prompt = view.case(_OFFER), view.prompt(_OFFER)
    if not has(prompt, offer, "tools.1.name"):
        return  # another rule says so
    from templatelint.checks import _instructions  # for this alone; and it has expressions to compile

    plain = (view.case(_PLAIN), view.prompt(_PLAIN)) if view.renders(_PLAIN) else None
    text = _instructions.added((offer, prompt), plain)
    written = call_syntax.of(view) if text else None
    if written is None or written.dialect is None:
        return
    from templatelint import dialects

    case = view.case(written.case)
    shown = region(view.prompt(written.case), case)
    found = _instructions.contradiction(text, dialects.get(written.dialect), shown, case)
    if found is not None:
        yield Fault(
            message=_message(found),
            help="write the calls of the history as the system text asks for them, or have it ask for what the model "
            "was trained on: the engine reads one syntax",
            cases=(offer.id, written.case),
            cause=f"{found.kind} {found.asked}",
            span=view.mention(found.shown if found.kind == "mark" else found.asked.split()[0], "tool_calls"),
        )


def _message(found: Contradiction) -> str:
    if found.kind == "syntax":
        return f"the system text asks for calls like {found.asked!r}, and the history shows {found.shown!r}"
    what = "the mark" if found.kind == "mark" else "arguments under"
    return f"the system text asks for {what} {found.asked!r}, and the history has {found.shown!r}"
