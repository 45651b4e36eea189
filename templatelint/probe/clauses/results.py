"""Results of tools in the history: answered, or refused where they belong to no call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from templatelint.probe.chat import leaks
from templatelint.probe.chat.leak_causes import applied
from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.parts import decides
from templatelint.probe.prompts import CITY, TOOLS
from templatelint.probe.telling import busy, error_message, http, quoted, used_up
from templatelint.probe.thoughts import mark_in
from templatelint.probe.verdict import failed, inconclusive, passed, warned

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_ID, _OTHER_ID = "weather01", "weather99"  # nine letters and digits, which some templates insist on
_ARGUMENTS = f'{{"city": "{CITY}"}}'
_CURE = "templatelint vet names what the template drops"
_BRIEF = 16  # tokens of an answer that nobody reads
# what the tool says, however a template writes it: as JSON, escaped or not, or as a mapping of its own
_FACT = re.compile(r"(?<![0-9])21(?![0-9])|twenty[ -]one", re.IGNORECASE)
_MORE = "The wind comes from the west, the sky is clear, and by the evening some clouds may arrive from the sea."
_GROWTH = 10  # tokens that this takes at least
_RESULT = re.compile(r"temperature(?:\W|u0022){0,12}21", re.ASCII)


def result_answered(endpoint: Endpoint) -> Verdict:
    """TL919."""
    first = ChatReply(endpoint.chat(endpoint.prompts.tool, tools=TOOLS))
    if (trouble := _unreturnable(first)) is not None:
        return trouble
    messages = [
        {"role": "user", "content": endpoint.prompts.tool},
        _as_received(first),
        *({"role": "tool", "tool_call_id": call.id, "content": endpoint.prompts.result} for call in first.calls),
    ]
    reply = ChatReply(endpoint.chat(messages, tools=TOOLS))
    if (trouble := busy(reply.exchange)) is not None:
        return trouble
    if not reply.exchange.ok and first.unlike_tools:
        return inconclusive(f"the call that is sent back was no right one: {first.unlike_tools}")
    if reply.exchange.refused:
        return _refused(endpoint, reply.exchange, messages)
    return reply.unusable or reply.withheld or _answered(endpoint, reply, messages)


def _unreturnable(first: ChatReply) -> Verdict | None:
    """Why there is no call that could be sent back; None where there is one."""
    if first.unusable is not None:
        return inconclusive(first.unusable.message)
    if not first.calls and leaks.found(first.content) is not None:
        return inconclusive(leaks.LEFT)
    if not first.calls:
        return inconclusive(
            "the model calls nothing", cure='a "tool" text in --prompts FILE that makes it call get_weather'
        )
    if first.malformed or first.finish == "length":
        return inconclusive(f"the call cannot be sent back: {first.malformed or 'it is cut'}")
    return None


def _refused(endpoint: Endpoint, exchange: Exchange, messages: Sequence[Any]) -> Verdict:
    """What to say of a server that does not take its own message back: it may do so without members of its own."""
    bare = [_bare(message) if message["role"] == "assistant" else message for message in messages]
    reply = ChatReply(endpoint.chat(bare, tools=TOOLS)) if bare != messages else None
    if reply is None or not reply.exchange.ok:
        decides(endpoint, exchange)
        return failed(f"the result of a call is refused: {http(exchange)}")
    found = reply.unusable or reply.withheld or _answered(endpoint, reply, bare)
    if found.word != "pass":
        return found
    return warned(f"the message with the call is refused as it came, and taken without other members: {http(exchange)}")


def _bare(message: Mapping[str, Any]) -> dict[str, Any]:
    """An assistant's message with the members that the API knows of."""
    calls = [
        {
            **{name: call[name] for name in ("id", "type") if name in call},
            "function": {name: call["function"][name] for name in ("name", "arguments")},
        }
        for call in message["tool_calls"]
    ]
    return {"role": "assistant", "content": message.get("content"), "tool_calls": calls}


def _as_received(reply: ChatReply) -> dict[str, Any]:
    """The message with its calls, as clients put it into the history; nothing that is nested otherwise."""
    calls = [{**_plain(call.raw), "function": _plain(call.raw["function"])} for call in reply.calls]
    return {**_plain(reply.message), "tool_calls": calls}


def _plain(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is None or isinstance(value, (str, int, float))}


def _answered(endpoint: Endpoint, reply: ChatReply, messages: Sequence[Any]) -> Verdict:
    asked = endpoint.chat_body(messages, tools=TOOLS)
    prompt = applied(endpoint, asked) if endpoint.served.kind == "llama.cpp" else None
    if reply.content and not reply.calls:
        return _said_so(endpoint, reply, messages, prompt)
    if prompt is not None and not _RESULT.search(prompt):
        return failed("the prompt does not hold the result, so that the model knows of none", cure=_CURE)
    if reply.calls and endpoint.scripted is not None:
        return failed("the model calls the tool again: its result is not in the prompt where it belongs")
    did = "calls a tool again" if reply.calls else "says nothing"
    return inconclusive(f"the model {did} behind the result, {reply.told_finish}")


