"""Streams of the Responses API: how events are framed, numbered, placed and ordered, and what they add up to."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import TYPE_CHECKING

from templatelint.probe.endpoint import for_responses
from templatelint.probe.limits import goes_on, inside_call
from templatelint.probe.prompts import TOOLS
from templatelint.probe.responses import events
from templatelint.probe.responses.agreement import contradictions
from templatelint.probe.responses.events import index_of, kind_of, named, read, whole
from templatelint.probe.responses.faults import REQUIRED
from templatelint.probe.responses.items import FILTERED, LEAST, Reply, torn
from templatelint.probe.responses.order import disorder, overlap
from templatelint.probe.telling import counted, quoted
from templatelint.probe.thoughts import thoughtless
from templatelint.probe.verdict import failed, inconclusive, passed, warned
from templatelint.probe.wire.exchange import DONE
from templatelint.sources.endpoint.routes import table, text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.responses.events import Fault, Item, Told
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Event, Exchange

_NUMBER, _PLACE, _PART = "sequence_number", "output_index", "content_index"
# of events that belong to a part of an item's content
_PARTS = frozenset(
    {
        events.PART_ADDED,
        events.PART_DONE,
        events.TEXT_DELTA,
        events.TEXT_DONE,
        events.REFUSAL_DELTA,
        "response.refusal.done",
        "response.reasoning_text.delta",
        "response.reasoning_text.done",
    }
)
_STARTED = ("in_progress", "queued")
_STATUS = {events.COMPLETED: "completed", events.INCOMPLETE: "incomplete", events.FAILED: "failed"}
_NOTHING = "the answer has no output item"


def _plain(endpoint: Endpoint) -> Exchange:
    return endpoint.respond(endpoint.prompts.plain, stream=True)


def _both(endpoint: Endpoint, plain: Exchange) -> Iterator[Told]:
    """The streams of a text, which is known to be one, and of a call, where it is one."""
    yield read(plain.frames)
    calling = endpoint.respond(endpoint.prompts.tool, tools=for_responses(TOOLS), stream=True)
    if events.faulty(calling) is None:
        yield read(calling.frames)


# ------------------------------------------------------------------------------------------- framing and numbers


def events_framed(endpoint: Endpoint) -> Verdict:
    """TL949."""
    exchange = _plain(endpoint)
    verdict = events.unstreamed(exchange)
    if verdict is None:
        verdict = events.failing(exchange.frames, _misframed(exchange.frames)) or events.broken_off(exchange)
    if verdict is None:
        verdict = events.failing(exchange.frames, _misended(exchange))
    if verdict is not None:
        return verdict
    last = kind_of(exchange.frames[-1])
    # OpenAI's own API sends none, the Open Responses specification demands one
    mark = f"{DONE} follows" if exchange.done else f"no {DONE} follows, as at OpenAI"
    return passed(f"{len(exchange.frames)} events carry their type as name, and {last} is the last", evidence=(mark,))


def _misframed(frames: Sequence[Event]) -> Iterator[Fault]:
    for place, event in enumerate(frames):
        kind = event.object.get("type")
        if not event.object:
            yield f"event {place + 1} is no JSON object: {quoted(event.data)}", [place]
        elif not text(kind):
            yield f"event {place + 1} has no type: {quoted(event.data)}", [place]
        elif event.name != kind:
            name = f"is named {quoted(event.name)}" if event.name else "has no name"
            yield f"event {place + 1} {name} and is of type {quoted(kind)}", [place]


def _misended(exchange: Exchange) -> Iterator[Fault]:
    frames, received = exchange.frames, exchange.events or ()
    ends = [place for place, event in enumerate(frames) if kind_of(event) in events.TERMINAL]
    if len(ends) != 1:
        what = "two or more events end the response" if ends else "no event ends the response"
        yield what, ends or [len(frames) - 1]
    elif ends[0] != len(frames) - 1:
        yield f"{kind_of(frames[ends[0]])} is followed by further events", range(ends[0], len(frames))
    marks = [place for place, event in enumerate(received) if event.data.strip() == DONE]
    if marks not in ([], [len(received) - 1]):
        yield f"{DONE} comes {counted(len(marks), 'time')}, at first as event {marks[0] + 1} of {len(received)}", []
    if exchange.cut:
        yield "the connection is broken off behind the last event", [len(frames) - 1]


def events_numbered(endpoint: Endpoint) -> Verdict:
    """TL950."""
    plain = _plain(endpoint)
    verdict = events.faulty(plain)
    if verdict is not None:
        return verdict
    count = 0
    for told in _both(endpoint, plain):
        verdict = events.failing(told.frames, _misnumbered(told.frames))
        if verdict is not None:
            return verdict
        count += len(told.frames)
    return passed(f"each of {count} events has a {_NUMBER} above that before it")


def _misnumbered(frames: Sequence[Event]) -> Iterator[Fault]:
    numbers = [whole(event.object.get(_NUMBER)) for event in frames]
    bare = [place for place, number in enumerate(numbers) if number is None]
    if bare:
        yield f"{len(bare)} of {len(frames)} events {_without(frames, bare, _NUMBER)}", bare
        return
    for place, (before, after) in enumerate(pairwise(numbers), 1):
        if before is not None and after is not None and after <= before:
            yield f"{named(frames, place)} has the {_NUMBER} {quoted(after)} after {quoted(before)}", [place - 1, place]


def _without(frames: Sequence[Event], places: Sequence[int], member: str) -> str:
    """How events fail to have a member, and the first that does."""
    first = frames[places[0]].object
    value = f" and has {quoted(first[member])}" if member in first else ""
    return f"have no {member}: the first is {named(frames, places[0])}{value}"


# ------------------------------------------------------------------------------------------------------- places


def events_indexed(endpoint: Endpoint) -> Verdict:
    """TL951."""
    plain = _plain(endpoint)
    verdict = events.faulty(plain)
    if verdict is not None:
        return verdict
    count, moved = 0, ""
    for told in _both(endpoint, plain):
        verdict = events.failing(told.frames, _unindexed(told.frames)) or events.failing(told.frames, _misplaced(told))
        if verdict is not None:
            return verdict
        count += len(told.items)
        moved = moved or _moved(told)
    if not count:
        return inconclusive(_NOTHING)
    if moved:
        return warned(moved)
    return passed(f"the events of {counted(count, 'item')} tell their {_PLACE}, and where they need one their {_PART}")


def _unindexed(frames: Sequence[Event]) -> Iterator[Fault]:
    for member, kinds in ((_PLACE, events.WHOLE | events.PARTS), (_PART, _PARTS)):
        concerned = [place for place, event in enumerate(frames) if kind_of(event) in kinds]
        bare = [place for place in concerned if whole(frames[place].object.get(member)) is None]
        if bare:
            yield f"{len(bare)} of {len(concerned)} events of items {_without(frames, bare, member)}", bare


def _misplaced(told: Told) -> Iterator[Fault]:
    """Where an index is not that of the item which is meant."""
    by_index: dict[int | None, Item] = {}
    for item in told.items:
        other = by_index.setdefault(item.index, item)
        if other is not item:
            yield f"two items have the {_PLACE} {quoted(item.index)}", [other.first, item.first]
        for place, event in [*item.told, *([] if item.last is None else [(item.last, told.frames[item.last])])]:
            if index_of(event) != item.index:
                indices = f"{quoted(index_of(event))}, its item {quoted(item.index)}"
                yield f"{named(told.frames, place)} has the {_PLACE} {indices}", [item.first, place]


def _moved(told: Told) -> str:
    """That an item does not stand at its index in the end, which no SDK minds; empty where all do."""
    places = {text(item.get("id")): place for place, item in enumerate(told.output) if text(item.get("id"))}
    for item in told.items:
        place = places.get(item.id, item.index)
        if place != item.index:
            return f"item {item.shown} has the {_PLACE} {quoted(item.index)} and is output[{place}] in the end"
    return ""


# ------------------------------------------------------------------------------------------ order and agreement


def events_ordered(endpoint: Endpoint) -> Verdict:
    """TL952."""
    exchange = _plain(endpoint)
    verdict = events.faulty(exchange)
    if verdict is not None:
        return verdict
    told = read(exchange.frames)
    verdict = events.failing(told.frames, disorder(told))
    if verdict is not None:
        return verdict
    if not told.items:
        return inconclusive(_NOTHING)
    if events.IN_PROGRESS not in map(kind_of, told.frames[: told.items[0].first]):
        return warned(f"no {events.IN_PROGRESS} stands before the first item")
    return passed(f"{len(told.frames)} events of {counted(len(told.items), 'item')} come in order")


def items_consistent(endpoint: Endpoint) -> Verdict:
    """TL955."""
    plain = _plain(endpoint)
    verdict = events.faulty(plain)
    if verdict is not None:
        return verdict
    count = 0
    for told in chain(_both(endpoint, plain), _parallel(endpoint)):
        if told.terminal is not None and kind_of(told.terminal) == events.FAILED:
            continue  # of a response that failed nothing has to be there in the end
        message = next(contradictions(told), "")
        if message:
            return failed(message, evidence=_outline(told))
        count += len(told.items)
    if not count:
        return inconclusive(_NOTHING)
    return passed(f"{counted(count, 'item')}, each in the end what was told of it before")


def _parallel(endpoint: Endpoint) -> Iterator[Told]:
    """The stream of two calls, where the model is sure to make them."""
    if endpoint.scripted is not None:
        exchange = endpoint.respond(endpoint.prompts.parallel, tools=for_responses(TOOLS), stream=True)
        if events.faulty(exchange) is None:
            yield read(exchange.frames)


def _outline(told: Told) -> tuple[str, ...]:
    """The starts and ends of a stream's items, and its own end."""
    places = [place for item in told.items for place in (item.first, item.last) if place is not None]
    return events.log(told.frames, sorted({*places, len(told.frames) - 1}))


