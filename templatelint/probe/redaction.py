"""What came of a run → the same without the user's secrets, should a server have sent them back."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.probe import Probed
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Asked, Event, Exchange

HIDDEN = "[hidden]"
# what is shorter is no secret, and may stand in any answer: servers that want some key get `none` or `EMPTY`
_SHORTEST = 6
_PART = 12  # characters of a secret that are hidden wherever they stand without the rest of it
_CUT = "…"  # what our messages put in place of what they leave out
_GROUP, _SEXTET = 3, 6  # bytes that base64 takes at once, and bits of each character that it makes of them
# in base64, what stands for the last two of its 64 digits, in either alphabet, and what a URL or JSON makes of them
_DIGITS = {"+": r"(?:\+|-|%2[Bb]|\\u002[Bb])", "/": r"(?:\\?/|_|%2[Ff]|\\u002[Ff])"}
_PADDING = r"(?:=|%3[Dd]|\\u003[Dd]){0,2}"
_DIGIT = r"[\w+/\-]?"  # one that holds some bits of a secret, and some of what stands after it
_SLASHES = r"\\{0,7}"  # before what JSON has escaped, and JSON within JSON
_DEEPEST = 64  # levels of a request's body: no request of ours has more, unless it repeats what it was answered
# the command line that a router tells of each of its models, as JSON
_FLAGS = re.compile(r'("(?:--api-key|--hf-token|-hft)"\s*,\s*")(?:[^"\\]|\\.)*')


def hiding(secrets: Sequence[str]) -> Callable[[str], str]:
    """A function that takes the secrets, and what is left of one that was cut, out of a text.

    It finds them as they are, in either case of letters, in the escapes of JSON, URLs and HTML, in base64 at any
    place of what was encoded, and in hexadecimal.
    """
    kept = [secret for secret in secrets if len(secret) >= _SHORTEST]
    if not kept:
        return str
    ways = [(sign, re.compile(way)) for secret in kept for sign, way in _ways(secret)]
    spelt = {one for secret in kept for one in _spelt(secret)}

    def hide(text: str) -> str:
        for sign, way in ways:
            if sign in text:  # which is much faster than the pattern
                text = way.sub(HIDDEN, text)
        for one in spelt:
            if one[:_SHORTEST] in text:
                text = _without_start(text, one)
            if one[-_SHORTEST:] in text:
                text = _without_start(text[::-1], one[::-1], HIDDEN[::-1])[::-1]
        return text

    return hide


def _ways(secret: str) -> Iterator[tuple[str, str]]:
    """Patterns of a secret, each with what is in every text that it matches; the first character sets them apart."""
    rest = "".join(f"(?:{'|'.join((_plain(each), *_escaped(each).values()))})" for each in secret[1:])
    yield "", f"{_plain(secret[0]).removeprefix(_SLASHES)}{rest}"
    for sign, first in _escaped(secret[0]).items():
        yield sign, f"{first}{rest}"
    size = len(secret.encode())
    for before, digits in enumerate(_encoded(secret)):
        last = _DIGIT if (before + size) % _GROUP else ""
        run = max(re.split(r"[+/]", digits), key=len)
        yield run, f"{''.join(_DIGITS.get(each, each) for each in digits)}{last}{_PADDING}"
    coded = secret.encode().hex()
    yield coded, coded
    yield coded.upper(), coded.upper()


def _plain(character: str) -> str:
    cases = {character, character.lower(), character.upper()}
    return rf"{_SLASHES}[{''.join(map(re.escape, sorted(each for each in cases if len(each) == 1)))}]"


def _escaped(character: str) -> Mapping[str, str]:
    """Its escapes, by what they begin with: of JSON and Python, of URLs, and of HTML."""
    code = ord(character)
    named = "".join(f"|{name.strip('&;')}" for name in {escape(character)} - {character})
    return {
        "\\": rf"\\{{1,8}}(?:x(?i:{code:02x})|u(?i:{code:04x})|U(?i:{code:08x}))",
        "%": "".join(f"%(?i:{byte:02x})" for byte in character.encode()),
        "&": rf"&(?:\#0{{0,8}}{code}|\#(?i:x0{{0,8}}{code:x}){named});",
    }


def _encoded(secret: str) -> Iterator[str]:
    """The digits of base64 that depend on nothing but the secret, by its place in what is encoded."""
    raw = secret.encode()
    for before in range(_GROUP):
        digits = b64encode(bytes(before) + raw).decode()
        yield digits[-(-8 * before // _SEXTET) : 8 * (before + len(raw)) // _SEXTET]


def _spelt(secret: str) -> Iterator[str]:
    """A secret as it may stand in a message, of which a part may be left."""
    yield secret
    yield secret.encode().hex()
    yield secret.encode().hex().upper()
    for digits in _encoded(secret):
        yield digits
        yield digits.translate({ord("+"): "-", ord("/"): "_"})


def _without_start(text: str, secret: str, hidden: str = HIDDEN) -> str:
    """The text without beginnings of a secret that are cut off, or long."""
    parts: list[str] = []
    at = 0
    while (start := text.find(secret[:_SHORTEST], at)) >= 0:
        end, length = start + _SHORTEST, _SHORTEST
        while end < len(text) and length < len(secret) and text[end] == secret[length]:
            end, length = end + 1, length + 1
        gone = length >= _PART or end == len(text) or text[end] == _CUT
        parts.append(f"{text[at:start]}{hidden if gone else text[start:end]}")
        at = end
    return "".join([*parts, text[at:]])


def without(probed: Probed, hide: Callable[[str], str]) -> Probed:
    """The run, each text in it without secrets; what was judged stays as it was judged."""
    known: dict[int, Exchange] = {}

    def clean(text: str) -> str:
        return _FLAGS.sub(rf"\1{HIDDEN}", hide(text))

    def hidden(exchange: Exchange) -> Exchange:
        if id(exchange) not in known:
            known[id(exchange)] = _exchange(exchange, clean)
        return known[id(exchange)]

    results = [
        replace(result, verdict=_verdict(result.verdict, clean), exchanges=tuple(map(hidden, result.exchanges)))
        for result in probed.results
    ]
    served = probed.served
    return replace(
        probed,
        model=clean(probed.model),
        served=replace(
            served,
            kind=clean(served.kind),
            version=clean(served.version),
            models=tuple(map(clean, served.models)),
            why=clean(served.why),
        ),
        results=tuple(results),
        scripted=clean(probed.scripted),
        broken_off=clean(probed.broken_off),
        left_out=clean(probed.left_out),
    )


def _verdict(verdict: Verdict, clean: Callable[[str], str]) -> Verdict:
    return replace(
        verdict,
        message=clean(verdict.message),
        evidence=tuple(map(clean, verdict.evidence)),
        help=clean(verdict.help),
    )


def _exchange(exchange: Exchange, clean: Callable[[str], str]) -> Exchange:
    body = exchange.body.decode("utf-8", "surrogateescape")
    told = clean(body)
    raw = exchange.body if told == body else told.encode("utf-8", "surrogateescape")
    events = exchange.events if exchange.events is None else tuple(_event(event, clean) for event in exchange.events)
    return replace(
        exchange,
        asked=_asked(exchange.asked, clean),
        body=raw,
        events=events,
        headers={clean(name): clean(value) for name, value in exchange.headers.items()},
        error=clean(exchange.error),
        cure=clean(exchange.cure),
    )


def _event(event: Event, clean: Callable[[str], str]) -> Event:
    name, data = clean(event.name), clean(event.data)
    return event if (name, data) == (event.name, event.data) else replace(event, name=name, data=data)


def _asked(asked: Asked, clean: Callable[[str], str]) -> Asked:
    """The request: it may repeat what the server has said before (an id, a prompt, an answer of the assistant's)."""
    headers = {clean(name): clean(value) for name, value in asked.headers.items()}
    return replace(asked, path=clean(asked.path), headers=headers, body=_value(asked.body, clean))


def _value(value: Any, clean: Callable[[str], str], depth: int = 0) -> Any:
    if isinstance(value, str):
        return clean(value)
    if not isinstance(value, Mapping | list | tuple):
        return value
    if depth == _DEEPEST:
        return HIDDEN
    if isinstance(value, Mapping):
        return {clean(name): _value(each, clean, depth + 1) for name, each in value.items()}
    return [_value(each, clean, depth + 1) for each in value]
