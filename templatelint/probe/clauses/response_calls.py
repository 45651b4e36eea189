"""Calls of functions in the Responses API: identified, marked where they are cut, sent back, and only as chosen."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.probe.endpoint import for_responses
from templatelint.probe.limits import inside_call
from templatelint.probe.prompts import CITY, OTHER_CITY, TOOLS, WEATHER, WRITE
from templatelint.probe.responses.faults import fault_of, shown, untold
from templatelint.probe.responses.items import (
    LEAST,
    MORE,
    Reply,
    arguments_of,
    ask,
    decisive,
    limit_told,
    output,
    returned,
    take_back,
    torn,
    unanswered,
    user,
)
from templatelint.probe.seen_results import unseen
from templatelint.probe.telling import busy, counted, error_message, http, quoted
from templatelint.probe.verdict import failed, inconclusive, passed, warned
from templatelint.sources.endpoint.routes import text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_TOOLS = for_responses(TOOLS)
_WEATHER, _WRITE = WEATHER["function"]["name"], WRITE["function"]["name"]
_TWO = 2
_MANY = 8  # of what evidence lists
_LONGEST_ID = 64  # characters of a call_id that OpenAI's API takes back
_COAX = "--prompts FILE, with a prompt `{}` that brings it"


# ------------------------------------------------------------------------------------------------------ TL938


def items_identified(endpoint: Endpoint) -> Verdict:
    """TL938."""
    exchange = endpoint.respond(endpoint.prompts.parallel, tools=_TOOLS, parallel_tool_calls=True)
    trouble = unanswered(exchange, "a prompt for two calls", may_refuse=True)
    if trouble is not None:
        return trouble
    reply = Reply(exchange)
    # more than two are no longer what the scripted model writes
    if len(reply.calls) < _TWO or (endpoint.scripted and len(reply.calls) > _TWO):
        return inconclusive(f"the answer to a prompt for two calls is {reply.shape}", cure=_COAX.format("parallel"))
    wrong = [f"output[{place}]: {fault}" for place, item in enumerate(reply.items) if (fault := fault_of(item))]
    call_ids = [text(call.get("call_id")) for call in reply.calls]
    for name, values in (("id", [text(item.get("id")) for item in reply.items]), ("call_id", call_ids)):
        count = Counter(filter(None, values))
        wrong += [f"{number} items have the {name} {quoted(value)}" for value, number in count.items() if number > 1]
    same = next((call for call in reply.calls if call.get("id") and call.get("id") == call.get("call_id")), None)
    if same is not None:
        wrong.append(f"id and call_id of a call are both {quoted(same['id'])}")
    long = next((value for value in call_ids if len(value) > _LONGEST_ID), "")
    if long:
        wrong.append(f"a call_id has {len(long)} characters, more than {_LONGEST_ID}")
    if wrong:
        return failed(wrong[0], evidence=tuple(wrong[:_MANY]))
    return passed(f"{len(reply.calls)} calls with ids of their own: {', '.join(map(quoted, call_ids[:_MANY]))}")


# ------------------------------------------------------------------------------------------- TL940 and TL941


class _Cut(NamedTuple):
    """A call, whole and cut by a limit of tokens."""

    call: Mapping[str, Any]
    limit: int
    reply: Reply


def _cut_call(endpoint: Endpoint) -> _Cut | Verdict:
    """The answer that is cut inside its call; or why there is none."""
    exchange = endpoint.respond(endpoint.prompts.write, tools=_TOOLS)
    trouble = unanswered(exchange, "a prompt with tools", may_refuse=True)
    if trouble is not None:
        return trouble
    reply = Reply(exchange)
    if not reply.calls:
        return inconclusive(
            f"the answer to a prompt for a call of {_WRITE} is {reply.shape}", cure=_COAX.format("write")
        )
    if reply.ran_out(endpoint.tokens):
        return inconclusive(f"{endpoint.tokens} tokens are not enough for a call", cure=MORE)
    if arguments_of(reply.calls[0]) is None:
        return inconclusive(
            f"arguments are no JSON object where nothing is cut: {quoted(reply.calls[0].get('arguments'))}"
        )
    limit = inside_call(reply.written or 2 * LEAST)
    exchange = endpoint.respond(endpoint.prompts.write, tools=_TOOLS, max_output_tokens=limit)
    trouble = unanswered(exchange, f"a prompt with tools and max_output_tokens {limit}", may_refuse=True)
    return trouble or _Cut(reply.calls[0], limit, Reply(exchange))


def cut_call_incomplete(endpoint: Endpoint) -> Verdict:
    """TL940."""
    found = _cut_call(endpoint)
    if not isinstance(found, _Cut):
        return found
    if found.reply.status == "incomplete":
        return limit_told(found.reply) or _cut_item(found)
    if found.reply.status != "completed":
        return failed(f"status is {shown(found.reply.response, 'status')} at the end of a response")
    return _completed(endpoint, found)


def _cut_item(found: _Cut) -> Verdict:
    reply = found.reply
    if not reply.calls:
        if _WRITE in reply.text:
            return warned(
                f"the call that is cut after {found.limit} tokens stands as text in the message",
                evidence=(f"the text is {quoted(reply.text)}",),
            )
        return passed(f"the response is incomplete after {found.limit} tokens, and hands over no call")
    call = reply.calls[-1]
    arguments = f"its arguments are {quoted(call.get('arguments'), 120)}"
    if call.get("status") == "incomplete":
        return passed(f"response and call are incomplete after {found.limit} tokens", evidence=(arguments,))
    if call.get("status") == "completed" and _same(call, found.call):
        return inconclusive(f"{found.limit} tokens were enough for the whole call")
    if untold(call):
        return warned(
            f"the response is incomplete after {found.limit} tokens, and its call has no status", evidence=(arguments,)
        )
    return failed(
        f"the response is incomplete, but the status of the call that is cut is {shown(call, 'status')}",
        evidence=(arguments,),
    )


def _completed(endpoint: Endpoint, found: _Cut) -> Verdict:
    """Of a response that is told to be completed: whether it is."""
    reply, limit = found.reply, found.limit
    if reply.written is not None and reply.written > limit:
        return failed(f"max_output_tokens {limit} brings {reply.written} tokens, and status completed")
    if reply.calls:
        call = reply.calls[-1]
        sure = endpoint.scripted is not None or arguments_of(call) is None or reply.written in (None, limit)
        if torn(call, found.call) and sure:
            return failed(
                f"a call cut after {limit} tokens comes with status {shown(call, 'status')}, in a completed response",
                evidence=(f"its arguments are {quoted(call.get('arguments'), 120)}",),
            )
        return inconclusive(f"the call ended by itself within {limit} tokens")
    if endpoint.scripted is not None or _WRITE in reply.text:
        return failed(
            f"a response cut after {limit} tokens, inside its call, has status completed, and {reply.shape} in it",
            evidence=(f"its text is {quoted(reply.text)}",),
        )
    return inconclusive(f"with max_output_tokens {limit} the model calls no function")


def _same(call: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    arguments = arguments_of(call)
    return arguments is not None and arguments == arguments_of(whole)


def cut_call_returnable(endpoint: Endpoint) -> Verdict:
    """TL941."""
    found = _cut_call(endpoint)
    if not isinstance(found, _Cut):
        return found
    calls = [item for item in returned(found.reply) if item.get("type") == "function_call"]
    told = "the cut call as it came"
    if not calls:
        # the server keeps it back; a client that has read the stream may have it all the same
        arguments = text(found.call.get("arguments"))
        calls = [{**found.call, "arguments": arguments[: len(arguments) // 2], "status": "incomplete"}]
        told = "a call with half of its arguments"
    results = [output(call, "error: the arguments of this call are cut off") for call in calls]
    if found.reply.calls:
        exchange = take_back(endpoint, [user(endpoint.prompts.write)], found.reply, results, tools=_TOOLS)
    else:
        exchange = ask(endpoint, [user(endpoint.prompts.write), *calls, *results], tools=_TOOLS)
    if (trouble := busy(exchange)) is not None:
        return trouble
    evidence = tuple(f"arguments {quoted(call.get('arguments'), 120)}" for call in calls)
    if exchange.cut:
        return failed(f"the connection ends where {told} is sent back", evidence=evidence)
    if exchange.crashed:
        return failed(f"{told}, sent back with its error, is answered {http(exchange)}", evidence=evidence)
    return passed(f"{told}, sent back with its error, is answered HTTP {exchange.status}", evidence=evidence)


# ------------------------------------------------------------------------------------------------------ TL942


def response_round_trip(endpoint: Endpoint) -> Verdict:
    """TL942."""
    exchange = endpoint.respond(endpoint.prompts.tool, tools=_TOOLS)
    trouble = unanswered(exchange, "a prompt with tools", may_refuse=True)
    if trouble is not None:
        return trouble
    reply = Reply(exchange)
    if not reply.calls:
        return inconclusive(
            f"the answer to a prompt for a call of {_WEATHER} is {reply.shape}", cure=_COAX.format("tool")
        )
    trouble = _unanswerable(endpoint, reply) or _answered(endpoint, endpoint.prompts.tool, reply, "a call")
    if trouble is not None:
        return trouble
    told = "the result of a call is answered"
    exchange = endpoint.respond(endpoint.prompts.parallel, tools=_TOOLS, parallel_tool_calls=True)
    two = Reply(exchange)
    # a model need not write two: a clause of its own is about that
    if not exchange.ok or len(two.calls) < _TWO or _unanswerable(endpoint, two):
        return passed(told)
    trouble = _answered(endpoint, endpoint.prompts.parallel, two, "two calls, the last first,")
    return trouble or passed(f"{told}, and so are those of two calls, the last one first")


def _unanswerable(endpoint: Endpoint, reply: Reply) -> Verdict | None:
    """Why calls cannot be sent back with their results; None where they can."""
    for call in reply.calls:
        for member in ("call_id", "name", "arguments"):
            if not isinstance(call.get(member), str):
                return failed(f"{member} of a call is {shown(call, member)}")
        if reply.ran_out(endpoint.tokens) or arguments_of(call) is None:
            return inconclusive(f"the call is no whole one: {quoted(call['arguments'])}", cure=MORE)
    return None


def _answered(endpoint: Endpoint, words: str, reply: Reply, what: str) -> Verdict | None:
    """What is wrong with the answer to the results of calls that are sent back; None where nothing is."""
    results = [_result(endpoint, item) for item in reversed(returned(reply)) if item.get("type") == "function_call"]
    exchange = take_back(endpoint, [user(words)], reply, results, tools=_TOOLS)
    trouble = unanswered(exchange, f"the result of {what} with the output as it came")
    if trouble is not None:
        return trouble
    answer = Reply(exchange)
    if answer.calls:
        again = f"with the result of {what} before it the model calls {quoted(answer.calls[0].get('name'))} again"
        # the scripted model answers wherever it sees a result
        return failed(again) if endpoint.scripted else inconclusive(again)
    if not answer.text.strip():
        return inconclusive(f"the answer to the result of {what} is {answer.shape}, without a text")
    return unseen(endpoint, answer.text, f"the result of {what}", reply.read, answer.read)


def _result(endpoint: Endpoint, call: Mapping[str, Any]) -> dict[str, Any]:
    elsewhere = OTHER_CITY in text(call.get("arguments"))
    return output(call, endpoint.prompts.result.replace(CITY, OTHER_CITY) if elsewhere else endpoint.prompts.result)


# ------------------------------------------------------------------------------------------------------ TL943

_ID, _OTHER_ID = "weather01", "weather99"  # nine letters and digits, which some templates insist on
_CALL: Mapping[str, Any] = {
    "type": "function_call",
    "call_id": _ID,
    "name": _WEATHER,
    "arguments": f'{{"city": "{CITY}"}}',
}


def _stray(endpoint: Endpoint) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """What is wrong → the items behind the user's message."""
    result = endpoint.prompts.result
    nothing = {"type": "function_call_output", "call_id": _ID}
    return {
        "an output for a call_id that no call has": [
            _CALL,
            output(_CALL, result),
            output({"call_id": _OTHER_ID}, result),
        ],
        "an output without any call": [output(_CALL, result)],
        "a call without its output": [_CALL, user(endpoint.prompts.plain)],
        "an output that is an object": [_CALL, {**nothing, "output": {"temperature": 21}}],
        "an output that is a number": [_CALL, {**nothing, "output": 21}],
        "an output that is null": [_CALL, {**nothing, "output": None}],
        "a function_call_output without an output": [_CALL, nothing],
    }


