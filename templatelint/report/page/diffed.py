"""Comparisons → a page: a matrix of needs, models and engines, and behind each cell what shows it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.predictions import VERDICTS
from templatelint.report.page import comparison, document, scores
from templatelint.report.page.names import short
from templatelint.report.page.parts import Group, Page, legend, reasons, room
from templatelint.report.page.prompts import Exhibition
from templatelint.report.page.scores import Cell

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from templatelint.diff import Comparison
    from templatelint.model import EngineUse, NotRun
    from templatelint.predictions import Verdict
    from templatelint.report import Remark
    from templatelint.report.page.comparison import Section
    from templatelint.report.page.prompts import Exhibit

_REMARKS = 10
# verdict → what is counted, one and several
_COUNTED: Mapping[str, tuple[str, str]] = {
    "breaks": ("breaks", "break"),
    "degrades": ("degrades", "degrade"),
    "changes": ("changes", "change"),
    "improves": ("improves", "improve"),
}


def write_diff(  # noqa: PLR0913, PLR0917 (what the other reports of comparisons are given, and the needs)
    comparisons: Sequence[Comparison],
    engines: Sequence[EngineUse],
    not_run: Iterable[NotRun],
    remarks: Iterable[Remark],
    needs: Collection[str],
    replay: Sequence[str] = (),
) -> Iterator[str]:
    """The page in pieces.

    Args:
        comparisons: what was compared; each shares its A with others or has one of its own.
        engines: those asked.
        not_run: those that could not be, and what they could not tell.
        remarks: what a reader has to know of how references were understood.
        needs: what the client relies on: the columns of the matrix.
        replay: flags that a command needs to show a cell again.
    """
    on = Page(
        short(ref for one in comparisons for ref in (one.a.ref, one.b.ref)),
        outcomes.subjects(frozenset(needs)),
        Exhibition(),
        tuple(replay),
    )
    sections = [comparison.section(f"c{number}", one, on) for number, one in enumerate(comparisons, 1)]
    on.exhibition.hang(room(len(row.cells) for section in sections for block in section.blocks for row in block.rows))
    for section in sections:
        for told in (*section.predictions, *(one for head in section.predictions for one in head.brought)):
            told.place()
    return document.page(
        "diffed",
        title=_title(sections),
        sections=sections,
        groups=list(_matrix(comparisons, sections, on)),
        columns=[(need, scores.NEEDS.get(need, "")) for need in on.columns],
        legend=legend(*scores.WORDS),
        counts=_counts(sections),
        words=_COUNTED,
        engines=engines,
        not_run=reasons(not_run),
        remarks=list(dict.fromkeys(remark.text for remark in remarks))[:_REMARKS],
        place=_placed,
    )


def _title(sections: Sequence[Section]) -> tuple[str, str, str]:
    """What is compared: the one, a sign, the other."""
    if not sections:
        return "nothing", "", "compared"
    first = sections[0]
    froms, tos = ({getattr(section, side).ref for section in sections} for side in ("a", "b"))
    if len(sections) == 1:
        return first.name_a, "→", first.name_b
    if froms == tos and len(froms) == 2:  # noqa: PLR2004 (both ways)
        return first.name_a, "⇄", first.name_b
    if len(froms) == 1:
        return first.name_a, "→", f"{len(sections)} others"
    return f"{len(froms | tos)} models", "→", f"{len(sections)} comparisons"


def _matrix(comparisons: Sequence[Comparison], sections: Sequence[Section], on: Page) -> Iterator[Group]:
    """The rows of each A before those of its first B."""
    shown: set[str] = set()
    for one, section in zip(comparisons, sections, strict=True):
        if one.a.ref not in shown:
            shown.add(one.a.ref)
            yield Group("A", section.name_a, "", list(_alone(one, section, on)))
        kinds = {block.need: block.kinds for block in section.blocks}
        rows = [(engine, [kinds[need][at] for need in on.columns]) for at, engine in enumerate(section.engines)]
        yield Group("B", section.name_b, section.id, rows)


def _alone(one: Comparison, section: Section, on: Page) -> Iterator[tuple[str, list[Cell]]]:
    """What A does itself, on each of its engines."""
    for engine in dict.fromkeys(engine_a for engine_a, _ in one.pairs):
        told = outcomes.of(one.a.inspection, engine, outcomes.launch(one.a.inspection, engine), on.needs)
        yield (
            engine,
            [
                Cell(scores.need_kind(need, on.subjects, told), "", f"{section.id}-{need}", f"A, {need} on {engine}")
                for need in on.columns
            ],
        )


def _counts(sections: Iterable[Section]) -> list[tuple[Verdict, int]]:
    totals: Counter[Verdict] = Counter()
    for section in sections:
        totals.update(dict(section.counts))
    return [(verdict, totals[verdict]) for verdict in VERDICTS if totals[verdict]]


def _placed(exhibit: Exhibit) -> None:
    """Note that the template has shown the prompts, so that it leads there from elsewhere."""
    exhibit.placed = True
