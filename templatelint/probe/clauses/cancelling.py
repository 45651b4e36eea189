"""Requests whose client hangs up: the server stops working on them, and serves the next one."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.probe.chat import stream as chat_stream
from templatelint.probe.endpoint import CHAT, RESPONSES
from templatelint.probe.server import context
from templatelint.probe.server.slots import Watch
from templatelint.probe.telling import busy, http, quoted
from templatelint.probe.verdict import WORDS, NoAnswer, failed, inconclusive, passed, skipped
from templatelint.probe.wire.exchange import Asked
from templatelint.sources.endpoint.routes import rows

if TYPE_CHECKING:
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.server.slots import State
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

# tokens that are allowed: more than come before we look, and numbers by which slots can be told apart
_CHAT_TOKENS, _RESPONSE_TOKENS, _PLAIN_TOKENS = 30_011, 30_013, 30_029
_EVENTS = 8  # of a stream, after which we hang up
_SOON = 3.0  # seconds in which those come, and the next request is answered
_TIMES = 4  # as long as an answer took before may the next one take
_SAMPLE = 64  # tokens by which it is measured how long an endless answer lasts
_STREAM_LOOKS = (0.3, 1.9)  # seconds after we hung up
_PLAIN_LEFT = 0.25  # seconds after which we give a plain answer up
_PLAIN_LOOKS = (1.25, 2.75)


def stream_abandoned(endpoint: Endpoint) -> Verdict:
    """TL933."""
    prompt = endpoint.prompts.endless
    streams = (
        (CHAT, endpoint.chat_body(prompt, max_tokens=_CHAT_TOKENS, stream=True), _CHAT_TOKENS),
        (RESPONSES, endpoint.response_body(prompt, max_output_tokens=_RESPONSE_TOKENS, stream=True), _RESPONSE_TOKENS),
    )
    watch = Watch(endpoint)
    found: dict[str, Verdict] = {}
    for path, body, tokens in streams:
        asked = Asked("POST", path, body, leave_after=_EVENTS, leave_at=_SOON)
        verdict = _abandoned(endpoint, watch, asked, tokens, _STREAM_LOOKS)
        if verdict is not None:
            found[path] = verdict
    if not found:
        return skipped(f"the server has no {CHAT}")
    evidence = tuple(line for verdict in found.values() for line in verdict.evidence)
    for word in WORDS:
        for verdict in found.values():
            if verdict.word == word != "pass":
                return replace(verdict, evidence=evidence)
    return passed(f"streams that are left are given up: {', '.join(found)}", evidence=evidence)


def request_abandoned(endpoint: Endpoint) -> Verdict:
    """TL934."""
    body = endpoint.chat_body(endpoint.prompts.endless, max_tokens=_PLAIN_TOKENS)
    asked = Asked("POST", CHAT, body, leave_at=_PLAIN_LEFT)
    verdict = _abandoned(endpoint, Watch(endpoint), asked, _PLAIN_TOKENS, _PLAIN_LOOKS)
    return verdict or skipped(f"the server has no {CHAT}")


def _abandoned(
    endpoint: Endpoint, watch: Watch, asked: Asked, tokens: int, looks: tuple[float, float]
) -> Verdict | None:
    """What becomes of one request that is left; None where there is no such route."""
    _usual(endpoint)  # which is known from now on
    start = time.monotonic()
    exchange = endpoint.ask(asked, again=True)
    left = time.monotonic()
    if not exchange.left:
        return None if exchange.absent else _not_left(exchange)
    what = f"{asked.path}, streamed," if asked.leave_after is not None else asked.path
    seen: list[tuple[float, State]] = []
    for after in looks:
        state = watch.look(tokens, left + after)
        if state is None:
            return _by_next(endpoint, what, start)
        seen.append((time.monotonic() - left, state))
        if not state.runs:
            break
    evidence = tuple(f"{asked.path} {after:.1f} s after it was left: {state.shown}" for after, state in seen)
    verdict = _by_state(endpoint, what, seen, left - start)
    return replace(verdict, evidence=evidence)


def _by_state(endpoint: Endpoint, what: str, seen: list[tuple[float, State]], before: float) -> Verdict:
    after, state = seen[-1]
    if state.runs:
        fact = f"{what} still runs {after:.1f} s after its client hung up"
        if state.others:
            return inconclusive(f"{fact}, and other requests do", cure="let nobody else use the server meanwhile")
        return failed(fact) if state.sure else inconclusive(fact)
    if state.ended and len(seen) > 1:
        return failed(f"{what} runs on to the end of its context after its client hung up")
    if state.ended or (state.ended is None and _over_by_itself(endpoint, before + after)):
        return _too_short(what)
    return _next_verdict(endpoint, what) or passed(f"a request that is left is given up within {after:.1f} s")


def _not_left(exchange: Exchange) -> Verdict:
    turned_away = busy(exchange)
    if turned_away is not None:
        return turned_away
    if not exchange.ok:
        return inconclusive(f"an endless answer is not given: {http(exchange)}")
    said = f": {quoted(chat_stream.read(exchange).content)}" if exchange.events else ""
    return inconclusive(f"the answer that never ends is over after {exchange.seconds:.2f} s{said}")


def _over_by_itself(endpoint: Endpoint, seconds: float) -> bool:
    """Whether an endless answer may come to the end of its context in that time."""
    sample = endpoint.chat(endpoint.prompts.endless, max_tokens=_SAMPLE)
    tokens = min(context.size(endpoint) or _PLAIN_TOKENS, _PLAIN_TOKENS)
    return sample.seconds * tokens / _SAMPLE < seconds


def _too_short(what: str) -> Verdict:
    return inconclusive(
        f"{what} was over by itself before anybody could look", cure="serve the model with a larger context"
    )


# ----------------------------------------------------------------------------------------- the request after it


def _usual(endpoint: Endpoint) -> float:
    """Seconds that an answer took before anything was left."""
    return endpoint.for_check().chat(endpoint.prompts.plain).seconds


def _next_verdict(endpoint: Endpoint, what: str, whose: str = "") -> Verdict | None:
    """What is wrong with the answer to the request after one that was left; None where nothing is."""
    patience = min(max(_SOON, _TIMES * _usual(endpoint)), endpoint.seconds)
    body = endpoint.chat_body(endpoint.prompts.plain, max_tokens=_EVENTS)
    try:
        exchange = endpoint.ask(Asked("POST", CHAT, body, leave_at=patience), again=True)
    except NoAnswer:
        exchange = None
    if exchange is None or exchange.left:
        return failed(f"{what} was left, and the next request gets no answer within {patience:g} s{whose}")
    if exchange.ok and rows(exchange.value, "choices"):
        return None
    return busy(exchange) or failed(f"{what} was left, and the next request gets {http(exchange)}{whose}")


def _by_next(endpoint: Endpoint, what: str, start: float) -> Verdict:
    """What the next request shows where the server does not tell its state."""
    if endpoint.get("/props").object.get("total_slots") != 1:
        return skipped("the server does not tell what it is working on", cure="llama-server --slots, or --metrics")
    if (trouble := _next_verdict(endpoint, what, " of the only slot")) is not None:
        return trouble
    if _over_by_itself(endpoint, time.monotonic() - start):
        return _too_short(what)
    return passed("what a client leaves is given up: the only slot serves the next request")
