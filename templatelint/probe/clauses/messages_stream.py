"""Anthropic's Messages API, streamed: one block behind the other, and arguments that are those of the plain answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.probe.answered import unheard
from templatelint.probe.endpoint import for_messages
from templatelint.probe.messages import stream as message_stream
from templatelint.probe.messages.reply import CALLS, LIMIT, OTHERWISE, MessageReply, input_of, unanswered
from templatelint.probe.prompts import TOOLS
from templatelint.probe.telling import counted, quoted
from templatelint.probe.verdict import failed, inconclusive, passed, warned
from templatelint.probe.wire import sdk
from templatelint.sources.endpoint.routes import rows, text

if TYPE_CHECKING:
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.messages.stream import Streamed
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_TOOLS = for_messages(TOOLS)
_LISTED = 12  # further faults that the evidence has room for
_LONG = 120  # characters of what evidence repeats


def message_streamed(endpoint: Endpoint) -> Verdict:
    """TL973."""
    odd: list[str] = []
    for what, words, count in (("one call", endpoint.prompts.tool, 1), ("two calls", endpoint.prompts.parallel, 2)):
        verdict = _of(endpoint, what, words, count)
        if isinstance(verdict, list):
            odd += verdict
        else:
            return verdict
    if odd:
        return warned(odd[0], evidence=tuple(dict.fromkeys(odd[1:])))
    return passed("one call and two come block by block, with the arguments of the plain answers")


def _of(endpoint: Endpoint, what: str, words: str, count: int) -> Verdict | list[str]:
    """What is to be said of a stream with so many calls; where nothing is wrong, what is odd."""
    plain = endpoint.message(words, tools=_TOOLS)
    usual = MessageReply(plain)
    trouble = unanswered(plain, f"a prompt for {what}", may_refuse=True) or _too_few(usual, what, count)
    if trouble is not None:
        return trouble
    exchange = endpoint.message(words, tools=_TOOLS, stream=True)
    if (trouble := unheard(exchange, f"a prompt for {what}")) is not None:
        return trouble
    if instead := message_stream.not_streamed(exchange):
        return failed(f"stream: true is answered with no event stream: {instead}")
    stream = message_stream.read(exchange)
    if not stream.faults and stream.stop in OTHERWISE:
        return inconclusive(f"a stream of {what} ends with stop_reason {quoted(stream.stop)}")
    fault = next(iter(stream.faults), "") or _unlike(stream, usual) or _sdk_fault(exchange, stream)
    if fault:
        return failed(f"in a stream of {what} {fault}", evidence=tuple(stream.faults[1 : 1 + _LISTED]))
    return stream.odd


def _too_few(usual: MessageReply, what: str, count: int) -> Verdict | None:
    if len(usual.calls) < count:
        return inconclusive(f"the answer to a prompt for {what} is {usual.shape}")
    if usual.stop == LIMIT:
        return inconclusive(f"{quoted(usual.written)} tokens are not enough for {what}", cure="--max-tokens, with more")
    return None


def _unlike(stream: Streamed, usual: MessageReply) -> str:
    """What differs from the plain answer to the same, in a clause; empty where nothing does."""
    there = [(text(call.get("name")), input_of(call)) for call in usual.calls]
    here = [(text(block.start.get("name")), block.input) for block in stream.calls]
    if len(here) != len(there):
        return f"come {counted(len(here), 'tool_use block')}, and {len(there)} at once"
    for at, (streamed, plain) in enumerate(zip(here, there, strict=True)):
        if streamed != plain:
            return f"call {at} is {_shown(streamed)}, and {_shown(plain)} at once"
    return "" if stream.stop == CALLS else f"stop_reason is {quoted(stream.stop)}"


def _shown(call: tuple[str, Any]) -> str:
    return f"{quoted(call[0])} with {quoted(str(call[1]), _LONG)}"


def _sdk_fault(exchange: Exchange, stream: Streamed) -> str:
    """What the anthropic SDK makes otherwise of the events; empty where it agrees, or is not installed."""
    if not sdk.installed("anthropic"):
        return ""
    reading = sdk.message_stream(exchange)
    if reading.trouble:
        return f"the anthropic SDK raises {reading.trouble}"
    inputs = [block.get("input") for block in rows(reading.value, "content") if block.get("type") == "tool_use"]
    if reading.unread or inputs == [block.input for block in stream.calls]:
        return ""
    return f"the anthropic SDK hands over the arguments {quoted(str(inputs), _LONG)}, which are not those of the events"
