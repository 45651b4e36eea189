"""Comparisons → a page: a matrix of needs, models and engines, and behind each cell what shows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.outcomes import BY_ID, LOADS
from templatelint.predictions import VERDICTS, Span
from templatelint.report.diffed import rerun
from templatelint.report.page import document, scores
from templatelint.report.page.names import short
from templatelint.report.page.parts import Group, Row, cut, legend, reasons
from templatelint.report.page.prompts import Exhibit, Exhibition, seen
from templatelint.report.page.scores import Cell

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from templatelint.diff import Comparison, Known
    from templatelint.model import EngineUse, NotRun
    from templatelint.outcomes import Outcome, Subject
    from templatelint.predictions import Prediction
    from templatelint.report import Remark

_PAGE = 560_000  # bytes of prompts on it
_PREDICTIONS = 120  # that are shown of one comparison
_SPAN = 600  # characters of a stretch
_DIFFERENCES = 60
_MISSING = 10  # remarks

# verdict → what is counted, one and several
_COUNTED: Mapping[str, tuple[str, str]] = {
    "breaks": ("breaks", "break"),
    "degrades": ("degrades", "degrade"),
    "changes": ("changes", "change"),
    "improves": ("improves", "improve"),
}


def write_diff(  # noqa: PLR0913 (what the other reports of comparisons are given, and the needs)
    comparisons: Sequence[Comparison],
    engines: Sequence[EngineUse],
    not_run: Sequence[NotRun],
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
    subjects = outcomes.subjects(frozenset(needs))
    columns = tuple(dict.fromkeys(subject.need for subject in subjects))
    names = short([ref for one in comparisons for ref in (one.a.ref, one.b.ref)])
    exhibition = Exhibition()
    sections = [
        _section(f"c{at}", one, names, subjects, frozenset(needs), exhibition, replay)
        for at, one in enumerate(comparisons, 1)
    ]
    exhibition.hang(_PAGE)
    for section in sections:
        for prediction in section.predictions:
            prediction.place()
    return document.page(
        "diffed",
        sections=sections,
        groups=list(_matrix(comparisons, sections, columns, subjects, frozenset(needs), names)),
        columns=[(need, scores.NEEDS.get(need, "")) for need in columns],
        legend=legend(*scores.SIGNS),
        counts=_counts(sections),
        words=_COUNTED,
        place=_placed,
        engines=engines,
        not_run=reasons(not_run),
        remarks=list(dict.fromkeys(remark.text for remark in remarks))[:_MISSING],
    )


# -------------------------------------------------------------------------------------------- one comparison


@dataclass
class Evidence:
    """What shows a prediction on engines that agree on it.

    Attributes:
        a: the stretch of A's prompt, or what is said where it has none.
        b: the same of B.
        commands: they show the whole prompts.
        exhibit: the prompts; None for requests of the user's own.
        here: they stand here, and not where an earlier prediction has shown them.
    """

    engines: tuple[str, ...]
    a: Span | None
    b: Span | None
    commands: tuple[str, ...]
    exhibit: Exhibit | None
    here: bool = False


@dataclass
class Predicted:
    """A prediction on the page; `brought` are those that follow from it."""

    id: str
    told: Prediction
    name: str
    evidence: list[Evidence]
    brought: list[Predicted]

    @property
    def sign(self) -> str:
        """Of the verdict."""
        return scores.SIGNS[self.told.verdict]

    @property
    def flags(self) -> list[tuple[str, list[str]]]:
        """What to launch with, and the engines of which that holds."""
        groups: dict[str, list[str]] = {}
        for engine, flags in self.told.launch:
            groups.setdefault(flags, []).append(engine)
        return list(groups.items())

    def place(self) -> None:
        """Show each pair of prompts where it is needed first."""
        for one in self.evidence:
            if one.exhibit is not None and not one.exhibit.placed:
                one.exhibit.placed = one.here = True
        for follower in self.brought:
            follower.place()


@dataclass
class NeedBlock:
    """A need of a comparison: its things, and the prompts of its first case."""

    id: str
    need: str
    rows: list[Row]
    kinds: list[Cell]
    exhibits: list[Exhibit]


@dataclass
class Section:
    """One comparison on the page."""

    id: str
    a: Known
    b: Known
    name_a: str
    name_b: str
    pairs: list[str]
    predictions: list[Predicted]
    left_out: int
    blocks: list[NeedBlock]
    differences: list[tuple[str, str, str, list[str]]]
    more_differences: int
    counts: list[tuple[str, str, int]]


def _section(  # noqa: PLR0913 (a page's section needs what the page is made from)
    at: str,
    one: Comparison,
    names: Mapping[str, str],
    subjects: Sequence[Subject],
    needs: frozenset[str],
    exhibition: Exhibition,
    replay: Sequence[str],
) -> Section:
    told = one.predictions[:_PREDICTIONS]
    numbered = {number: f"{at}-p{number}" for number in range(len(told))}
    shown = [
        Predicted(
            numbered[number],
            prediction,
            BY_ID[prediction.subject].name if prediction.subject in BY_ID else prediction.subject,
            _evidence(at, one, prediction, exhibition, replay),
            [],
        )
        for number, prediction in enumerate(told)
    ]
    differences = _differences(one)
    return Section(
        at,
        one.a,
        one.b,
        names[one.a.ref],
        names[one.b.ref],
        [engine_b if engine_a == engine_b else f"{engine_a} → {engine_b}" for engine_a, engine_b in one.pairs],
        _nested(shown),
        len(one.predictions) - len(told),
        _blocks(at, one, subjects, needs, numbered, exhibition),
        differences[:_DIFFERENCES],
        max(0, len(differences) - _DIFFERENCES),
        [
            (verdict, scores.SIGNS[verdict], count)
            for verdict in VERDICTS
            if (count := sum(p.verdict == verdict and not p.follows for p in one.predictions))
        ],
    )


def _nested(shown: Sequence[Predicted]) -> list[Predicted]:
    """Those that follow from others under the first of them that shares an engine."""
    top: list[Predicted] = []
    for one in shown:
        heads = [
            head
            for head in shown
            if one.told.follows == head.told.subject
            and head is not one
            and not head.told.follows
            and set(head.told.engines) & set(one.told.engines)
        ]
        (heads[0].brought if heads else top).append(one)
    return top


def _evidence(
    at: str, one: Comparison, prediction: Prediction, exhibition: Exhibition, replay: Sequence[str]
) -> list[Evidence]:
    groups: dict[object, Evidence] = {}
    for engine_a, engine_b in one.pairs:
        if engine_b not in prediction.engines:
            continue
        a = _of(prediction.evidence, one.a.ref, engine_a)
        b = _of(prediction.evidence, one.b.ref, engine_b, but=a)
        cells = [
            seen(known.ref, known.inspection, span.engine, span.case) if span is not None else None
            for known, span in ((one.a, a), (one.b, b))
        ]
        exhibit = exhibition.add(at, cells[0], cells[1]) if cells[0] is not None and cells[1] is not None else None
        key = exhibit.id if exhibit else (a.text if a else "", b.text if b else "")
        if key in groups:
            groups[key].engines = (*groups[key].engines, engine_b)
            continue
        commands = tuple(dict.fromkeys(rerun(span, replay) for span in (a, b) if span is not None))
        groups[key] = Evidence((engine_b,), _cut(a), _cut(b), commands, exhibit)
    return list(groups.values())


def _of(spans: Iterable[Span], ref: str, engine: str, but: Span | None = None) -> Span | None:
    return next((span for span in spans if span.ref == ref and span.engine == engine and span is not but), None)


def _cut(span: Span | None) -> Span | None:
    return None if span is None else replace(span, text=cut(span.text, _SPAN))


# ------------------------------------------------------------------------------------------- need by need


def _outcomes(one: Comparison, needs: frozenset[str]) -> list[tuple[Mapping[str, Outcome], Mapping[str, Outcome]]]:
    """What becomes of each thing with A and with B, of each pair of engines."""
    found = []
    for engine_a, engine_b in one.pairs:
        fitting = outcomes.launch(one.a.inspection, engine_a)
        other = fitting if engine_a == engine_b else outcomes.launch(one.b.inspection, engine_b)
        found.append(
            (
                outcomes.of(one.a.inspection, engine_a, fitting, needs),
                outcomes.of(one.b.inspection, engine_b, other, needs),
            )
        )
    return found


def _blocks(  # noqa: PLR0913 (as `_section`)
    at: str,
    one: Comparison,
    subjects: Sequence[Subject],
    needs: frozenset[str],
    numbered: Mapping[int, str],
    exhibition: Exhibition,
) -> list[NeedBlock]:
    both = _outcomes(one, needs)
    told = one.predictions
    by_thing = {
        (told[number].subject, engine): number for number in reversed(numbered) for engine in told[number].engines
    }
    blocks = []
    for need in dict.fromkeys(subject.need for subject in subjects):
        rows = []
        for subject in subjects:
            if subject.need != need:
                continue
            cells = []
            for (_, engine_b), (before, after) in zip(one.pairs, both, strict=True):
                number = by_thing.get((subject.id, engine_b))
                if number is not None:
                    text = f"{told[number].before} → {told[number].after}"
                    cells.append(Cell(told[number].verdict, text, numbered[number]))
                else:
                    cells.append(_unchanged(before[subject.id], after[subject.id]))
            if any(cell.kind != "unknown" for cell in cells):
                rows.append(Row("the whole template" if subject.id == LOADS else subject.name.strip(", "), cells))
        kinds = [
            _need_cell(one, need, engine_b, before, subjects, numbered, f"{at}-{need}")
            for (_, engine_b), (before, _) in zip(one.pairs, both, strict=True)
        ]
        blocks.append(NeedBlock(f"{at}-{need}", need, rows, kinds, _first_case(at, one, need, subjects, exhibition)))
    return blocks


def _unchanged(before: Outcome, after: Outcome) -> Cell:
    if before.grade is None or after.grade is None:
        known = before if after.grade is None else after
        return Cell("unknown", "" if known.grade is None else f"{before.word or '?'} → {after.word or '?'}")
    word = before.word if before.word == after.word else f"{before.word} → {after.word}"
    return Cell(scores.kind_of(after.grade), word)


def _need_cell(  # noqa: PLR0913 (as `_section`)
    one: Comparison,
    need: str,
    engine: str,
    before: Mapping[str, Outcome],
    subjects: Sequence[Subject],
    numbered: Mapping[int, str],
    otherwise: str,
) -> Cell:
    number = scores.gravest(one.predictions, need, engine)
    if number is not None:
        kind = one.predictions[number].verdict
        return Cell(kind, "", numbered.get(number, otherwise), f"{need} on {engine}")
    return Cell(scores.need_kind(need, subjects, before), "", otherwise, f"{need} on {engine}")


def _first_case(
    at: str, one: Comparison, need: str, subjects: Sequence[Subject], exhibition: Exhibition
) -> list[Exhibit]:
    """The prompts of the case that shows the need best."""
    case_id = next((subject.case for subject in subjects if subject.need == need and subject.fact), "")
    found: dict[str, Exhibit] = {}
    for engine_a, engine_b in one.pairs:
        a = seen(one.a.ref, one.a.inspection, engine_a, case_id)
        b = seen(one.b.ref, one.b.inspection, engine_b, case_id)
        if a is not None and b is not None:
            exhibit = exhibition.add(at, a, b, needed=False)
            found[exhibit.id] = exhibit
    return list(found.values())


def _differences(one: Comparison) -> list[tuple[str, str, str, list[str]]]:
    """What differs besides, and the engines on which it does."""
    groups: dict[tuple[str, str, str], list[str]] = {}
    for engine, found in one.differences.items():
        for told in found:
            groups.setdefault((told.message, told.before[:_SPAN], told.after[:_SPAN]), []).append(engine)
    return [(*told, [] if len(engines) == len(one.differences) else engines) for told, engines in groups.items()]


# ---------------------------------------------------------------------------------------------- the matrix


def _matrix(  # noqa: PLR0913 (as `_section`)
    comparisons: Sequence[Comparison],
    sections: Sequence[Section],
    columns: Sequence[str],
    subjects: Sequence[Subject],
    needs: frozenset[str],
    names: Mapping[str, str],
) -> Iterator[Group]:
    shown: set[str] = set()
    for one, section in zip(comparisons, sections, strict=True):
        if one.a.ref not in shown:
            shown.add(one.a.ref)
            rows = []
            for engine in dict.fromkeys(engine_a for engine_a, _ in one.pairs):
                told = outcomes.of(one.a.inspection, engine, outcomes.launch(one.a.inspection, engine), needs)
                cells = [
                    Cell(
                        scores.need_kind(need, subjects, told),
                        "",
                        f"{section.id}-{need}",
                        f"A, {need} on {engine}",
                    )
                    for need in columns
                ]
                rows.append((engine, cells))
            yield Group("A", names[one.a.ref], "", rows)
        blocks = {block.need: block for block in section.blocks}
        yield Group(
            "B",
            names[one.b.ref],
            section.id,
            [(label, [blocks[need].kinds[at] for need in columns]) for at, label in enumerate(section.pairs)],
        )


def _counts(sections: Sequence[Section]) -> list[tuple[str, str, int]]:
    totals: dict[tuple[str, str], int] = {}
    for section in sections:
        for verdict, sign, count in section.counts:
            totals[verdict, sign] = totals.get((verdict, sign), 0) + count
    order = {verdict: at for at, verdict in enumerate(VERDICTS)}
    return [
        (verdict, sign, count)
        for (verdict, sign), count in sorted(totals.items(), key=lambda item: order[item[0][0]])  # type: ignore[index]
    ]


def _placed(exhibit: Exhibit) -> None:
    exhibit.placed = True
