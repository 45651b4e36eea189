"""The chunks of a streamed chat completion → what clients put together: text, thoughts, calls by their index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint.probe.chat import reply as chat_reply
from templatelint.probe.telling import busy, counted, http, misread, quoted
from templatelint.probe.verdict import failed, inconclusive
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Event, Exchange

_SAID = 160  # characters of what an error says
_CALLS = 1 << 16  # more than any answer holds


@dataclass(frozen=True, slots=True)
class CallDelta:
    """What one chunk says of a call.

    Attributes:
        chunk: its number in the stream, from 1.
        at: seconds since the request was sent.
        index: of the call; None where it is no number that counts calls.
        given: the object as it came.
        id: empty where it has none, as are type and name.
        arguments: a part of them; empty where it has none.
    """

    chunk: int
    at: float
    index: int | None
    given: Mapping[str, Any]
    id: str
    type: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Call:
    """The deltas of one index, joined.

    Attributes:
        index: by which they were routed.
        deltas: in the order in which they came; at least one.
    """

    index: int
    deltas: tuple[CallDelta, ...]

    @property
    def id(self) -> str:
        """The first that was given."""
        return next((delta.id for delta in self.deltas if delta.id), "")

    @property
    def name(self) -> str:
        """The first that was given."""
        return next((delta.name for delta in self.deltas if delta.name), "")

    @property
    def arguments(self) -> str:
        """All parts."""
        return "".join(delta.arguments for delta in self.deltas)

    @property
    def pieces(self) -> tuple[CallDelta, ...]:
        """The deltas that hold a part of the arguments."""
        return tuple(delta for delta in self.deltas if delta.arguments)


@dataclass(frozen=True, slots=True)
class Streamed:
    """What the first choice of a stream adds up to.

    Attributes:
        reasoning: thoughts that are kept apart, by either of their names.
        calls: in the order in which their indices appear; deltas without an index are in none.
        stray: those deltas.
        finishes: every `finish_reason` that is one, with the number of its chunk.
        usage: the last that was told; None where none was.
        refusal: what is said in place of an answer.
    """

    content: str
    reasoning: str
    calls: tuple[Call, ...]
    stray: tuple[CallDelta, ...]
    finishes: tuple[tuple[int, str], ...]
    usage: Mapping[str, Any] | None
    refusal: str = ""

    @property
    def withheld(self) -> Verdict | None:
        """That the model refused to answer, or a filter stopped it; None where neither did."""
        return chat_reply.withheld(self.refusal, self.finish)

    @property
    def finish(self) -> str:
        """How it ended; empty where it does not say."""
        return self.finishes[-1][1] if self.finishes else ""


def choices(exchange: Exchange) -> Iterator[tuple[int, Event, Mapping[str, Any]]]:
    """Number of the chunk, the event and its first choice, of those chunks that have one."""
    for number, event in enumerate(exchange.frames, 1):
        for choice in rows(event.value, "choices"):
            if choice.get("index", 0) == 0:
                yield number, event, choice
                break


def read(exchange: Exchange) -> Streamed:
    """What the stream adds up to; nothing where there is none."""
    content, reasoning, refusal = [], [], []
    deltas: list[CallDelta] = []
    finishes = []
    for number, event, choice in choices(exchange):
        delta = table(choice.get("delta"))
        content.append(text(delta.get("content")))
        reasoning.append(text(delta.get("reasoning_content")) or text(delta.get("reasoning")))
        refusal.append(text(delta.get("refusal")))
        deltas += [_call_delta(number, event.at, row) for row in rows(delta, "tool_calls")]
        if text(choice.get("finish_reason")):
            finishes.append((number, choice["finish_reason"]))
    by_index: dict[int, list[CallDelta]] = {}
    for each in deltas:
        if each.index is not None:
            by_index.setdefault(each.index, []).append(each)
    told = [event.object["usage"] for event in exchange.frames if isinstance(event.object.get("usage"), dict)]
    return Streamed(
        "".join(content),
        "".join(reasoning),
        tuple(Call(index, tuple(of)) for index, of in by_index.items()),
        tuple(each for each in deltas if each.index is None),
        tuple(finishes),
        told[-1] if told else None,
        "".join(refusal),
    )


def _call_delta(number: int, at: float, row: Mapping[str, Any]) -> CallDelta:
    index = row.get("index")
    function = table(row.get("function"))
    return CallDelta(
        number,
        at,
        index if isinstance(index, int) and not isinstance(index, bool) and 0 <= index < _CALLS else None,
        row,
        text(row.get("id")),
        text(row.get("type")),
        text(function.get("name")),
        text(function.get("arguments")),
    )


# ------------------------------------------------------------------------------------ what is no whole stream


def unread(exchange: Exchange, *, failing: bool = True) -> Verdict | None:
    """What there is to conclude where the answer is no stream, or none that ends as streams do; None where it is one.

    A server that answers with something else altogether breaks the clause on framing, and shows nothing of others.

    Args:
        exchange: of a request for a stream.
        failing: that the server fails in the midst of it breaks the clause; another check tells it otherwise.
    """
    if (turned_away := busy(exchange)) is not None:
        return turned_away
    if (instead := not_streamed(exchange)) or not exchange.frames:
        return inconclusive(f"nothing is streamed: {instead or 'the stream holds no chunk'}")
    if (not failing or misread(exchange)) and (failure := _failure(exchange)):
        return inconclusive(failure)
    fact = broken(exchange)
    return failed(fact) if fact else None


def not_streamed(exchange: Exchange) -> str:
    """What came in place of a stream; empty where one came."""
    if not exchange.ok:
        return http(exchange)
    if exchange.events is None:
        return f"the answer's content-type is {quoted(exchange.headers.get('content-type', ''))}"
    return ""


def broken(exchange: Exchange) -> str:
    """Why a stream is not whole, in a clause; empty where it is."""
    fact = _failure(exchange)
    if not fact and exchange.cut and not exchange.done:
        return f"the connection ends after {counted(len(exchange.frames), 'chunk')}, before the stream does"
    return fact


def _failure(exchange: Exchange) -> str:
    """What the server says in the stream of its own failure, in a clause; empty where it says nothing."""
    for number, event in enumerate(exchange.frames, 1):
        if error := event.object.get("error"):
            message = text(table(error).get("message")) or error
            return f"chunk {number} of the stream is an error: {quoted(message, _SAID)}"
    return ""
