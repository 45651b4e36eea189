"""A recorded stream of a chat completion → where the official SDK does not read of it what was sent."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from templatelint.probe.telling import quoted
from templatelint.probe.wire import sdk
from templatelint.probe.wire.exchange import Asked, Exchange
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from templatelint.probe.chat.stream import Streamed

_PACKAGE = "openai"
_UNREAD = "not read"


def fault(exchange: Exchange, reply: Streamed) -> str:
    """What goes wrong in it, in a clause; empty where nothing does, or where there is no SDK that could tell.

    Args:
        exchange: a stream that is whole.
        reply: what it adds up to.
    """
    if not _usable():
        return ""
    reading = sdk.chat_stream(exchange)
    if reading.trouble:
        return "" if reading.trouble.startswith(_UNREAD) else f"the openai SDK raises {reading.trouble}"
    message = table(next(iter(rows(reading.value, "choices")), {}).get("message"))
    if text(message.get("content")) != reply.content:
        return f"the openai SDK reads {quoted(message.get('content'))}"
    called = [(text(call.get("id")), *_function(call)) for call in rows(message, "tool_calls")]
    if called != [(call.id, call.name, call.arguments) for call in reply.calls]:
        return f"the openai SDK reads other calls than were sent: {quoted(json.dumps(called))}"
    return ""


def _function(call: Any) -> tuple[str, str]:
    function = table(call.get("function"))
    return text(function.get("name")), text(function.get("arguments"))


@cache
def _usable() -> bool:
    """Whether the SDK is there, and reads a stream that nothing is wrong with: an old one has other methods."""
    if not sdk.installed(_PACKAGE):
        return False
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    chunks = [
        {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        for delta, finish in (({"role": "assistant", "content": "Hello"}, None), ({}, "stop"))
    ]
    body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
    exchange = Exchange(Asked("POST", "/"), 200, {"content-type": "text/event-stream"}, body.encode())
    return not sdk.chat_stream(exchange).trouble
