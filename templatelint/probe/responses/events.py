"""The events of a streamed response → its output items as they were told, and the response they end with."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from templatelint.probe.answered import unheard
from templatelint.probe.telling import http, quoted
from templatelint.probe.verdict import failed, inconclusive
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Event, Exchange

    # what is wrong, in a clause, and the places of the events that show it
    Fault = tuple[str, Sequence[int]]

CREATED, IN_PROGRESS, QUEUED = "response.created", "response.in_progress", "response.queued"
COMPLETED, INCOMPLETE, FAILED = "response.completed", "response.incomplete", "response.failed"
TERMINAL = (COMPLETED, INCOMPLETE, FAILED)
ITEM_ADDED, ITEM_DONE = "response.output_item.added", "response.output_item.done"
PART_ADDED, PART_DONE = "response.content_part.added", "response.content_part.done"
REFUSAL_DELTA = "response.refusal.delta"
TEXT_DELTA, TEXT_DONE = "response.output_text.delta", "response.output_text.done"
ARGUMENTS_DELTA, ARGUMENTS_DONE = "response.function_call_arguments.delta", "response.function_call_arguments.done"
# OpenAI's names, then those of Open Responses
THOUGHTS_DELTA = ("response.reasoning_text.delta", "response.reasoning.delta")
THOUGHTS_DONE = ("response.reasoning_text.done", "response.reasoning.done")
# of an item, beside its start and its end; further types that clients do not put an answer together from are let be
_OF_ITEMS = {
    PART_ADDED,
    PART_DONE,
    TEXT_DELTA,
    TEXT_DONE,
    ARGUMENTS_DELTA,
    ARGUMENTS_DONE,
    *THOUGHTS_DELTA,
    *THOUGHTS_DONE,
    REFUSAL_DELTA,
    "response.refusal.done",
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
    "response.reasoning_summary_text.delta",
    "response.reasoning_summary_text.done",
}
WHOLE, PARTS = frozenset({ITEM_ADDED, ITEM_DONE}), frozenset(_OF_ITEMS)
MESSAGE, CALL, REASONING = "message", "function_call", "reasoning"

Route = Literal["item_id", "output_index"]
_ROOM = 160  # characters of an event in a line of evidence
_MOST = 12  # lines of evidence
_FURTHER = 3  # faults told of beside the first


@dataclass
class Item:
    """An output item as a stream tells it.

    Attributes:
        number: of the items that are started, from 1.
        first: the place of its `output_item.added` in the stream.
        added: the item there.
        index: the `output_index` there; None where it has none.
        last: the place of its `output_item.done`; None where there is none.
        done: the item there; empty where there is none.
        told: the other events about it, with their places.
    """

    number: int
    first: int
    added: Mapping[str, Any]
    index: int | None
    last: int | None = None
    done: Mapping[str, Any] = field(default_factory=dict)
    told: list[tuple[int, Event]] = field(default_factory=list)

    @property
    def id(self) -> str:
        """As it was started with; empty where it has none."""
        return text(self.added.get("id"))

    @property
    def kind(self) -> str:
        """Its type (`message`, `function_call`, `reasoning`, …)."""
        return text(self.added.get("type")) or text(self.done.get("type"))

    @property
    def shown(self) -> str:
        """What a message calls it: its id is another one in each run."""
        return f"{self.number} ({quoted(self.kind)})"

    def places(self, *kinds: str) -> list[int]:
        """Where events of these types stand."""
        return [place for place, event in self.told if kind_of(event) in kinds]

    def joined(self, *kinds: str) -> str:
        """The deltas of events of these types in one."""
        return "".join(text(event.object.get("delta")) for _, event in self.told if kind_of(event) in kinds)

    def said(self, kind: str, member: str) -> list[Any]:
        """What each event of a type has as a member."""
        return [event.object.get(member) for _, event in self.told if kind_of(event) == kind]


@dataclass(frozen=True)
class Told:
    """A stream, read.

    Attributes:
        frames: its events.
        items: in the order of their start.
        astray: events about an item that was not started, with their places.
        terminal: the first event that ends the response; None where there is none.
    """

    frames: tuple[Event, ...]
    items: tuple[Item, ...]
    astray: tuple[tuple[int, Event], ...]
    terminal: Event | None

    @property
    def final(self) -> Mapping[str, Any]:
        """The response that it ends with; empty where there is none."""
        return {} if self.terminal is None else table(self.terminal.object.get("response"))

    @property
    def output(self) -> list[Mapping[str, Any]]:
        """The items of that response."""
        return rows(self.final, "output")

    @property
    def calls(self) -> tuple[Item, ...]:
        """The items that are calls of functions."""
        return tuple(item for item in self.items if item.kind == CALL)

    def routed(self, route: Route) -> dict[str | int, str]:
        """Arguments as a client puts them together that goes by one member of the events alone."""
        found: dict[str | int, list[str]] = {}
        for event in self.frames:
            key = event.object.get(route)
            if kind_of(event) == ARGUMENTS_DELTA and isinstance(key, str | int) and not isinstance(key, bool):
                found.setdefault(key, []).append(text(event.object.get("delta")))
        return {key: "".join(pieces) for key, pieces in found.items()}


def kind_of(event: Event) -> str:
    """The type of an event: that of its data, or its name where the data has none."""
    return text(event.object.get("type")) or event.name


def read(frames: Sequence[Event]) -> Told:
    """The stream, its events attributed by item id, else by index, else to the item that was started last."""
    reader = _Reader()
    for place, event in enumerate(frames):
        reader.take(place, event)
    return Told(tuple(frames), tuple(reader.items), tuple(reader.astray), reader.terminal)


class _Reader:
    def __init__(self) -> None:
        self.items: list[Item] = []
        self.astray: list[tuple[int, Event]] = []
        self.terminal: Event | None = None
        # of two items with the same, the later
        self._by_id: dict[str, Item] = {}
        self._by_index: dict[int, Item] = {}
        self._opened: list[Item] = []

    def take(self, place: int, event: Event) -> None:
        kind = kind_of(event)
        if kind == ITEM_ADDED:
            self._start(Item(len(self.items) + 1, place, table(event.object.get("item")), index_of(event)))
        elif kind == ITEM_DONE:
            item = table(event.object.get("item"))
            owner = self._owner(text(item.get("id")), index_of(event))
            if owner is None or owner.last is not None:
                self.astray.append((place, event))
            else:
                owner.last, owner.done = place, item
        elif kind in PARTS:
            owner = self._owner(text(event.object.get("item_id")), index_of(event))
            if owner is None:
                self.astray.append((place, event))
            else:
                owner.told.append((place, event))
        elif kind in TERMINAL and self.terminal is None:
            self.terminal = event

    def _start(self, item: Item) -> None:
        self.items.append(item)
        self._opened.append(item)
        self._by_id[item.id] = item
        if item.index is not None:
            self._by_index[item.index] = item

    def _owner(self, id_: str, index: int | None) -> Item | None:
        if id_ and id_ in self._by_id:
            return self._by_id[id_]
        if index is not None:
            return self._by_index.get(index)
        while self._opened and self._opened[-1].last is not None:
            self._opened.pop()
        return self._opened[-1] if self._opened and not id_ else None


def named(told: Sequence[Event], place: int) -> str:
    """What a message calls an event."""
    return f"event {place + 1} ({quoted(kind_of(told[place]))})"


def whole(value: Any) -> int | None:
    """An index or a count; None where a value is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def index_of(event: Event) -> int | None:
    """The `output_index` of an event; None where that is no index."""
    return whole(event.object.get("output_index"))


