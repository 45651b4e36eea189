"""An answer that says no → its reason, in the server's own words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.errors import clip
from templatelint.sources.endpoint.routes import table, text

if TYPE_CHECKING:
    from templatelint.probe.exchange import Exchange

_LONG = 200  # characters


def reason(exchange: Exchange) -> str:
    """The message of an error, as OpenAI, Anthropic, FastAPI and llama-server write it; empty where there is none."""
    answer = exchange.object
    error = answer.get("error")
    message = text(table(error).get("message")) or text(error) or text(answer.get("message"))
    return clip(repr(clip(message or text(answer.get("detail")), 4 * _LONG))[1:-1], _LONG)


def complaint(exchange: Exchange) -> str:
    """The same behind a colon."""
    message = reason(exchange)
    return f": {message}" if message else ""
