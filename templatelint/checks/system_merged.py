"""TL103: the system text is moved into the first user turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import around, positions, stretch, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-system", "chat-turns")


def check(view: View) -> Iterator[Fault]:
    """See whether a user header opens between the system text and the user's."""
    anatomy = turns(view.prompt("chat-turns"), view.case("chat-turns"))
    case, prompt = view.case("chat-system"), view.prompt("chat-system")
    system, user = stretch(prompt, case, "system"), stretch(prompt, case, "user.1")
    header = anatomy.user_header.strip() if anatomy else ""
    if system is None or user is None or not header:
        return
    opened = [at for at in positions(prompt, header) if at < max(system.start, user.start)]
    between = any(min(system.end, user.end) <= at for at in opened)
    if opened and not between:
        where = "after the user's text" if user.end <= system.start else "into the first user turn"
        yield Fault(
            message=f"the system text is moved {where}: {around(prompt, system.start)!r}",
            help="expect the model to weigh it like user text; nothing is lost",
            cases=(case.id,),
            cause=where,
            span=view.mention("'system'", '"system"'),
        )
