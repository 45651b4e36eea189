"""Several models behind one endpoint → what one client may rely on, who breaks it, and what would mend it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.fleet.launching import flags_of, launchings
from templatelint.fleet.mend import smallest
from templatelint.fleet.standing import Standings
from templatelint.fleet.terms import shared

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.diff import Known, Launches
    from templatelint.fleet.launching import Launching
    from templatelint.fleet.mend import Mend
    from templatelint.fleet.standing import Loss
    from templatelint.fleet.terms import SharedTerm


@dataclass(frozen=True)
class Fleet:
    """Models that one client talks to.

    Attributes:
        refs: the references as typed; everything else names a model by its place among them.
        standings: what becomes of what the client relies on, with each model on each engine.
        terms: what the client must observe.
        launchings: with which flags the engines are launched that are told parsers.
        mend: the smallest change after which all models take what any of them takes.
        unknown: model and engine → why nothing is known of the two.
    """

    refs: tuple[str, ...]
    standings: Standings
    terms: tuple[SharedTerm, ...]
    launchings: tuple[Launching, ...]
    mend: Mend
    unknown: tuple[tuple[int, str, str], ...] = ()

    @property
    def losses(self) -> tuple[Loss, ...]:
        """What some models take and others do not, gravest first."""
        return self.standings.losses

    @property
    def breaks(self) -> bool:
        """Whether something that is needed works with some model and not with another."""
        return any(loss.verdict == "breaks" for loss in self.losses)


def judge(models: Sequence[Known], engines: Sequence[str], needs: AbstractSet[str], launches: Launches) -> Fleet:
    """Whether these models can share one endpoint and one client.

    Each model is launched with the parsers that fit it, those apart that the user names for all.

    Args:
        models: what `outcomes.observed` gives of each, with the reference as typed.
        engines: those that each model was observed on.
        needs: what the client relies on.
        launches: the tool-call parsers that the user names.
    """
    known = [model.inspection for model in models]

    def started(model: int, engine: str) -> outcomes.Launch:
        fitting, named = outcomes.launch(known[model], engine), launches.calls.get(engine)
        return fitting._replace(calls=named) if named else fitting

    def fitting(model: int, engine: str, subject: str) -> str | None:
        fits = outcomes.launch(known[model], engine)
        if fits == started(model, engine):
            return None
        taken = outcomes.of(known[model], engine, fits)[subject].grade != "broken"
        return flags_of(known[model], engine) if taken else None

    standings = Standings(
        len(models),
        tuple(engines),
        outcomes.subjects(needs),
        {
            (at, engine): outcomes.of(model, engine, started(at, engine), needs)
            for at, model in enumerate(known)
            for engine in engines
        },
    )
    return Fleet(
        tuple(model.ref for model in models),
        standings,
        shared([model.contract for model in known], needs),
        tuple(launchings(known, engines)),
        smallest(standings, fitting),
        tuple(
            (at, engine, model.capabilities[engine].why)
            for at, model in enumerate(known)
            for engine in engines
            if model.capabilities[engine].loads is None
        ),
    )
