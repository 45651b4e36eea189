"""Anthropic's Messages API, plain: complete, calls only as chosen, cuts and stop sequences told, faults refused."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.errors import TemplatelintError
from templatelint.probe.endpoint import ANTHROPIC, MESSAGES, for_messages
from templatelint.probe.limits import goes_on, inside_call
from templatelint.probe.messages.reply import (
    CALLS,
    END,
    LIMIT,
    OTHERWISE,
    STOPPED,
    MessageReply,
    ask,
    input_of,
    result_of,
    returned,
    unanswered,
)
from templatelint.probe.parts import worst
from templatelint.probe.prompts import CITY, TOOLS, WEATHER, WRITE
from templatelint.probe.refusals import (
    anthropic_fault,
    baseless,
    judged,
    refused_as_such,
    with_few_tokens,
)
from templatelint.probe.schema import fault as schema_fault
from templatelint.probe.seen_results import unseen
from templatelint.probe.server import serving
from templatelint.probe.telling import busy, counted, quoted
from templatelint.probe.template.thinking_switch import switched_off
from templatelint.probe.verdict import failed, inconclusive, passed, skipped, warned
from templatelint.probe.wire import sdk
from templatelint.scripted.scripts import STOPWORD
from templatelint.sources.endpoint.routes import text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_TOOLS = for_messages(TOOLS)
_WEATHER, _WRITE = WEATHER["function"]["name"], WRITE["function"]["name"]
_SCHEMAS: Mapping[str, Mapping[str, Any]] = {tool["name"]: tool["input_schema"] for tool in _TOOLS}
_FEW = 8  # tokens, after which an answer is cut
_LONG = 120  # characters of what evidence repeats
_MANY = 8  # of what evidence lists
_MORE = "--max-tokens, with more of them"
_COAX = "--prompts FILE, with a prompt `{}` that brings it"
# words that stand in thoughts about our prompt: the scripted model's, any other's
_THOUGHT_OF = (STOPWORD, "23")


# ------------------------------------------------------------------------------------------------- TL970


def message_complete(endpoint: Endpoint) -> Verdict:
    """TL970."""
    plain = endpoint.message(endpoint.prompts.plain)
    trouble = unanswered(plain, "a plain message") or _malformed(plain, "a plain message")
    if trouble is not None:
        return trouble
    reply = MessageReply(plain)
    if reply.stop != END:
        return _ended(reply, END, "a plain answer")
    if not reply.text.strip():
        return inconclusive(f"the answer to a plain message is {reply.shape}, without a text")
    trouble = _called(endpoint)
    return trouble or _strictly(plain) or passed("a text, a call and the answer to its result are complete")


def _malformed(exchange: Exchange, request: str) -> Verdict | None:
    """What breaks the form of an answer; None where nothing does."""
    faults = [*MessageReply(exchange).faults()]
    if faults:
        return failed(f"in the answer to {request} {faults[0]}", evidence=tuple(faults[1 : 1 + _MANY]))
    if not sdk.installed("anthropic"):
        return None
    reading = sdk.message(exchange)
    return failed(f"the anthropic SDK raises {reading.trouble} on {request}") if reading.trouble else None


def _strictly(exchange: Exchange) -> Verdict | None:
    """What the SDK's types refuse, which its users only see where they validate."""
    if not sdk.installed("anthropic"):
        return None
    reading = sdk.message(exchange, strict=True)
    if not reading.trouble:
        return None
    faults = reading.faults or (reading.trouble,)
    return warned(f"the anthropic SDK's types refuse {faults[0]}", evidence=faults[1:])


def _ended(reply: MessageReply, wanted: str, what: str) -> Verdict:
    """What is to be said of an answer that ended otherwise than it ought to have."""
    if reply.stop == LIMIT:
        return inconclusive(f"{quoted(reply.written)} tokens are not enough for {what}", cure=_MORE)
    if reply.stop in OTHERWISE:
        return inconclusive(f"{what} ends with {reply.told_stop}")
    return failed(f"{what} comes with {reply.told_stop}, not {quoted(wanted)}")


