"""TL804: markers in the text of a user or a tool reach the prompt as they are, where engines take them for real."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import message_text
from templatelint.security.markers import composed, removed, survivor
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-basic", "markers-in-user")

_MARKER = re.compile(r"<[|｜]?[/\w▁-]+[|｜]?>|\[/?[A-Z][A-Z_]*\]")


def check(view: View) -> Iterator[Fault]:
    """Send a text full of markers; then look for markers of which a request chooses a part."""
    asked = view.case("chat-basic")
    text = message_text(asked, asked.marks["user.1"])
    prompt = view.prompt("chat-basic")
    before = prompt.partition(text)[0] if text in prompt else ""
    own = list(dict.fromkeys(_MARKER.findall(before)))
    if not own:
        return  # turns that no marker begins are plain text to every tokenizer
    marker = own[-1]
    try:
        passes = _passes(view, marker)
    except NoText as missing:
        view.missed.append(missing)
        return
    made = composed(view.syntax)
    nested = "" if passes else survivor(view.syntax, marker)
    if not passes and not nested:
        return
    also = ""
    if made is not None:
        also = ", and the template puts a marker together of the role that a request gives"
    how = f"`{nested}` in it reaches the prompt as that" if nested else f"`{marker}` in it reaches the prompt as it is"
    yield Fault(
        message=f"text of a user or tool can forge a turn: {how}, and the engine takes it for the marker{also}",
        help="take the template's markers out of what users and tools send before it gets to the engine, or break them "
        "with a character: what is deleted once can be nested",
        cases=view.ids("markers-in-user"),
        cause="forged",
        span=view.syntax.span(made) if made is not None else view.mention(marker),
    )


def _passes(view: View, marker: str) -> bool:
    """Whether the marker is still there in what becomes of a text that holds it."""
    case, prompt = view.case("markers-in-user"), view.prompt("markers-in-user")
    said = message_text(case, case.marks["user.1"])
    if marker not in said:  # the corpus cannot spell out every template's: where others pass, this one does
        return said.strip() in prompt and not removed(view.syntax, marker)
    between = prompt.rpartition(case.marks["user.1.3"])[0].partition(case.marks["user.1"])[2]
    return marker in between
