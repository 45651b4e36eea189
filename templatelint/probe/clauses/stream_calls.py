"""Streamed tool calls: their deltas find together, arguments come as they are written, two calls stay two."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.probe.chat import call_deltas, leaks
from templatelint.probe.chat import clients as chat_clients
from templatelint.probe.chat import stream as chat_stream
from templatelint.probe.chat.leak_causes import cause, written
from templatelint.probe.chat.reply import Call as Entry
from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.prompts import CITY, OTHER_CITY, TOOLS
from templatelint.probe.telling import counted, quoted
from templatelint.probe.verdict import failed, inconclusive, passed, warned
from templatelint.probe.wire.exchange import parsed

if TYPE_CHECKING:
    from typing import Any

    from templatelint.probe.chat.stream import Streamed
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_SHOWN = 3  # calls that a message has room for
_LISTED = 12  # further faults that the evidence has room for
_ENOUGH = 40  # characters of a text that has to come in several parts
_WANTED = [{"city": CITY}, {"city": OTHER_CITY}]
_COAX = "--prompts FILE with a prompt that makes the model call"


# ------------------------------------------------------------------------------------------ TL928, one call


def call_streamed(endpoint: Endpoint) -> Verdict:
    """TL928."""
    exchange = _asked(endpoint, endpoint.prompts.tool)
    early = chat_stream.unread(exchange)
    if early is not None:
        return early
    reply = chat_stream.read(exchange)
    verdict = (
        _leaked(endpoint, exchange, reply)
        or _uncalled(endpoint, exchange, reply)
        or _misrouted(reply)
        or _misended(endpoint, reply)
        or _invalid(endpoint, exchange, reply)
    )
    if verdict is not None:
        return verdict
    if fault := chat_clients.fault(exchange, reply):
        return failed(fault)
    odd = list(call_deltas.oddities(reply))
    if odd:
        return warned(odd[0], evidence=tuple(odd[1 : 1 + _LISTED]))
    return passed(f"{counted(len(reply.calls), 'call')} of {reply.calls[0].name}: {quoted(reply.calls[0].arguments)}")


def _asked(endpoint: Endpoint, prompt: str, **members: Any) -> Exchange:
    return endpoint.chat(prompt, tools=list(TOOLS), **members, stream=True)


def _plain(endpoint: Endpoint, exchange: Exchange, *, again: bool = False) -> ChatReply:
    """The reply to the same request, unstreamed."""
    body = {name: value for name, value in exchange.asked.body.items() if name != "stream"}
    return ChatReply(endpoint.post(exchange.asked.path, body, again=again))


def _leaked(endpoint: Endpoint, exchange: Exchange, reply: Streamed) -> Verdict | None:
    if not reply.content.strip():
        return None
    leak = leaks.found(reply.content, taught=written(endpoint))
    if leak is None and reply.calls and endpoint.scripted is not None:
        leak = leaks.mark_left(reply.content, written(endpoint))
    if leak is None:
        return None
    fact = f"content deltas join to {leak.form}: {leak.shown}"
    if not leak.certain:
        return None if reply.calls else inconclusive(f"{fact}, which may be meant as an example", cure=_COAX)
    why = cause(endpoint, leak, exchange.asked.body)
    return failed(f"{fact}; {why.said}", cure=why.cure)


def _uncalled(endpoint: Endpoint, exchange: Exchange, reply: Streamed) -> Verdict | None:
    """What there is to say where no call came."""
    if reply.calls or reply.stray:
        return None
    if reply.finish == "tool_calls":
        return failed("finish_reason is 'tool_calls', and no delta has a call")
    said = f"the model says {quoted(reply.content)}" if reply.content.strip() else "nothing is said"
    if reply.withheld is not None:
        return reply.withheld
    if reply.finish == "length":
        return inconclusive(f"{said} up to the limit of {endpoint.tokens} tokens, and calls nothing", cure=_COAX)
    lost = not reply.content.strip() or endpoint.scripted is not None
    if lost and _plain(endpoint, exchange).calls:
        # the model may have made up its mind anew: what is lost on the way is lost again
        once_more = chat_stream.read(endpoint.ask(exchange.asked, again=True))
        if once_more.content == reply.content and not (once_more.calls or once_more.stray):
            return failed(f"a call that comes at once does not come as a stream: {said}")
    return inconclusive(f"{said}, and calls nothing", cure=_COAX)


def _misrouted(reply: Streamed) -> Verdict | None:
    faults = list(call_deltas.faults(reply))
    return failed(faults[0], evidence=tuple(faults[1 : 1 + _LISTED])) if faults else None


def _misended(endpoint: Endpoint, reply: Streamed) -> Verdict | None:
    if reply.finish == "length":
        return inconclusive(f"the call is not done within {endpoint.tokens} tokens", cure="--max-tokens N")
    if reply.withheld is not None:
        return reply.withheld
    if reply.finish != "tool_calls":
        return failed(f"a streamed call ends with {_finish(reply)}, not with finish_reason 'tool_calls'")
    return None


def _finish(reply: Streamed) -> str:
    return f"finish_reason {quoted(reply.finish)}" if reply.finish else "no finish_reason"


def _invalid(endpoint: Endpoint, exchange: Exchange, reply: Streamed) -> Verdict | None:
    """What there is to say where arguments are not what the tool wants: of whose making that is."""
    fault = _unlike_tool(reply)
    if not fault:
        return None
    if any(entry.unlike_tool for entry in _plain(endpoint, exchange).calls):
        return inconclusive(f"{fault}, in the plain reply too: the model may have written that")
    if endpoint.scripted is None and not _unlike_tool(chat_stream.read(endpoint.ask(exchange.asked, again=True))):
        return inconclusive(f"{fault}, but not when asked again")
    return failed(fault)


def _unlike_tool(reply: Streamed) -> str:
    entries = [
        Entry({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}})
        for call in reply.calls
    ]
    return next(filter(None, (entry.unlike_tool for entry in entries)), "")


# ------------------------------------------------------------------------------------------ TL929, granularity


def arguments_token_wise(endpoint: Endpoint) -> Verdict:
    """TL929."""
    exchange = _asked(endpoint, endpoint.prompts.write)
    early = chat_stream.unread(exchange, failing=False)
    if early is not None:
        return early
    reply = chat_stream.read(exchange)
    call = max(reply.calls, key=lambda call: len(call.arguments), default=None)
    seen = call_deltas.granularity(call) if call is not None else None
    if call is None or seen is None:
        return inconclusive(f"no call with arguments came, but {quoted(reply.content)}", cure=_COAX)
    if seen.longest < _ENOUGH:
        return inconclusive(
            f"the longest text in the arguments has {seen.longest} characters, too few to come in parts", cure=_COAX
        )
    fact = (
        f"{seen.grade}: {seen.characters} characters of arguments in {counted(seen.deltas, 'delta')}, "
        f"the largest of {seen.largest}"
    )
    evidence = (
        *call_deltas.log(call.pieces),
        f"from {seen.first:.3f} s to {seen.last:.3f} s of {exchange.seconds:.3f} s",
    )
    if seen.grade == "token-wise":
        return passed(fact, evidence=evidence)
    return warned(fact, evidence=evidence) if seen.grade == "coarse" else failed(fact, evidence=evidence)


# ------------------------------------------------------------------------------------------ TL930, two calls


def parallel_streamed(endpoint: Endpoint) -> Verdict:
    """TL930."""
    exchange = _asked(endpoint, endpoint.prompts.parallel, parallel_tool_calls=True)
    early = chat_stream.unread(exchange)
    if early is not None:
        return early
    reply = chat_stream.read(exchange)
    if reply.finish == "length":
        return inconclusive(f"the calls are not done within {endpoint.tokens} tokens", cure="--max-tokens N")
    verdict = _misrouted(reply) or _others(endpoint, exchange, reply)
    if verdict is not None:
        return verdict
    if reply.finish != "tool_calls":
        return failed(f"two streamed calls end with {_finish(reply)}, not with finish_reason 'tool_calls'")
    return passed(f"calls 0 and 1, for {CITY} and for {OTHER_CITY}, each with an id of its own")


def _others(endpoint: Endpoint, exchange: Exchange, reply: Streamed) -> Verdict | None:
    """What there is to say where other calls come than the two: whether they are lost or mixed up in the stream."""
    if [parsed(call.arguments) for call in reply.calls] == _WANTED:
        return None
    plain = _plain(endpoint, exchange).calls
    if len(reply.calls) < len(_WANTED):
        if len(plain) > len(reply.calls):
            return failed(f"{len(plain)} calls come at once, and {len(reply.calls)} as a stream")
        return inconclusive(f"{counted(len(reply.calls), 'call')} of two came, in the plain reply too")
    came = ", ".join(f"call {call.index} {quoted(call.arguments)}" for call in reply.calls[:_SHOWN])
    if [entry.value for entry in plain] != _WANTED:
        return inconclusive(f"the model calls for something else, in the plain reply too: {came}")
    return failed(f"calls for {CITY} and for {OTHER_CITY} join to others: {came}")
