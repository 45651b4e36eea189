"""Two models on the same engines, or one on two → what works with the first and breaks with the second."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.diff.cures import OVERRIDE, READ_BY_PARSERS
from templatelint.diff.sides import Known, Launches, Side
from templatelint.diff.verdicts import predicted
from templatelint.differences import Difference, differences
from templatelint.model import NotRun
from templatelint.outcomes import LOADS
from templatelint.predictions import Prediction, merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.replay import Replay

__all__ = ("OVERRIDE", "READ_BY_PARSERS", "Comparison", "Known", "Launches", "compare", "with_traffic")


@dataclass(frozen=True)
class Comparison:
    """One model in another's place.

    Attributes:
        pairs: the engine of A and that of B, of each comparison.
        predictions: gravest first; without those of needs that do not count.
        differences: engine of B → what differs besides and loses nothing.
        not_run: engines of which not everything is known, and why.
        needs: what the client relies on.
        judged: how many of the user's own requests were judged; None where none were given.
        failing: how many others A refuses too.
    """

    a: Known
    b: Known
    pairs: tuple[tuple[str, str], ...]
    predictions: tuple[Prediction, ...]
    differences: Mapping[str, tuple[Difference, ...]]
    not_run: tuple[NotRun, ...] = ()
    judged: int | None = None
    failing: int = 0
    needs: frozenset[str] = frozenset(outcomes.JUDGED)

    @property
    def blind(self) -> tuple[NotRun, ...]:
        """The models of which nothing is known on any engine, or by no request, and why."""
        if self.judged == 0:
            why = "every request fails with A too" if self.failing else "no request could be judged"
            return (NotRun("messages", self.b.ref, why),)
        found = []
        for at, known in enumerate((self.a, self.b)):
            engines = [pair[at] for pair in self.pairs]
            if all(outcomes.loads(known.inspection, engine).grade is None for engine in engines):
                facts = {engine: known.inspection.capabilities[engine] for engine in engines}
                why = "; ".join(f"{engine}: {one.why}" for engine, one in facts.items() if one.why)
                found.append(NotRun("*", known.ref, why))
        return tuple(found)

    @property
    def differing(self) -> Mapping[Difference, list[str]]:
        """What differs and loses nothing → the engines of B on which it does."""
        found: dict[Difference, list[str]] = {}
        for engine, told in self.differences.items():
            for one in told:
                found.setdefault(one, []).append(engine)
        return found

    @property
    def differing_cells(self) -> Iterator[tuple[str, str]]:
        """The case and engine of which the two make different prompts, or only one makes a prompt."""
        for engine, base in self.a.inspection.views.items():
            others = self.b.inspection.views[engine].matrix.cells
            for cell, observation in base.matrix.cells.items():
                # a form that only one of them demanded has nothing to be held against
                if cell[1] == engine and cell in others and others[cell].prompt != observation.prompt:
                    yield cell

    @property
    def paired(self) -> bool:
        """Whether each engine of A is that of B."""
        return all(engine_a == engine_b for engine_a, engine_b in self.pairs)

    @property
    def breaks(self) -> bool:
        """Whether something that is needed works with A and not with B."""
        return any(prediction.verdict == "breaks" for prediction in self.predictions)


def compare(
    a: Known, b: Known, pairs: Sequence[tuple[str, str]], needs: AbstractSet[str], launches: Launches
) -> Comparison:
    """Predict what a client made for A meets with B.

    Args:
        a: what the client was made for.
        b: what takes its place.
        pairs: an engine for A and one for B, each.
        needs: what the client relies on.
        launches: how the engines run.
    """
    found = [
        prediction
        for engine_a, engine_b in pairs
        for prediction in predicted(Side(a, engine_a), Side(b, engine_b), needs, launches)
    ]
    beside = {engine_b: tuple(_beside(Side(a, engine_a), Side(b, engine_b))) for engine_a, engine_b in pairs}
    order = {subject.id: at for at, subject in enumerate(outcomes.subjects(needs))}
    found.sort(key=lambda prediction: order[prediction.subject])
    gaps = (gap for at, side in enumerate((a, b)) for gap in _gaps(side, [pair[at] for pair in pairs]))
    return Comparison(a, b, tuple(pairs), merged(found), beside, tuple(gaps), needs=frozenset(needs))


def _beside(a: Side, b: Side) -> Iterator[Difference]:
    """What prompts show otherwise without loss; then how to launch, and what clients must observe."""
    yield from differences(a.known.inspection.views[a.engine], b.known.inspection.views[b.engine])
    launch_a, launch_b = (" ".join(outcomes.arguments(side.known.inspection, side.engine)) for side in (a, b))
    if launch_a != launch_b:
        yield Difference("launch flags", launch_a or "none", launch_b or "none", "other launch flags fit")
    gone, new = _terms(a, b), _terms(b, a)
    if gone or new:
        yield Difference("contract", gone or "nothing else", new or "nothing else", "clients must observe otherwise")


def _terms(one: Side, other: Side) -> str:
    """The clauses of a contract that the other's has not."""
    kept = {term.id for term in other.known.inspection.contract if other.engine in term.engines}
    own = one.known.inspection.contract
    return "; ".join(term.text for term in own if one.engine in term.engines and term.id not in kept)


def with_traffic(comparison: Comparison, replay: Replay, needs: AbstractSet[str], *, tools: bool) -> Comparison:
    """The comparison by the user's own requests, and of the canonical ones by what no request shows: the replies.

    Args:
        comparison: by the canonical cases.
        replay: the user's own requests, judged.
        needs: what the client relies on; a request that B refuses concerns any of it.
        tools: some of the requests offer tools, so that replies may call them.
    """
    unshown = _NOT_IN_REQUESTS | (_CALLS if tools else frozenset())
    unshown |= frozenset() if replay.switching == replay.judged else _UNSAID
    kept = [one for one in comparison.predictions if one.subject in unshown]
    own = [one for one in replay.predictions if one.need in needs or one.evidence[-1].failed]
    return replace(
        comparison,
        predictions=merged((*own, *kept)),
        not_run=(*comparison.not_run, *replay.not_run),
        judged=replay.judged,
        failing=replay.failing,
    )


# what becomes of replies, and of templates that answer nothing
_NOT_IN_REQUESTS = frozenset({LOADS, "answers", "reply-thoughts"})
_CALLS = frozenset({"reply-calls", "reply-parallel-calls", "call-dialect"})
# what holds for requests that say nothing of it
_UNSAID = frozenset({"thinking-default"})


def _gaps(known: Known, engines: Iterable[str]) -> Iterator[NotRun]:
    """Where cells have no answer, what they would tell is not told."""
    for engine in engines:
        facts = known.inspection.capabilities[engine]
        if facts.why and facts.loads is not False:
            yield NotRun("*", known.ref, f"{engine}: {facts.why}")
