"""Which cures there are for the findings of a rule: one module a family of edits."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from templatelint.fix.cures import constructs, cue, flow, guards, parts, shapes, whitespace

if TYPE_CHECKING:
    from templatelint.fix.cure import Cure

ALL: tuple[Cure, ...] = (
    *guards.CURES,
    *shapes.CURES,
    *parts.CURES,
    *constructs.CURES,
    *flow.CURES,
    *whitespace.CURES,
    *cue.CURES,
)


@cache
def for_rule(rule: str) -> tuple[Cure, ...]:
    """The cures of that rule's findings, the safe ones first."""
    return tuple(sorted((cure for cure in ALL if rule in cure.rules), key=lambda cure: not cure.safe))
