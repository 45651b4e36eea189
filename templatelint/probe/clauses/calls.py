"""Tool calls in plain replies: handed over whole, taken out of the text, marked where they are cut."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from templatelint.probe.chat import cut_calls, leaks
from templatelint.probe.chat import stream as chat_stream
from templatelint.probe.chat.leak_causes import TOOLLESS, cause, tools_shown, written
from templatelint.probe.chat.off_script import kept_from, stopped_early
from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.prompts import CITY, OTHER_CITY, TOOLS
from templatelint.probe.telling import GRAMMAR, busy, counted, http, misread, quoted, reason
from templatelint.probe.verdict import failed, inconclusive, passed, warned
from templatelint.sources.endpoint.routes import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.probe.chat.reply import Call
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_ROOM = "a higher --max-tokens gives it room"
_COAX = 'a "tool" text in --prompts FILE that makes this model call get_weather'
_MARKS = frozenset("<>|{}")
_MOST_LIMITS = 24
_MOST_SECONDS = 3.0


def _called(endpoint: Endpoint) -> ChatReply:
    """The reply to the question that a call answers."""
    return ChatReply(endpoint.chat(endpoint.prompts.tool, tools=TOOLS))


def tool_called(endpoint: Endpoint) -> Verdict:
    """TL909."""
    reply = _called(endpoint)
    # of a grammar a piece of the script may run across what starts it, which no word of a model does
    if endpoint.scripted is not None and misread(reply.exchange) and GRAMMAR not in reason(reply.exchange):
        return failed(f"the server fails at a call as its template writes it: {http(reply.exchange)}")
    if (trouble := reply.unusable or reply.withheld or kept_from(endpoint, reply)) is not None:
        return trouble
    if not reply.calls:
        return _uncalled(endpoint, reply)
    if reply.finish == "length":
        return inconclusive(f"the call is cut at {endpoint.tokens} tokens", cure=_ROOM)
    wrong = _wrong_form(reply)
    if wrong:
        return failed(wrong)
    return _judged(endpoint, reply)


def _wrong_form(reply: ChatReply) -> str:
    """What breaks the form of calls, in a clause; empty where nothing does."""
    if reply.malformed:
        return reply.malformed
    ids = [call.id for call in reply.calls]
    if len(set(ids)) != len(ids):
        return f"two calls have the id {quoted(ids[0])}"
    beside = f"beside {counted(len(ids), 'call')}, not 'tool_calls'"
    return f"{reply.told_finish} {beside}" if reply.finish != "tool_calls" else ""


def _judged(endpoint: Endpoint, reply: ChatReply) -> Verdict:
    """Calls in the right form: are they what was asked for?"""
    scripted = endpoint.scripted is not None
    for call in reply.calls:
        twice = f"the arguments of {quoted(call.name)} are encoded twice: {quoted(call.arguments)}"
        odd = twice if isinstance(call.value, str) else call.unlike_tool
        if odd:
            # `functions.get_weather` a model writes, a mark of its syntax beside the name its server has left there
            marks = any(tool["function"]["name"] in call.name for tool in TOOLS) and not _MARKS.isdisjoint(call.name)
            if scripted or marks:
                return failed(odd)
            return inconclusive(f"{odd}, as the model may have written it")
    first = reply.calls[0]
    if scripted and (first.name, first.value) != ("get_weather", {"city": CITY}):
        return failed(f"the model calls get_weather for {CITY}, and {_shown(first)} arrives")
    if len(reply.calls) > 1:
        return (failed if scripted else warned)(f"{len(reply.calls)} calls arrive where one was asked for")
    return passed(f"{_shown(first)}, {reply.told_finish}")


def _uncalled(endpoint: Endpoint, reply: ChatReply) -> Verdict:
    if reply.message.get("function_call"):
        return failed("the call comes as function_call, which tool_calls has replaced")
    if reply.finish == "tool_calls":
        return failed("finish_reason 'tool_calls' without any call")
    if leaks.found(reply.content) is not None:
        return inconclusive(leaks.LEFT)
    if tools_shown(endpoint, endpoint.chat_body(endpoint.prompts.tool, tools=TOOLS)) is False:
        return failed("the tools are taken, and the template in force never shows them to the model", cure=TOOLLESS)
    if reply.finish == "length":
        return inconclusive(f"no call comes within {endpoint.tokens} tokens", cure=_ROOM)
    return inconclusive(f"the model calls nothing, and says {quoted(reply.content)}", cure=_COAX)


def _shown(call: Call) -> str:
    return f"{call.name} {quoted(call.arguments)[1:-1]}" if isinstance(call.arguments, str) else call.name


# ------------------------------------------------------------------------------------------- left in the text


def call_not_leaked(endpoint: Endpoint) -> Verdict:
    """TL910."""
    reply = _called(endpoint)
    if reply.unusable is not None:
        return inconclusive(reply.unusable.message)
    said = reply.content.strip()
    leak = leaks.found(said, taught=written(endpoint)) if _may_leak(said) else None
    if leak is not None:
        return _leaked(endpoint, reply, leak)
    if said and reply.calls and (mark := leaks.mark_left(said, written(endpoint))) is not None:
        return _leaked(endpoint, reply, mark, sure=endpoint.scripted is not None)
    if reply.calls:
        return passed(f"{counted(len(reply.calls), 'call')}, content {quoted(reply.message.get('content'))}")
    thought = leaks.found(reply.thoughts)
    if thought is not None and thought.certain:
        return inconclusive(f"{thought.form} stands in the thoughts, and no call arrives: {thought.shown}")
    return inconclusive("the model calls nothing, in no syntax", cure=_COAX)


def _may_leak(content: str) -> bool:
    return any(tool["function"]["name"] in content for tool in TOOLS)


def _leaked(endpoint: Endpoint, reply: ChatReply, leak: leaks.Leak, *, sure: bool = True) -> Verdict:
    """What to say of a call, or its mark, in the text; unless it is `sure`, the model may have written more than it."""
    fact = f"content holds {leak.form}"
    beside = f" beside {counted(len(reply.calls), 'call')} in tool_calls" if reply.calls else ""
    if not leak.certain:
        doubt = f"{fact} that may be an example{beside}: {leak.shown}"
        return warned(doubt) if reply.calls else inconclusive(doubt)
    if not sure:
        return warned(f"{fact}{beside}, which the model may have written twice: {leak.shown}")
    if reply.finish == "length" and not reply.calls:
        return inconclusive(f"{fact}, which is cut at {endpoint.tokens} tokens: {leak.shown}", cure=_ROOM)
    why = cause(endpoint, leak, endpoint.chat_body(endpoint.prompts.tool, tools=TOOLS))
    told = f"finish_reason is {quoted(reply.choice.get('finish_reason'))}"
    return failed(
        f"{fact}{beside}, {told}: {why.said}", evidence=(f"content: {quoted(leak.text, 200)}",), cure=why.cure
    )


# ------------------------------------------------------------------------------------------------- cut calls


def cut_call_marked(endpoint: Endpoint) -> Verdict:
    """TL911."""
    whole = cut_calls.whole(endpoint)
    if (trouble := cut_calls.uncut(endpoint, whole)) is not None:
        return trouble
    verdicts = []
    for limit in cut_calls.limits(whole.tokens):
        verdict = _cut_verdict(endpoint, whole, limit)
        if verdict.word == "fail":
            return verdict
        verdicts.append(verdict)
    return next((verdict for verdict in verdicts if verdict.word == "pass"), verdicts[0])


def _cut_verdict(endpoint: Endpoint, whole: ChatReply, limit: int) -> Verdict:
    reply = ChatReply(endpoint.chat(endpoint.prompts.write, tools=TOOLS, max_tokens=limit))
    if (trouble := reply.unusable or reply.withheld) is not None:
        return trouble
    said = f"max_tokens {limit} cuts the call: {reply.told_finish}"
    if reply.finish == "length":
        return passed(said)
    if [call.value for call in reply.calls if call.value] == [call.value for call in whole.calls]:
        return inconclusive(f"the call is whole within {limit} tokens")
    if reply.tokens != limit and (reply.tokens is not None or not reply.calls):
        return inconclusive(f"nothing tells that {limit} tokens cut the reply: usage counts {quoted(reply.tokens)}")
    handed = f"{_shown(reply.calls[0])} is handed over as a whole call" if reply.calls else "no call is handed over"
    return failed(f"{said}, and {handed}")


# -------------------------------------------------------------------------------------------- several calls


def parallel_calls(endpoint: Endpoint) -> Verdict:
    """TL916."""
    both = ChatReply(endpoint.chat(endpoint.prompts.parallel, tools=TOOLS, parallel_tool_calls=True))
    if (trouble := both.unusable or kept_from(endpoint, both)) is not None:
        return trouble
    if both.finish == "length":
        return inconclusive(f"the calls are cut at {endpoint.tokens} tokens", cure=_ROOM)
    if not both.calls:
        if leaks.found(both.content) is not None:
            return inconclusive(leaks.LEFT)
        return inconclusive("the model calls nothing: its template does not write two calls")
    if len(both.calls) == 1 and (early := stopped_early(endpoint, both, endpoint.prompts.parallel)) is not None:
        return early
    unlike = both.unlike_tools
    cities = [table(call.value).get("city") for call in both.calls]
    if not unlike and cities != [CITY, OTHER_CITY]:
        unlike = f"the model calls get_weather for {CITY} and {OTHER_CITY}, calls for {_listed(cities)} arrive"
    wrong = _wrong_form(both) or unlike
    return failed(wrong) if wrong else _one_at_a_time(endpoint)


def _one_at_a_time(endpoint: Endpoint) -> Verdict:
    reply = ChatReply(endpoint.chat(endpoint.prompts.parallel, tools=TOOLS, parallel_tool_calls=False))
    two = "parallel_tool_calls true: two calls in their order"
    if (turned_away := busy(reply.exchange)) is not None:
        return turned_away
    if reply.exchange.refused:
        return warned(f"{two}; false is refused: {http(reply.exchange)}")
    if reply.unusable is not None:
        return reply.unusable
    if len(reply.calls) > 1:
        return failed(f"parallel_tool_calls false is not heeded: {len(reply.calls)} calls arrive")
    return passed(f"{two}; false: {counted(len(reply.calls), 'call')}")


def _listed(values: list[object]) -> str:
    return " and ".join(map(quoted, values))


# ----------------------------------------------------------------------------------------- plain and streamed


def cut_anywhere_agrees(endpoint: Endpoint) -> Verdict:
    """TL924."""
    whole = _called(endpoint)
    if whole.unusable is not None:
        return inconclusive(whole.unusable.message)
    if not whole.calls or whole.tokens is None or not _spread(whole.tokens):
        return inconclusive(
            "no call arrives that could be cut"
            if not whole.calls
            else f"usage counts {quoted(whole.tokens)} tokens of a call"
        )
    deadline = time.monotonic() + _MOST_SECONDS
    tried = 0
    found: dict[int, str] = {}
    for limit in _spread(whole.tokens):
        if time.monotonic() > deadline:
            break
        differing, turned_away = _disagreement(endpoint, limit)
        if turned_away is not None:
            return turned_away
        tried += 1
        if differing:
            found[limit] = f"max_tokens {limit}: {differing}"
    if not found:
        return passed(f"plain and streamed agree at {tried} limits from 1 to {whole.tokens - 1} tokens")
    first = next(iter(found))
    # its two exchanges, which are known, end the record: they are what is told
    _disagreement(endpoint, first)
    told = tuple(found.values())
    return failed(f"plain and streamed differ at {len(found)} of {tried} limits, {told[0]}", evidence=told)


def _spread(tokens: int) -> list[int]:
    """At most so many numbers below that of the whole, evenly."""
    last = tokens - 1
    count = min(last, _MOST_LIMITS)
    return sorted({1 + (last - 1) * at // max(1, count - 1) for at in range(count)})


def _disagreement(endpoint: Endpoint, limit: int) -> tuple[str, Verdict | None]:
    """In what the plain and the streamed reply differ; that there is none where the server turns one of them away."""
    plain = ChatReply(endpoint.chat(endpoint.prompts.tool, tools=TOOLS, max_tokens=limit))
    exchange = endpoint.chat(endpoint.prompts.tool, tools=TOOLS, max_tokens=limit, stream=True)
    turned_away = busy(plain.exchange) or busy(exchange)
    return _difference(plain, exchange) if turned_away is None else "", turned_away


def _difference(plain: ChatReply, exchange: Exchange) -> str:
    broken = chat_stream.broken(exchange) if exchange.ok else http(exchange)
    if broken and plain.unusable is None:
        return f"plain is answered, streamed: {broken}"
    if broken or plain.unusable is not None:
        return "" if broken else f"streamed is answered, plain: {plain.unusable.message if plain.unusable else ''}"
    streamed = chat_stream.read(exchange)
    if plain.content.strip() != streamed.content.strip():
        return f"content is {quoted(plain.content)} plain, {quoted(streamed.content)} streamed"
    calls = [(call.name, call.arguments if isinstance(call.arguments, str) else "") for call in plain.calls]
    routed = [(call.name, call.arguments) for call in streamed.calls]
    return next(_call_differences(calls, routed), "")


def _call_differences(plain: list[tuple[str, str]], streamed: list[tuple[str, str]]) -> Iterator[str]:
    if len(plain) != len(streamed):
        yield f"{counted(len(plain), 'call')} plain, {counted(len(streamed), 'call')} streamed"
    for (name, arguments), (streamed_name, streamed_arguments) in zip(plain, streamed, strict=False):
        if name != streamed_name:
            yield f"a call of {quoted(name)} plain, of {quoted(streamed_name)} streamed"
        # either may keep back what it is not yet sure of
        elif not (arguments.startswith(streamed_arguments) or streamed_arguments.startswith(arguments)):
            yield f"arguments are {quoted(arguments)} plain, {quoted(streamed_arguments)} streamed"
