"""TL802: what the template does depends on words in a message, on its length, or on the date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import security
from templatelint.model import Fault
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.security import Trigger
    from templatelint.syntax import Syntax
    from templatelint.view import View

CASES: tuple[str, ...] = ()
_LISTED = 3
_WHEN = {
    "words": "where a message says {}",
    "marker": "where a message says {}",
    "length": "where a message is longer or shorter than {} characters",
    "clock": "depending on how the date compares with {}",
    "argument": "where a call's arguments are {}",
    "described": "where a tool's description says {}",
    "name": "where a speaker's name is {}",
    "form": "where the letters of a message are {}",
    "random": "depending on chance",
}
_ASKS = {
    "words": "asks for {}",
    "marker": "asks for {}",
    "length": "compares a length with {}",
    "clock": "compares the date with {}",
    "argument": "asks for {}",
    "described": "asks for {}",
    "name": "asks for {}",
    "form": "asks for {}",
    "random": "draws a lot",
}
_SHOWN = 6
_UNREAD = "the template asks more than can be followed"


def check(view: View) -> Iterator[Fault]:
    """One fault for what depends on words and lengths, one for what depends on the date."""
    syntax = view.syntax
    read = security.read(syntax.source)
    if read.undecided:
        view.missed.append(NoText("", _UNREAD))
    found = read.judged()
    spoken = [trigger for trigger in found if trigger.kind != "clock"]
    spoken.sort(key=lambda trigger: trigger.kind == "length")
    for triggers in (spoken, [trigger for trigger in found if trigger.kind == "clock"]):
        if triggers:
            yield _fault(triggers, syntax)


def _fault(triggers: list[Trigger], syntax: Syntax) -> Fault:
    first = next((trigger for trigger in triggers if trigger.instruction), triggers[0])
    added = first.instruction
    alike = [first, *(trigger for trigger in triggers if trigger is not first and trigger.kind == first.kind)]
    words = list(dict.fromkeys(word for trigger in alike for word in trigger.words))
    does = f"the template writes {_quoted(added[0])}" if added else "the template does something else"
    related = [(syntax.span(added[1]), "writes this")] if added else []
    related += [
        (syntax.span(trigger.node), _ASKS[trigger.kind].format(_listed(trigger.words, trigger.kind)))
        for trigger in triggers
        if trigger is not first
    ]
    return Fault(
        message=f"{_WHEN[first.kind].format(_listed(words, first.kind))}, {does}",
        help="ask the model's maker why, or take their template: one that changes the prompt on what is said may be a "
        "back door",
        cause=f"{first.kind} {' '.join(words[:_LISTED])}",
        span=syntax.span(first.node),
        impact="breaks" if added else None,
        related=tuple(related[:_SHOWN]),
    )


def _listed(words: Sequence[str], kind: str) -> str:
    shown = ", ".join(_quoted(word) if kind != "length" else word for word in words[:_LISTED])
    return shown + (f" and {len(words) - _LISTED} more" if len(words) > _LISTED else "")


def _quoted(text: str) -> str:
    shown = " ".join(text.split())
    return repr(shown if len(shown) <= 60 else shown[:59] + "…")  # noqa: PLR2004 (one line)
