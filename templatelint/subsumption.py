"""Faults of all rules and engines → those that no larger one implies: one cause, one finding.

A card names the rules whose finding makes its own redundant, where that one is told. What the larger finding rests on
decides whether it does:

* a template that does not load implies everything;
* an error implies what fails with that very error, and nothing else: what is refused for a reason of its own, or
  printed, has a cause of its own;
* a loss implies further losses, where nothing of what the larger rule is about works, but no error, and nothing that
  works in part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from templatelint.cards import all_cards

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.model import Card, Fault
    from templatelint.view import View

_NOT_LOADED = "TL001"


@dataclass(frozen=True)
class _Ground:
    """What a fault rests on: the errors of its cells, each with its line, and whether any of them has a prompt."""

    fault: Fault
    errors: frozenset[tuple[str, int | None]]
    prompts: bool

    @staticmethod
    def of(fault: Fault, view: View) -> _Ground:
        cells = [view.matrix.cells.get((view.adapted.get(case_id, case_id), view.engine)) for case_id in fault.cases]
        errors = [cell.error for cell in cells if cell is not None and cell.error is not None]
        return _Ground(fault, frozenset((error.message, error.line) for error in errors), len(errors) < len(cells))

    def implies(self, other: _Ground) -> bool:
        """Whether the other fault follows from this one, where its card says that it can."""
        if other.errors:
            return other.errors <= self.errors
        return self.prompts and self.fault.total and not other.fault.partial


class Told(NamedTuple):
    """A fault of a rule on an engine that is told for itself.

    Attributes:
        implied: faults that follow from it there, with their rules.
    """

    card: Card
    engine: str
    fault: Fault
    implied: tuple[tuple[Card, Fault], ...] = ()


def unsubsumed(faults: Sequence[tuple[Card, str, Fault]], views: Mapping[str, View]) -> list[Told]:
    """Without what follows from a larger fault on the same engine.

    Args:
        faults: card, engine and fault.
        views: what each engine's faults were read off.
    """
    grounds = [(card, engine, _Ground.of(fault, views[engine])) for card, engine, fault in faults]
    told: dict[tuple[str, str], list[_Ground]] = {}
    implied: dict[int, list[tuple[Card, Fault]]] = {}
    # the largest first: what is hidden itself hides nothing
    for card, engine, ground in sorted(grounds, key=lambda entry: _rank(entry[0].id)):
        larger = next(
            (
                one
                for rule in card.subsumed_by
                for one in told.get((rule, engine), ())
                if rule == _NOT_LOADED or one.implies(ground)
            ),
            None,
        )
        if larger is not None:
            implied[id(larger)].append((card, ground.fault))
            continue
        told.setdefault((card.id, engine), []).append(ground)
        implied[id(ground)] = []
    return [
        Told(card, engine, ground.fault, tuple(implied[id(ground)]))
        for card, engine, ground in grounds
        if id(ground) in implied
    ]


@cache
def _rank(rule: str) -> int:
    """How many rules stand above one another over that rule; the cards are known to make no circle."""
    known = all_cards()
    return max((_rank(larger) + 1 for larger in known[rule].subsumed_by if larger in known), default=0)
