"""A template's source → what a tool finds in it, as values that can be compared before and after an edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint import lint
from templatelint.model import Model, Origin, Template
from templatelint.sources.file import ASSUMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from templatelint.model import Report

_WEIGHT = {"error": 2, "warning": 1, "note": 0}


@dataclass(frozen=True)
class Found:
    """One finding.

    Attributes:
        rule: id of the rule, or name of the property.
        cause: what makes it the same finding, beside the rule.
        weight: 2 for an error, 1 for a warning, 0 for a note.
        engines: where it holds; empty where the tool knows no engines.
        message: for people.
    """

    rule: str
    cause: str
    weight: int
    message: str
    engines: frozenset[str] = frozenset()

    def repeats(self, other: Found) -> bool:
        """Whether the other one says as much, for every engine."""
        return (
            (self.rule, self.cause) == (other.rule, other.cause)
            and self.weight <= other.weight
            and self.engines <= other.engines
        )


def templatelint(source: str, needs: tuple[str, ...] = ()) -> list[Found]:
    """What `lint` reports on the default engines, under the default needs and where these are on too."""
    template = Template("default", source, Origin("chat_template.jinja", source))
    options = lint.Options(jobs=1, needs=("chat", "system", "tools", *needs) if needs else None)
    report = lint.lint([Model("chat_template.jinja", "file", (template,), ASSUMED)], options)
    crashes = [f"{gap.rule} {gap.why}" for gap in report.not_run if "the rule crashed" in gap.why]
    return [
        *(Found("crash", crash, 0, crash) for crash in crashes),
        *_told(report),
    ]


def _told(report: Report) -> Iterator[Found]:
    yield from (
        Found(
            finding.rule,
            finding.fingerprint,
            _WEIGHT[finding.severity],
            f"{finding.severity} {finding.rule} {finding.message} ({', '.join(finding.engines)})",
            frozenset(finding.engines),
        )
        for finding in report.findings
    )


def chatlint(source: str, _: tuple[str, ...] = ()) -> list[Found]:
    """What `chatlint check` reports: a finding is a property that a conversation of its own does not have.

    It has errors and warnings only, and knows no needs.
    """
    from chatlint.check import check
    from chatlint.render import Template as Theirs

    report = check(Theirs("chat_template", source))
    return [
        Found(result.prop, result.shape, _WEIGHT[tier], f"{tier} {result.prop} {result.shape}")
        for tier, results in (("error", report.errors), ("warning", report.warnings))
        for result in results
    ]


def new(before: Iterable[Found], after: Iterable[Found]) -> list[Found]:
    """The findings that were not there before the edit."""
    known: dict[tuple[str, str], list[Found]] = {}
    for found in before:
        known.setdefault((found.rule, found.cause), []).append(found)
    return [found for found in after if not any(map(found.repeats, known.get((found.rule, found.cause), ())))]
