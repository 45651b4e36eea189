"""Recorded requests and two models → which of the requests work with the one and break with the other, and how."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from templatelint.model import NotRun
from templatelint.predictions import Prediction, merged
from templatelint.replay import serving
from templatelint.replay.comparison import Comparison
from templatelint.replay.parts import parts
from templatelint.replay.side import Side, rendered
from templatelint.replay.variables import has_switch

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from templatelint.engines import Engine
    from templatelint.model import Model, Observation, Request
    from templatelint.replay.parts import Part
    from templatelint.traffic.recorded import Recorded

_AT_ONCE = 256  # requests whose prompts are in memory together
# what a request holds that no prompt depends on
_IDLE = frozenset({"model", "stream", "stream_options", "seed", "user", "metadata", "temperature", "max_tokens"})


@dataclass(frozen=True)
class Fate:
    """What became of a part of a request: whether it reached the prompt, None where that is not known."""

    part: Part
    reached: bool | None


@dataclass(frozen=True)
class Replay:
    """Recorded requests, judged.

    Attributes:
        predictions: what becomes otherwise with B, gravest first, each with the name of its request.
        not_run: requests that were not judged, and why.
        judged: how many requests were, on at least one pair of engines.
        equal: how many of those are the same as one before.
        failing: how many others both models refuse: nothing is said of them.
        switching: how many of those judged say anything of thinking.
    """

    predictions: tuple[Prediction, ...]
    not_run: tuple[NotRun, ...]
    judged: int
    equal: int = 0
    failing: int = 0
    switching: int = 0


def fates(model: Model, engine: Engine, requests: Sequence[Request]) -> list[tuple[Observation, tuple[Fate, ...]]]:
    """What each request gives, and what became of its parts where that is a prompt.

    Raises:
        TemplatelintError: what the engine runs on does not work any more.
    """
    side = Side(model, engine)
    seen = side.observe(requests)
    asked = [
        (rendered(request, template, observation), parts(request))
        for request, (template, observation) in zip(requests, seen, strict=True)
        if observation.prompt is not None
    ]
    told = iter(side.reached(asked))
    return [
        (observation, () if observation.prompt is None else tuple(Fate(*fate) for fate in next(told).items()))
        for _, observation in seen
    ]


def predictions(
    requests: Sequence[Recorded],
    a: Model,
    b: Model,
    pairs: Sequence[tuple[Engine, Engine]],
    advance: Callable[[int], object] = bool,
) -> Replay:
    """What becomes of recorded requests when B takes A's place.

    Args:
        requests: as `traffic.read_recorded` gives them.
        a: the model that serves them now.
        b: the model that is to serve them.
        pairs: an engine for A and one for B, each.
        advance: told how many more of the requests are done, as they are.

    Raises:
        TemplatelintError: what an engine runs on does not work any more.
    """
    names: dict[str, list[str]] = {}
    distinct: list[Recorded] = []
    for recorded in requests:
        if recorded.request is not None:
            same = names.setdefault(_key(recorded), [])
            if not same:
                distinct.append(recorded)
            same.append(recorded.name)
    called = list(names.values())
    found: list[Prediction] = []
    unknown: Counter[tuple[str, str]] = Counter()
    judged: set[int] = set()
    failing: set[int] = set()
    for start in range(0, len(distinct), _AT_ONCE):
        some = distinct[start : start + _AT_ONCE]
        for engine_a, engine_b in pairs:
            sides = Side(a, engine_a), Side(b, engine_b)
            comparison = Comparison(*sides, serving.received(some, sides))
            for row in range(len(some)):
                if why := comparison.unknown.get(row):
                    unknown[engine_b.name, why] += len(called[start + row])
                else:
                    (failing if row in comparison.failing else judged).add(start + row)
            for row, prediction in comparison.predictions():
                found += [_named(prediction, name) for name in called[start + row]]
        advance(sum(len(same) for same in called[start : start + len(some)]))
    not_run = [NotRun("messages", one.name, one.flaw) for one in requests if one.request is None]
    not_run += [
        NotRun("messages", b.ref, f"{count} {'request' if count == 1 else 'requests'} not judged on {engine}: {why}")
        for (engine, why), count in unknown.items()
    ]
    switching = {row for row in judged if (own := distinct[row].request) is not None and has_switch(own)}
    total, refused, saying = (sum(len(called[row]) for row in rows) for rows in (judged, failing - judged, switching))
    return Replay(merged(found), tuple(not_run), total, total - len(judged), refused, saying)


def _key(recorded: Recorded) -> str:
    """Equal for requests that give the same prompts."""
    request = recorded.request
    if request is None:
        return ""
    extra = {name: value for name, value in request.extra.items() if name not in _IDLE}
    return json.dumps([vars(replace(request, extra=extra)), serving.has_inline_system(recorded)], default=str)


def _named(prediction: Prediction, name: str) -> Prediction:
    return replace(prediction, request=name, evidence=tuple(replace(span, case=name) for span in prediction.evidence))
