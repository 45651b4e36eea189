"""Report → one line a finding, `path:line:col: severity[rule] message`, and a summary; `#NAME` before the message."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.report.summary import SEVERITY_STYLES, summary, table
from templatelint.report.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Finding, Report
    from templatelint.report import Setting
    from templatelint.report.terminal import Paint


def write(report: Report, setting: Setting) -> Iterator[str]:
    """The lines."""
    if setting.answer:
        yield f"{setting.paint(visible(setting.answer), 'bold')}\n"
    if setting.statistics:
        yield from table(report, setting)
    else:
        for finding in report.findings:
            if setting.shows(finding.severity):
                yield _line(finding, setting.paint)
    yield from summary(report, setting)


def _line(finding: Finding, paint: Paint) -> str:
    place = finding.place
    where = f"{paint(visible(place.path), 'bold')}:{place.line}:{place.column}"
    what = paint(f"{finding.severity}[{visible(finding.rule)}]", SEVERITY_STYLES[finding.severity])
    named = f"#{visible(finding.template)}: " if finding.template not in ("", "default") else ""
    return f"{where}: {what} {named}{visible(finding.message)}\n"
