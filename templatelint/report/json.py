"""Report → one JSON object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from templatelint import __version__
from templatelint.model import SEVERITIES
from templatelint.report import statistics

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Finding, NotRun, Report, Suppressed
    from templatelint.report import Setting


def write(report: Report, setting: Setting) -> Iterator[str]:
    """The object, indented."""
    body = {
        **head(report),
        "findings": [finding_object(finding) for finding in report.findings],
        "suppressed": [suppressed_object(row) for row in report.suppressed],
        "not_run": [not_run_object(row) for row in report.not_run],
        **tail(report, setting),
    }
    # ASCII only: no control, bidirectional or half character leaves as itself, whatever reads this
    yield json.dumps(body, indent=2)
    yield "\n"


def head(report: Report) -> dict[str, Any]:
    """Who judged what."""
    return {
        "version": 1,
        "tool": {"name": "templatelint", "version": __version__},
        "engines": [
            {"name": use.name, "renderer": use.renderer, "version": use.version, "emulated": use.emulated}
            for use in report.engines
        ],
        "templates": [
            {"ref": use.ref, "name": use.name, "path": use.path, "sha256": use.sha256} for use in report.templates
        ],
    }


def tail(report: Report, setting: Setting) -> dict[str, Any]:
    """How the run ended."""
    body: dict[str, Any] = {
        **setting.members,
        "unreadable": [{"ref": row.ref, "message": row.message, "help": row.help} for row in setting.unreadable],
        "remarks": [{"ref": row.ref, "message": row.text} for row in setting.remarks],
        "summary": {severity: report.count(severity) for severity in SEVERITIES},
        "exit_code": setting.exit_code,
    }
    if setting.statistics:
        body["statistics"] = [
            {"rule": first.rule, "name": first.name, "severity": first.severity, "count": count}
            for first, count in statistics(report)
        ]
    return body


def finding_object(finding: Finding) -> dict[str, Any]:
    """A finding under the names of the contract."""
    return {
        "rule": finding.rule,
        "name": finding.name,
        "severity": finding.severity,
        "message": finding.message,
        "help": finding.help,
        "ref": finding.ref,
        "template": finding.template,
        "path": finding.place.path,
        "line": finding.place.line,
        "column": finding.place.column,
        "end_line": finding.end.line,
        "end_column": finding.end.column,
        "engines": list(finding.engines),
        "needs": list(finding.needs),
        "evidence": [{"case": case, "engine": engine} for case, engine in finding.evidence],
        "related": [
            {
                "message": other.message,
                "path": other.place.path,
                "line": other.place.line,
                "column": other.place.column,
                "end_line": other.end.line,
                "end_column": other.end.column,
            }
            for other in finding.related
        ],
        "fingerprint": finding.fingerprint,
    }


def suppressed_object(row: Suppressed) -> dict[str, Any]:
    """An accepted finding, with what accepts it and why."""
    place = row.place and {"path": row.place.path, "line": row.place.line, "column": row.place.column}
    return {
        **finding_object(row.finding),
        "suppression": {"kind": row.kind, "reason": row.reason, "place": place},
    }


def not_run_object(row: NotRun) -> dict[str, str]:
    """A check without a verdict under the names of the contract."""
    return {"rule": row.rule, "ref": row.ref, "why": row.why}
