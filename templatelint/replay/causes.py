"""Requests that a model refuses → what of each is refused: the smallest changes with which it is taken."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import TYPE_CHECKING, NamedTuple

from templatelint.replay.changes import CAUSES, LOSSLESS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from templatelint.model import Observation, RenderError, Request
    from templatelint.replay.changes import Cause

    Render = Callable[[Sequence[Request]], Sequence[Observation]]

_ROUNDS = 12  # of looking for further causes, or for another than the one of similar requests
_TOGETHER = 3  # things that a model may refuse with the same words
_COMBINATIONS = 200  # of changes, tried of one request
_ASIDE = 2  # other ways to get further, kept for where the first leads nowhere


class Found(NamedTuple):
    """A cause, and how the model refuses it; no cause where none was found."""

    cause: Cause | None
    error: RenderError


def causes(render: Render, refused: Mapping[int, tuple[Request, RenderError]]) -> dict[int, list[Found]]:
    """What of each request is refused, first cause first: the model names one at a time.

    Of several ways to have a request taken, that of the smallest changes counts, however many these are where they
    take little away; each of them is necessary. Of requests that are refused with the same words one is tried with
    every change; the others with those that helped it, before they are tried with every change themselves.

    Args:
        render: what the model makes of requests.
        refused: requests that it refuses and how, by numbers of the caller's.
    """
    search = _Search(render)
    waiting = {key: _Refused(request, error) for key, (request, error) in refused.items()}
    for _ in range(_ROUNDS):
        if not waiting:
            break
        waiting = search.round(waiting)
    for key, one in waiting.items():
        search.found[key] = one.larger
    found = _necessary(render, refused, _together(render, refused, search.found))
    # changes after which a request is still refused prove nothing
    return {key: [*found[key]] or [Found(None, error)] for key, (_, error) in refused.items()}


# kinds of errors that come before the template is rendered
_BEFORE = frozenset({"invalid-request", "unsupported", "no-start", "syntax"})


@dataclass(frozen=True)
class _Refused:
    """A request under examination: as it is, or without the causes found so far.

    Attributes:
        found: those causes.
        below: changes of this rank and above are not looked at: smaller ones may do.
        larger: the causes by which the request is known to be taken, of that rank; empty where none are.
        others: what to go on with where this leads nowhere.
        alone: it is not to be tried with what helped another.
    """

    request: Request
    error: RenderError
    found: tuple[Found, ...] = ()
    below: int = len(CAUSES)
    larger: tuple[Found, ...] = ()
    others: tuple[_Refused, ...] = ()
    alone: bool = False

    def after(self, step: _Step) -> tuple[Found, ...]:
        """The causes found so far, with those of the step."""
        return (*self.found, *(Found(CAUSES[rank], self.error) for rank in step.ranks))


class _Step(NamedTuple):
    """Changes that made a difference: the request is taken, or refused for another reason.

    Attributes:
        ranks: places of the causes in `CAUSES`, rising.
    """

    ranks: tuple[int, ...]
    request: Request
    error: RenderError | None


def _applicable(one: _Refused) -> list[int]:
    return [rank for rank, cause in enumerate(CAUSES[: one.below]) if cause.change(one.request) is not None]


def _changed(request: Request, ranks: Iterable[int]) -> Request | None:
    """The request without these causes; None where it has not all of them."""
    changed: Request | None = request
    for rank in ranks:
        changed = None if changed is None else CAUSES[rank].change(changed)
    return changed


def _helpful(render: Render, refused: Sequence[_Refused]) -> list[list[_Step]]:
    """The steps that get each request further, smallest first, up to one with which it is taken.

    Where no single change smaller than that does, several may have to go together, as what they mend is refused with
    the same words.
    """
    steps: list[list[_Step]] = [[] for _ in refused]
    for size in range(1, _TOGETHER + 1):
        asked = [index for index, own in enumerate(steps) if _may_be_smaller(own, size)]
        tries = [
            (index, ranks, changed)
            for index in asked
            for ranks in islice(_combinations(refused[index], steps[index], size), _COMBINATIONS)
            if (changed := _changed(refused[index].request, ranks)) is not None
        ]
        if not tries:
            continue
        new: dict[int, list[_Step]] = {}
        for (index, ranks, changed), answer in zip(tries, render([one for *_, one in tries]), strict=True):
            own = new.setdefault(index, [])
            known = bool(own) and own[-1].error is None
            if not known and (answer.error is None or _goes_on(answer.error, refused[index].error)):
                own.append(_Step(ranks, changed, answer.error))
        for index, own in new.items():
            taken = bool(own) and own[-1].error is None
            steps[index] = own if taken else own + steps[index]
    return steps


def _may_be_smaller(steps: Sequence[_Step], size: int) -> bool:
    """Whether combinations of that size are worth a try: where nothing helps, or much is taken away."""
    if not steps:
        return True
    taken = len(steps) == 1 and steps[0].error is None
    return taken and (size < _TOGETHER or steps[0].ranks[-1] >= LOSSLESS)


def _combinations(one: _Refused, steps: Sequence[_Step], size: int) -> Iterator[tuple[int, ...]]:
    """Ranks of changes, those with the smallest largest one first."""
    ranks = [rank for rank in _applicable(one) if not steps or rank < _smaller(steps[-1])]
    return iter(sorted(combinations(ranks, size), key=lambda some: some[::-1]))


def _smaller(taken: _Step) -> int:
    """The rank below which changes are smaller than that one: of two that take things away neither is."""
    return min(taken.ranks[-1], LOSSLESS)


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
    found: dict[int, tuple[Found, ...]] = field(default_factory=dict)

    def round(self, waiting: Mapping[int, _Refused]) -> dict[int, _Refused]:
        """Look for one cause of each, or several that go together; what is to be looked at again comes back."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for key, one in waiting.items():
            alone = key if one.alone else None
            groups.setdefault((one.error.kind, one.error.message, one.below, alone), []).append(key)
        firsts = [min(keys, key=lambda key: len(waiting[key].request.messages)) for keys in groups.values()]
        later: dict[int, _Refused] = {}
        following: list[tuple[int, _Step]] = []
        told = _helpful(self.render, [waiting[key] for key in firsts])
        for first, keys, steps in zip(firsts, groups.values(), told, strict=True):
            self._take(first, waiting[first], steps, later)
            tried = set(_applicable(waiting[first])) if len(keys) > 1 else set()
            for key in keys:
                if key == first:
                    continue
                if steps and (step := _followed(waiting[key], steps[0], tried)) is not None:
                    following.append((key, step))
                else:
                    later[key] = waiting[key]
        answers = self.render([step.request for _, step in following]) if following else ()
        for (key, step), answer in zip(following, answers, strict=True):
            one = waiting[key]
            own = step._replace(error=answer.error)
            if answer.error is None:
                self.found[key] = one.after(own)
            elif _goes_on(answer.error, one.error):
                later[key] = _further(one, own, (_by_itself(one),))
            else:
                later[key] = _by_itself(one)
        return later

    def _take(self, key: int, one: _Refused, steps: Sequence[_Step], later: dict[int, _Refused]) -> None:
        if not steps:
            if one.others:
                later[key] = one.others[0]
            else:
                self.found[key] = one.larger
            return
        taken = steps[-1] if steps[-1].error is None else None
        if taken is not None:
            one = _Refused(one.request, one.error, one.found, _smaller(taken), one.after(taken), (), one.alone)
        steps = [step for step in steps if step is taken or step.ranks[-1] < one.below]
        if steps[0] is taken:
            self.found[key] = one.larger
            return
        others = one.others
        for other in reversed([step for step in steps[1 : 1 + _ASIDE] if step.error is not None]):
            others = (_further(one, other, others),)
        later[key] = _further(one, steps[0], others)