def _called(endpoint: Endpoint) -> Verdict | None:
    """What is wrong with a call, or the answer to its result; None where nothing is."""
    words = endpoint.prompts.tool
    exchange = ask(endpoint, _user(words), tools=_TOOLS)
    request = "a prompt with tools"
    trouble = unanswered(exchange, request, may_refuse=True) or _malformed(exchange, request)
    if trouble is not None:
        return trouble
    reply = MessageReply(exchange)
    if not reply.calls:
        return inconclusive(
            f"the answer to a prompt for a call of {_WEATHER} is {reply.shape}", cure=_COAX.format("tool")
        )
    if reply.stop != CALLS:
        return _ended(reply, CALLS, "an answer with a tool_use")
    return _uncalled_for(endpoint, reply.calls[0]) or _answered(endpoint, words, reply)


def _uncalled_for(endpoint: Endpoint, call: Mapping[str, Any]) -> Verdict | None:
    """What is to be said of a call that is not the one that was asked for; None where it is, for all we know."""
    given = input_of(call) or {}
    found = schema_fault(given, _SCHEMAS[call["name"]]) if call["name"] in _SCHEMAS else "it is not offered"
    if endpoint.scripted and (call["name"], given) != (_WEATHER, {"city": CITY}):
        told = (
            f"the scripted model calls {_WEATHER} for {CITY}, and the answer has a tool_use of {quoted(call['name'])}"
            f" with the input {quoted(str(given), _LONG)}"
        )
        # the server's grammar may not let it write its own, and it writes the shortest that there is
        return failed(told) if found else inconclusive(f"{told}, which the server's grammar may have it write")
    return inconclusive(f"the model calls {quoted(call['name'])} wrongly: {found}") if found else None


def _answered(endpoint: Endpoint, words: str, reply: MessageReply) -> Verdict | None:
    results = [result_of(call, endpoint.prompts.result) for call in reply.calls]
    history = [*_user(words), {"role": "assistant", "content": returned(reply)}, {"role": "user", "content": results}]
    exchange = ask(endpoint, history, tools=_TOOLS)
    request = "the result of a call, with the content as it came,"
    trouble = unanswered(exchange, request) or _malformed(exchange, request)
    if trouble is not None:
        return trouble
    answer = MessageReply(exchange)
    if answer.calls:
        again = f"with the result before it the model calls {quoted(answer.calls[0]['name'])} again"
        # the scripted model answers wherever it sees a result
        return failed(again) if endpoint.scripted else inconclusive(again)
    if not answer.text.strip():
        return inconclusive(f"the answer to the result of a call is {answer.shape}, without a text")
    if answer.stop != END:
        return _ended(answer, END, "the answer to the result of a call")
    return unseen(endpoint, answer.text, "the result of a call", reply.read, answer.read)


def _user(words: str) -> list[dict[str, Any]]:
    return [{"role": "user", "content": words}]


# ------------------------------------------------------------------------------------------------- TL971


def message_choice_heeded(endpoint: Endpoint) -> Verdict:
    """TL971."""
    exchange = endpoint.message(endpoint.prompts.tool, tools=_TOOLS)
    trouble = unanswered(exchange, "a prompt with tools", may_refuse=True)
    if trouble is not None:
        return trouble
    usual = MessageReply(exchange)
    return worst(endpoint, [lambda: _named(endpoint, usual), lambda: _none(endpoint, usual), lambda: _alone(endpoint)])


def _chosen(exchange: Exchange, choice: str) -> Verdict | None:
    """What keeps a choice from being judged, or that it is refused, which is a way to heed it."""
    if exchange.refused and busy(exchange) is None:
        return passed(f"{choice} is refused: HTTP {exchange.status}")
    return unanswered(exchange, choice)


def _named(endpoint: Endpoint, usual: MessageReply) -> Verdict:
    named = {"type": "tool", "name": _WRITE}
    exchange = ask(endpoint, _user(endpoint.prompts.tool), tools=_TOOLS, tool_choice=named)
    choice = f"tool_choice of the tool {_WRITE}"
    if (told := _chosen(exchange, choice)) is not None:
        return told
    return _only(MessageReply(exchange), choice, usual, endpoint.tokens)


def _only(reply: MessageReply, choice: str, usual: MessageReply, tokens: int) -> Verdict:
    others = [call for call in reply.calls if call.get("name") != _WRITE]
    if others:
        return failed(f"{choice} brings a call of {quoted(others[0].get('name'))}")
    if reply.calls and any(call.get("name") == _WRITE for call in usual.calls):
        return inconclusive(f"{choice} brings a call of it, and so does the same prompt without it")
    if reply.calls:
        return passed(f"{choice} brings a call of it")
    if reply.stop in (LIMIT, *OTHERWISE):
        return inconclusive(f"{choice} brings no call within {tokens} tokens: {reply.told_stop}", cure=_MORE)
    return failed(f"{choice} brings {reply.shape}, and no call")


