"""Report → pages for people: message, place, source line with caret, evidence, how to see it again, cure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.report.evidence import grounds, rerun
from templatelint.report.excerpt import excerpt
from templatelint.report.summary import SEVERITY_STYLES, summary, table
from templatelint.report.terminal import visible, width

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Finding, Report
    from templatelint.report import Setting


def write(report: Report, setting: Setting) -> Iterator[str]:
    """The pages, an empty line behind each, and a summary."""
    if setting.statistics:
        yield from table(report, setting)
    else:
        for finding in report.findings:
            if setting.shows(finding.severity):
                yield from page(finding, setting)
                yield "\n"
    yield from summary(report, setting)


def page(finding: Finding, setting: Setting) -> Iterator[str]:
    """The lines about one finding."""
    paint = setting.paint
    label = paint(f"{finding.severity}[{visible(finding.rule)}]", SEVERITY_STYLES[finding.severity])
    yield f"{label} {visible(finding.name)}: {paint(visible(finding.message), 'bold')}\n"
    gutter = " " * len(str(finding.excerpt_line or ""))
    yield f"{gutter} {paint('-->', 'blue')} {where(finding)}\n"
    yield from _source(finding, gutter, setting)
    note = f"{gutter} {paint('=', 'blue')} "
    for other in finding.related:
        place = f"{visible(other.place.path)}:{other.place.line}:{other.place.column}"
        aside = f" (template, line {other.line})" if other.line != other.place.line else ""
        yield f"{note}{visible(other.message)}: {place}{aside}\n"
    for line in grounds(finding):
        yield f"{note}{visible(line)}\n"
    if command := rerun(finding, setting.replay):
        yield f"{note}see it: {paint(visible(command), 'bold')}\n"
    if finding.help:
        yield f"{paint('help:', 'cyan')} {visible(finding.help)}\n"


def where(finding: Finding) -> str:
    """The place in the real file, and in the template where that has lines of its own; visible."""
    place = finding.place
    there = f"{visible(place.path)}:{place.line}:{place.column}"
    template = f'template "{visible(finding.template)}"' if "#" in finding.ref else "template"
    if finding.span and finding.excerpt_line != place.line:
        return f"{there} ({template}, line {finding.excerpt_line})"
    return there if template == "template" else f"{there} ({template})"


def _source(finding: Finding, gutter: str, setting: Setting) -> Iterator[str]:
    """The source line with a caret under the construct."""
    found = excerpt(finding, setting.columns - len(gutter) - 4)
    if found is None:
        return
    before, marked, after = found
    paint = setting.paint
    bar = paint("|", "blue")
    caret = paint("^" * max(1, width(marked)), SEVERITY_STYLES[finding.severity])
    yield f"{gutter} {bar}\n"
    yield f"{paint(str(finding.excerpt_line), 'blue')} {bar} {(before + marked + after).rstrip()}\n"
    yield f"{gutter} {bar} {' ' * width(before)}{caret}\n"
