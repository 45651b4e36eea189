"""Report → text, one module a format: the table of formats and what a writer needs beside the report."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from templatelint.model import SEVERITIES
from templatelint.report.terminal import Paint

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.model import Finding, Report, Severity

FORMATS = {
    "full": "templatelint.report.full",
    "concise": "templatelint.report.concise",
    "json": "templatelint.report.json",
    "jsonl": "templatelint.report.jsonl",
    "sarif": "templatelint.report.sarif",
    "github": "templatelint.report.github",
    "junit": "templatelint.report.junit",
    "markdown": "templatelint.report.markdown",
    "html": "templatelint.report.page.linted",
}


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A reference that gave no model, and why."""

    ref: str
    message: str
    help: str | None = None


@dataclass(frozen=True, slots=True)
class Remark:
    """How a reference was understood, where a reader must know (tokens assumed, which of two was taken)."""

    ref: str
    text: str


@dataclass(frozen=True)
class Setting:
    """What surrounds a report: how the run ended, and how its reader wants it told.

    Attributes:
        exit_code: what the command will return.
        least: the least severity that formats for people show; machine formats carry all.
        replay: flags that a command needs to show a cell of the evidence again (`--bos-token` and the like).
        statistics: count the findings by rule (for people: instead of showing them).
        columns: the width that formats for people keep source lines within.
        fail_on: the least severity that makes the command exit 1.
        answer: what the command has to say in a sentence, where that is more than what was found.
        members: further members that objects for machines have.
    """

    exit_code: int = 0
    unreadable: tuple[Unreadable, ...] = ()
    remarks: tuple[Remark, ...] = ()
    replay: tuple[str, ...] = ()
    least: Severity = "warning"
    quiet: bool = False
    verbose: bool = False
    statistics: bool = False
    paint: Paint = field(default_factory=lambda: Paint(on=False))
    columns: int = 80
    fail_on: Severity = "error"
    answer: str = ""
    members: Mapping[str, Any] = field(default_factory=dict)

    def shows(self, severity: Severity) -> bool:
        """Whether formats for people show findings of that severity."""
        return SEVERITIES.index(severity) <= SEVERITIES.index(self.least)

    def fails(self, severity: Severity) -> bool:
        """Whether findings of that severity make the command exit 1."""
        return SEVERITIES.index(severity) <= SEVERITIES.index(self.fail_on)


class Writer(Protocol):
    """A module of this package."""

    def write(self, report: Report, setting: Setting) -> Iterator[str]:
        """The text in pieces, newlines included."""


def write(name: str, report: Report, setting: Setting) -> Iterator[str]:
    """The report in the format of that name (a key of FORMATS)."""
    return cast("Writer", import_module(FORMATS[name])).write(report, setting)


def statistics(report: Report) -> list[tuple[Finding, int]]:
    """One finding of each rule and severity with how often that occurs, the most frequent first."""
    seen: dict[tuple[str, str], tuple[Finding, int]] = {}
    for finding in report.findings:
        key = (finding.rule, finding.severity)
        first, count = seen.get(key, (finding, 0))
        seen[key] = (first, count + 1)
    return sorted(seen.values(), key=lambda row: (-row[1], row[0].rule))