# ------------------------------------------------------------------------------------------------------ the end


def cut_stream_incomplete(endpoint: Endpoint) -> Verdict:
    """TL956."""
    exchange = endpoint.respond(endpoint.prompts.long, max_output_tokens=LEAST, stream=True)
    story = _cut("text", LEAST, exchange, lambda told: _text_cut(endpoint, told))
    if story.word == "fail":
        return story
    call = _cut_call(endpoint)
    # one that was cut shows what the clause is about, though the model has not done the other
    return story if call.word in (story.word, "inconclusive") else call


def _cut_call(endpoint: Endpoint) -> Verdict:
    tools = for_responses(TOOLS)
    reply = Reply(endpoint.respond(endpoint.prompts.write, tools=tools))
    if not reply.exchange.ok or not reply.calls or reply.ran_out(endpoint.tokens):
        return inconclusive("the model makes no whole call that could be cut")
    limit = inside_call(reply.written or 2 * LEAST)
    exchange = endpoint.respond(endpoint.prompts.write, tools=tools, max_output_tokens=limit, stream=True)
    return _cut("call", limit, exchange, lambda told: _call_cut(endpoint, told, reply.calls[0]))


def _text_cut(endpoint: Endpoint, told: Told) -> bool:
    """Whether a text that is told to be complete was cut all the same."""
    written = _written(told)
    if written is not None and written < LEAST:
        return False
    if endpoint.scripted is not None and written is not None:
        return True
    said = "".join(item.joined(*events.THOUGHTS_DELTA, events.TEXT_DELTA, events.REFUSAL_DELTA) for item in told.items)
    return goes_on(said, Reply(endpoint.respond(endpoint.prompts.long)).said)


