"""One comparison → its section of a page: predictions with what shows them, and every thing need by need."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.predictions import VERDICTS
from templatelint.report.diffed import failing, rerun
from templatelint.report.page import scores
from templatelint.report.page.parts import Row, cut
from templatelint.report.page.prompts import Exhibit, Seen, seen
from templatelint.report.page.scores import Cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from templatelint.diff import Comparison, Known
    from templatelint.outcomes import Outcome, Subject
    from templatelint.predictions import Prediction, Span, Verdict
    from templatelint.report.page.parts import Page

_PREDICTIONS = 120  # that are shown of one comparison
_DIFFERENCES = 60
_SPAN = 600  # characters of a stretch


@dataclass
class Evidence:
    """What shows a prediction on engines that agree on it.

    Attributes:
        engines: those of B.
        a: the stretch of A's prompt, or what is said where it has none.
        b: the same of B.
        commands: they show the whole prompts.
        exhibit: the prompts; None for requests of the user's own.
        here: they stand here; otherwise with another prediction.
    """

    engines: list[str]
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
    evidence: list[Evidence]
    brought: list[Predicted] = field(default_factory=list)

    @property
    def flags(self) -> list[tuple[str, list[str]]]:
        """What to launch with, and the engines of which that holds."""
        groups: dict[str, list[str]] = {}
        for engine, flags in self.told.launch:
            groups.setdefault(flags, []).append(engine)
        return list(groups.items())

    def place(self) -> None:
        """Show each pair of prompts here that stands nowhere else."""
        for one in self.evidence:
            if one.exhibit is not None and not one.exhibit.placed:
                one.exhibit.placed = one.here = True


@dataclass
class Block:
    """A need: its things engine by engine, what becomes of it as a whole, and the prompts that show it best."""

    id: str
    need: str
    rows: list[Row]
    kinds: list[Cell]
    exhibits: list[Exhibit]


@dataclass
class Section:
    """One comparison on the page.

    Attributes:
        engines: what the pairs of engines are called.
        predictions: those that follow from none.
        left_out: how many predictions there are besides.
        differences: what differs and loses nothing: how, A's text and B's, and the engines where it is not all.
        more: how many of these there are besides.
        counts: how many things each verdict is given on.
        judged: how many of the user's own requests were judged; None where none were given.
        failing: a clause on those that A refuses too; empty where there are none.
    """

    id: str
    a: Known
    b: Known
    name_a: str
    name_b: str
    engines: list[str]
    predictions: list[Predicted]
    left_out: int
    blocks: list[Block]
    differences: list[tuple[str, str, str, list[str]]]
    more: int
    counts: list[tuple[Verdict, int]]
    judged: int | None
    failing: str


def section(at: str, one: Comparison, on: Page) -> Section:
    """What the page says of a comparison; `at` begins the ids."""
    told = [
        Predicted(f"{at}-p{number}", prediction, _evidence(at, one, prediction, on))
        for number, prediction in enumerate(one.predictions[:_PREDICTIONS])
    ]
    differences = _differences(one)
    counts = [(verdict, sum(p.verdict == verdict and not p.follows for p in one.predictions)) for verdict in VERDICTS]
    return Section(
        id=at,
        a=one.a,
        b=one.b,
        name_a=_name(one, one.a, 0, on),
        name_b=_name(one, one.b, 1, on),
        engines=[engine_b if engine_a == engine_b else f"{engine_a} → {engine_b}" for engine_a, engine_b in one.pairs],
        predictions=_nested(told),
        left_out=len(one.predictions) - len(told),
        blocks=_blocks(at, one, told, on),
        differences=differences[:_DIFFERENCES],
        more=max(0, len(differences) - _DIFFERENCES),
        counts=[(verdict, count) for verdict, count in counts if count],
        judged=one.judged,
        failing=failing(one.failing) if one.failing else "",
    )


def _name(one: Comparison, known: Known, side: int, on: Page) -> str:
    """The name; with the engine where nothing else tells the sides apart."""
    name = on.names[known.ref]
    return f"{name} on {one.pairs[0][side]}" if one.a.ref == one.b.ref and len(one.pairs) == 1 else name


# ------------------------------------------------------------------------------------------- predictions


def _nested(told: Sequence[Predicted]) -> list[Predicted]:
    """Those that follow from another under the first such one that shares an engine."""
    top: list[Predicted] = []
    for one in told:
        head = next((other for other in told if _brings(other.told, one.told)), None)
        (top if head is None else head.brought).append(one)
    return top


def _brings(head: Prediction, one: Prediction) -> bool:
    return one.follows == head.subject and not head.follows and not set(head.engines).isdisjoint(one.engines)


def _evidence(at: str, one: Comparison, prediction: Prediction, on: Page) -> list[Evidence]:
    groups: dict[object, Evidence] = {}
    for engine_a, engine_b in one.pairs:
        if engine_b not in prediction.engines:
            continue
        a = _of(prediction.evidence, one.a.ref, engine_a)
        b = _of(prediction.evidence, one.b.ref, engine_b, but=a)
        cell_a, cell_b = _cell(one.a, a), _cell(one.b, b)
        exhibit = on.exhibition.add(at, cell_a, cell_b) if cell_a is not None and cell_b is not None else None
        key = exhibit.id if exhibit else (a.text if a else "", b.text if b else "")
        if key in groups:
            groups[key].engines.append(engine_b)
            continue
        # a request of the user's own is no case that a command could name
        shown = () if prediction.request else (a, b)
        commands = tuple(dict.fromkeys(rerun(span, on.replay) for span in shown if span is not None))
        groups[key] = Evidence([engine_b], _cut(a), _cut(b), commands, exhibit)
    return list(groups.values())


def _of(spans: Iterable[Span], ref: str, engine: str, but: Span | None = None) -> Span | None:
    return next((span for span in spans if span.ref == ref and span.engine == engine and span is not but), None)


def _cell(known: Known, span: Span | None) -> Seen | None:
    return None if span is None else seen(known.ref, known.inspection, span.engine, span.case)


def _cut(span: Span | None) -> Span | None:
    return None if span is None else replace(span, text=cut(span.text, _SPAN))


def _differences(one: Comparison) -> list[tuple[str, str, str, list[str]]]:
    return [
        (
            cut(told.message),
            cut(told.before, _SPAN),
            cut(told.after, _SPAN),
            [] if len(engines) == len(one.differences) else engines,
        )
        for told, engines in one.differing.items()
    ]


# ------------------------------------------------------------------------------------------- need by need


@dataclass(frozen=True)
class _Pair:
    """What becomes of everything on an engine for A and one for B.

    Attributes:
        engine: B's.
        before: what A makes of each thing.
        after: what B makes of it.
        told: the predictions that hold here, by what they are about.
    """

    engine: str
    before: Mapping[str, Outcome]
    after: Mapping[str, Outcome]
    told: Sequence[Predicted]

    def of_subject(self, subject: Subject) -> Cell:
        """What becomes of a thing."""
        for one in self.told:
            if one.told.subject == subject.id:
                return Cell(one.told.verdict, f"{one.told.before} → {one.told.after}", one.id)
        before, after = self.before[subject.id], self.after[subject.id]
        if before.grade is None and after.grade is None:
            return Cell("unknown")
        words = (before.word or "?", after.word or "?")
        kind = scores.kind_of(after.grade if before.grade is not None else None)
        return Cell(kind, words[0] if words[0] == words[1] else " → ".join(words))

    def of_need(self, need: str, subjects: Sequence[Subject], block: str) -> Cell:
        """What becomes of a need: the gravest prediction; what B makes of it where there is none."""
        where = f"{need} on {self.engine}"
        gravest = scores.gravest([one.told for one in self.told], need)
        if gravest is not None:
            return Cell(self.told[gravest].told.verdict, "", self.told[gravest].id, where)
        return Cell(scores.need_kind(need, subjects, self.after), "", block, where)


def _blocks(at: str, one: Comparison, told: Sequence[Predicted], on: Page) -> list[Block]:
    pairs = [_pair(one, engine_a, engine_b, told, on) for engine_a, engine_b in one.pairs]
    blocks = []
    for need in on.columns:
        rows = [
            Row(scores.name(subject), cells)
            for subject in on.subjects
            if subject.need == need
            for cells in [[pair.of_subject(subject) for pair in pairs]]
            if any(cell.kind != "unknown" for cell in cells)
        ]
        kinds = [pair.of_need(need, on.subjects, f"{at}-{need}") for pair in pairs]
        blocks.append(Block(f"{at}-{need}", need, rows, kinds, _exhibits(at, one, need, on)))
    return blocks


def _pair(one: Comparison, engine_a: str, engine_b: str, told: Sequence[Predicted], on: Page) -> _Pair:
    fitting = outcomes.launch(one.a.inspection, engine_a)
    other = fitting if engine_a == engine_b else outcomes.launch(one.b.inspection, engine_b)
    return _Pair(
        engine_b,
        outcomes.of(one.a.inspection, engine_a, fitting, on.needs),
        outcomes.of(one.b.inspection, engine_b, other, on.needs),
        [prediction for prediction in told if engine_b in prediction.told.engines],
    )


def _exhibits(at: str, one: Comparison, need: str, on: Page) -> list[Exhibit]:
    """The prompts of the first case that shows the need."""
    case_id = next((subject.case for subject in on.subjects if subject.need == need and subject.fact), "")
    found: dict[str, Exhibit] = {}
    for engine_a, engine_b in one.pairs:
        a = seen(one.a.ref, one.a.inspection, engine_a, case_id)
        b = seen(one.b.ref, one.b.inspection, engine_b, case_id)
        if a is not None and b is not None:
            exhibit = on.exhibition.add(at, a, b, needed=False)
            found[exhibit.id] = exhibit
    return list(found.values())