def _further(one: _Refused, step: _Step, others: tuple[_Refused, ...]) -> _Refused:
    """The request after a step with which it is refused for another reason."""
    error = one.error if step.error is None else step.error
    return _Refused(step.request, error, one.after(step), one.below, one.larger, others, one.alone)


def _by_itself(one: _Refused) -> _Refused:
    return _Refused(one.request, one.error, one.found, one.below, one.larger, one.others, alone=True)


def _followed(one: _Refused, step: _Step, tried: set[int]) -> _Step | None:
    """The step of another request with this one; None where this one may be mended by smaller changes."""
    if any(rank not in tried for rank in _applicable(one) if rank < step.ranks[-1]):
        return None
    changed = _changed(one.request, step.ranks)
    return None if changed is None else step._replace(request=changed)


def _together(
    render: Render, refused: Mapping[int, tuple[Request, RenderError]], found: Mapping[int, tuple[Found, ...]]
) -> dict[int, tuple[Found, ...]]:
    """With causes of requests for which none were found: more may go together than were tried one by one.

    Where some were found that go together with a large one, small ones alone are better.
    """
    told = dict(found)
    some = {key for key, own in found.items() if len(own) > 1 and max(map(_rank, own)) >= LOSSLESS}
    tries = [
        (key, made, changed)
        for key, (request, error) in refused.items()
        if not told[key] or key in some
        for apart in (_EITHER, _EITHER | _FORMS)
        for made, changed in _all_but(request, error, apart)
        if key not in some or _rank(made[-1]) < LOSSLESS
    ]
    answers = render([request for *_, request in tries]) if tries else ()
    for (key, made, _), answer in zip(tries, answers, strict=True):
        if answer.error is None and (not told[key] or key in some):
            told[key] = made
            some.discard(key)
    return told


