"""A streamed response → where what it tells of an item at one place is not what it tells of it at another."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from templatelint.probe.responses import events
from templatelint.probe.responses.events import kind_of, named
from templatelint.probe.telling import quoted
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.probe.responses.events import Item, Told


def contradictions(told: Told) -> Iterator[str]:
    """Each in a clause. A stream has at least one event."""
    if told.terminal is None:
        yield f"no event ends the response: the last is {quoted(kind_of(told.frames[-1]))}"
        return
    if not isinstance(told.final.get("output"), list):
        yield f"the response in {kind_of(told.terminal)} has no output"
        return
    for place, _ in told.astray:
        yield f"{named(told.frames, place)} is about an item that has not started, or is over"
    started = Counter(item.id for item in told.items)
    ended = Counter(text(item.get("id")) for item in told.output)
    for id_ in started - ended:
        yield f"an item with {_id(id_)} was streamed and is not in the final output"
    for id_ in ended - started:
        yield f"an item with {_id(id_)} is in the final output and was not streamed"
    if len(told.final["output"]) != len(told.output):
        yield "the final output has something that is no item"
    finals = {text(item.get("id")): item for item in told.output}
    for item in told.items:
        # those without an id cannot be told from each other
        yield from _contradictions_of(item, finals.get(item.id, {}) if item.id or len(told.items) == 1 else {})


def _id(id_: str) -> str:
    return f"the id {quoted(id_)}" if id_ else "no id"


def _contradictions_of(item: Item, final: Mapping[str, Any]) -> Iterator[str]:
    for member in ("id", "type", *(("call_id", "name") if item.kind == events.CALL else ())):
        values = [each.get(member) for each in (item.added, item.done, final) if each]
        if len({value if isinstance(value, str) else quoted(value) for value in values}) > 1:
            yield f"item {item.shown} has the {member} {', then '.join(map(quoted, values))}"
    for (first, one), (then, other) in pairwise(_versions(item, final)):
        if one != other:
            yield f"item {item.shown} is {quoted(one)} in {first} and {quoted(other)} in {then}"


def _versions(item: Item, final: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the stream says that an item's text is: where, and the text."""
    if item.kind == events.REASONING:
        said = {
            "the deltas": item.joined(*events.THOUGHTS_DELTA),
            events.ITEM_DONE: _content(item.done),
            "the final output": _content(final),
        }
        # a server may keep thoughts to itself at each of these places
        yield from ((where, thoughts) for where, thoughts in said.items() if thoughts)
        return
    if item.kind not in _STREAMED:
        return
    # as the official SDK puts it together: what is streamed is added to what the item, or its part, starts with
    yield from _STREAMED[item.kind](item)
    for where, told in ((events.ITEM_DONE, item.done), ("the final output", final)):
        if told:
            yield where, text(told.get("arguments")) if item.kind == events.CALL else _content(told)


def _arguments(item: Item) -> Iterator[tuple[str, str]]:
    yield "the deltas", text(item.added.get("arguments")) + item.joined(events.ARGUMENTS_DELTA)
    for each in item.said(events.ARGUMENTS_DONE, "arguments"):
        yield events.ARGUMENTS_DONE, text(each)


def _text(item: Item) -> Iterator[tuple[str, str]]:
    begun = "".join(_text_of(part) for part in item.said(events.PART_ADDED, "part"))
    yield "the deltas", begun + item.joined(events.TEXT_DELTA)
    if done := item.said(events.TEXT_DONE, "text"):
        yield events.TEXT_DONE, "".join(map(text, done))
    if parts := item.said(events.PART_DONE, "part"):
        yield events.PART_DONE, "".join(map(_text_of, parts))


_STREAMED = {events.CALL: _arguments, events.MESSAGE: _text}


def _content(item: Mapping[str, Any]) -> str:
    return "".join(_text_of(part) for part in rows(item, "content"))


def _text_of(part: Any) -> str:
    return text(table(part).get("text")) if table(part).get("type") in ("output_text", "reasoning_text") else ""
