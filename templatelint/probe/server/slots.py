"""The routes on which a server tells what it is working on → whether a request that was left still runs."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from templatelint.probe.wire.exchange import Asked
from templatelint.sources.endpoint.routes import table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.wire.exchange import Exchange

# A llama-server notices that a client hung up when nothing has happened for a second, and to look at its state happens.
APART = 1.5  # seconds
_END = 8  # tokens before the end of a context, at which generation may end
_MANY = 1 << 40
_GAUGES = ("llamacpp:requests_processing", "vllm:num_requests_running", "sglang:num_running_reqs")
_GAUGE = re.compile(rf"^({'|'.join(_GAUGES)})(?:\{{[^}}\n]*\}})? +(\d{{1,9}})", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class State:
    """What a server says of a request.

    Attributes:
        runs: it still works on it.
        ended: it ended where its context does, and not before; None where the server does not say.
        shown: the same in a line.
        sure: the server is up to date with what it says.
        others: it works on more than this one request.
    """

    runs: bool
    ended: bool | None
    shown: str
    sure: bool = True
    others: bool = False


class Watch:
    """Looks at a server's state, never more often than it can bear."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._last = 0.0

    def look(self, tokens: int, at: float) -> State | None:
        """The state at a time, or as soon afterwards as may be; None where the server tells none.

        Args:
            tokens: `max_tokens` of the request that is meant, which no other has.
            at: on the monotonic clock.
        """
        now = time.monotonic()
        self._endpoint.wait(max(0.0, at - now, self._last + APART - now))
        self._last = time.monotonic()
        path = f"/slots?model={quote(self._endpoint.model, safe='')}"
        return _slots(self._ask(path), tokens) or _gauges(self._ask("/metrics"))

    def _ask(self, path: str) -> Exchange:
        return self._endpoint.ask(Asked("GET", path), again=True)


def _slots(exchange: Exchange, tokens: int) -> State | None:
    given = exchange.value if exchange.ok and isinstance(exchange.value, list) else []
    slots = [table(slot) for slot in given]
    if not slots or not all(isinstance(slot.get("is_processing"), bool) for slot in slots):
        return None
    ours = _ours(slots, tokens)
    context = next(filter(None, (_count(slot, "n_ctx") for slot in slots)), 0)
    count = _count(ours, "n_prompt_tokens") if ours is not None else 0
    shown = f"{sum(slot['is_processing'] for slot in slots)} of {len(slots)} slots at work"
    if count:
        shown += f", {count} of {context} tokens in ours"
    at_work = sum(slot["is_processing"] for slot in slots)
    runs = at_work > 0 if ours is None else bool(ours["is_processing"])
    return State(runs, count >= context - _END if count and context else None, shown, others=at_work > int(runs))


def _ours(slots: Sequence[Mapping[str, Any]], tokens: int) -> Mapping[str, Any] | None:
    """The slot that has our request, or had it last; none of them where they say nothing of requests."""
    if not any("params" in slot for slot in slots):
        return None
    ours = [slot for slot in slots if table(slot.get("params")).get("max_tokens") == tokens]
    return max(ours, key=lambda slot: _count(slot, "id_task"), default={"is_processing": False})


def _count(slot: Mapping[str, Any], name: str) -> int:
    value = slot.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _MANY else 0


def _gauges(exchange: Exchange) -> State | None:
    found = _GAUGE.findall(exchange.text) if exchange.ok else []
    if not found:
        return None
    running = sum(int(value) for _, value in found)
    # others than llama-server count when they next have something to do
    return State(running > 0, None, f"{found[0][0]} is {running}", sure=found[0][0] == _GAUGES[0], others=running > 1)