def _none(endpoint: Endpoint, usual: MessageReply) -> Verdict:
    exchange = ask(endpoint, _user(endpoint.prompts.tool), tools=_TOOLS, tool_choice={"type": "none"})
    choice = "tool_choice none"
    if (told := _chosen(exchange, choice)) is not None:
        return told
    reply = MessageReply(exchange)
    if reply.calls:
        return failed(f"{choice} brings a call of {quoted(reply.calls[0].get('name'))}")
    if not usual.calls:
        return inconclusive(
            f"{choice} brings no call, and nor does the same prompt without it", cure=_COAX.format("tool")
        )
    return passed(f"{choice} brings no call")


def _alone(endpoint: Endpoint) -> Verdict:
    words = _user(endpoint.prompts.parallel)
    usual = ask(endpoint, words, tools=_TOOLS)
    if (told := unanswered(usual, "a prompt for two calls", may_refuse=True)) is not None:
        return told
    alone = {"type": "auto", "disable_parallel_tool_use": True}
    exchange = ask(endpoint, words, tools=_TOOLS, tool_choice=alone)
    choice = "disable_parallel_tool_use"
    if (told := _chosen(exchange, choice)) is not None:
        return told
    count, before = len(MessageReply(exchange).calls), len(MessageReply(usual).calls)
    if count > 1:
        return failed(f"{choice} brings {count} calls")
    if before < 2:  # noqa: PLR2004 (two were asked for)
        return inconclusive(
            f"{choice} brings {counted(count, 'call')}, and the same prompt without it {before}",
            cure=_COAX.format("parallel"),
        )
    if not count:
        return inconclusive(f"{choice} brings no call at all")
    return passed(f"{choice} brings one call, where {before} come without it")


# ------------------------------------------------------------------------------------------------- TL972


def cut_message_marked(endpoint: Endpoint) -> Verdict:
    """TL972."""
    first = endpoint.message(endpoint.prompts.long, max_tokens=_FEW)
    trouble = unanswered(first, f"a prompt for a long text with max_tokens {_FEW}", may_refuse=True)
    if trouble is not None:
        return trouble
    return worst(endpoint, [lambda: _cut_text(endpoint, MessageReply(first)), lambda: _cut_call(endpoint)])


def _cut_text(endpoint: Endpoint, reply: MessageReply) -> Verdict:
    if reply.stop == LIMIT:
        return passed(f"a text cut after {_FEW} tokens has {reply.told_stop}")
    if reply.written is not None and reply.written > _FEW:
        return failed(f"max_tokens {_FEW} brings {reply.written} tokens, and {reply.told_stop}")
    if reply.stop in OTHERWISE:
        return inconclusive(f"a text limited to {_FEW} tokens has {reply.told_stop}")
    if endpoint.scripted or not reply.stop or _goes_on(endpoint, reply):
        return failed(
            f"a text cut after {_FEW} tokens has {reply.told_stop}", evidence=(f"its text is {quoted(reply.text)}",)
        )
    return inconclusive(f"the model ended by itself within {_FEW} tokens", cure=_COAX.format("long"))


def _goes_on(endpoint: Endpoint, reply: MessageReply) -> bool:
    """Whether a text is only the start of what the model says with more room."""
    if reply.written is not None and reply.written < _FEW:
        return False
    return goes_on(reply.said, MessageReply(ask(endpoint, _user(endpoint.prompts.long))).said)


class _Cut(NamedTuple):
    """A call, whole and cut by a limit of tokens."""

    call: Mapping[str, Any]
    limit: int
    reply: MessageReply


