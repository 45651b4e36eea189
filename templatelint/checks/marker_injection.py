"""TL804: markers in the text of a user or a tool reach the prompt as they are, where engines take them for real."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import message_text
from templatelint.security.markers import composed
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
    case = view.case("markers-in-user")
    said = message_text(case, case.marks["user.1"])
    try:
        passes = said.strip() in view.prompt("markers-in-user")
    except NoText as missing:
        view.missed.append(missing)
        return
    made = composed(view.syntax)
    if not passes or _taken_out(view.template.source, own[-1]):
        return
    also = ""
    if made is not None:
        also = ", and the template puts a marker together of the role that a request gives"
    yield Fault(
        message=f"text of a user or tool can forge a turn: `{own[-1]}` in it reaches the prompt as it is, and the "
        f"engine takes it for the marker{also}",
        help="take the template's markers out of what users and tools send before it gets to the engine",
        cases=view.ids("markers-in-user"),
        cause="forged",
        span=view.syntax.span(made) if made is not None else view.mention(own[-1]),
    )


def _taken_out(source: str, marker: str) -> bool:
    """Whether the template replaces the marker in texts."""
    return re.search(r"replace\s*\(\s*['\"]" + re.escape(marker), source) is not None
