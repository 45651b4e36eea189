"""What came of a run → the same without the user's secrets, should a server have sent them back."""

from __future__ import annotations

import re
from base64 import b64encode
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.probe import Probed
    from templatelint.probe.wire.exchange import Exchange

HIDDEN = "[hidden]"
# what is shorter is no secret, and may stand in any answer: servers that want some key get `none` or `EMPTY`
_SHORTEST = 6
_CUT = "…"  # what our messages put in place of what they leave out
_MESSAGE = 4_000  # characters
# the command line that a router tells of each of its models, as JSON
_FLAGS = re.compile(r'("(?:--api-key|--hf-token|-hft)"\s*,\s*")(?:[^"\\]|\\.)*')


def hiding(secrets: Sequence[str]) -> Callable[[str], str]:
    """A function that takes the secrets out of a text: as they are, in JSON's escapes, for a URL, or in base64."""
    spelt = [way for secret in secrets if len(secret) >= _SHORTEST for way in _ways(secret)]
    if not spelt:
        return str
    pattern = re.compile("|".join(sorted(spelt, key=len, reverse=True)))
    parts = [*_parts(secrets)]

    def hide(text: str) -> str:
        text = pattern.sub(HIDDEN, text)
        if _CUT in text and len(text) <= _MESSAGE:
            for part, shown in parts:
                text = text.replace(part, shown)
        return text

    return hide


def _parts(secrets: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What is left of a secret where a message was cut short in it, the longest first; and what is shown instead."""
    for secret in secrets:
        for length in range(min(len(secret) - 1, _MESSAGE), _SHORTEST - 1, -1):
            yield f"{secret[:length]}{_CUT}", f"{HIDDEN}{_CUT}"
            yield f"{_CUT}{secret[-length:]}", f"{_CUT}{HIDDEN}"


def _ways(secret: str) -> set[str]:
    escaped = "".join(rf"(?:\\?{re.escape(each)}|\\u(?i:{ord(each):04x}))" for each in secret)
    coded = {quote(secret, safe=""), b64encode(secret.encode()).decode(), b64encode(f":{secret}".encode()).decode()}
    return {escaped, *map(re.escape, coded)}


def without(probed: Probed, hide: Callable[[str], str]) -> Probed:
    """The run, each text in it without secrets; what was judged stays as it was judged."""
    known: dict[int, Exchange] = {}

    def hidden(exchange: Exchange) -> Exchange:
        if id(exchange) not in known:
            known[id(exchange)] = _exchange(exchange, hide)
        return known[id(exchange)]

    results = [
        replace(
            result,
            verdict=replace(
                result.verdict,
                message=hide(result.verdict.message),
                evidence=tuple(map(hide, result.verdict.evidence)),
                help=hide(result.verdict.help),
            ),
            exchanges=tuple(map(hidden, result.exchanges)),
        )
        for result in probed.results
    ]
    served = replace(probed.served, kind=hide(probed.served.kind), version=hide(probed.served.version))
    return replace(
        probed,
        model=hide(probed.model),
        served=served,
        results=tuple(results),
        broken_off=hide(probed.broken_off),
        left_out=hide(probed.left_out),
    )


def _exchange(exchange: Exchange, hide: Callable[[str], str]) -> Exchange:
    body = exchange.body.decode("utf-8", "surrogateescape")
    told = _FLAGS.sub(rf"\1{HIDDEN}", hide(body))
    headers = {hide(name): hide(value) for name, value in exchange.headers.items()}
    asked = exchange.asked
    if (path := hide(asked.path)) != asked.path:  # an id that a server has made of it
        asked = replace(asked, path=path)
    raw = exchange.body if told == body else told.encode("utf-8", "surrogateescape")
    return replace(exchange, asked=asked, body=raw, headers=headers, error=hide(exchange.error))