def _cut_call(endpoint: Endpoint) -> Verdict:
    words = _user(endpoint.prompts.write)
    exchange = ask(endpoint, words, tools=_TOOLS)
    trouble = unanswered(exchange, "a prompt with tools", may_refuse=True)
    if trouble is not None:
        return trouble
    reply = MessageReply(exchange)
    if not reply.calls:
        return inconclusive(
            f"the answer to a prompt for a call of {_WRITE} is {reply.shape}", cure=_COAX.format("write")
        )
    if reply.stop == LIMIT:
        return inconclusive(f"{quoted(reply.written)} tokens are not enough for a call", cure=_MORE)
    if not input_of(reply.calls[0]):
        return inconclusive(f"the call has no arguments where nothing is cut: {quoted(reply.calls[0].get('input'))}")
    limit = inside_call(reply.written or 2 * _FEW)
    exchange = ask(endpoint, words, tools=_TOOLS, max_tokens=limit)
    trouble = unanswered(exchange, f"a prompt with tools and max_tokens {limit}", may_refuse=True)
    return trouble or _of_cut_call(endpoint, _Cut(reply.calls[0], limit, MessageReply(exchange)))


def _of_cut_call(endpoint: Endpoint, found: _Cut) -> Verdict:
    reply, limit = found.reply, found.limit
    if reply.calls:
        return _handed_over(found)
    if reply.stop == LIMIT:
        if _WRITE in reply.text:
            return warned(
                f"the call that is cut after {limit} tokens stands as text in the message",
                evidence=(f"the text is {quoted(reply.text, _LONG)}",),
            )
        return passed(f"a call cut after {limit} tokens is not handed over, and {reply.told_stop} is told")
    if reply.stop in OTHERWISE:
        return inconclusive(f"an answer with a limit of {limit} tokens has {reply.told_stop}")
    if endpoint.scripted or _WRITE in reply.text:
        return failed(f"an answer cut after {limit} tokens, inside its call, has {reply.told_stop}")
    return inconclusive(f"with max_tokens {limit} the model calls no function")


def _handed_over(found: _Cut) -> Verdict:
    reply, limit, call = found.reply, found.limit, found.reply.calls[-1]
    given, full = input_of(call), input_of(found.call) or {}
    if given is None:
        return failed(f"a call cut after {limit} tokens has the input {quoted(call.get('input'))}")
    if given == full:
        return inconclusive(f"{limit} tokens were enough for the whole call")
    if not given:
        return failed(
            f"a call cut after {limit} tokens is handed over with the input {{}}, as if it had no arguments",
            evidence=(f"the whole call has {', '.join(map(quoted, full))}; {reply.told_stop}",),
        )
    torn = call.get("name") == found.call.get("name") and all(
        name in full and text(full[name]).startswith(text(value)) for name, value in given.items()
    )
    if not torn:
        return inconclusive(f"the model calls otherwise within {limit} tokens")
    told = f"a call cut after {limit} tokens is handed over with a part of its arguments, and {reply.told_stop}"
    return warned(told) if reply.stop == LIMIT else failed(told)


# ------------------------------------------------------------------------------------------------- TL974


def stop_sequence_told(endpoint: Endpoint) -> Verdict:
    """TL974."""
    usual = endpoint.message(endpoint.prompts.stop)
    trouble = unanswered(usual, "a plain message")
    if trouble is not None:
        return trouble

    @cache
    def thinking() -> MessageReply:
        return MessageReply(ask(endpoint, _user(endpoint.prompts.think)))

    return worst(
        endpoint,
        [
            lambda: _stopped(endpoint, MessageReply(usual)),
            lambda: _thought_on(endpoint, thinking()),
            lambda: _thoughtless(endpoint, thinking()),
        ],
    )


def _stopped(endpoint: Endpoint, usual: MessageReply) -> Verdict:
    if STOPWORD not in usual.text:
        return inconclusive(f"the model says {quoted(usual.text)}, without the word {STOPWORD}")
    exchange = ask(endpoint, _user(endpoint.prompts.stop), stop_sequences=[STOPWORD])
    trouble = unanswered(exchange, "stop_sequences", may_refuse=True)
    if trouble is not None:
        return trouble
    reply = MessageReply(exchange)
    if STOPWORD in reply.text:
        said = f"the text is {quoted(reply.text, _LONG)}"
        return failed("stop_sequences is ignored: the text goes on", evidence=(said,))
    if reply.stop in (LIMIT, *OTHERWISE):
        return inconclusive(f"an answer with stop_sequences has {reply.told_stop}")
    if not endpoint.scripted and usual.text.partition(STOPWORD)[0].rstrip() != reply.text.rstrip():
        return inconclusive(f"the model says {quoted(reply.text)} now, which is not the start of what it said before")
    return _told_to_stop(reply)


