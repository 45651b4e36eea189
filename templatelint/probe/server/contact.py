"""An address → the endpoint behind it: that it answers as OpenAI's API does, what it is, and whether it is scripted."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError, clip
from templatelint.probe.endpoint import CHAT, Endpoint, Scripted
from templatelint.probe.prompts import scripted as scripted_prompts
from templatelint.probe.server import serving
from templatelint.probe.server.serving import MODELS
from templatelint.probe.telling import busy, http, misread, reason
from templatelint.probe.verdict import NoAnswer, NotOffered
from templatelint.probe.wire.exchange import Asked
from templatelint.sources.endpoint.routes import rows, table, text
from templatelint.texts import shown

if TYPE_CHECKING:
    from templatelint.probe.wire.exchange import Exchange
    from templatelint.sources.reach import Reach

_NO_LOGIN = (401, 403)
_LATER = "try again later"
_TURNED_AWAY = {
    402: ("asks for credit", "the account that the key belongs to has none left"),
    408: ("waits no longer for a request", _LATER),
    429: ("takes no more requests for now", _LATER),
    502: ("reaches no model", "a gateway is there, and not what it passes requests on to"),
    503: ("is not ready", "try again when its model is loaded"),
    504: ("reaches no model", "a gateway is there, and not what it passes requests on to"),
    529: ("is overloaded", _LATER),
}
_MANY = 8  # models that a message lists
_INTRODUCED = re.compile(r"templatelint-scripted (\d{1,4}) ([\w.+-]{1,60})")
# what servers say of a model for embeddings, for ranking, for speech; that a template refuses is told otherwise
_NO_CHAT = re.compile(
    r"embed|rerank|speech|transcri|not a chat|support\w*\b.{0,40}\b(?:chat|completions?)\b"
    r"|\b(?:chat|completions?)\b.{0,40}\bsupport"
)
_SHORT = 32  # tokens
_ADDRESS = "give the address that its API starts at, without /v1"


class NoChat(TemplatelintError):
    """The server is there, and says that this model is none to chat with.

    Attributes:
        said: the status, and what the server says.
    """

    def __init__(self, endpoint: Endpoint, exchange: Exchange) -> None:
        self.said = http(exchange)
        super().__init__(
            f"{endpoint.url}: POST {CHAT} is refused: {self.said}", help="name a model that takes chats: --model ID"
        )


def contacted(endpoint: Endpoint, reach: Reach) -> Endpoint:
    """The endpoint, with its model, what it tells of itself, and the prompts that its model needs.

    The exchanges that this makes are known afterwards: checks that ask the same get the same answers.

    Raises:
        TemplatelintError: it does not answer, wants a key, is no OpenAI-compatible server, or has no such model.
    """
    if not endpoint.model:
        endpoint = replace(endpoint, model=_only(endpoint, listed(endpoint)))
    # a router loads a model when it is first asked for, and tells its template from then on
    _answers(endpoint)
    endpoint = replace(endpoint, served=serving.told(endpoint, reach))
    found = _scripted(endpoint)
    if found is not None:
        endpoint = replace(endpoint, scripted=found, prompts=scripted_prompts())
    return endpoint


def listed(endpoint: Endpoint) -> tuple[str, ...]:
    """The ids of the models that an endpoint lists.

    Raises:
        TemplatelintError: it gives no list: why.
    """
    exchange = _first(endpoint, Asked("GET", MODELS))
    if not isinstance(exchange.object.get("data"), list):
        if exchange.object:
            what = http(exchange)
            raise TemplatelintError(
                f"{endpoint.url} lists no models: GET {MODELS} answers {what}",
                help=f"{_ADDRESS}, or name one: --model ID",
            )
        raise _not_compatible(endpoint, f"GET {MODELS} answers HTTP {exchange.status} without JSON")
    return tuple(dict.fromkeys(text(row.get("id")) for row in rows(exchange.value, "data") if text(row.get("id"))))


def _only(endpoint: Endpoint, ids: tuple[str, ...]) -> str:
    if len(ids) == 1:
        return ids[0]
    if not ids:
        raise TemplatelintError(f"{endpoint.url} lists no model in {MODELS}", help="name one: --model ID")
    names = ", ".join(clip(shown(each), 80) for each in ids[:_MANY]) + (", …" if len(ids) > _MANY else "")
    raise TemplatelintError(
        f"{endpoint.url} serves {len(ids)} models", help=f"name one with --model ({names}), or take --all-models"
    )


def _answers(endpoint: Endpoint) -> None:
    """A plain and a streamed reply, before a verdict is given on anything."""
    body = endpoint.chat_body(endpoint.prompts.plain)
    exchange = _first(endpoint, Asked("POST", CHAT, body))
    _accepted(endpoint, exchange)
    if exchange.ok and not isinstance(exchange.object.get("choices"), list):
        raise _not_compatible(endpoint, f"POST {CHAT} answers HTTP {exchange.status} without choices")
    body = endpoint.chat_body(endpoint.prompts.plain, stream=True)
    _accepted(endpoint, _first(endpoint, Asked("POST", CHAT, body), failing=True))


def _accepted(endpoint: Endpoint, exchange: Exchange) -> None:
    """That a chat was answered in a form that can be judged, or the server fails."""
    if (exchange.refused or exchange.absent) and _NO_CHAT.search(reason(exchange).casefold()):
        raise NoChat(endpoint, exchange)
    if exchange.events is None and not exchange.object and not exchange.crashed:
        raise _not_compatible(endpoint, f"POST {CHAT} answers HTTP {exchange.status} without JSON")
    if exchange.refused and busy(exchange) is None:
        raise TemplatelintError(
            f"{endpoint.url}: POST {CHAT} is refused: {http(exchange)}",
            help=None if reason(exchange) else _ADDRESS,
        )


def _first(endpoint: Endpoint, asked: Asked, *, failing: bool = False) -> Exchange:
    """An exchange on which everything else depends.

    Args:
        endpoint: whom to ask.
        asked: the request.
        failing: that the server fails at it is for checks to judge.
    """
    try:
        exchange = endpoint.ask(asked)
    except NoAnswer as silence:
        exchange = silence.exchange
    if exchange.error or not exchange.status:
        raise TemplatelintError(_trouble(endpoint, exchange), help=exchange.cure or None)
    if exchange.status in _NO_LOGIN:
        raise TemplatelintError(
            f"{endpoint.url} asks for a key: {asked.path} answers {http(exchange)}",
            help="put it into TEMPLATELINT_API_KEY, or into a file named with --api-key-file",
        )
    if exchange.status in _TURNED_AWAY:
        what, cure = _TURNED_AWAY[exchange.status]
        raise TemplatelintError(f"{endpoint.url} {what}: {asked.path} answers {http(exchange)}", help=cure)
    if exchange.crashed and not (failing or exchange.absent or misread(exchange)):
        raise TemplatelintError(
            f"{endpoint.url} fails at the first request: {asked.path} answers {http(exchange)}",
            help="the log of the server says why",
        )
    return exchange


def _trouble(endpoint: Endpoint, exchange: Exchange) -> str:
    asked = exchange.asked
    if exchange.events:
        count = len(exchange.events)
        return f"{endpoint.url}: {asked.method} {asked.path} stops after {count} events: {exchange.error}"
    why = exchange.error.removeprefix(f"{endpoint.url}: ") or "the connection ends before an answer"
    return f"{endpoint.url}: {asked.method} {asked.path}: {why}"


def _not_compatible(endpoint: Endpoint, fact: str) -> TemplatelintError:
    return TemplatelintError(f"{endpoint.url} is no OpenAI-compatible server: {fact}", help=_ADDRESS)


def _scripted(endpoint: Endpoint) -> Scripted | None:
    """Whether the model introduces itself as the scripted one: any other answers something else."""
    try:
        exchange = endpoint.chat("@@about", max_tokens=_SHORT)
    except (NoAnswer, NotOffered):
        return None
    choices = rows(exchange.value, "choices")
    message = table(choices[0].get("message")) if choices else {}
    found = _INTRODUCED.fullmatch(text(message.get("content")).strip())
    return Scripted(int(found[1]), found[2]) if found else None
