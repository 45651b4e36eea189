"""Streamed calls of the Responses API: their arguments told to the end, and two of them kept apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.probe.endpoint import for_responses
from templatelint.probe.prompts import TOOLS
from templatelint.probe.responses import events
from templatelint.probe.responses.events import kind_of, read
from templatelint.probe.responses.order import overlap
from templatelint.probe.telling import counted, quoted
from templatelint.probe.verdict import inconclusive, passed, warned
from templatelint.sources.endpoint.routes import text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.responses.events import Fault, Item, Told
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_TWO = 2


def _asked(endpoint: Endpoint, prompt: str) -> Exchange:
    return endpoint.respond(prompt, tools=for_responses(TOOLS), stream=True)


# ---------------------------------------------------------------------------------------------------- one call


def arguments_done(endpoint: Endpoint) -> Verdict:
    """TL953."""
    exchange = _asked(endpoint, endpoint.prompts.tool)
    verdict = events.faulty(exchange)
    if verdict is not None:
        return verdict
    told = read(exchange.frames)
    if not told.calls:
        return inconclusive("the model has called no function")
    # what a limit cuts has no full arguments
    whole_answer = told.terminal is not None and kind_of(told.terminal) == events.COMPLETED
    calls = [item for item in told.calls if whole_answer or item.done.get("status") == "completed"]
    if not calls:
        return inconclusive("the response was not completed")
    verdict = events.failing(told.frames, (fault for item in calls for fault in _faults_of(told, item)))
    if verdict is not None:
        return verdict
    nameless = [item for item in calls if None in item.said(events.ARGUMENTS_DONE, "name")]
    if nameless:
        return warned(
            f"{events.ARGUMENTS_DONE} has the full arguments and no name, which OpenAI's description requires"
        )
    return passed(f"{events.ARGUMENTS_DONE} has the arguments of {counted(len(calls), 'call')} before it is done")


def _faults_of(told: Told, item: Item) -> Iterator[Fault]:
    if item.last is None:
        yield f"no {events.ITEM_DONE} of a call in a completed response", [item.first]
        return
    done = item.places(events.ARGUMENTS_DONE)
    deltas = item.places(events.ARGUMENTS_DELTA)
    around = [item.first, *deltas[-1:], *done, item.last]
    if not done:
        yield f"no {events.ARGUMENTS_DONE} between {counted(len(deltas), 'delta')} and {events.ITEM_DONE}", around
        return
    if len(done) > 1:
        yield f"{events.ARGUMENTS_DONE} comes {len(done)} times for one call", around
    if done[0] > item.last:
        yield f"{events.ARGUMENTS_DONE} comes after {events.ITEM_DONE}", around
    if deltas and deltas[-1] > done[0]:
        yield f"a delta comes after {events.ARGUMENTS_DONE}", around
    last = told.frames[done[0]].object
    if last.get("arguments") != text(item.done.get("arguments")):
        given, meant = quoted(last.get("arguments")), quoted(item.done.get("arguments"))
        yield f"{events.ARGUMENTS_DONE} has the arguments {given}, the call in the end {meant}", around
    streamed = text(item.added.get("arguments")) + item.joined(events.ARGUMENTS_DELTA)
    if last.get("arguments") != streamed:
        given = quoted(last.get("arguments"))
        yield f"{events.ARGUMENTS_DONE} has the arguments {given}, the deltas give {quoted(streamed)}", around
    name = last.get("name")
    if name is not None and name != text(item.done.get("name")):
        yield f"{events.ARGUMENTS_DONE} has the name {quoted(name)}, the call {quoted(item.done.get('name'))}", around


# -------------------------------------------------------------------------------------------------- several calls


def parallel_items_routed(endpoint: Endpoint) -> Verdict:
    """TL954."""
    exchange = _asked(endpoint, endpoint.prompts.parallel)
    verdict = events.faulty(exchange)
    if verdict is not None:
        return verdict
    told = read(exchange.frames)
    if len(told.calls) < _TWO:
        return inconclusive(f"{counted(len(told.calls), 'call')} in place of two")
    if told.terminal is None or kind_of(told.terminal) != events.COMPLETED:
        return inconclusive("the response was not completed")
    return events.failing(told.frames, _misrouted(told)) or passed(
        f"the deltas of {len(told.calls)} calls, one behind the other, give their arguments by either member"
    )


def _misrouted(told: Told) -> Iterator[Fault]:
    """By the id of an item and by its index, as clients do; and what else keeps two calls from being told apart."""
    yield from overlap(told)
    ends = _final_arguments(told)
    routes: tuple[tuple[events.Route, str, Mapping[str | int, Item]], ...] = (
        ("item_id", "id", {item.id: item for item in told.calls if item.id}),
        ("output_index", "output_index", {item.index: item for item in told.calls if item.index is not None}),
    )
    for route, words, items in routes:
        found = told.routed(route)
        if len(items) < len(told.calls):
            firsts = [item.first for item in told.calls]
            yield f"{len(items)} of {len(told.calls)} calls are started with an {words} of their own", firsts
        for key, item in items.items():
            joined = text(item.added.get("arguments")) + found.get(key, "")
            if joined != ends.get(item.id, joined):
                meant = quoted(ends[item.id])
                places = [item.first, *item.places(events.ARGUMENTS_DELTA)]
                yield f"item {item.shown}: the deltas of its {route} give {quoted(joined)} in place of {meant}", places


def _final_arguments(told: Told) -> dict[str, str]:
    """Of each call its arguments at the end, by its id."""
    ends = {item.id: text(item.done.get("arguments")) for item in told.calls if item.done}
    return ends | {text(item.get("id")): text(item.get("arguments")) for item in told.output}
