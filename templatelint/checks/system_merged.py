"""TL103: the system text is moved into a turn of the user or of the assistant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import MARKER, around, common_header, positions, stretch, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.reading import Turns
    from templatelint.view import View

CASES = ("chat-system", "chat-turns")
_NAMED = re.compile(r"[^\W\d_]{2}")


def check(view: View) -> Iterator[Fault]:
    """See whether a user header opens between the system text and the user's, and what stands before the former."""
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
    elif anatomy is not None and (role := _speaker(anatomy, prompt[: system.start])):
        yield Fault(
            message=f"the system text is written as a turn of the {role}'s own: {around(prompt, system.start)!r}",
            help="write it with the header that the model knows for system messages"
            + (": it reads as what the model itself has said" if role == "assistant" else ""),
            cases=(case.id,),
            cause=f"turn of the {role}",
            span=view.mention("'system'", '"system"'),
            impact="degrades" if role == "assistant" else None,
        )


def _speaker(anatomy: Turns, before: str) -> str:
    """Whose header stands right before the system text; empty where it is no other role's."""
    user, assistant = anatomy.user_header.strip(), anatomy.user_to_assistant.strip()
    if not _NAMED.search(user) or assistant.endswith(user):
        return ""  # nothing in it tells one role from another
    if before.rstrip().endswith(user):
        return "user"
    header = common_header(assistant, before.rstrip()).strip()
    whole = MARKER.match(header) or before.rstrip().removesuffix(header)[-1:] in ("", "\n")  # no end of another header
    return "assistant" if whole and _NAMED.search(header) and not user.endswith(header) else ""
