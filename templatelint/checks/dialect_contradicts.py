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
_TELLING = 4  # characters of a call: fewer stand everywhere
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
        span = view.mention(found.shown if found.kind in ("mark", "tag") else found.asked.split()[0], "tool_calls")
        yield Fault(
            message=_message(found),
            help="write the calls of the history as the system text asks for them, or have it ask for what the model "
            "was trained on: the engine reads one syntax",
            cases=(offer.id, written.case),
            cause=f"{found.kind} {found.asked}",
            span=span,
            related=tuple(_second(view, found, span)),
        )


def _second(view: View, found: Contradiction, first: tuple[int, int] | None) -> Iterator[tuple[tuple[int, int], str]]:
    """The other of the two places, where the source has its text as it stands in the prompt."""
    if found.kind == "mark":
        text, says = found.asked, "the system text asks for it"
    elif found.kind == "syntax":
        text, says = _written(view.written, found.shown), "the history has its own"
    else:
        return
    place = view.mention(text) if len(text) >= _TELLING and text not in found.asked[:-1] else None
    if place is not None and first is not None and place[0] != first[0]:
        yield place, says


def _written(source: str, shown: str) -> str:
    """As much of the beginning of a call as the source has in one piece."""
    while shown and shown not in source:
        shown = shown[:-1]
    return shown


def _message(found: Contradiction) -> str:
    if found.kind == "syntax":
        return f"the system text asks for calls like {found.asked!r}, and the history shows {found.shown!r}"
    if found.kind == "tag":
        return f"the system text has {found.asked!r} behind an example that does not begin with {found.shown!r}"
    what = "the mark" if found.kind == "mark" else "arguments under"
    return f"the system text asks for {what} {found.asked!r}, and the history has {found.shown!r}"