def _said_so(endpoint: Endpoint, reply: ChatReply, messages: Sequence[Any], prompt: str | None) -> Verdict:
    """What a text shows that answers the result."""
    said = f"content {quoted(reply.content)}, {reply.told_finish}"
    if prompt is not None and not _RESULT.search(prompt):
        return warned(f"the result is not in the prompt as it was sent; {said}")
    if prompt is not None and prompt.count(CITY) <= sum(_said(message).count(CITY) for message in messages):
        return warned("the arguments of the call are not in the prompt", cure=_CURE)
    if mark := mark_in(reply.content, reply.thoughts):
        return warned(f"thoughts stand in the answer to the result, {mark} in {said}")
    return passed(said) if prompt is not None else _heard(endpoint, reply, messages, said)


def _heard(endpoint: Endpoint, reply: ChatReply, messages: Sequence[Any], said: str) -> Verdict:
    """What an answer shows where nobody shows the prompt: it tells what only the result says, or the prompt has it."""
    if _FACT.search(reply.content):
        return passed(said)
    if endpoint.scripted is not None:
        return failed(f"the answer is not the one to the result, which the model has not seen: {said}")
    longer = [
        {**message, "content": f"{message['content']} {_MORE}"} if message["role"] == "tool" else message
        for message in messages
    ]
    before, after = reply.prompt_tokens, ChatReply(endpoint.chat(longer, tools=TOOLS, max_tokens=_BRIEF)).prompt_tokens
    if before is not None and after is not None and after - before >= _GROWTH:
        return passed(f"{said}; with a longer result the prompt has {after} tokens instead of {before}")
    decides(endpoint, reply.exchange)
    return inconclusive(f"nothing tells that the model has seen the result: {said}")


def _said(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


# --------------------------------------------------------------------------------------- results out of place


def stray_result_refused(endpoint: Endpoint) -> Verdict:
    """TL920."""
    if (trouble := _no_results(endpoint)) is not None:
        return trouble
    user, assistant, result = _conversation(endpoint, endpoint.prompts.result)
    stray: Mapping[str, Sequence[Any]] = {
        "with an unknown tool_call_id": [user, assistant, {**result, "tool_call_id": _OTHER_ID}],
        "with no call before it": [user, result],
    }
    silent = []
    for what, messages in stray.items():
        exchange = _ask(endpoint, messages)
        if (turned_away := busy(exchange)) is not None:
            return turned_away
        if not exchange.refused:
            taken = "is taken" if exchange.ok else "makes the server fail"
            return failed(f"a result {what} {taken}: {http(exchange)}")
        if not error_message(exchange):
            silent.append(f"a result {what} is refused without an error object: {http(exchange)}")
    return warned(silent[0]) if silent else passed(f"refused {' and '.join(stray)}: {http(exchange)}")


def result_content_types(endpoint: Endpoint) -> Verdict:
    """TL921."""
    if (trouble := _no_results(endpoint)) is not None:
        return trouble
    told = []
    # content, whether it may be taken, whether it may be refused
    kinds: tuple[tuple[str, Any, bool, bool], ...] = (
        ("a list of text parts", [{"type": "text", "text": endpoint.prompts.result}], True, False),
        ("null", None, True, True),
        ("an object", {"temperature": 21}, False, True),
        ("a number", 21, False, True),
    )
    for what, content, taken, refused in kinds:
        exchange = _ask(endpoint, _conversation(endpoint, content))
        if (turned_away := busy(exchange)) is not None:
            return turned_away
        if exchange.ok and not taken:
            return failed(f"a tool message whose content is {what} is taken: {http(exchange)}")
        if exchange.refused and not refused:
            return failed(f"a tool message whose content is {what} is refused: {http(exchange)}")
        if not (exchange.ok or exchange.refused):
            return failed(f"a tool message whose content is {what} makes the server fail: {http(exchange)}")
        told.append(f"{what}: {exchange.status}")
    return passed(", ".join(told))


def broken_arguments_survived(endpoint: Endpoint) -> Verdict:
    """TL922."""
    if (trouble := _no_results(endpoint)) is not None:
        return trouble
    told = []
    for what, arguments in (("cut short", _ARGUMENTS[:-3]), ("empty", "")):
        exchange = _ask(endpoint, _conversation(endpoint, endpoint.prompts.result, arguments))
        if (turned_away := busy(exchange)) is not None:
            return turned_away
        if not (exchange.ok or exchange.refused):
            return failed(f"a call in the history whose arguments are {what} makes the server fail: {http(exchange)}")
        told.append(f"arguments {what}: {exchange.status}")
    return passed(", ".join(told))


def _conversation(endpoint: Endpoint, content: Any, arguments: str = _ARGUMENTS) -> list[dict[str, Any]]:
    call = {"id": _ID, "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    return [
        {"role": "user", "content": endpoint.prompts.tool},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": _ID, "content": content},
    ]


def _ask(endpoint: Endpoint, messages: Sequence[Any]) -> Exchange:
    brief = endpoint.chat(messages, tools=TOOLS, max_tokens=_BRIEF)
    # thoughts alone may take more than that
    return endpoint.chat(messages, tools=TOOLS) if used_up(brief) else brief


def _no_results(endpoint: Endpoint) -> Verdict | None:
    """That the server takes no result whatever it looks like; None where it takes a right one."""
    exchange = _ask(endpoint, _conversation(endpoint, endpoint.prompts.result))
    if exchange.ok:
        return None
    return busy(exchange) or inconclusive(f"a tool's result in its right form is not taken: {http(exchange)}")
