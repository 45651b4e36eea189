"""The chunks of a streamed chat completion → where they are not what OpenAI's API description says of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.probe.chat.stream import broken, choices
from templatelint.probe.telling import counted, quoted
from templatelint.probe.wire.exchange import DONE
from templatelint.sources.endpoint.routes import rows, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.probe.wire.exchange import Event, Exchange

_CHUNK = "chat.completion.chunk"
_FINISHES = ("stop", "length", "tool_calls", "content_filter", "function_call")
_ENDS = ("\n\n", "\r\n\r\n", "\r\r")


def faults(exchange: Exchange) -> Iterator[str]:
    """What breaks clients, in clauses; the gravest first."""
    fact = broken(exchange)
    if fact:
        yield fact
    yield from _unreadable(exchange)
    for number, event in enumerate(exchange.frames, 1):
        if isinstance(event.value, dict) and "error" not in event.value:
            yield from _members(number, event)
    yield from _identity(exchange)
    yield from _course(exchange)
    if not fact:
        yield from _end(exchange)


def oddities(exchange: Exchange) -> Iterator[str]:
    """What clients put up with."""
    given = [table(choice.get("delta")).get("role") for _, _, choice in choices(exchange)]
    again = sum(role is not None for role in given[1:])
    if again:
        yield f"the role stands in {again + 1} deltas, which clients that join texts read as one long word"
    silent = sum("finish_reason" not in choice for _, _, choice in choices(exchange))
    if silent:
        yield f"{silent} choices have no finish_reason, where others have null"
    if any(choice.get("finish_reason") == "" for _, _, choice in choices(exchange)):
        yield "finish_reason is an empty text in places, where others have null"
    ends = [number for number, _, choice in choices(exchange) if choice.get("finish_reason")]
    after = sum(number > ends[0] for number, _, _ in choices(exchange)) if ends else 0
    if after:
        yield f"{counted(after, 'choice')} without anything in it follows the one with finish_reason"
    named = {event.name for event in exchange.frames if event.name}
    if named:
        yield f"events are named {quoted(', '.join(sorted(named)))}, where OpenAI's have no names"
    if exchange.cut and exchange.done:
        yield "the connection breaks after [DONE], in place of a proper end"


def _unreadable(exchange: Exchange) -> Iterator[str]:
    for number, event in enumerate(exchange.frames, 1):
        if not isinstance(event.value, dict):
            what = "no JSON" if event.value is None else "no JSON object"
            yield f"the data of chunk {number} is {what}: {_value(event.data)}"
    if not exchange.frames:
        yield "the stream holds no chunk"


def _members(number: int, event: Event) -> Iterator[str]:
    chunk = event.object
    listed = chunk.get("choices")
    if not isinstance(listed, list):
        yield f"chunk {number} has no choices: {_value(event.data)}"
        return
    # a chunk without a choice tells of the whole: usage, or what a filter in front of the model says of the prompt
    if listed:
        if chunk.get("object") != _CHUNK:
            yield f"object of chunk {number} is {_value(chunk.get('object'))}, not {_CHUNK}"
        for name in ("id", "model"):
            if not (isinstance(chunk.get(name), str) and chunk[name]):
                yield f"{name} of chunk {number} is {_value(chunk.get(name))}"
        if not _whole(chunk.get("created")):
            yield f"created of chunk {number} is {_value(chunk.get('created'))}"
    for choice in listed:
        yield from _choice(number, choice)


def _choice(number: int, choice: Any) -> Iterator[str]:
    if not isinstance(choice, dict):
        yield f"a choice of chunk {number} is no object: {_value(choice)}"
        return
    if not _whole(choice.get("index")) or choice["index"] != 0:
        yield f"index of the choice in chunk {number} is {_value(choice.get('index'))}"
    delta = choice.get("delta")
    if not isinstance(delta, dict):
        yield f"delta of chunk {number} is {_value(delta)}"
        return
    content = delta.get("content")
    if content is not None and not isinstance(content, str):
        yield f"content of chunk {number} is no text: {_value(content)}"
    calls = delta.get("tool_calls")
    if calls is not None and not (isinstance(calls, list) and len(rows(delta, "tool_calls")) == len(calls)):
        yield f"tool_calls of chunk {number} is no list of objects: {_value(calls)}"


def _identity(exchange: Exchange) -> Iterator[str]:
    """One answer has one id, and one model."""
    for name in ("id", "model"):
        values: dict[str, int] = {}
        for number, event, _ in choices(exchange):
            value = event.object.get(name)
            if isinstance(value, str) and value:
                values.setdefault(value, number)
        if len(values) > 1:
            (first, _), (second, number) = list(values.items())[:2]
            yield f"{name} is {_value(first)} at first and {_value(second)} in chunk {number}"


def _course(exchange: Exchange) -> Iterator[str]:
    """Who speaks is said at first, and why it ends at last."""
    seen = list(choices(exchange))
    if not seen:
        return
    role = table(seen[0][2].get("delta")).get("role")
    if role != "assistant":
        yield f"the first delta has the role {_value(role)}, not assistant"
    ends = [(number, choice["finish_reason"]) for number, _, choice in seen if choice.get("finish_reason")]
    if not ends:
        yield "no chunk has a finish_reason"
        return
    wrong = [end for _, end in ends if not (isinstance(end, str) and end in _FINISHES)]
    if wrong:
        yield f"finish_reason is {_value(wrong[0])}, none of {', '.join(_FINISHES)}"
    if len({repr(end) for _, end in ends}) > 1:
        yield f"finish_reason is {_value(ends[0][1])} at first and {_value(ends[-1][1])} in chunk {ends[-1][0]}"
    more = [number for number, _, choice in seen if number > ends[0][0] and _says(table(choice.get("delta")))]
    if more:
        yield f"finish_reason stands in chunk {ends[0][0]}, and the answer goes on in chunk {more[0]}"


def _says(delta: Mapping[str, Any]) -> bool:
    """Whether a delta adds something to what there is."""
    return any(delta.get(name) for name in ("content", "reasoning_content", "reasoning", "refusal", "tool_calls"))


def _end(exchange: Exchange) -> Iterator[str]:
    ends = [number for number, event in enumerate(exchange.events or (), 1) if event.data.strip() == DONE]
    if not ends:
        open_ended = "" if exchange.text.endswith(_ENDS) else ", but inside a frame, which clients drop"
        yield f"the stream does not end with [DONE]{open_ended}"
    elif len(ends) > 1:
        yield f"[DONE] is sent {len(ends)} times"
    elif not exchange.done:
        yield f"[DONE] is event {ends[0]} of {len(exchange.events or ())}, not the last"


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _value(value: Any) -> str:
    return "null or missing" if value is None else quoted(value)
