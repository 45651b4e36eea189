"""Report → pages for people: message, place, source line with caret, evidence, how to see it again, cure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.report.summary import SEVERITY_STYLES, summary, table
from templatelint.report.terminal import visible, width

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Finding, Report
    from templatelint.report import Setting

_CASES_NAMED = 4
_DETAIL_LIMIT = 400  # characters of one line of evidence
_TAB = "    "


def write(report: Report, setting: Setting) -> Iterator[str]:
    """The pages, an empty line behind each, and a summary."""
    if setting.statistics:
        yield from table(report, setting)
    else:
        for finding in report.findings:
            if setting.shows(finding.severity):
                yield from _page(finding, setting)
                yield "\n"
    yield from summary(report, setting)


def _page(finding: Finding, setting: Setting) -> Iterator[str]:
    paint = setting.paint
    label = paint(f"{finding.severity}[{visible(finding.rule)}]", SEVERITY_STYLES[finding.severity])
    yield f"{label} {visible(finding.name)}: {paint(visible(finding.message), 'bold')}\n"
    gutter = " " * len(str(finding.excerpt_line or ""))
    yield f"{gutter} {paint('-->', 'blue')} {_where(finding)}\n"
    yield from _source(finding, gutter, setting)
    note = f"{gutter} {paint('=', 'blue')} "
    for line in _evidence(finding):
        yield f"{note}{visible(line)}\n"
    for line in finding.detail:
        yield f"{note}{_clip_end(visible(line), _DETAIL_LIMIT)}\n"
    if finding.evidence:
        yield f"{note}see it: {paint(visible(_rerun(finding, setting.replay)), 'bold')}\n"
    if finding.help:
        yield f"{paint('help:', 'cyan')} {visible(finding.help)}\n"


def _where(finding: Finding) -> str:
    place = finding.place
    where = f"{visible(place.path)}:{place.line}:{place.column}"
    template = f'template "{visible(finding.template)}"' if "#" in finding.ref else "template"
    if finding.span and finding.excerpt_line != place.line:
        return f"{where} ({template}, line {finding.excerpt_line})"
    return where if template == "template" else f"{where} ({template})"


def _source(finding: Finding, gutter: str, setting: Setting) -> Iterator[str]:
    """The source line with a caret under the construct, cut around it where the line is long."""
    if finding.span is None or not finding.excerpt.strip():
        return
    paint = setting.paint
    start = min((finding.excerpt_column or finding.place.column) - 1, len(finding.excerpt))
    end = min(start + max(1, finding.span[1] - finding.span[0]), max(len(finding.excerpt), start + 1))
    before, marked, after = (
        _shown(part) for part in (finding.excerpt[:start], finding.excerpt[start:end], finding.excerpt[end:])
    )
    before, marked, after = _clip_around(before, marked, after, setting.columns - len(gutter) - 4)
    bar = paint("|", "blue")
    caret = paint("^" * max(1, width(marked)), SEVERITY_STYLES[finding.severity])
    yield f"{gutter} {bar}\n"
    yield f"{paint(str(finding.excerpt_line), 'blue')} {bar} {(before + marked + after).rstrip()}\n"
    yield f"{gutter} {bar} {' ' * width(before)}{caret}\n"


def _shown(text: str) -> str:
    return visible(text.replace("\t", _TAB))


def _clip_around(before: str, marked: str, after: str, room: int) -> tuple[str, str, str]:
    """The three parts cut to `room` columns: the mark stays longest, with a little of what led to it."""
    if width(before) + width(marked) + width(after) <= room:
        return before, marked, after
    marked = _clip_end(marked, room - 2)
    left = room - width(marked)
    lead = min(width(before), max(left - width(after), left // 2))
    before = _clip_start(before, lead)
    return before, marked, _clip_end(after, left - width(before))


def _clip_end(text: str, room: int) -> str:
    if width(text) <= room:
        return text
    while text and width(text) > room - 1:
        text = text[: room - 1] if len(text) > room else text[:-1]
    return text + "…" if room > 0 else ""


def _clip_start(text: str, room: int) -> str:
    if width(text) <= room:
        return text
    while text and width(text) > room - 1:
        text = text[1 - room :] if room > 1 and len(text) > room else text[1:]
    return "…" + text if room > 0 else ""


def _evidence(finding: Finding) -> Iterator[str]:
    """Engines and needs, then the cases: engines that show the fault in the same cases share a line."""
    engines = ", ".join(finding.engines)
    needs = ", ".join(finding.needs)
    yield " · ".join(part for part in (engines and f"on {engines}", needs and f"needs: {needs}") if part)
    cases: dict[str, list[str]] = {}
    for case, engine in finding.evidence:
        cases.setdefault(engine, []).append(case)
    alike: dict[tuple[str, ...], list[str]] = {}
    for engine, shown in cases.items():
        alike.setdefault(tuple(shown), []).append(engine)
    for group, names in alike.items():
        more = f" and {len(group) - _CASES_NAMED} more" if len(group) > _CASES_NAMED else ""
        whose = f" ({', '.join(names)})" if len(alike) > 1 else ""
        yield f"cases: {', '.join(group[:_CASES_NAMED])}{more}{whose}"


def _rerun(finding: Finding, replay: Sequence[str]) -> str:
    """The command that shows the first cell of the evidence again."""
    from shlex import join

    case, engine = finding.evidence[0]
    return join(["templatelint", "render", finding.ref, "--case", case, "--engine", engine, *replay])
