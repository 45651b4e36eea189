"""Inspections → a page: a matrix of needs, models and engines, and behind each cell what shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.outcomes import LOADS
from templatelint.predictions import Span
from templatelint.report import inspected
from templatelint.report.diffed import rerun
from templatelint.report.page import document, scores
from templatelint.report.page.names import short
from templatelint.report.page.parts import Group, Row, clipped, legend, reasons
from templatelint.report.page.prompts import Exhibit, Exhibition, seen
from templatelint.report.page.scores import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from templatelint.inspection import Inspection
    from templatelint.model import EngineUse, NotRun
    from templatelint.outcomes import Outcome, Subject

_PAGE = 560_000  # bytes of prompts on it
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
    needs = frozenset(outcomes.JUDGED)
    subjects = outcomes.subjects(needs)
    columns = tuple(dict.fromkeys(subject.need for subject in subjects))
    names = short(ref for ref, _ in models)
    exhibition = Exhibition()
    sections = [
        _section(f"m{at}", ref, names[ref], known, subjects, exhibition, replay) for at, (ref, known) in enumerate(models, 1)
    ]
    exhibition.hang(_PAGE)
    return document.page(
        "inspected",
        sections=sections,
        groups=[
            Group("", one.name, one.id, [(engine, one.kinds[engine]) for engine in one.engines]) for one in sections
        ],
        columns=[(need, scores.NEEDS.get(need, "")) for need in columns],
        legend=legend("works", "partly", "broken", "unknown"),
        engines=engines,
        not_run=reasons(not_run),
    )


@dataclass
class NeedBlock:
    """A need of a model: its things engine by engine, and the prompts that show them."""

    id: str
    need: str
    rows: list[Row]
    kinds: list[Cell]
    exhibits: list[tuple[Exhibit, str]]


@dataclass
class Section:
    """A model on the page."""

    id: str
    name: str
    ref: str
    engines: list[str]
    head: list[tuple[str, list[str]]]
    kinds: Mapping[str, list[Cell]]
    blocks: list[NeedBlock]
    contract: list[str]
    answers: bool
    troubles: list[str]
    facts: list[list[Row]]
    reasons: list[str]


def _section(  # noqa: PLR0913 (a page's section needs what the page is made from)
    at: str, ref: str, name: str, known: Inspection, subjects: Sequence[Subject], exhibition: Exhibition, replay: Sequence[str],
) -> Section:
    told = {
        engine: outcomes.of(known, engine, outcomes.launch(known, engine), frozenset(outcomes.JUDGED))
        for engine in known.views
    }
    needs = dict.fromkeys(subject.need for subject in subjects)
    kinds = {
        engine: [
            Cell(scores.need_kind(need, subjects, found), "", f"{at}-{need}", f"{need} on {engine}") for need in needs
        ]
        for engine, found in told.items()
    }
    blocks = [
        _block(at, ref, need, known, told, [one for one in subjects if one.need == need], exhibition, replay)
        for need in needs
    ]
    for number, block in enumerate(blocks):
        block.kinds = [cells[number] for cells in kinds.values()]
    return Section(
        at,
        name,
        ref,
        list(told),
        _head(known),
        kinds,
        blocks,
        clipped((str(term) for term in known.contract), _LINES),
        any(found.chat == "fine" for found in known.capabilities.values()),
        clipped(inspected.troubles(known), _LINES),
        [
            [Row(label.strip(), [_fact(word, style) for word, style in cells]) for label, cells in group]
            for group in inspected.facts(known.capabilities)
        ]
        if known.model.templates
        else [],
        clipped(inspected.reasons(known.capabilities), _LINES),
    )


def _head(known: Inspection) -> list[tuple[str, list[str]]]:
    lines: dict[str, list[str]] = {}
    for label, text in inspected.head(known, verbose=True):
        lines.setdefault(label, []).append(text)
    return [(label, clipped(texts, _LINES)) for label, texts in lines.items()]


def _fact(word: str, style: str | None) -> Cell:
    """A fact's word bears the same sign as the outcomes that follow from it."""
    return Cell({"red": "broken", "yellow": "partly", "dim": "unknown"}.get(style or "", "works"), word)  # type: ignore[arg-type]


def _block(  # noqa: PLR0913 (as `_section`)
    at: str,
    ref: str,
    need: str,
    known: Inspection,
    told: Mapping[str, Mapping[str, Outcome]],
    subjects: Sequence[Subject],
    exhibition: Exhibition,
    replay: Sequence[str],
) -> NeedBlock:
    rows, exhibits = [], {}
    for subject in subjects:
        cells = []
        for engine, found in told.items():
            outcome = found[subject.id]
            case = outcome.case or subject.case
            cell = seen(ref, known, engine, case) if outcome.grade is not None else None
            target = ""
            if cell is not None:
                exhibit = exhibition.add(f"{at}-{need}", cell, None)
                exhibits.setdefault(exhibit.id, (exhibit, rerun(Span(ref, engine, case, ""), replay)))
                target = exhibit.id
            cells.append(Cell(scores.kind_of(outcome.grade), outcome.word, target))
        if any(cell.kind != "unknown" for cell in cells):
            says = dict.fromkeys(found[subject.id].says for found in told.values() if found[subject.id].says)
            name = "the whole template" if subject.id == LOADS else subject.name.strip(", ")
            rows.append(Row(name, cells, list(says) if any(cell.kind in _TOLD for cell in cells) else []))
    return NeedBlock(f"{at}-{need}", need, rows, [], list(exhibits.values()))


_TOLD = frozenset({"broken", "partly"})
