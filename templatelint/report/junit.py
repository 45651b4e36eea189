"""Report → JUnit XML: a suite a template, a case a finding; what fails is what makes the command exit 1."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.report.full import page
from templatelint.report.junit_xml import TOOL, Case, Suite, document
from templatelint.report.summary import EVERY, table
from templatelint.report.terminal import Paint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Finding, NotRun, Report
    from templatelint.report import Setting

_COLUMNS = 100  # of a source line


def write(report: Report, setting: Setting) -> Iterator[str]:
    """The document; suites in the order of the templates, what belongs to none of them last."""
    suites = _suites(report, replace(setting, paint=Paint(on=False), columns=_COLUMNS))
    if setting.statistics:
        about = next(suite for suite in suites if suite.name == TOOL)
        about.said = "".join(table(report, setting))
    yield from document(suites)


# ------------------------------------------------------------------------------------------------ the cases


def _suites(report: Report, setting: Setting) -> list[Suite]:
    suites = {use.ref: Suite(use.ref, use.path) for use in report.templates}

    def about(ref: str) -> list[Case]:
        return suites.setdefault(ref, Suite(ref)).cases

    for finding, name in _named(report.findings):
        about(finding.ref).append(_judged(finding, name, setting))
    for suite in suites.values():
        if not suite.cases:
            suite.cases.append(Case("no findings"))
    for row in report.suppressed:
        why = f"suppressed ({row.kind}){f': {row.reason}' if row.reason else ''}"
        title = f"{_title(row.finding)} (suppressed)"
        about(row.finding.ref).append(Case(title, "skipped", row.kind, why, "".join(page(row.finding, setting))))
    for ref, case in _not_run(report.not_run):
        about(ref).append(case)
    for trouble in setting.unreadable:
        text = trouble.message + (f"\nhelp: {trouble.help}" if trouble.help else "")
        about(trouble.ref).append(Case("read", "error", "unreadable", trouble.message, text))
    if setting.statistics:
        about(TOOL)
    return [*suites.values()]


def _title(finding: Finding) -> str:
    return f"{finding.rule} {finding.name}"


def _named(findings: Sequence[Finding]) -> Iterator[tuple[Finding, str]]:
    """Each with a name that stays from run to run; the message is part of it only where a rule says several things."""
    seen: dict[tuple[str, str], int] = {}
    for finding in findings:
        key = (finding.ref, finding.rule)
        seen[key] = seen.get(key, 0) + 1
    for finding in findings:
        alone = seen[finding.ref, finding.rule] == 1
        yield finding, _title(finding) if alone else f"{_title(finding)}: {finding.message}"


def _judged(finding: Finding, name: str, setting: Setting) -> Case:
    text = "".join(page(finding, setting))
    if setting.fails(finding.severity):
        return Case(name, "failure", finding.severity, finding.message, text)
    return Case(name, text=text)


def _not_run(rows: Sequence[NotRun]) -> Iterator[tuple[str, Case]]:
    """A case for each rule that did not run on a template, and for each engine that took no part."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.rule == row.ref == EVERY:
            engine, _, why = row.why.partition(": ")
            yield TOOL, Case(f"{engine} not run", "skipped", "not-run", why or row.why)
        else:
            groups.setdefault((row.ref, row.rule), []).append(row.why)
    for (ref, rule), whys in groups.items():
        subject = "rules" if rule == EVERY else rule
        case = Case(f"{subject} not run", "skipped", "not-run", whys[0], "\n".join(whys) if len(whys) > 1 else "")
        yield (TOOL if ref == EVERY else ref), case
