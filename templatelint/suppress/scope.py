"""A report and what was asked → which rules were really judged, and where: only there can something be unused."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from templatelint import cards

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from templatelint.model import Report, Severity

UNUSED = "TL010"
DRIFT = "TL701"
_EVERY = "*"


@dataclass(frozen=True)
class Scope:
    """What a run judged.

    Attributes:
        report: before anything is set apart.
        rules: ids of those that were selected.
        whole: every engine that the project asks took part; what shows on one of them alone would have been seen.
        weight: how much a suppression weighs that accepts nothing.
        silenced: ids of rules that were judged and not told: what they hide is not told either.
        compared: the references that were compared with the model that they override.
    """

    report: Report = field(repr=False)
    rules: AbstractSet[str]
    whole: bool
    weight: Severity
    silenced: AbstractSet[str] = frozenset()
    compared: AbstractSet[str] = frozenset()

    @cached_property
    def engines(self) -> frozenset[str]:
        """Those that took part."""
        return frozenset(use.name for use in self.report.engines)

    @property
    def tells(self) -> bool:
        """Whether suppressions that accept nothing are to be told at all."""
        return UNUSED in self.rules

    @cached_property
    def _gaps(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """Rule and reference → engines on which there was no verdict, or not a whole one."""
        gaps: dict[tuple[str, str], set[str]] = {}
        for row in self.report.not_run:
            gaps.setdefault((row.rule, row.ref), set()).add(row.why.partition(": ")[0])
        return {key: frozenset(names) for key, names in gaps.items()}

    @cached_property
    def _fired(self) -> Mapping[tuple[str, str], frozenset[str]]:
        """Rule and reference → engines on which it found something."""
        fired: dict[tuple[str, str], set[str]] = {}
        for finding in self.report.findings:
            fired.setdefault((finding.rule, finding.ref), set()).update(finding.engines)
        return {key: frozenset(names) for key, names in fired.items()}

    def judged(self, rule: str, ref: str, engines: AbstractSet[str] | None = None) -> bool:
        """Whether that rule would have spoken of that template, had it had something to say.

        Args:
            rule: its id.
            ref: the template.
            engines: on these; None for all that the project asks.
        """
        if rule not in self.rules or (rule == DRIFT and ref not in self.compared):
            return False
        if engines is None and not self.whole:
            return False
        asked = self.engines if engines is None else engines
        unasked = asked - self.engines
        gaps = {name for key in ((rule, ref), (_EVERY, ref)) for name in self._gaps.get(key, ())}
        larger = cards.all_cards()[rule].subsumed_by
        hidden = {name for above in larger for name in self._fired.get((above, ref), ())}
        return not (unasked or asked & (gaps | hidden) or self.silenced & set(larger))