def stray_output_refused(endpoint: Endpoint) -> Verdict:
    """TL943."""
    right = [user(endpoint.prompts.tool), _CALL, output(_CALL, endpoint.prompts.result)]
    exchange = endpoint.respond(right, tools=_TOOLS, max_output_tokens=LEAST)
    trouble = unanswered(exchange, "a call with its output")
    if trouble is not None:
        # then a refusal shows nothing
        return trouble if trouble.word == "inconclusive" else inconclusive(trouble.message)
    cases = _stray(endpoint)
    accepted: list[tuple[str, Exchange]] = []
    crashed: list[tuple[str, Exchange]] = []
    bare: list[tuple[str, Exchange]] = []
    for name, items in cases.items():
        exchange = ask(endpoint, [user(endpoint.prompts.tool), *items], tools=_TOOLS, max_output_tokens=LEAST)
        if (trouble := busy(exchange)) is not None:
            return trouble
        if exchange.ok:
            accepted.append((f"{name} is accepted: HTTP {exchange.status}", exchange))
        elif not exchange.refused:
            crashed.append((f"{name}: {'the connection ends' if exchange.cut else http(exchange)}", exchange))
        elif not error_message(exchange):
            bare.append((f"{name}: HTTP {exchange.status} without an error object", exchange))
    wrong = [*crashed, *accepted]
    found = [*wrong, *bare]
    if not found:
        return passed(f"all {len(cases)} malformed tool results are refused")
    told, exchange = found[0]
    decisive(endpoint, exchange)
    evidence = tuple(fact for fact, _ in found)
    if not wrong:
        return warned(told, evidence=evidence)
    return failed(f"{len(wrong)} of {len(cases)} malformed tool results are not refused; {told}", evidence=evidence)


