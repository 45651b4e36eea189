"""Report → workflow commands of GitHub Actions: an annotation a finding, errors first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.model import SEVERITIES
from templatelint.report.evidence import grounds, rerun
from templatelint.report.full import where
from templatelint.report.summary import counted, summary, table
from templatelint.report.terminal import Paint, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.model import Finding, Report, Severity
    from templatelint.report import Setting

_COMMANDS: Mapping[Severity, str] = {"error": "error", "warning": "warning", "note": "notice"}
_SHOWN = 10  # annotations of each kind that GitHub keeps of a step: the first ones


def write(report: Report, setting: Setting) -> Iterator[str]:
    """A command a line, then what the summary says for people, which stays in the job's log."""
    for row in setting.unreadable:
        body = row.message + (f"\nhelp: {row.help}" if row.help else "")
        yield _command("error", {"title": f"{row.ref}: not read"}, body)
    for finding in sorted(report.findings, key=lambda finding: SEVERITIES.index(finding.severity)):
        yield _command(_COMMANDS[finding.severity], _properties(finding), _body(finding, setting))
    plain = replace(setting, least="note", paint=Paint(on=False))
    statistics = table(report, plain) if setting.statistics else ()
    for line in (*_left_out(report, setting), *statistics, *summary(report, plain)):
        yield _plain(line)


def _command(name: str, properties: Mapping[str, str | int], body: str) -> str:
    given = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
    return f"::{name} {given}::{_data(body)}\n"


def _properties(finding: Finding) -> dict[str, str | int]:
    place, end = finding.place, finding.end
    title = f"{finding.rule} {finding.name}"
    if not finding.locatable:
        return {"file": place.path, "title": title}
    lines: dict[str, str | int] = {"line": place.line}
    if finding.span is not None:
        lines["endLine"] = end.line
        if end.line == place.line:  # columns mean nothing over several lines
            lines |= {"col": place.column, "endColumn": end.column}
    return {"file": place.path, **lines, "title": title}


def _body(finding: Finding, setting: Setting) -> str:
    """What the annotation says; the log shows none of the properties, so the place is said again."""
    lines = [finding.message, where(finding)]
    lines += [
        f"{other.message}: {other.place.path}:{other.place.line}:{other.place.column}" for other in finding.related
    ]
    lines += grounds(finding)
    if command := rerun(finding, setting.replay):
        lines.append(f"see it: {command}")
    if finding.help:
        lines.append(f"help: {finding.help}")
    return "\n".join(map(visible, lines))


def _left_out(report: Report, setting: Setting) -> Iterator[str]:
    """What GitHub will not annotate."""
    counts = [counted(report.count(severity), severity) for severity in SEVERITIES if report.count(severity) > _SHOWN]
    if counts and not setting.quiet:
        yield f"GitHub annotates the first {_SHOWN} of each kind in a step; this log has all: {', '.join(counts)}\n"


def _data(text: str) -> str:
    return "\n".join(map(visible, text.split("\n"))).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(visible(text)).replace(":", "%3A").replace(",", "%2C")


def _plain(line: str) -> str:
    """A line without a command of the old form, which is found anywhere in it; our own words keep it from the new."""
    return line.replace("##[", "## [")
