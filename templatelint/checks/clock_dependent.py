"""TL504: the prompt changes with the date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import around, common

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_PLAIN = ("chat-basic", "chat-system", "tools-offer", "tools-offer-system")
CASES = tuple(cell for case_id in _PLAIN for cell in (case_id, f"{case_id}+tomorrow"))


def check(view: View) -> Iterator[Fault]:
    """Render today and tomorrow."""
    dated = [
        (case_id, view.prompt(case_id), view.prompt(f"{case_id}+tomorrow"))
        for case_id in _PLAIN
        if view.renders(case_id) and view.renders(f"{case_id}+tomorrow")
    ]
    dated = [(case_id, today, tomorrow) for case_id, today, tomorrow in dated if today != tomorrow]
    if dated:
        _case_id, today, tomorrow = dated[0]
        at = common(today, tomorrow)
        yield Fault(
            message=f"the prompt changes with the date, first at {around(today, at)!r}",
            help="pass a fixed date in `chat_template_kwargs` where the template takes one, or expect cold caches",
            cases=tuple(cell for case_id, _, _ in dated for cell in (case_id, f"{case_id}+tomorrow")),
            cause="date",
            span=view.mention("strftime_now", "date_string", "datetime"),
        )