# ------------------------------------------------------------------------------------------------------ TL945


def response_choice_heeded(endpoint: Endpoint) -> Verdict:
    """TL945."""
    usual = endpoint.respond(endpoint.prompts.tool, tools=_TOOLS)
    trouble = unanswered(usual, "a prompt with tools", may_refuse=True)
    if trouble is not None:
        return trouble
    found = [_required(endpoint), _named(endpoint, Reply(usual)), _allowed(endpoint, Reply(usual))]
    told = tuple(verdict.message for verdict, _ in found)
    for word in ("fail", "inconclusive"):
        for verdict, exchange in found:
            if verdict.word == word:
                decisive(endpoint, exchange)
                return replace(verdict, evidence=told)
    return passed("; ".join(told))


def _chosen(exchange: Exchange, choice: str) -> Verdict | None:
    """What keeps a choice from being judged, or that it is refused, which is a way to heed it."""
    if exchange.refused and busy(exchange) is None:
        return passed(f"{choice} is refused: HTTP {exchange.status}")
    return unanswered(exchange, choice)


def _required(endpoint: Endpoint) -> tuple[Verdict, Exchange]:
    exchange = endpoint.respond(endpoint.prompts.plain, tools=_TOOLS, tool_choice="required")
    choice = "tool_choice required"
    verdict = _chosen(exchange, choice) or _must_call(Reply(exchange), choice, endpoint.tokens, (_WEATHER, _WRITE))
    if verdict.word == "pass" and exchange.ok:
        usual = endpoint.respond(endpoint.prompts.plain, tools=_TOOLS)
        if (trouble := unanswered(usual, "a plain input with tools", may_refuse=True)) is not None:
            return trouble, usual
        if Reply(usual).calls:
            return inconclusive(f"{choice} brings a call, and so does the same prompt without it"), exchange
    return verdict, exchange