def _all_but(
    request: Request, error: RenderError, apart: frozenset[str]
) -> Iterator[tuple[tuple[Found, ...], Request]]:
    """The request with all small changes at once, but for those of some subjects; then with one large one more each."""
    made: tuple[Found, ...] = ()
    for rank, cause in enumerate(CAUSES):
        if rank == LOSSLESS and made:
            yield made, request
        if cause.subject not in apart and (changed := cause.change(request)) is not None:
            request, made = changed, (*made, Found(cause, error))
            if rank >= LOSSLESS:
                yield made, request


# changes of the form in which something is sent: another may be what the model refuses
_EITHER = frozenset({"arguments"})
_FORMS = frozenset({"call-ids", "content-parts", "tools-again"})


def _necessary(
    render: Render, refused: Mapping[int, tuple[Request, RenderError]], found: Mapping[int, tuple[Found, ...]]
) -> dict[int, tuple[Found, ...]]:
    """The causes that have to be mended where the others are, each with what the model says where it alone is not."""
    kept = {key: [*own] for key, own in found.items()}
    waiting = {key: sorted(own, key=_rank, reverse=True) for key, own in found.items() if len(own) > 1}
    while waiting:
        tries = [(key, left.pop(0)) for key, left in waiting.items()]
        answers = render(
            [_without(refused[key][0], [other for other in kept[key] if other is not one]) for key, one in tries]
        )
        for (key, one), answer in zip(tries, answers, strict=True):
            at = next(at for at, other in enumerate(kept[key]) if other is one)
            if answer.error is None:
                del kept[key][at]
            elif not answer.error.out_of_budget:
                kept[key][at] = one._replace(error=answer.error)
        waiting = {key: left for key, left in waiting.items() if left and len(kept[key]) > 1}
    for key, own in kept.items():
        if len(own) == 1:
            own[0] = own[0]._replace(error=refused[key][1])
    return {key: tuple(own) for key, own in kept.items()}


def _without(request: Request, found: Iterable[Found]) -> Request:
    for one in found:
        request = (one.cause and one.cause.change(request)) or request
    return request


def _rank(found: Found) -> int:
    return next((rank for rank, cause in enumerate(CAUSES) if cause is found.cause), -1)
