"""A suppression that accepts nothing → the finding that says so."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint import cards
from templatelint.lint import fingerprint
from templatelint.model import SEVERITIES, Finding, Place
from templatelint.suppress.scope import UNUSED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.model import Report, Severity


def finding(  # noqa: PLR0913 (what a finding consists of)
    message: str,
    cure: str,
    ref: str,
    place: Place,
    weight: Severity,
    *,
    cause: str,
    template: str = "",
) -> Finding:
    """TL010 about what stands at a place.

    Args:
        message: what accepts nothing.
        cure: what to do about it.
        ref: the reference, or the file that holds the suppression.
        place: where it stands.
        weight: how much it weighs.
        cause: what tells it from others in the file.
        template: the name of the template that it is in.
    """
    card = cards.get(UNUSED)
    return Finding(
        rule=card.id,
        name=card.name,
        severity=weight,
        message=message,
        help=cure,
        ref=ref,
        template=template,
        place=place,
        end=place,
        engines=(),
        needs=(card.need,),
        evidence=(),
        fingerprint=fingerprint(card.id, template, cause),
    )


def place_of(path: str, text: str, *words: str) -> Place:
    """Where the first of the words that stands in a text file is, or the file's start."""
    at = next((found for found in map(text.find, words) if found >= 0), 0)
    line = text.count("\n", 0, at) + 1
    return Place(path, line, at - text.rfind("\n", 0, at))


def among(report: Report, added: Sequence[Finding]) -> Report:
    """The report with further findings, each beside those of its template, in their order."""
    if not added:
        return report
    groups: dict[str, list[Finding]] = {}
    for found in (*report.findings, *added):
        groups.setdefault(found.ref, []).append(found)
    for ref in {found.ref for found in added}:
        groups[ref].sort(key=_order)
    return replace(report, findings=tuple(found for group in groups.values() for found in group))


def _order(found: Finding) -> tuple[int, int, str]:
    return SEVERITIES.index(found.severity), found.place.line, found.rule