def _told_to_stop(reply: MessageReply) -> Verdict:
    if reply.stop != STOPPED:
        fact = f"a text that ends at a stop sequence has {reply.told_stop}"
        return failed(fact, evidence=(f"the text is {quoted(reply.text, _LONG)}",))
    named = reply.message.get("stop_sequence")
    if named != STOPWORD:
        return failed(f"the stop sequence is {STOPWORD}, and is told to be {quoted(named)}")
    return passed("a stop sequence ends the text, and is told")


def _thought_on(endpoint: Endpoint, usual: MessageReply) -> Verdict:
    """Whether a stop sequence is let pass in thoughts."""
    trouble = unanswered(usual.exchange, "a prompt to think", may_refuse=True)
    if trouble is not None:
        return trouble
    word = next((word for word in _THOUGHT_OF if word in usual.thoughts), "")
    if not word or not usual.text.strip() or usual.text.lstrip().startswith(word):
        return skipped("no stop sequence stands in the thoughts alone")
    exchange = ask(endpoint, _user(endpoint.prompts.think), stop_sequences=[word])
    trouble = unanswered(exchange, "stop_sequences", may_refuse=True)
    if trouble is not None:
        return trouble
    reply = MessageReply(exchange)
    if word in reply.thoughts:
        return passed("no stop sequence ends thoughts")
    before = usual.thoughts.partition(word)[0].rstrip()
    if not reply.text.strip() and reply.thoughts.rstrip() == before:
        return failed(
            f"the stop sequence {word} ends the thoughts, and there is no answer",
            evidence=(f"{reply.shape}, {reply.told_stop}", f"thoughts: {quoted(reply.thoughts, _LONG)}"),
        )
    return inconclusive(f"the model thinks otherwise now, without the word {word}")


def _thoughtless(endpoint: Endpoint, usual: MessageReply) -> Verdict:
    """Whether thoughts can be disabled."""
    if not usual.thoughts:
        return skipped("there are no thoughts")
    exchange = ask(endpoint, _user(endpoint.prompts.think), thinking={"type": "disabled"})
    disabled = "thinking disabled"
    if (told := _chosen(exchange, disabled)) is not None:
        return told
    reply = MessageReply(exchange)
    if not reply.thoughts:
        return passed(f"{disabled} brings no thoughts")
    served = serving.known(endpoint)
    try:
        off = switched_off(served.model or endpoint.linted, served.kind, endpoint.prompts.think)
    except TemplatelintError as trouble:
        return inconclusive(f"the template cannot be rendered here: {trouble.message}")
    if off and None is not reply.read == usual.read:
        return failed(
            f"{disabled} is ignored: the prompt has the same {reply.read} tokens as with thoughts, "
            f"and the template in force would write another one",
            evidence=(f"thoughts: {quoted(reply.thoughts, _LONG)}",),
        )
    return warned(f"{disabled} brings thoughts: {quoted(reply.thoughts)}")


# ------------------------------------------------------------------------------------------------- TL975


def bad_message_refused(endpoint: Endpoint) -> Verdict:
    """TL975."""
    words = endpoint.prompts.plain
    right, limit = with_few_tokens(lambda tokens: endpoint.message(words, max_tokens=tokens), _FEW, endpoint.tokens)
    if (trouble := baseless(right, "a plain message")) is not None:
        return trouble
    body = endpoint.message_body(words, max_tokens=limit)
    bad: list[tuple[str, Any]] = [
        ("a body that is no JSON", '{"messages": ['),
        ("no messages", {name: value for name, value in body.items() if name != "messages"}),
        ("messages as a text", {**body, "messages": words}),
        ("a message without a role", {**body, "messages": [{"content": words}]}),
        ("a message of the role wizard", {**body, "messages": [{"role": "wizard", "content": words}]}),
        ("content as a number", {**body, "messages": [{"role": "user", "content": 7}]}),
    ]
    # where right ones are refused, a refusal shows nothing
    if not refused_as_such(endpoint, MESSAGES, {**body, "tools": _TOOLS}, ANTHROPIC):
        bad.append(("tools as a text", {**body, "tools": _WEATHER}))
    return judged(endpoint, MESSAGES, bad, "faulty bodies", shape=anthropic_fault, headers=ANTHROPIC)
