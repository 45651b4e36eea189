"""Report → JUnit XML: a suite a template, a case a finding; what fails is what makes the command exit 1."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal
from xml.sax.saxutils import escape, quoteattr

from templatelint.report.full import page
from templatelint.report.summary import EVERY, table
from templatelint.report.terminal import Paint, visible, visible_block

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.model import Finding, NotRun, Report
    from templatelint.report import Setting

_TOOL = "templatelint"  # the suite of what belongs to no template
_NAME = 240  # characters
_COLUMNS = 100  # of a source line
_NO_CHARACTER = re.compile("[\ufffe\uffff]")

Outcome = Literal["passed", "failure", "error", "skipped"]


@dataclass(frozen=True)
class _Case:
    """A test case: what it says of itself in a line, and in full."""

    name: str
    outcome: Outcome = "passed"
    kind: str = ""
    message: str = ""
    text: str = ""


@dataclass
class _Suite:
    """The cases about one reference."""

    name: str
    file: str = ""
    cases: list[_Case] = field(default_factory=list)

    def count(self, outcome: Outcome) -> int:
        return sum(case.outcome == outcome for case in self.cases)


def write(report: Report, setting: Setting) -> Iterator[str]:
    """The document; suites in the order of the templates, what belongs to none of them last."""
    suites = _suites(report, replace(setting, paint=Paint(on=False), columns=_COLUMNS))
    everything: dict[str, str | int] = {"name": _TOOL, "tests": sum(len(suite.cases) for suite in suites)}
    everything |= {name: sum(suite.count(outcome) for suite in suites) for name, outcome in _COUNTED.items()}
    yield f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites{_attributes(everything)}>\n'
    for suite in suites:
        yield from _suite(suite, setting.statistics and suite.name == _TOOL and table(report, setting))
    yield "</testsuites>\n"


_COUNTED: Mapping[str, Outcome] = {"failures": "failure", "errors": "error"}


# ------------------------------------------------------------------------------------------------ the cases


def _suites(report: Report, setting: Setting) -> list[_Suite]:
    suites = {use.ref: _Suite(use.ref, use.path) for use in report.templates}

    def about(ref: str) -> list[_Case]:
        return suites.setdefault(ref, _Suite(ref)).cases

    for finding, name in _named(report.findings):
        about(finding.ref).append(_judged(finding, name, setting))
    for suite in suites.values():
        if not suite.cases:
            suite.cases.append(_Case("no findings"))
    for row in report.suppressed:
        why = f"suppressed ({row.kind}){f': {row.reason}' if row.reason else ''}"
        title = f"{_title(row.finding)} (suppressed)"
        about(row.finding.ref).append(_Case(title, "skipped", row.kind, why, "".join(page(row.finding, setting))))
    for ref, case in _not_run(report.not_run):
        about(ref).append(case)
    for trouble in setting.unreadable:
        text = trouble.message + (f"\nhelp: {trouble.help}" if trouble.help else "")
        about(trouble.ref).append(_Case("read", "error", "unreadable", trouble.message, text))
    if setting.statistics:
        about(_TOOL)
    return [replace(suite, cases=_told_apart(suite.cases)) for suite in suites.values()]


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


def _judged(finding: Finding, name: str, setting: Setting) -> _Case:
    text = "".join(page(finding, setting))
    if setting.fails(finding.severity):
        return _Case(name, "failure", finding.severity, finding.message, text)
    return _Case(name, text=text)


def _not_run(rows: Sequence[NotRun]) -> Iterator[tuple[str, _Case]]:
    """A case for each rule that did not run on a template, and for each engine that took no part."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        if row.rule == row.ref == EVERY:
            engine, _, why = row.why.partition(": ")
            yield _TOOL, _Case(f"{engine} not run", "skipped", "not-run", why or row.why)
        else:
            groups.setdefault((row.ref, row.rule), []).append(row.why)
    for (ref, rule), whys in groups.items():
        subject = "rules" if rule == EVERY else rule
        case = _Case(f"{subject} not run", "skipped", "not-run", whys[0], "\n".join(whys) if len(whys) > 1 else "")
        yield (_TOOL if ref == EVERY else ref), case


def _told_apart(cases: Sequence[_Case]) -> list[_Case]:
    """Without two of one name: readers take the first of these and drop the others."""
    seen: dict[str, int] = {}
    told = []
    for case in cases:
        name = visible(case.name)
        name = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
        seen[name] = seen.get(name, 0) + 1
        told.append(replace(case, name=name if seen[name] == 1 else f"{name} ({seen[name]})"))
    return told


# -------------------------------------------------------------------------------------------------- the XML


def _suite(suite: _Suite, statistics: Iterator[str] | bool) -> Iterator[str]:
    counts = {name: suite.count(outcome) for name, outcome in {**_COUNTED, "skipped": "skipped"}.items()}
    file = {"file": suite.file} if suite.file else {}
    yield f"  <testsuite{_attributes({'name': suite.name, 'tests': len(suite.cases), **counts, **file})}>\n"
    for case in suite.cases:
        yield f"    <testcase{_attributes({'classname': suite.name, 'name': case.name})}"
        yield from _inside(case)
    if statistics and not isinstance(statistics, bool):
        yield f"    <system-out>{_text(''.join(statistics))}</system-out>\n"
    yield "  </testsuite>\n"


def _inside(case: _Case) -> Iterator[str]:
    if case.outcome != "passed":
        yield f">\n      <{case.outcome}{_attributes({'type': case.kind, 'message': case.message})}>"
        yield f"{_text(case.text)}</{case.outcome}>\n    </testcase>\n"
    elif case.text:
        yield f">\n      <system-out>{_text(case.text)}</system-out>\n    </testcase>\n"
    else:
        yield "/>\n"


def _attributes(values: Mapping[str, str | int]) -> str:
    return "".join(f" {name}={quoteattr(_carried(visible(str(value))))}" for name, value in values.items())


def _text(text: str) -> str:
    return escape(_carried(visible_block(text)))


def _carried(text: str) -> str:
    """What XML can carry of it: besides control and half characters, two code points are none."""
    return _NO_CHARACTER.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
