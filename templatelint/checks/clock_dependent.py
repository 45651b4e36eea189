"""TL504: the prompt changes with the date, or tells one that stands still."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.cases import DAY, FIXED_NOW
from templatelint.model import Fault
from templatelint.reading import around, common

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_PLAIN = ("chat-basic", "chat-system", "tools-offer", "tools-offer-system")
CASES = tuple(cell for case_id in _PLAIN for cell in (case_id, f"{case_id}+tomorrow"))

# 26 Jul 2024, July 26, 2024, 2024-07-26: behind words that call it today's
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_TODAY = re.compile(
    r"\b(?:to-?day|current date|now)\b[^\n\d]{0,24}?"
    rf"(?P<date>\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? \d{{4}}|{_MONTH} \d{{1,2}},? \d{{4}}|\d{{4}}-\d\d-\d\d)",
    re.IGNORECASE,
)


def check(view: View) -> Iterator[Fault]:
    """Render today and tomorrow; where that makes no difference, look for a date that is said to be today's."""
    dated = [
        (case_id, view.prompt(case_id), view.prompt(f"{case_id}+tomorrow"))
        for case_id in _PLAIN
        if view.renders(case_id) and view.renders(f"{case_id}+tomorrow")
    ]
    dated = [(case_id, today, tomorrow) for case_id, today, tomorrow in dated if today != tomorrow]
    if dated:
        _case_id, today, tomorrow = dated[0]
        at = common(today, tomorrow)
        unit = _unit(tomorrow)
        yield Fault(
            message=f"the prompt changes with the {unit}, first at {around(today, at)!r}",
            help="pass a fixed date in `chat_template_kwargs` where the template takes one, or expect cold caches"
            if unit == "date"
            else "write the date without the time of day: no prefix is found in the cache again",
            cases=tuple(cell for case_id, _, _ in dated for cell in (case_id, f"{case_id}+tomorrow")),
            cause=unit,
            span=view.mention("strftime_now", "date_string", "datetime"),
            impact=None if unit == "date" else "breaks",
        )
        return
    for case_id in _PLAIN:
        if view.renders(case_id) and (told := _TODAY.search(view.prompt(case_id))):
            yield Fault(
                message=f"the prompt calls {told['date']} today's date whenever it is rendered: {told[0]!r}",
                help="pass the date in `chat_template_kwargs` where the template takes one, or leave it out",
                cases=(case_id,),
                cause="frozen",
                span=view.mention(told["date"]),
            )
            return


def _unit(prompt: str) -> str:
    """What the prompt of the later clock changes with at the soonest."""
    later = FIXED_NOW + DAY
    found = re.search(rf"(?<!\d)(?:{later:%H}|0?{later.hour % 12}):{later:%M}(?P<seconds>:{later:%S})?", prompt)
    if found is None:
        return "date"
    return "second" if found["seconds"] else "minute"
