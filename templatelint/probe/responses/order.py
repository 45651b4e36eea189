"""A streamed response → where its events do not come in the order that the API gives them."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from templatelint.probe.responses import events
from templatelint.probe.responses.events import kind_of, named, whole
from templatelint.probe.telling import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.probe.responses.events import Fault, Item, Told

_OF_TEXT = (events.PART_ADDED, events.TEXT_DELTA, events.TEXT_DONE, events.PART_DONE)


def disorder(told: Told) -> Iterator[Fault]:
    """What is wrong, in a clause, and the places of the events that show it.

    A stream has at least one event.
    """
    yield from _envelope([kind_of(event) for event in told.frames])
    if told.astray:
        place, event = told.astray[0]
        which = "is over" if kind_of(event) == events.ITEM_DONE else "has not started"
        yield f"{named(told.frames, place)} is about an item that {which}", [place]
    yield from overlap(told)
    # what a limit cuts may stay open
    whole_answer = told.terminal is not None and kind_of(told.terminal) == events.COMPLETED
    for item in told.items:
        yield from _disorder_of(told, item, ends=whole_answer)


def _envelope(kinds: Sequence[str]) -> Iterator[Fault]:
    if kinds[0] != events.CREATED:
        yield f"the first event is {quoted(kinds[0])} in place of {events.CREATED}", [0]
    again = [place for place, kind in enumerate(kinds) if kind == events.CREATED]
    if len(again) > 1:
        yield f"{events.CREATED} comes {len(again)} times", again
    end = next((place for place, kind in enumerate(kinds) if kind in events.TERMINAL), None)
    if end is None:
        yield f"the last event is {quoted(kinds[-1])}, and none ends the response", [len(kinds) - 1]
        return
    late = [place for place in range(end + 1, len(kinds)) if kinds[place] in events.WHOLE | events.PARTS]
    if late:
        yield f"{quoted(kinds[late[0]])} comes after {kinds[end]}", [end, *late]


def overlap(told: Told) -> Iterator[Fault]:
    """Items that start before the one ahead of them is done."""
    for item, following in pairwise(told.items):
        if item.last is None or item.last > following.first:
            done = [] if item.last is None else [item.last]
            yield (
                f"item {following.shown} starts before item {item.shown} is done",
                [item.first, following.first, *done],
            )


def _disorder_of(told: Told, item: Item, *, ends: bool) -> Iterator[Fault]:
    if item.last is None and ends:
        yield f"item {item.shown} has no {events.ITEM_DONE}", [item.first]
    late = [place for place, _ in item.told if item.last is not None and place > item.last]
    if item.last is not None and late:
        yield f"{named(told.frames, late[0])} comes after the end of its item", [item.last, *late]
    if item.kind != events.MESSAGE:
        return
    parts: dict[int, dict[str, list[int]]] = {}
    for place, event in item.told:
        if kind_of(event) in _OF_TEXT:
            # an index that is missing is a matter of another clause
            part = parts.setdefault(whole(event.object.get("content_index")) or 0, {})
            part.setdefault(kind_of(event), []).append(place)
    for part in parts.values():
        if events.TEXT_DELTA in part:
            yield from _disorder_of_text(told, item, part, ends=ends and item.last is not None)


def _disorder_of_text(told: Told, item: Item, part: dict[str, list[int]], *, ends: bool) -> Iterator[Fault]:
    for before, after in pairwise(_OF_TEXT):
        first, then = part.get(before, []), part.get(after, [])
        if not first and then:
            yield f"{named(told.frames, then[0])} without a {before}", then
        elif then and first[-1] > then[0]:
            yield f"{named(told.frames, then[0])} comes before {named(told.frames, first[-1])}", [then[0], first[-1]]
        elif first and not then and ends:
            yield f"item {item.shown} has no {after}", [item.first]
