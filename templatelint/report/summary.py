"""Report → its last lines for people: counts, engines, and what was not run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.model import SEVERITIES
from templatelint.report import statistics
from templatelint.report.terminal import Style, visible, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from templatelint.model import EngineUse, NotRun, Report, Severity
    from templatelint.report import Remark, Setting

_NAMED = 12
_DRIFT = "TL701"
EVERY = "*"  # a rule or reference that stands for all of them: an engine was not run at all
_CASES = re.compile(r"(?P<why>.*) \((?P<cases>[\w.+-]+(?:, [\w.+-]+)*)\)", re.DOTALL)
SEVERITY_STYLES: dict[Severity, Style] = {"error": "red", "warning": "yellow", "note": "blue"}


def counted(count: int, noun: str) -> str:
    """A number with its noun (`1 error`, `2 errors`)."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def table(report: Report, setting: Setting) -> Iterator[str]:
    """`--statistics` for people: count, rule, severity and name, a line each."""
    rows = [(first, count) for first, count in statistics(report) if setting.shows(first.severity)]
    pad = max((len(str(count)) for _, count in rows), default=0)
    for first, count in rows:
        severity = setting.paint(f"{first.severity:<7}", SEVERITY_STYLES[first.severity])
        yield f"{count:>{pad}}  {visible(first.rule)}  {severity}  {visible(first.name)}\n"


def summary(report: Report, setting: Setting) -> Iterator[str]:
    """What was found, with which engines, and what gave no verdict; nothing when quiet."""
    if setting.quiet:
        return
    if setting.verbose:
        yield from not_run_lines(report)
    parts = [_verdict(report, setting)]
    if setting.unreadable:
        parts.append(setting.paint(f"{counted(len(setting.unreadable), 'reference')} not read", "red"))
    if report.suppressed:
        parts.append(f"{len(report.suppressed)} suppressed")
    if report.engines:
        parts.append("engines: " + ", ".join(f"{use.name} {use.version}".strip() for use in report.engines))
    parts.extend(_not_run(report, setting))
    parts.extend(visible(text) for text in _once(remark.text for remark in setting.remarks))
    yield " · ".join(parts) + "\n"


def not_run_lines(report: Report) -> Iterator[str]:
    """A line for each template and reason, which names all rules and cases that it holds for."""
    groups: dict[tuple[str, str], tuple[dict[str, None], dict[str, None]]] = {}
    for row in report.not_run:
        listed = _CASES.fullmatch(row.why) if row.rule != EVERY else None
        rules, cases = groups.setdefault((row.ref, listed["why"] if listed else row.why), ({}, {}))
        rules[row.rule] = None
        if listed:
            cases |= dict.fromkeys(listed["cases"].split(", "))
    for (ref, why), (rules, cases) in groups.items():
        named = ", ".join(rule for rule in rules if rule != EVERY)
        subject = " on ".join(part for part in (named, ref) if part not in ("", EVERY))
        behind = f" ({', '.join(cases)})" if cases else ""
        yield f"not run: {visible(subject)}{': ' if subject else ''}{visible(why + behind)}\n"


def of_cells(row: NotRun) -> bool:
    """Whether it says that some cells could not be judged, rather than that nothing was."""
    return _CASES.fullmatch(row.why) is not None


def _verdict(report: Report, setting: Setting) -> str:
    shown = [
        setting.paint(counted(report.count(severity), severity), SEVERITY_STYLES[severity])
        for severity in SEVERITIES
        if setting.shows(severity) and report.count(severity)
    ]
    hidden = [
        counted(report.count(severity), severity)
        for severity in SEVERITIES
        if not setting.shows(severity) and report.count(severity)
    ]
    flag = "-v" if hidden and setting.least == "warning" else f"--min-severity {_least(report)}"
    hint = f" ({', '.join(hidden)} hidden; {flag} shows {_them(report, setting)})" if hidden else ""
    if shown:
        return ", ".join(shown) + hint
    if not report.templates:
        return f"no template checked{hint}"
    scope = f"{counted(len(report.templates), 'template')}"
    if any(setting.fails(severity) and report.count(severity) for severity in SEVERITIES):
        return f"nothing shown of {scope}" + hint
    partial = setting.unreadable or any(row.ref != EVERY for row in report.not_run)
    partial = partial or any(found.rule == _DRIFT for found in report.findings)  # that two differ is no check passed
    verdict = f"no findings in {scope}" if partial else f"all checks passed: {scope}"
    return setting.paint(verdict, "green") + hint


def _least(report: Report) -> Severity:
    return next(severity for severity in reversed(SEVERITIES) if report.count(severity) or severity == "error")


def _them(report: Report, setting: Setting) -> str:
    hidden = sum(report.count(severity) for severity in SEVERITIES if not setting.shows(severity))
    return "it" if hidden == 1 else "them"


def _not_run(report: Report, setting: Setting) -> Iterator[str]:
    """Engines by reason; checks only counted, since `-v` lists them."""
    engines: dict[str, list[str]] = {}
    checks = 0
    for row in report.not_run:
        name, colon, why = row.why.partition(": ")
        if row.rule == row.ref == EVERY and colon:
            engines.setdefault(why, []).append(name)
        else:
            checks += 1
    for why, names in engines.items():
        yield f"not run: {visible(', '.join(names))} ({visible(why)})"
    if checks:
        yield f"{counted(checks, 'check')} not run" + ("" if setting.verbose else " (-v lists)")


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def footer(
    engines: Iterable[EngineUse], not_run: Iterable[NotRun], remarks: Iterable[Remark], columns: int
) -> Iterator[str]:
    """The last lines: the engines that were asked, those that could not be by reason, and what a reader has to know."""
    parts = ["engines: " + ", ".join(f"{use.name} {use.version}" for use in engines)]
    reasons: dict[str, list[str]] = {}
    for row in not_run:
        reasons.setdefault(row.why, []).append(row.ref)
    parts += [f"not run: {visible(_some(names))} ({visible(why)})" for why, names in reasons.items()]
    parts += dict.fromkeys(visible(remark.text) for remark in remarks)
    yield from (f"{line}\n" for line in wrapped(" · ".join(parts), columns))


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more
