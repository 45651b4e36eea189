"""Streams of the Responses API in the official SDK: read without an exception, to what the plain answer is."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from templatelint.probe.endpoint import RESPONSES, for_responses
from templatelint.probe.prompts import TOOLS
from templatelint.probe.responses import events
from templatelint.probe.responses.events import kind_of, read
from templatelint.probe.telling import counted, quoted
from templatelint.probe.verdict import failed, inconclusive, passed, skipped
from templatelint.probe.wire import sdk
from templatelint.probe.wire.exchange import parsed
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_TWO = 2
# of each item what two answers to one question agree on: its type, and what it says or calls
Said = tuple[tuple[str, ...], ...]


def sdk_streams(endpoint: Endpoint) -> Verdict:
    """TL958."""
    text_stream = endpoint.respond(endpoint.prompts.plain, stream=True)
    verdict = events.faulty(text_stream)
    if verdict is not None:
        return verdict
    if not sdk.installed("openai"):
        return skipped("the openai package is not installed", cure=sdk.INSTALL)
    of_text = _judged(endpoint, "a text", text_stream, endpoint.prompts.plain)
    if of_text.word != "pass":
        return of_text
    tools = for_responses(TOOLS)
    call_stream = endpoint.respond(endpoint.prompts.parallel, tools=tools, stream=True)
    told = read(call_stream.frames)
    calls = max(len(told.calls), sum(item.get("type") == events.CALL for item in told.output))
    if events.faulty(call_stream) is not None or calls < _TWO:
        # that a model calls once is no fault, and the text was read
        return passed(of_text.message, evidence=(f"two calls were not seen: {counted(calls, 'call')}",))
    of_calls = _judged(endpoint, f"{calls} calls", call_stream, endpoint.prompts.parallel, tools=tools)
    if of_calls.word != "pass":
        return of_calls
    return passed("responses.stream() of the openai SDK reads a text and two calls to what the plain answers are")


def _judged(endpoint: Endpoint, what: str, stream: Exchange, prompt: str, **members: Any) -> Verdict:
    """Whether the SDK reads a stream of a text, or of calls, to what the same request gives plain."""
    told = read(stream.frames)
    if told.terminal is not None and kind_of(told.terminal) != events.COMPLETED:
        return inconclusive(f"the response of {what} ends with {kind_of(told.terminal)}")
    reading = sdk.response_stream(stream)
    if reading.unread:
        return inconclusive(f"the openai SDK was not tried on {what}: {reading.unread}")
    if reading.trouble:
        places = [*[item.first for item in told.items[:3]], len(told.frames) - 1]
        return failed(
            f"responses.stream() of the openai SDK raises on {what}: {reading.trouble}",
            evidence=events.log(told.frames, places),
        )
    plain = endpoint.respond(prompt, **members)
    if not plain.ok or plain.object.get("status") != "completed":
        return inconclusive(f"the plain answer with {what} is not there to be compared with")
    streamed, expected = said(reading.value), said(plain.object)
    if streamed == expected:
        return passed(f"responses.stream() of the openai SDK reads {what} to what the plain answer is")
    return _differing(endpoint, what, streamed, expected, {"prompt": prompt, **members})


def _differing(endpoint: Endpoint, what: str, streamed: Said, expected: Said, asked: Mapping[str, Any]) -> Verdict:
    """The verdict on two answers that differ: a model's whim where one kind of them differs in itself."""
    prompt, members = asked["prompt"], {name: value for name, value in asked.items() if name != "prompt"}
    again = endpoint.post(RESPONSES, endpoint.response_body(prompt, **members), again=True)
    anew = endpoint.post(RESPONSES, endpoint.response_body(prompt, **members, stream=True), again=True)
    evidence = (f"streamed: {_shown(streamed)}", f"plain: {_shown(expected)}")
    if said(again.object) != expected or said(read(anew.frames).final) != streamed:
        return inconclusive("the same request is answered in several ways", evidence=evidence)
    return failed(f"the SDK's final response of {what} is not what the plain answer is", evidence=evidence)


def said(response: Mapping[str, Any]) -> Said:
    """What a response says, without what no two answers have in common."""
    found: list[tuple[str, ...]] = []
    for item in rows(response, "output"):
        kind = text(item.get("type"))
        if kind == events.CALL:
            found.append((kind, text(item.get("name")), _canonical(text(item.get("arguments")))))
        elif kind == events.MESSAGE:
            parts = rows(item, "content")
            found.append((kind, "".join(text(table(part).get("text")) for part in parts)))
        else:
            found.append((kind,))
    return tuple(found)


def _canonical(arguments: str) -> str:
    """Arguments without what does not matter: white space, and the order of members."""
    try:
        return json.dumps(parsed(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _shown(answer: Said) -> str:
    return ", ".join(f"{kind} {' '.join(quoted(each) for each in rest)}".strip() for kind, *rest in answer) or "nothing"
