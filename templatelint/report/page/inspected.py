"""Inspections → a page: a matrix of needs, models and engines, and behind each cell what shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.predictions import Span
from templatelint.report import inspected
from templatelint.report.diffed import rerun
from templatelint.report.page import document, scores
from templatelint.report.page.names import short
from templatelint.report.page.parts import Group, Page, Row, clipped, cut, legend, reasons, room
from templatelint.report.page.prompts import Exhibit, Exhibition, seen
from templatelint.report.page.scores import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from templatelint.inspection import Inspection
    from templatelint.model import EngineUse, NotRun
    from templatelint.outcomes import Outcome
    from templatelint.report.page.scores import Kind

_LINES = 40  # of a list


def write_inspected(
    shown: Iterable[tuple[str, Inspection]],
    engines: Sequence[EngineUse],
    not_run: Iterable[NotRun],
    replay: Sequence[str] = (),
) -> Iterator[str]:
    """The page in pieces.

    Args:
        shown: references as typed, with what `outcomes.observed` gives.
        engines: those asked.
        not_run: those that could not be.
        replay: flags that a command needs to show a cell again.
    """
    models = list(shown)
    on = Page(
        short(ref for ref, _ in models), outcomes.subjects(frozenset(outcomes.JUDGED)), Exhibition(), tuple(replay)
    )
    sections = [_section(f"m{number}", ref, known, on) for number, (ref, known) in enumerate(models, 1)]
    on.exhibition.hang(
        room(
            len(row.cells)
            for section in sections
            for rows in (*(block.rows for block in section.blocks), *section.facts)
            for row in rows
        )
    )
    return document.page(
        "inspected",
        sections=sections,
        groups=[
            Group(
                "",
                section.name,
                section.id,
                [(engine, [block.kinds[at] for block in section.blocks]) for at, engine in enumerate(section.engines)],
            )
            for section in sections
        ],
        columns=[(need, scores.NEEDS.get(need, "")) for need in on.columns],
        legend=legend("works", "partly", "broken", "unknown"),
        engines=engines,
        not_run=reasons(not_run),
    )


@dataclass
class Block:
    """A need: its things engine by engine, what becomes of it as a whole, and the prompts that show it.

    Attributes:
        exhibits: each with a command that shows it.
    """

    id: str
    need: str
    rows: list[Row]
    kinds: list[Cell]
    exhibits: list[tuple[Exhibit, str]]


@dataclass
class Section:
    """A model on the page.

    Attributes:
        head: what it is: labels, with lines.
        answers: any engine answers a plain chat with it.
        troubles: why engines load nothing.
        facts: the rows of every fact, in groups.
        reasons: what was said where something is refused.
    """

    id: str
    name: str
    ref: str
    engines: list[str]
    head: list[tuple[str, list[str]]]
    blocks: list[Block]
    contract: list[str]
    answers: bool
    troubles: list[str]
    facts: list[list[Row]]
    reasons: list[str]


def _section(at: str, ref: str, known: Inspection, on: Page) -> Section:
    needs = frozenset(on.columns)
    told = {engine: outcomes.of(known, engine, outcomes.launch(known, engine), needs) for engine in known.views}
    blocks = [_block(f"{at}-{need}", need, ref, known, told, on) for need in on.columns]
    return Section(
        id=at,
        name=on.names[ref],
        ref=ref,
        engines=list(told),
        head=_head(known),
        blocks=blocks,
        contract=clipped((str(term) for term in known.contract), _LINES),
        answers=any(found.chat == "fine" for found in known.capabilities.values()),
        troubles=clipped(inspected.troubles(known), _LINES),
        facts=[
            [Row(label.strip(), [_fact(*cell) for cell in cells]) for label, cells in group]
            for group in (inspected.facts(known.capabilities) if known.model.templates else ())
        ],
        reasons=clipped(inspected.reasons(known.capabilities), _LINES),
    )


def _head(known: Inspection) -> list[tuple[str, list[str]]]:
    lines: dict[str, list[str]] = {}
    for label, text in inspected.head(known, verbose=True):
        lines.setdefault(label, []).append(text)
    return [(label, clipped(texts, _LINES)) for label, texts in lines.items()]


def _fact(word: str, style: str | None) -> Cell:
    """A fact's word bears the sign of the outcomes that follow from it."""
    return Cell(_STYLED.get(style or "", "works"), word)


_STYLED: Mapping[str, Kind] = {"red": "broken", "yellow": "partly", "dim": "unknown"}


def _block(  # noqa: PLR0913, PLR0917 (a cell needs what the page is made from)
    at: str, need: str, ref: str, known: Inspection, told: Mapping[str, Mapping[str, Outcome]], on: Page
) -> Block:
    rows = []
    exhibits: dict[str, tuple[Exhibit, str]] = {}
    for subject in on.subjects:
        if subject.need != need:
            continue
        cells = []
        for engine, found in told.items():
            outcome = found[subject.id]
            case = outcome.case or subject.case
            cell = seen(ref, known, engine, case) if outcome.grade is not None else None
            target = ""
            if cell is not None:
                exhibit = on.exhibition.add(at, cell, None)
                exhibits.setdefault(exhibit.id, (exhibit, rerun(Span(ref, engine, case, ""), on.replay)))
                target = exhibit.id
            cells.append(Cell(scores.kind_of(outcome.grade), outcome.word, target))
        if any(cell.kind != "unknown" for cell in cells):
            rows.append(Row(scores.name(subject), cells, _losses(found[subject.id] for found in told.values())))
    kinds = [
        Cell(scores.need_kind(need, on.subjects, found), "", at, f"{need} on {engine}")
        for engine, found in told.items()
    ]
    return Block(at, need, rows, kinds, list(exhibits.values()))


def _losses(found: Iterable[Outcome]) -> list[str]:
    return list(dict.fromkeys(cut(one.says) for one in found if one.grade in _LOST and one.says))


_LOST = frozenset({"degraded", "broken"})
