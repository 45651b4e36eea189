"""A comparison → the pairs of whole prompts that show what it predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from templatelint import cases, matrix
from templatelint.model import Case
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.diff import Comparison, Known
    from templatelint.engines import Engine
    from templatelint.model import Observation, Request
    from templatelint.predictions import Prediction

_USUAL = "chat-turns"  # where nothing is predicted
_OWN = 4  # requests of the user's own


class Side(NamedTuple):
    """What one model makes of a case.

    Attributes:
        ref: the reference as typed.
        engine: the engine's id.
        prompt: None where there is none.
        said: why there is none.
    """

    ref: str
    engine: str
    prompt: str | None
    said: str = ""


class Pair(NamedTuple):
    """The prompts of one case."""

    case: Case
    a: Side
    b: Side


def exhibits(comparison: Comparison, requests: Mapping[str, Request], engines: Sequence[Engine]) -> Iterator[Pair]:
    """The prompts of both models, once for each case that shows something: on the first engine that does.

    Args:
        comparison: the comparison.
        requests: name → request of the user's own.
        engines: those that were asked.
    """
    alone = [one for one in comparison.predictions if not one.follows]
    canonical = [one for one in alone if not one.request]
    shown: dict[str, tuple[str, str]] = {}
    for one in canonical:
        shown.setdefault(one.evidence[-1].case.split("+")[0], _engines(one))
    if not alone:
        shown[_USUAL] = comparison.pairs[0]
    for stem, (engine_a, engine_b) in shown.items():
        case = cases.get(stem)
        yield Pair(case, _canonical(comparison.a, engine_a, stem), _canonical(comparison.b, engine_b, stem))
    named = {engine.name: engine for engine in engines}
    own = {one.request: _engines(one) for one in reversed(alone) if one.request in requests}
    for name, (engine_a, engine_b) in list(reversed(own.items()))[:_OWN]:
        sides = (
            _own(known, named[engine], requests[name])
            for known, engine in ((comparison.a, engine_a), (comparison.b, engine_b))
        )
        yield Pair(Case(name, "a request of the user's own", requests[name]), *sides)


def _engines(prediction: Prediction) -> tuple[str, str]:
    """The engines of the first two spans of the evidence: A's and B's."""
    return prediction.evidence[0].engine, prediction.evidence[1].engine


def _canonical(known: Known, engine: str, stem: str) -> Side:
    view = known.inspection.views[engine]
    if view.load_error is not None:
        return Side(known.ref, engine, None, view.load_error.message)
    try:
        return _side(known, engine, view.observation(stem))
    except NoText as missing:
        return Side(known.ref, engine, None, missing.why)


def _own(known: Known, engine: Engine, request: Request) -> Side:
    asked = cases.to_form(request, engine.client_form)
    ((_, observation),) = matrix.observe_requests(known.inspection.model, engine, [asked])
    return _side(known, engine.name, observation)


def _side(known: Known, engine: str, observation: Observation) -> Side:
    said = observation.error.message if observation.error is not None else ""
    return Side(known.ref, engine, observation.prompt, said)
