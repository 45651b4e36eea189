"""TL005: the prompt changes where block tags leave their newlines and indentation in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.disagreement import TRIM_CASES, TRIMMED, UNTRIMMED, prompt, trim_cell
from templatelint.model import Fault
from templatelint.reading import around, common
from templatelint.trimming import trimmed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = TRIM_CASES


def check(view: View) -> Iterator[Fault]:
    """Find whitespace that is in every prompt; where there is only other, see whether it is in one of the cases."""
    place = trimmed(view.template.source)
    if place is None or not view.renders("chat-basic"):
        return
    shown = "" if place.always else _difference(view)
    at = view.syntax.offset_of(place.at)
    if place.always or shown:
        yield Fault(
            message="the prompt depends on `trim_blocks` and `lstrip_blocks`: an engine that sets neither (tgi) "
            + (shown or "leaves the line ends and indentation of block tags in"),
            help="end tags in `-%}` and begin them in `{%-` where their line must leave nothing",
            cases=("chat-basic",),
            cause="trim",
            span=(at, at + len("{%")) if place.always else None,
        )


def _difference(view: View) -> str:
    """What the cases show of it, as transformers would render them with and without the two settings."""
    for case_id in CASES:
        usual = prompt(view.matrix, case_id, trim_cell(TRIMMED))
        other = prompt(view.matrix, case_id, trim_cell(UNTRIMMED))
        if usual is not None and other is not None and usual != other:
            at = common(usual, other)
            return f"gives {around(other, at)!r} for {around(usual, at)!r}"
    return ""
