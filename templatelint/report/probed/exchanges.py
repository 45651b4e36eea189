"""A request and its answer → a line each for people, and the raw text of both within bounds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import groupby, islice
from shlex import quote
from typing import TYPE_CHECKING, Any

from templatelint.errors import clip
from templatelint.report.summary import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.probe.wire.exchange import Asked, Event, Exchange

# members that tell a reader nothing, of requests and of answers
_PLAIN = frozenset({"model", "temperature"})
_DULL = frozenset(
    {"model", "id", "object", "created", "created_at", "completed_at", "system_fingerprint", "timings", "usage"}
)
_TEXT, _REASON = 48, 240  # characters of a text inside a body, and where it says why something was refused
_LARGE = (Mapping, list, tuple)
_TITLE = 300  # characters of a path, or a kind of content
_LOOKED_AT = 4  # times the room: as much of what is no JSON is looked at
_RUNS = 24  # of events of one name
_KEY = "$TEMPLATELINT_API_KEY"
_TYPED = {"content-type": "application/json"}


def sent(asked: Asked, room: int) -> str:
    """The request in a line: texts cut short, tools by their names, and without what every request has."""
    body = _told(asked.body, room, _PLAIN, _TEXT)
    return clip(f"{asked.method} {asked.path}{f' {body}' if body else ''}", room)


def came(exchange: Exchange, room: int) -> str:
    """The answer in a line: texts cut short, events by their names; its beginning and its end where it is longer."""
    if exchange.left and not exchange.status:
        return "nothing, until we hung up as meant"
    if not exchange.status:
        return exchange.error or "nothing: the connection ended"
    head = f"HTTP {exchange.status}"
    if exchange.events is not None:
        more = "more than " if exchange.left_out else ""
        head += f", {more}{counted(len(exchange.events), 'event')} in {exchange.seconds:.2f} s"
        body = _named_events(exchange.events, room)
    else:
        value = exchange.text if exchange.value is None else exchange.value
        body = _told(value, room, _DULL, _TEXT if exchange.ok else _REASON)
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
    headers = (f"{name}: {value}" for name, value in asked.headers.items())
    lines = [f"{asked.method} {clip(asked.path, _TITLE)}", *headers]
    body = "" if asked.raw is None else asked.raw.decode("utf-8", "surrogatepass")
    return "\n".join(lines) + (f"\n\n{within(body, room)}" if body else "")


def command(url: str, asked: Asked, room: int, *, keyed: bool) -> str:
    """The request as a line of a shell; empty where there is no room for it, or a shell's words cannot hold it.

    Args:
        url: of the server.
        asked: the request.
        room: characters.
        keyed: whether the server was sent a key, which the line takes from the environment.
    """
    try:
        raw = (asked.raw or b"").decode("utf-8")
    except UnicodeDecodeError:
        return ""
    words = ["curl", "-sN", quote(url + asked.path)]
    if asked.method != ("GET" if asked.raw is None else "POST"):
        words += ["-X", quote(asked.method)]
    if asked.leave_at is not None:
        words += ["--max-time", f"{asked.leave_at:g}"]
    for name, value in {**(_TYPED if raw else {}), **asked.headers}.items():
        words += ["-H", quote(f"{name}: {value}")]
    if keyed:
        words += ["-H", f'"Authorization: Bearer {_KEY}"', "-H", f'"x-api-key: {_KEY}"']
    if raw:
        body = raw if isinstance(asked.body, str) else json.dumps(asked.body)  # ASCII alone, which no terminal spoils
        words += ["--data-raw", quote(body)]
    line = " ".join(words)
    return line if len(line) <= room and line.isprintable() else ""


def response(exchange: Exchange, room: int) -> str:
    """The answer as it came: status, kind of content, and the raw body."""
    if not exchange.status:
        return came(exchange, room)
    kind = clip(exchange.headers.get("content-type", ""), _TITLE)
    head = f"HTTP {exchange.status}{f' {kind}' if kind else ''}{ended(exchange)}"
    return f"{head}\n\n{within(exchange.text, room)}" if exchange.body else head


def within(text: str, room: int) -> str:
    """The text, or its beginning and its end with the count of what is left out between."""
    if len(text) <= room:
        return text
    half = room // 2
    return f"{text[:half]}\n… {len(text) - 2 * half:,} characters …\n{text[-half:]}"


def _told(body: Any, room: int, dull: AbstractSet[str], most: int) -> str:
    if body is None:
        return ""
    if isinstance(body, str):
        return _line(body, room)
    if isinstance(body, Mapping):
        told = [(name, value) for name, value in body.items() if name not in dull]
        body = dict(sorted(told, key=lambda member: isinstance(member[1], _LARGE)))  # what is short comes first
        if isinstance(tools := body.get("tools"), list | tuple) and tools:
            body["tools"] = [_name(tool) for tool in tools]
    return json.dumps(_shortened(body, room, most), ensure_ascii=False)


def _shortened(value: Any, room: int, most: int) -> Any:
    """A JSON value, its texts cut short; what the line has no room for is not looked at."""
    if isinstance(value, str):
        return clip(value, most)
    if room <= 0:
        return "…"
    if isinstance(value, Mapping):
        return {clip(str(name), _TEXT): _shortened(each, room // 2, most) for name, each in islice(value.items(), room)}
    if isinstance(value, list | tuple):
        return [_shortened(each, room // 2, most) for each in islice(value, room)]
    return value


def _name(tool: Any) -> Any:
    """A tool's name, where it has one as it ought to."""
    inner = tool.get("function", tool) if isinstance(tool, Mapping) else tool
    name = inner.get("name") if isinstance(inner, Mapping) else None
    return name if isinstance(name, str) else tool


def _named_events(events: Sequence[Event], room: int) -> str:
    """The names of events, how often where one follows itself; the last one's data where they have none."""
    runs = [(name, sum(1 for _ in run)) for name, run in groupby(events, lambda event: event.name)]
    if not events:
        return ""
    if [name for name, _ in runs] == [""]:
        told = [event.data if event.value is None else event.value for event in events[-2:]]
        return "… " + " ".join(_told(value, room, _DULL, _TEXT) for value in told)
    common = "response." if all(name.startswith("response.") for name, _ in runs) else ""
    short = [(name.removeprefix(common) or "no name", count) for name, count in runs]
    named = [f"{count} × {name}" if count > 1 else name for name, count in short]
    shown = ", ".join(named if len(named) <= _RUNS else [*named[: _RUNS // 2], "…", *named[-_RUNS // 2 :]])
    return f"{common}{{{shown}}}" if common else shown


def _line(text: str, room: int) -> str:
    if len(text) > _LOOKED_AT * room:
        text = text[: _LOOKED_AT * room - room] + " … " + text[-room:]
    return " ".join(text.split())
