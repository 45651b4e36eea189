"""Report → a page: findings by template with source, evidence and cure, and the pages of their rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint import cards
from templatelint.model import SEVERITIES
from templatelint.report import statistics
from templatelint.report.evidence import grounds, rerun
from templatelint.report.excerpt import Excerpt, excerpt
from templatelint.report.full import where
from templatelint.report.page import document
from templatelint.report.page.names import short
from templatelint.report.page.parts import cut
from templatelint.report.rule_page import blocks, facts
from templatelint.report.summary import EVERY, counted, not_run_lines
from templatelint.report.terminal import width

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from templatelint.model import Card, Finding, NotRun, Report, Severity, Suppressed
    from templatelint.report import Setting
    from templatelint.report.rule_page import Block

_NAME = "linted"
# What a page of hundreds of templates holds: the most severe findings whole, a line of the next, a number of the rest.
_WHOLE, _LINES = 800, 3_000
_COLUMNS = 96  # of a source line
_LISTED = 200  # lines of what was suppressed or not run, and templates without findings
_UNFOLDED = 12  # findings: so many can be read at a glance


def write(report: Report, setting: Setting, name: str = _NAME, **more: Any) -> Iterator[str]:
    """The page in pieces.

    Args:
        report: what was found.
        setting: how the reader wants it told.
        name: of the page's template, where that is one that has more to tell.
        more: what that speaks of.
    """
    found = statistics(report)
    sections = [] if setting.statistics else [*_sections(report, setting)]
    clean = _clean(report)
    yield from document.page(
        *dict.fromkeys((_NAME, name)),
        **more,
        sections=sections,
        totals=[(severity, report.count(severity), setting.shows(severity)) for severity in SEVERITIES],
        scope=_scope(report),
        passed=bool(report.templates) and not report.findings and not setting.unreadable,
        unreadable=[(cut(row.ref), cut(row.message), cut(row.help or "")) for row in setting.unreadable],
        rules=[*_rules(found)],
        clean=clean[:_LISTED],
        cleaner=max(0, len(clean) - _LISTED),
        suppressed=[_suppressed(row) for row in report.suppressed[:_LISTED]],
        suppressions=len(report.suppressed),
        gaps=[cut(line.strip().removeprefix("not run: ")) for line in not_run_lines(report)][:_LISTED],
        engines=report.engines,
        not_run=_absent(report.not_run),
        remarks=[cut(text) for text in dict.fromkeys(remark.text for remark in setting.remarks)][:_LISTED],
    )


def _scope(report: Report) -> str:
    refs = dict.fromkeys(use.ref for use in report.templates)
    if len(refs) == 1:
        return next(iter(short(refs).values()))
    return counted(len(refs), "template")


# ------------------------------------------------------------------------------------------- the findings


@dataclass(frozen=True, slots=True)
class Source:
    """A line of the template with the construct marked: its number, its parts, and what stands under them."""

    line: int
    parts: Excerpt
    caret: str


@dataclass(frozen=True, slots=True)
class Item:
    """A finding.

    Attributes:
        whole: there is room for more than its line.
        related: what stands at a second place, and where.
    """

    id: str
    severity: Severity
    rule: str
    name: str
    message: str
    where: str
    whole: bool
    source: Source | None = None
    related: Sequence[tuple[str, str]] = ()
    grounds: Sequence[str] = ()
    help: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """The findings of a template.

    Attributes:
        unfolded: they are few enough to be read as they stand.
        more: how many there is no room for.
    """

    id: str
    name: str
    ref: str
    counts: Sequence[tuple[Severity, int]]
    items: Sequence[Item]
    unfolded: bool
    more: int


def _sections(report: Report, setting: Setting) -> Iterator[Section]:
    ranked = sorted(range(len(report.findings)), key=lambda at: SEVERITIES.index(report.findings[at].severity))
    ranks = {at: rank for rank, at in enumerate(ranked)}
    groups: dict[str, list[int]] = {}
    for at, finding in enumerate(report.findings):
        groups.setdefault(finding.ref, []).append(at)
    names = short(groups)
    few = sum(setting.shows(finding.severity) for finding in report.findings) <= _UNFOLDED
    for number, (ref, places) in enumerate(groups.items(), 1):
        severities = [report.findings[at].severity for at in places]
        items = [
            _item(f"t{number}-{at}", report.findings[at], setting, whole=ranks[at] < _WHOLE)
            for at in places
            if ranks[at] < _WHOLE + _LINES
        ]
        yield Section(
            id=f"t{number}",
            name=names[ref],
            ref=ref,
            counts=[(one, severities.count(one)) for one in SEVERITIES if one in severities],
            items=items,
            unfolded=few,
            more=len(places) - len(items),
        )


def _item(at: str, finding: Finding, setting: Setting, *, whole: bool) -> Item:
    line = (finding.severity, finding.rule, finding.name, cut(finding.message), cut(where(finding)))
    if not whole:
        return Item(at, *line, whole=False)
    return Item(
        at,
        *line,
        whole=True,
        source=_source(finding),
        related=[
            (cut(other.message), cut(f"{other.place.path}:{other.place.line}:{other.place.column}"))
            for other in finding.related
        ],
        grounds=[cut(text) for text in grounds(finding)],
        help=cut(finding.help),
        command=rerun(finding, setting.replay),
    )


def _source(finding: Finding) -> Source | None:
    parts = excerpt(finding, _COLUMNS)
    if parts is None:
        return None
    return Source(finding.excerpt_line, parts, " " * width(parts.before) + "^" * max(1, width(parts.marked)))


def _clean(report: Report) -> list[str]:
    found = {finding.ref for finding in report.findings}
    return [use.ref for use in report.templates if use.ref not in found]


# ------------------------------------------------------------------------------------- rules, and the rest


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that found something: how often, by severity, and its page where it has one."""

    id: str
    name: str
    counts: Mapping[Severity, int]
    title: str
    facts: str
    blocks: Sequence[Block]


def _rules(found: Iterable[tuple[Finding, int]]) -> Iterator[Rule]:
    """By id."""
    rows: dict[str, tuple[str, dict[Severity, int]]] = {}
    for finding, count in found:
        rows.setdefault(finding.rule, (finding.name, {}))[1][finding.severity] = count
    known: Mapping[str, Card] = cards.all_cards()
    for rule, (name, counts) in sorted(rows.items()):
        card = known.get(rule)
        if card is None:
            yield Rule(rule, name, counts, "", "", ())
        else:
            yield Rule(rule, name, counts, card.title, facts(card), [*blocks(card.prose)])


def _suppressed(row: Suppressed) -> tuple[str, str, str, str]:
    """Rule, place, message and what accepts it."""
    by = f"{row.kind}: {row.reason}" if row.reason else row.kind
    return row.finding.rule, cut(where(row.finding)), cut(row.finding.message), cut(by)


def _absent(rows: Iterable[NotRun]) -> list[tuple[str, list[str]]]:
    """Why engines took no part, and which."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        name, colon, why = row.why.partition(": ")
        if row.rule == row.ref == EVERY and colon:
            reasons.setdefault(why, []).append(name)
    return [*reasons.items()]
