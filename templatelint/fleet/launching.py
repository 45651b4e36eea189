"""Models on an engine that is told its parsers → the flags of each, and whether one set of flags serves all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.dialects.serving.parsers import LAUNCHED
from templatelint.diff import READ_BY_PARSERS
from templatelint.outcomes import GRADES, LOADS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.inspection import Inspection
    from templatelint.outcomes import Grade, Launch


@dataclass(frozen=True, slots=True)
class Launching:
    """How an engine is launched for each model of a fleet.

    Attributes:
        flags: of each model; empty where it takes none.
        common: the flags that serve all of them, and as well as their own do; None where there are none such.
    """

    engine: str
    flags: tuple[str, ...]
    common: str | None


def launchings(models: Sequence[Inspection], engines: Sequence[str]) -> Iterator[Launching]:
    """Of the engines that are told parsers, those that some model needs flags on."""
    for engine in engines:
        if engine not in LAUNCHED:
            continue
        flags = tuple(flags_of(model, engine) for model in models)
        if any(flags):
            common = next((text for text, launch in _offers(models, engine) if _serves(models, engine, launch)), None)
            yield Launching(engine, flags, common)


def flags_of(model: Inspection, engine: str) -> str:
    """The flags that fit the model."""
    return " ".join(outcomes.arguments(model, engine))


def _offers(models: Sequence[Inspection], engine: str) -> Iterator[tuple[str, Launch]]:
    """What fits some model that takes flags, each once."""
    offers = dict.fromkeys((flags_of(model, engine), outcomes.launch(model, engine)) for model in models)
    yield from (offer for offer in offers if offer[0])


def _serves(models: Sequence[Inspection], engine: str, launch: Launch) -> bool:
    """Whether none of them fares worse with these parsers than with its own, and none ill with both."""
    for model in models:
        own = outcomes.launch(model, engine)
        if own == launch:
            continue
        if own.calls and not launch.calls:
            return False
        before, after = (_read(outcomes.of(model, engine, started)) for started in (own, launch))
        if any(_loses(before[subject], after[subject]) for subject in before):
            return False
    return True


def _read(told: Mapping[str, outcomes.Outcome]) -> Mapping[str, Grade | None]:
    if told[LOADS].grade != "works":
        return {}  # it reads no replies with any parsers
    return {subject: told[subject].grade for subject in sorted(READ_BY_PARSERS)}


def _loses(before: Grade | None, after: Grade | None) -> bool:
    if before is None or after is None:
        return False
    return after == "broken" or GRADES.index(after) < GRADES.index(before)