def _call_cut(endpoint: Endpoint, told: Told, whole_call: Mapping[str, Any]) -> bool:
    """The same of a call; where none has begun, nobody knows that the limit falls into one."""
    if not told.calls:
        return endpoint.scripted is not None
    item = told.calls[-1]
    arguments = text(item.added.get("arguments")) + item.joined(events.ARGUMENTS_DELTA)
    name = item.done.get("name") or item.added.get("name")
    return torn({"name": name, "arguments": arguments or item.done.get("arguments")}, whole_call)


def _cut(what: str, limit: int, exchange: Exchange, is_cut: Callable[[Told], bool]) -> Verdict:
    verdict = events.faulty(exchange)
    if verdict is not None:
        return verdict
    told = read(exchange.frames)
    last = events.log(told.frames, [len(told.frames) - 1])
    if told.terminal is None:
        return failed(f"no event ends the response of a {what} limited to {limit} tokens", evidence=last)
    kind = kind_of(told.terminal)
    if kind == events.FAILED:
        return inconclusive(f"a {what} limited to {limit} tokens ends with {kind}", evidence=last)
    if kind == events.INCOMPLETE:
        return _incomplete(f"a {what} limited to {limit} tokens", told, last)
    return _completed(what, limit, told, is_cut)


def _completed(what: str, limit: int, told: Told, is_cut: Callable[[Told], bool]) -> Verdict:
    last, written = events.log(told.frames, [len(told.frames) - 1]), _written(told)
    counted_as = f"{quoted(written)} tokens, " if written is not None else "a number of tokens that is not told, "
    fact = f"a {what} of {counted_as}limited to {limit}, ends with {events.COMPLETED}"
    if told.final.get("status") == "incomplete":
        return failed(f"a {what} that is cut ends with {events.COMPLETED} around an incomplete response", evidence=last)
    if (written is not None and written > limit) or is_cut(told):
        return failed(fact, evidence=last)
    return inconclusive(f"{fact}, as the model may have ended it by itself", evidence=last)


