"""Requests that a model refuses → what of each is refused: the smallest change with which it is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from templatelint.replay.changes import CAUSES, SYSTEM

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.model import Observation, RenderError, Request
    from templatelint.replay.changes import Cause

    Render = Callable[[Sequence[Request]], Sequence[Observation]]

_ROUNDS = 6  # of looking for further causes, or for another than the one of similar requests


class Found(NamedTuple):
    """A cause, and how the model refuses it; no cause where none was found."""

    cause: Cause | None
    error: RenderError


def causes(render: Render, refused: Mapping[int, tuple[Request, RenderError]]) -> dict[int, list[Found]]:
    """What of each request is refused, first cause first: the model names one at a time.

    Of requests that are refused with the same words one is tried with every change; the others with the one that
    helped it, before they are tried with every change themselves.

    Args:
        render: what the model makes of requests.
        refused: requests that it refuses and how, by numbers of the caller's.
    """
    search = _Search(render, {key: [] for key in refused})
    waiting = {key: _Refused(request, error) for key, (request, error) in refused.items()}
    for _ in range(_ROUNDS):
        waiting = search.round(waiting)
    for key, one in waiting.items():
        search.give_up(key, one)
    return search.found


# kinds of errors that come before the template is rendered
_BEFORE = frozenset({"invalid-request", "unsupported", "no-start", "syntax"})


@dataclass(frozen=True)
class _Refused:
    """A request under examination: as it is, or without the causes found so far."""

    request: Request
    error: RenderError


class _Step(NamedTuple):
    """A change that made a difference: the request is taken, or refused for another reason."""

    cause: Cause
    request: Request
    error: RenderError | None


def _helpful(render: Render, refused: Sequence[_Refused]) -> list[_Step | None]:
    """The first change with which each is taken, else the first with which it is refused otherwise.

    Where there is neither, two things may be refused with the same words: that of the system message, and another.
    """
    steps = _first_steps(render, refused)
    stuck = [index for index, step in enumerate(steps) if step is None]
    bare = {index: request for index in stuck if (request := SYSTEM.change(refused[index].request)) is not None}
    without = [_Refused(request, refused[index].error) for index, request in bare.items()]
    for index, step in zip(bare, _first_steps(render, without), strict=True):
        if step is not None and step.error is None:
            steps[index] = _Step(SYSTEM, bare[index], refused[index].error)
    return steps


def _first_steps(render: Render, refused: Sequence[_Refused]) -> list[_Step | None]:
    tries = [
        (index, cause, changed)
        for index, one in enumerate(refused)
        for cause in CAUSES
        if (changed := cause.change(one.request)) is not None
    ]
    answers = render([changed for _, _, changed in tries])
    taken: dict[int, _Step] = {}
    other: dict[int, _Step] = {}
    for (index, cause, changed), answer in zip(tries, answers, strict=True):
        step = _Step(cause, changed, answer.error)
        if answer.error is None:
            taken.setdefault(index, step)
        elif _goes_on(answer.error, refused[index].error):
            other.setdefault(index, step)
    return [taken.get(index, other.get(index)) for index in range(len(refused))]


def _goes_on(error: RenderError, before: RenderError) -> bool:
    """Whether the model got further: what an engine rejects, or nobody knows of, it has not come to look at."""
    rejected = error.kind in _BEFORE and error.kind != before.kind
    return not (error.out_of_budget or rejected or _same(error, before))


def _same(error: RenderError | None, other: RenderError) -> bool:
    return error is not None and (error.kind, error.message) == (other.kind, other.message)


@dataclass(frozen=True)
class _Search:
    """A search under way: who renders, and what is found."""

    render: Render
    found: dict[int, list[Found]]

    def round(self, waiting: Mapping[int, _Refused]) -> dict[int, _Refused]:
        """Look for one cause of each; what is to be looked at again comes back."""
        groups: dict[tuple[str, str], list[int]] = {}
        for key, one in waiting.items():
            groups.setdefault((one.error.kind, one.error.message), []).append(key)
        firsts = [min(keys, key=lambda key: len(waiting[key].request.messages)) for keys in groups.values()]
        later: dict[int, _Refused] = {}
        following: list[tuple[int, _Step]] = []
        steps = _helpful(self.render, [waiting[key] for key in firsts])
        for first, keys, step in zip(firsts, groups.values(), steps, strict=True):
            self._take(first, waiting[first], step, later)
            for key in keys:
                if key == first:
                    continue
                changed = None if step is None else step.cause.change(waiting[key].request)
                if step is None or changed is None:
                    later[key] = waiting[key]
                else:
                    following.append((key, step._replace(request=changed)))
        answers = self.render([step.request for _, step in following])
        for (key, step), answer in zip(following, answers, strict=True):
            before = waiting[key].error
            if answer.error is None or _goes_on(answer.error, before) or _same(step.error, before):
                self._take(key, waiting[key], step._replace(error=answer.error), later)
            else:
                later[key] = waiting[key]
        return later

    def _take(self, key: int, one: _Refused, step: _Step | None, later: dict[int, _Refused]) -> None:
        if step is None:
            self.give_up(key, one)
            return
        self.found[key].append(Found(step.cause, one.error))
        if step.error is not None:
            later[key] = _Refused(step.request, step.error)

    def give_up(self, key: int, one: _Refused) -> None:
        """Record that what is refused is not known: changes after which the request is still refused prove nothing."""
        first = self.found[key][0].error if self.found[key] else one.error
        self.found[key][:] = [Found(None, first)]