def faulty(exchange: Exchange) -> Verdict | None:
    """The verdict on an answer that is no stream which could be judged any further; None where it is one."""
    return unstreamed(exchange) or broken_off(exchange)


def unstreamed(exchange: Exchange) -> Verdict | None:
    """The verdict on an answer that is no stream, or an empty one."""
    if (trouble := unheard(exchange, "a request for a stream")) is not None:
        return trouble
    if exchange.refused:
        return inconclusive(f"a request for a stream is refused: {http(exchange)}")
    if not exchange.ok:
        return failed(f"a request for a stream is answered {http(exchange)}")
    if exchange.events is None:
        kind = exchange.headers.get("content-type", "")
        return failed(f"a request for a stream is answered with content type {quoted(kind)}")
    return None if exchange.frames else failed("the stream ends without an event")


def broken_off(exchange: Exchange) -> Verdict | None:
    """The verdict on a stream that does not come to its end."""
    error = next(_errors(exchange.frames), None)
    if error is not None:
        return inconclusive(f"the stream breaks off with an error{error}")
    if exchange.cut and not any(kind_of(event) in TERMINAL for event in exchange.frames):
        return failed(f"the connection ends after {len(exchange.frames)} events, before the response does")
    return None


def is_error(event: Event) -> bool:
    """Whether an event tells that the server has failed, in its own type or in none."""
    return kind_of(event) == "error" or (not event.object.get("type") and bool(event.object.get("error")))


def _errors(frames: Sequence[Event]) -> Iterator[str]:
    for event in frames:
        if is_error(event):
            error = event.object.get("error")
            message = text(table(error).get("message")) or text(error) or text(event.object.get("message"))
            yield f": {quoted(message, _ROOM)}" if message else ""


def failing(frames: Sequence[Event], faults: Iterator[Fault]) -> Verdict | None:
    """The verdict on the first of faults, some of the others in its evidence; None where there are none."""
    message, places = next(faults, ("", ()))
    if not message:
        return None
    further = tuple(f"also: {other}" for other, _ in islice(faults, _FURTHER))
    return failed(message, evidence=(*further, *log(frames, places)))


def log(frames: Sequence[Event], places: Sequence[int]) -> tuple[str, ...]:
    """Events as lines of evidence, the middle left out where they are many."""
    chosen = places if len(places) <= _MOST else [*places[: _MOST // 2], *places[-_MOST // 2 :]]
    lines = [f"event {place + 1}: {quoted(frames[place].data, _ROOM)}" for place in chosen]
    if len(places) > len(lines):
        lines.insert(_MOST // 2, f"… {len(places) - len(lines)} more")
    return tuple(lines)