def _incomplete(what: str, told: Told, last: tuple[str, ...]) -> Verdict:
    reason = table(told.final.get("incomplete_details")).get("reason")
    if told.final.get("status") != "incomplete":
        fault = f"the status {quoted(told.final.get('status'))}"
        return failed(f"the {events.INCOMPLETE} of {what} has {fault}", evidence=last)
    if reason == FILTERED:
        return inconclusive(f"a filter has cut {what}", evidence=last)
    if reason != "max_output_tokens":
        return failed(f"the {events.INCOMPLETE} of {what} has the reason {quoted(reason)}", evidence=last)
    return passed(f"{what} ends with {events.INCOMPLETE}")


def _written(told: Told) -> int | None:
    return whole(table(told.final.get("usage")).get("output_tokens"))


def events_carry_response(endpoint: Endpoint) -> Verdict:
    """TL957."""
    exchange = _plain(endpoint)
    verdict = events.faulty(exchange)
    if verdict is not None:
        return verdict
    told = read(exchange.frames)
    verdict = events.failing(told.frames, _uncarried(told))
    if verdict is not None or told.terminal is None:
        return verdict or inconclusive(_NOTHING)
    return passed(f"{events.CREATED} and {kind_of(told.terminal)} carry a response with its {len(REQUIRED)} members")


def _uncarried(told: Told) -> Iterator[Fault]:
    frames = told.frames
    created = next((place for place, event in enumerate(frames) if kind_of(event) == events.CREATED), None)
    ended = next((place for place, event in enumerate(frames) if kind_of(event) in events.TERMINAL), None)
    if created is None:
        yield f"no event is {events.CREATED}", [0]
        return
    if ended is None:
        yield f"no event ends the response: the last is {quoted(kind_of(frames[-1]))}", [len(frames) - 1]
        return
    for place in (created, ended):
        response, where = table(frames[place].object.get("response")), f"the response in {kind_of(frames[place])}"
        missing = [member for member in REQUIRED if member not in response]
        if missing:
            yield f"{where} has no {', '.join(missing)}", [place]
        for member, fits in REQUIRED.items():
            if member in response and not fits(response[member]):
                yield f"{where} has {quoted(response[member])} as {member}", [place]
        right = _STARTED if place == created else (_STATUS[kind_of(frames[place])],)
        if response.get("status") not in right:
            yield f"{where} has the status {quoted(response.get('status'))}", [place]
    first, last = (table(frames[place].object.get("response")).get("id") for place in (created, ended))
    if first != last:
        yield f"a response starts with the id {quoted(first)} and ends with {quoted(last)}", [created, ended]


# ----------------------------------------------------------------------------------------------------- thoughts


def reasoning_events(endpoint: Endpoint) -> Verdict:
    """TL959."""
    exchange = endpoint.respond(endpoint.prompts.think, stream=True)
    verdict = events.faulty(exchange)
    if verdict is not None:
        return verdict
    told = read(exchange.frames)
    thoughts = [item for item in told.items if item.kind == events.REASONING]
    if not thoughts:
        return thoughtless(endpoint)
    verdict = events.failing(told.frames, _misthought(told, thoughts))
    if verdict is not None:
        return verdict
    if any(item.last is None for item in thoughts):
        return inconclusive("the answer ends while the model is still thinking")
    silent = not any(item.places(*events.THOUGHTS_DELTA) for item in thoughts)
    what = "thoughts whose text is kept back" if silent else "thoughts"
    return passed(f"{counted(len(thoughts), 'item')} of {what}, done before the answer starts")


def _misthought(told: Told, thoughts: Sequence[Item]) -> Iterator[Fault]:
    for item in thoughts:
        said, done = item.places(*events.THOUGHTS_DELTA), item.places(*events.THOUGHTS_DONE)
        if item.last is None or not said:
            continue
        if not done:
            yield (
                f"{counted(len(said), 'delta')} of thoughts, and no {events.THOUGHTS_DONE[0]}",
                [said[0], said[-1], item.last],
            )
        elif said[-1] > done[-1] or done[-1] > item.last:
            places = sorted([said[-1], done[-1], item.last])
            yield f"{named(told.frames, done[-1])} does not stand between the last delta and the item's end", places
        else:
            end = "".join(text(told.frames[place].object.get("text")) for place in done)
            joined = item.joined(*events.THOUGHTS_DELTA)
            if end != joined:
                yield f"the deltas of thoughts give {quoted(joined)}, their end {quoted(end)}", [said[0], *done]
    yield from overlap(told)
