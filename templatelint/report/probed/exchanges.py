"""A request and its answer → a line each for people, and the raw text of both within bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from templatelint.errors import clip

if TYPE_CHECKING:
    from templatelint.probe.exchange import Asked, Exchange

_PLAIN = frozenset({"model", "temperature"})  # members that tell a reader nothing
_LOOKED_AT = 4  # times the room: as much of a text is looked at


def sent(asked: Asked, room: int) -> str:
    """The request in a line: tools by their names, and without what every request has."""
    body = _told(asked.body)
    return clip(f"{asked.method} {asked.path}{f' {body}' if body else ''}", room)


def came(exchange: Exchange, room: int) -> str:
    """The answer in a line: its beginning and its end where it is longer."""
    if exchange.left and not exchange.status:
        return "nothing, until we hung up as meant"
    if not exchange.status:
        return exchange.error or "nothing: the connection ended"
    head = f"HTTP {exchange.status}"
    if exchange.events is not None:
        head += f", {len(exchange.events)} events in {exchange.seconds:.2f} s"
    body = _line(exchange.text, room)
    return clip(f"{head}{f': {body}' if body else ''}", room) + ended(exchange)


def ended(exchange: Exchange) -> str:
    """How the answer ended, where that was not as it ought to."""
    if exchange.status and exchange.error:
        return f" ({exchange.error})"
    if exchange.cut:
        return " (the connection ended before the answer did)"
    return " (we hung up, as meant)" if exchange.left else ""


def request(asked: Asked, room: int) -> str:
    """The request as it is: its line, headers of its own, and the body."""
    lines = [f"{asked.method} {asked.path}", *(f"{name}: {value}" for name, value in asked.headers.items())]
    body = "" if asked.raw is None else asked.raw.decode("utf-8", "surrogatepass")
    return "\n".join(lines) + (f"\n\n{within(body, room)}" if body else "")


def response(exchange: Exchange, room: int) -> str:
    """The answer as it came: status, kind of content, and the raw body."""
    if not exchange.status:
        return came(exchange, room)
    kind = exchange.headers.get("content-type", "")
    head = f"HTTP {exchange.status}{f' {kind}' if kind else ''}{ended(exchange)}"
    return f"{head}\n\n{within(exchange.text, room)}" if exchange.body else head


def within(text: str, room: int) -> str:
    """The text, or its beginning and its end with the count of what is left out between."""
    if len(text) <= room:
        return text
    half = room // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters …\n{text[-half:]}"


def _told(body: Any) -> str:
    if isinstance(body, Mapping):
        members = {name: value for name, value in body.items() if name not in _PLAIN}
        if isinstance(tools := members.get("tools"), list) and tools:
            members["tools"] = [_named(tool) for tool in tools]
        return json.dumps(members, ensure_ascii=False)
    if body is None:
        return ""
    return body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)


def _named(tool: Any) -> Any:
    """A tool's name, where it has one as it ought to."""
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else tool
    name = inner.get("name") if isinstance(inner, Mapping) else None
    return name if isinstance(name, str) else tool


def _line(text: str, room: int) -> str:
    if len(text) > _LOOKED_AT * room:
        text = text[: _LOOKED_AT * room - room] + " … " + text[-room:]
    return " ".join(text.split())
