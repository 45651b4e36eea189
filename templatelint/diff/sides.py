"""A model on an engine, as one side of a comparison: with which parsers it runs, and what becomes of everything."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint import outcomes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from templatelint.inspection import Inspection
    from templatelint.outcomes import Launch, Outcome


@dataclass(frozen=True)
class Known:
    """A model under comparison.

    Attributes:
        ref: the reference as typed.
        inspection: what `outcomes.observed` gives.
    """

    ref: str
    inspection: Inspection


@dataclass(frozen=True)
class Launches:
    """How engines run that are told at launch which parsers read replies.

    Attributes:
        calls: engine → the tool-call parser that the user names, for both models.
        relaunched: the second model is served with the parsers that fit it; otherwise with those that fit the first.
    """

    calls: Mapping[str, str]
    relaunched: bool = False


@dataclass(frozen=True)
class Side:
    """One model on one engine."""

    known: Known
    engine: str

    @property
    def fitting(self) -> Launch:
        """The parsers that fit this model here."""
        return outcomes.launch(self.known.inspection, self.engine)

    def outcomes(self, started: Launch, needs: AbstractSet[str]) -> Mapping[str, Outcome]:
        """What becomes of each subject with these parsers."""
        return outcomes.of(self.known.inspection, self.engine, started, needs)


def started(side: Side, launches: Launches) -> Launch:
    """The parsers that fit the model, but for one that the user names."""
    named = launches.calls.get(side.engine)
    return side.fitting._replace(calls=named) if named else side.fitting