def _named(endpoint: Endpoint, usual: Reply) -> tuple[Verdict, Exchange]:
    named = {"type": "function", "name": _WRITE}
    exchange = endpoint.respond(endpoint.prompts.tool, tools=_TOOLS, tool_choice=named)
    choice = f"tool_choice of the function {_WRITE}"
    verdict = _chosen(exchange, choice) or _must_call(Reply(exchange), choice, endpoint.tokens, (_WRITE,))
    if verdict.word == "pass" and exchange.ok and any(call.get("name") == _WRITE for call in usual.calls):
        return inconclusive(f"{choice} brings a call of it, and so does the same prompt without it"), exchange
    return verdict, exchange


def _must_call(reply: Reply, choice: str, tokens: int, allowed: Sequence[str]) -> Verdict:
    others = [call for call in reply.calls if call.get("name") not in allowed]
    if others:
        return failed(f"{choice} brings a call of {quoted(others[0].get('name'))}")
    if reply.calls:
        return passed(f"{choice} brings {counted(len(reply.calls), 'call')} of {quoted(reply.calls[0]['name'])}")
    if reply.refusal:
        return inconclusive(f"{choice}: the model refuses to answer: {quoted(reply.refusal)}")
    if reply.ran_out(tokens):
        return inconclusive(f"{choice} brings no call within {tokens} tokens", cure=MORE)
    return failed(f"{choice} brings {reply.shape}, and no call")


def _allowed(endpoint: Endpoint, usual: Reply) -> tuple[Verdict, Exchange]:
    allowed = {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": _WRITE}]}
    exchange = endpoint.respond(endpoint.prompts.tool, tools=_TOOLS, tool_choice=allowed)
    choice = f"allowed_tools of {_WRITE} alone"
    return _chosen(exchange, choice) or _only_allowed(Reply(exchange), choice, usual), exchange


def _only_allowed(reply: Reply, choice: str, usual: Reply) -> Verdict:
    others = [call for call in reply.calls if call.get("name") != _WRITE]
    if others:
        return failed(f"{choice} brings a call of {quoted(others[0].get('name'))}")
    if any(call.get("name") == _WEATHER for call in usual.calls) or (reply.calls and not usual.calls):
        return passed(f"{choice} brings {counted(len(reply.calls), 'call')}, and none of {_WEATHER}")
    return inconclusive(f"the model calls no {_WEATHER} where it is allowed to", cure=_COAX.format("tool"))
