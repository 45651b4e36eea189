"""Report → Markdown for a comment on a pull request or a job's summary: counts, then a compact item a finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import SEVERITIES
from templatelint.report import statistics
from templatelint.report.evidence import rerun
from templatelint.report.full import where
from templatelint.report.markdown_text import ROOM, code, cut, fitting, folded, inert, prose
from templatelint.report.summary import counted, not_run_lines
from templatelint.report.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Finding, Report
    from templatelint.report import Setting

_SHARE = 6_000  # characters of what stands beside the findings
_ROWS = 25  # templates that the table names
_REF, _GAP = 120, 240  # characters of a name in the table, and of a line at the end
_REMARKS = 8


def write(report: Report, setting: Setting) -> Iterator[str]:
    """The text; what is less severe than asked for, or finds no room, is folded away or counted."""
    head = foot = ""
    if not setting.quiet:
        answer = [f"{prose(setting.answer)}\n\n"] if setting.answer else []
        head = f"### templatelint: {_verdict(report)}\n\n" + "".join((*answer, *_troubles(setting), *_table(report)))
        foot = "".join(_foot(report, setting))
    yield head
    if setting.statistics:
        yield from _statistics(report, setting)
    else:
        yield from _findings(report, setting, ROOM - len(head) - len(foot))
    yield foot


def _verdict(report: Report) -> str:
    told = [counted(report.count(severity), severity) for severity in SEVERITIES if report.count(severity)]
    scope = counted(len(report.templates), "template")
    if told:
        return f"{', '.join(told)} in {scope}"
    return f"no findings in {scope}" if report.templates else "no template checked"


def _troubles(setting: Setting) -> Iterator[str]:
    lines = [
        f"- **not read**: {prose(row.message)}{f' ({prose(row.help)})' if row.help else ''}\n"
        for row in setting.unreadable
    ]
    if lines:
        yield from fitting(lines, _SHARE)
        yield "\n"


# --------------------------------------------------------------------------------------------- the counts


def _table(report: Report) -> Iterator[str]:
    """A row for each template that has findings, those with the most errors first."""
    rows: dict[str, list[int]] = {}
    for finding in report.findings:
        counts = rows.setdefault(finding.ref, [0] * len(SEVERITIES))
        counts[SEVERITIES.index(finding.severity)] += 1
    if not rows:
        return
    ranked = sorted(rows.items(), key=lambda row: [-count for count in row[1]])
    yield f"| template | {' | '.join(f'{severity}s' for severity in SEVERITIES)} |\n|---|{'--:|' * len(SEVERITIES)}\n"
    for ref, counts in ranked[:_ROWS]:
        name = inert(visible(cut(ref, _REF)))
        yield f"| <code>{name}</code> | {' | '.join(str(count or '') for count in counts)} |\n"
    if rest := ranked[_ROWS:]:
        totals = [sum(counts[at] for _, counts in rest) for at in range(len(SEVERITIES))]
        yield f"| {len(rest)} more | {' | '.join(str(count or '') for count in totals)} |\n"
    if clean := sum(use.ref not in rows for use in report.templates):
        yield f"| {counted(clean, 'template')} without findings |{' |' * len(SEVERITIES)}\n"
    yield "\n"


def _statistics(report: Report, setting: Setting) -> Iterator[str]:
    rows = [(first, count) for first, count in statistics(report) if setting.shows(first.severity)]
    if rows:
        yield "| count | rule | severity | name |\n|--:|---|---|---|\n"
        for first, count in rows:
            yield f"| {count} | {prose(first.rule)} | {first.severity} | {prose(first.name)} |\n"
        yield "\n"


# ------------------------------------------------------------------------------------------- the findings


def _findings(report: Report, setting: Setting, room: int) -> Iterator[str]:
    ordered = sorted(report.findings, key=lambda finding: SEVERITIES.index(finding.severity))
    shown = [_item(finding, setting) for finding in ordered if setting.shows(finding.severity)]
    told = [*fitting(shown, room)]
    yield from told
    if told:
        yield "\n"
    below = [finding for finding in ordered if not setting.shows(finding.severity)]
    if not below or setting.quiet:
        return
    counts = [(severity, sum(one.severity == severity for one in below)) for severity in SEVERITIES]
    named = ", ".join(counted(count, severity) for severity, count in counts if count)
    items = (_item(finding, setting) for finding in below)
    yield from folded(named, fitting([*items], room - sum(map(len, told))))
    yield "\n"


def _item(finding: Finding, setting: Setting) -> str:
    lines = [
        f"- **{finding.severity}** {prose(finding.rule)} {prose(finding.name)}: {prose(finding.message)}",
        " · ".join(filter(None, (code(where(finding)), prose(_grounds(finding))))),
    ]
    for other in finding.related:
        place = code(f"{other.place.path}:{other.place.line}:{other.place.column}")
        lines.append(f"{prose(other.message)}: {place}")
    if finding.help:
        lines.append(f"help: {prose(finding.help)}")
    if command := rerun(finding, setting.replay):
        lines.append(f"see it: {code(command)}")
    return "<br>\n  ".join(lines) + "\n"


def _grounds(finding: Finding) -> str:
    return f"on {', '.join(finding.engines)}" if finding.engines else ""


def _foot(report: Report, setting: Setting) -> Iterator[str]:
    """The engines, what was suppressed or not run, and how references were understood."""
    parts = []
    if report.engines:
        parts.append(f"engines: {', '.join(f'{use.name} {use.version}'.strip() for use in report.engines)}")
    if report.suppressed:
        parts.append(f"{len(report.suppressed)} suppressed")
    remarks = dict.fromkeys(remark.text for remark in setting.remarks)
    parts += [*remarks][:_REMARKS]
    parts += [f"{len(remarks) - _REMARKS} more remarks"] if len(remarks) > _REMARKS else []
    if parts:
        yield f"{' · '.join(prose(part, _GAP) for part in parts)}\n"
    gaps = [line.strip().removeprefix("not run: ") for line in not_run_lines(report)]
    if gaps:
        lines = [f"- {prose(line, _GAP)}\n" for line in gaps]
        yield "\n"
        yield from folded(f"{counted(len(gaps), 'gap')}: checks and engines that did not run", fitting(lines, _SHARE))
