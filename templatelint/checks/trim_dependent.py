"""TL005: the prompt changes where block tags leave their newlines and indentation in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.disagreement import TRIM_CASES, TRIMMED, UNTRIMMED, prompt, trim_cell
from templatelint.model import Fault
from templatelint.reading import around, common

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = TRIM_CASES


def check(view: View) -> Iterator[Fault]:
    """Compare transformers' prompts with those that it would give without the two settings."""
    for case_id in CASES:
        trimmed = prompt(view.matrix, case_id, trim_cell(TRIMMED))
        untrimmed = prompt(view.matrix, case_id, trim_cell(UNTRIMMED))
        if trimmed is not None and untrimmed is not None and trimmed != untrimmed:
            at = common(trimmed, untrimmed)
            yield Fault(
                message=(
                    "the prompt depends on `trim_blocks` and `lstrip_blocks`: "
                    f"an engine that sets neither (tgi) gives {around(untrimmed, at)!r} for {around(trimmed, at)!r}"
                ),
                help="end tags in `-%}` and begin them in `{%-` where their line must leave nothing",
                cases=(case_id,),
                cause="trim",
            )
            return
