"""Outcomes of several models on the same engines → what some of them take and others do not."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from templatelint.outcomes import BY_ID, CHAT, GRADES, LOADS, SUBJECTS, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from templatelint.outcomes import Grade, Outcome, Subject
    from templatelint.predictions import Verdict

Status: TypeAlias = Literal["shared", "broken", "partly", "unavailable", "unknown"]

# need → the subject without which there is nothing of it
_HEADS = {
    "chat": CHAT,
    "system": "system",
    "tools": "tools",
    "parallel-tools": "parallel-calls",
    "reasoning": "reasoning",
    "multimodal": "content-parts",
}
# what models do in more than one way, of which a client has to know
_OWN_WAY = frozenset({"call-dialect", "thinking-default", "thinking-switch"})


@dataclass(frozen=True, slots=True)
class Loss:
    """What others take on the same engine, and this model does not.

    Attributes:
        model: its place in the fleet.
        verdict: `breaks` or `degrades`.
        word: what becomes of it there, in a word.
        says: the same as a clause.
        engines: those on which it does so.
        cells: engine → the case that shows it.
        help: what can be done about it; empty where nothing can.
        follows: the subject of a larger loss that brings this one with it; empty where it stands for itself.
    """

    model: int
    subject: Subject
    verdict: Verdict
    word: str
    says: str
    engines: tuple[str, ...]
    cells: tuple[tuple[str, str], ...] = ()
    help: str = ""
    follows: str = ""

    @property
    def message(self) -> str:
        """The loss as one clause; where nothing loads that is the whole of it."""
        return f"{(BY_ID[LOADS] if self.follows == LOADS else self.subject).name} {self.says}"


@dataclass(frozen=True, slots=True)
class Lack:
    """What no model of the fleet takes there."""

    subject: Subject
    engines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Need:
    """How a need fares over the fleet.

    Attributes:
        grades: of each model, the worst over the engines, of what any model takes; None where there is no such thing.
        status: `shared` by all, `broken` by some, had but `partly` by any, `unavailable` with all of them, `unknown`.
        head: the subject without which there is nothing of it; empty where it is many things alike.
        engines: those on which some model takes that.
        common: those on which all do.
    """

    name: str
    grades: tuple[Grade | None, ...]
    status: Status
    head: str
    engines: tuple[str, ...]
    common: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Apart:
    """What all do, each in a way that a client has to know.

    Attributes:
        ways: how it is done → the models that do it so.
        engines: how it is done and the model → on which engines; only of models that do it in more ways than one.
    """

    subject: Subject
    ways: tuple[tuple[str, tuple[int, ...]], ...]
    engines: Mapping[tuple[str, int], tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Standings:
    """What becomes of each subject with each model on each engine.

    Attributes:
        count: how many models there are.
        relied: what the client relies on.
        outcomes: model and engine → subject → outcome, of all subjects.
    """

    count: int
    engines: tuple[str, ...]
    relied: tuple[Subject, ...]
    outcomes: Mapping[tuple[int, str], Mapping[str, Outcome]]

    def outcome(self, model: int, engine: str, subject: str) -> Outcome:
        """Of one model on one engine."""
        return self.outcomes[model, engine].get(subject, UNKNOWN)

    def grades(self, engine: str, subject: str) -> tuple[Grade | None, ...]:
        """Of each model on one engine."""
        return tuple(self.outcome(model, engine, subject).grade for model in range(self.count))

    def worst(self, model: int, subject: str) -> Grade | None:
        """Of one model over the engines."""
        return _worst(self.outcome(model, engine, subject).grade for engine in self.engines)

    @cached_property
    def losses(self) -> tuple[Loss, ...]:
        """Gravest first, in the order of the subjects; what several engines do alike is one."""
        groups: dict[Loss, list[Loss]] = {}
        for loss in self._losses():
            groups.setdefault(replace(loss, engines=(), cells=()), []).append(loss)
        merged = [
            replace(
                same,
                engines=tuple(engine for one in group for engine in one.engines),
                cells=tuple(cell for one in group for cell in one.cells),
            )
            for same, group in groups.items()
        ]
        order = {subject.id: at for at, subject in enumerate(self.relied)}
        return tuple(
            sorted(merged, key=lambda loss: (loss.verdict != "breaks", order[loss.subject.id], loss.model, loss.says))
        )

    def _losses(self) -> Iterator[Loss]:
        for engine in self.engines:
            for model in range(self.count):
                verdicts = self._verdicts(model, engine)
                for subject in self.relied:
                    verdict = verdicts.get(subject.id)
                    if verdict is None:
                        continue
                    outcome = self.outcome(model, engine, subject.id)
                    cells = ((engine, outcome.case or subject.case),)
                    follows = _larger(subject, verdicts)
                    cure = outcome.cure or subject.cure
                    yield Loss(model, subject, verdict, outcome.word, outcome.says, (engine,), cells, cure, follows)

    def _verdicts(self, model: int, engine: str) -> Mapping[str, Verdict]:
        told = {}
        for subject in (*SUBJECTS, *self.relied):
            verdict = self._verdict(model, engine, subject)
            if verdict is not None:
                told[subject.id] = verdict
        return told

    def _verdict(self, model: int, engine: str, subject: Subject) -> Verdict | None:
        """Against the one that fares best."""
        grade = self.outcome(model, engine, subject.id).grade
        if grade is None or grade == "works":
            return None
        best = max((GRADES.index(one) for one in self.grades(engine, subject.id) if one is not None), default=0)
        if best <= GRADES.index(grade):
            return None
        return "breaks" if grade == "broken" and not subject.mildly else "degrades"

    @cached_property
    def lacks(self) -> tuple[Lack, ...]:
        """What some model is known not to take, and none is known to."""
        found = []
        for subject in self.relied:
            engines = tuple(
                engine
                for engine in self.engines
                if self._lacks(engine, subject)
                and not any(self._lacks(engine, BY_ID[larger]) for larger in _around(subject))
            )
            if engines and not subject.mildly:
                found.append(Lack(subject, engines))
        return tuple(found)

    def _lacks(self, engine: str, subject: Subject) -> bool:
        """Those that load nothing have no say where others do."""
        loads = [model for model in range(self.count) if self.outcome(model, engine, LOADS).grade != "broken"]
        grades = {self.outcome(model, engine, subject.id).grade for model in loads or range(self.count)}
        return grades - {None} == {"broken"}

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """In the order of the subjects."""
        return tuple(self._need(name) for name in dict.fromkeys(subject.need for subject in self.relied))

    def _need(self, name: str) -> Need:
        subjects = [subject for subject in self.relied if subject.need == name and not subject.mildly]
        head = _HEADS.get(name, "")
        engines = tuple(engine for engine in self.engines if not head or not self._lacks(engine, BY_ID[head]))
        taken = [(engine, one.id) for one in subjects for engine in engines if not self._lacks(engine, one)]
        grades = tuple(_worst(self.outcome(model, *cell).grade for cell in taken) for model in range(self.count))
        common = tuple(
            engine
            for engine in engines
            if not head or all(grade in {"works", "degraded"} for grade in self.grades(engine, head))
        )
        return Need(name, grades, self._status(name, subjects, engines), head, engines, common)

    def _status(self, name: str, subjects: Sequence[Subject], engines: Sequence[str]) -> Status:
        if not engines:
            return "unavailable"
        if any(loss.verdict == "breaks" and loss.subject.need == name for loss in self.losses):
            return "broken"
        if any(
            all(self.outcome(model, engine, subject.id).grade is None for subject in subjects)
            for model in range(self.count)
            for engine in self.engines
        ):
            return "unknown"
        return "partly" if any(self._lacks(engine, one) for one in subjects for engine in self.engines) else "shared"

    @cached_property
    def taken(self) -> tuple[Subject, ...]:
        """What every model takes wherever that is known; what each does in its own way is left out."""
        return tuple(subject for subject in self.relied if subject.id not in _OWN_WAY and self._taken(subject))

    def _taken(self, subject: Subject) -> bool:
        return all(self.worst(model, subject.id) in {"works", "degraded"} for model in range(self.count))

    def missed(self, need: Need) -> tuple[Subject, ...]:
        """What some model does not take of a need where all take the heart of it."""
        return tuple(
            subject
            for subject in self.relied
            if subject.need == need.name
            and not subject.mildly
            and any("broken" in self.grades(engine, subject.id) for engine in need.common)
        )

    @cached_property
    def apart(self) -> tuple[Apart, ...]:
        """What more than one model does, in more than one way."""
        found = []
        for subject in self.relied:
            ways: dict[str, list[int]] = {}
            split: dict[tuple[str, int], tuple[str, ...]] = {}
            for model in range(self.count) if subject.id in _OWN_WAY else ():
                told = [(engine, self.outcome(model, engine, subject.id)) for engine in self.engines]
                words = dict.fromkeys(one.word for _, one in told if one.grade == "works")
                for word in words:
                    ways.setdefault(word, []).append(model)
                    if len(words) > 1:
                        split[word, model] = tuple(engine for engine, one in told if one.word == word)
            if len(ways) > 1:
                found.append(Apart(subject, tuple((word, tuple(models)) for word, models in ways.items()), split))
        return tuple(found)


def _around(subject: Subject) -> tuple[str, ...]:
    """The larger subjects that bring a loss with them, the largest first."""
    if subject.id == LOADS:
        return ()
    return (LOADS, *(() if subject.id == CHAT else (CHAT,)), *subject.within)


def _larger(subject: Subject, verdicts: Mapping[str, Verdict]) -> str:
    return next((larger for larger in dict.fromkeys(_around(subject)) if larger in verdicts), "")


def _worst(grades: Iterable[Grade | None]) -> Grade | None:
    known = {grade for grade in grades if grade is not None}
    return next((grade for grade in GRADES if grade in known), None)
