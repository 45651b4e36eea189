"""Impact × need × engines → severity: the three sentences of the rule catalogue."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from templatelint.model import Impact, Severity

ALWAYS_ON = frozenset({"chat", "system"})


@dataclass(frozen=True)
class Stance:
    """What the user relies on, and where.

    Attributes:
        needs: the needs that are on.
        engines: the engines asked for that could run.
        named: the user named them; otherwise they are the default set.
        asked: the user listed the needs; otherwise they follow from what the template shows.
    """

    needs: AbstractSet[str]
    engines: AbstractSet[str]
    named: bool
    asked: bool


def severity(impact: Impact, need: str, hit: AbstractSet[str], stance: Stance) -> Severity:
    """How much a fault weighs that `hit` these engines."""
    if impact == "informs" or need not in stance.needs:
        return "note"
    if impact == "degrades":
        return "warning"
    decisive = bool(hit & stance.engines) if stance.named else hit >= stance.engines
    return "error" if decisive else "warning"


def of_impact(impact: Impact) -> Severity:
    """How much a fault weighs in what the user relies on, on the one engine that there is."""
    weights: dict[Impact, Severity] = {"breaks": "error", "degrades": "warning", "informs": "note"}
    return weights[impact]
