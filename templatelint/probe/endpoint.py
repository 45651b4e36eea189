"""The live endpoint as checks see it: what it is, and requests in the three dialects of HTTP that clients speak."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from templatelint.probe.prompts import Prompts
from templatelint.probe.server import members as usual_members
from templatelint.probe.telling import for_now, used_up
from templatelint.probe.verdict import NoAnswer, NotOffered
from templatelint.probe.wire.exchange import Asked, Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.model import Model

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
ANTHROPIC = {"anthropic-version": "2023-06-01"}
_MAIN = (CHAT, RESPONSES, MESSAGES)
_NOT_IMPLEMENTED = 501
_LARGE = 1 << 20  # bytes of an answer: JSON values of more take many times as much
_TOO_MANY = (429, 529)
# seconds: that a request waits before it is sent once more, unless the server says how long; all such waits of a run
_PAUSE, _LONGEST_PAUSE, _PAUSES = 1.0, 5.0, 20.0


@dataclass(frozen=True)
class Scripted:
    """The scripted model, as it has introduced itself.

    Attributes:
        dialect: in which it writes calls; `none` where its template has none.
    """

    version: int
    dialect: str


@dataclass(frozen=True)
class Served:
    """What the server has told of itself.

    Attributes:
        kind: the engine's id; empty where it is none that is known.
        version: as the server gives it; empty where it does not.
        model: its template and launch, as `server:URL` resolves; None where it tells no template.
        models: the ids that `/v1/models` lists.
        why: why there is no model, in a clause.
    """

    kind: str = ""
    version: str = ""
    model: Model | None = None
    models: tuple[str, ...] = ()
    why: str = ""


@dataclass
class Endpoint:
    """What a check may ask, and what it may know.

    The requests of a check are recorded in `exchanges`. A request that was sent before, by any check, is not sent
    again unless that is asked for: the answer is the same one. One that the server turns away for now (too many
    requests) is sent once more after a while, and is not kept where it is turned away again.

    The first answers of each main route settle whether its model takes `max_tokens` and `temperature`, which models
    exist that do not; all further requests are made accordingly.

    Attributes:
        url: of the server, as people may see it, without `/v1`.
        model: the id that requests name.
        linted: the model whose template ought to be in force; None where the user names none.
        tokens: that an answer may have, where a check does not need less.
        seconds: that a request may take.
        wait: for so many seconds; where nothing is sent, there is nothing to wait for.
    """

    url: str
    model: str
    send: Callable[[Asked], Exchange] = field(repr=False)
    prompts: Prompts = field(default_factory=Prompts)
    served: Served = field(default_factory=Served)
    scripted: Scripted | None = None
    linted: Model | None = None
    tokens: int = 512
    seconds: float = 60.0
    wait: Callable[[float], None] = field(default=time.sleep, repr=False)
    exchanges: list[Exchange] = field(default_factory=list)
    _known: dict[tuple[Any, ...], Exchange] = field(default_factory=dict, repr=False)
    _refused: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)  # by main route that has answered
    _pauses: list[float] = field(default_factory=list, repr=False)

    def for_check(self) -> Endpoint:
        """The same endpoint with a record of its own."""
        return replace(self, exchanges=[])

    # ------------------------------------------------------------------------------------------ any request

    def ask(self, asked: Asked, *, again: bool = False) -> Exchange:
        """The exchange that a request makes, whatever the server's answer is.

        Args:
            asked: the request.
            again: send it although it was sent before.

        Raises:
            NoAnswer: none came in time, or none that ends.
        """
        exchange = self._once(asked, again=again)
        if asked.path in _MAIN and asked.path not in self._refused:
            exchange = self._settled(asked, exchange)
        return exchange

    def _once(self, asked: Asked, *, again: bool = False) -> Exchange:
        known = None if again else self._known.get(asked.key)
        if self.exchanges and len(self.exchanges[-1].body) > _LARGE:
            self.exchanges[-1].forget()
        exchange = self._sent(asked) if known is None else known
        self.exchanges.append(exchange)
        if not for_now(exchange):
            self._known[asked.key] = exchange
        if exchange.error or not (exchange.status or exchange.left):
            raise NoAnswer(exchange)
        return exchange

    def _sent(self, asked: Asked) -> Exchange:
        exchange = self.send(asked)
        pause = _pause(exchange) if for_now(exchange) else None
        if pause is None or sum(self._pauses) + pause > _PAUSES:
            return exchange
        self._pauses.append(pause)
        self.wait(pause)
        return self.send(asked)

    def _settled(self, asked: Asked, exchange: Exchange) -> Exchange:
        """The answer to a request in the form that the model takes, which is known as soon as it has answered one."""
        refused: list[str] = []
        while (name := usual_members.refused(exchange)) and name not in refused:
            refused.append(name)
            exchange = self._once(replace(asked, body=usual_members.without(asked.body, refused)))
        if exchange.ok or used_up(exchange):
            self._refused[asked.path] = frozenset(refused)
        return exchange

    def remember(self, exchange: Exchange) -> None:
        """Answer with this exchange when the same is asked again."""
        self._known[exchange.asked.key] = exchange

    def forget(self, exchange: Exchange, part: Exchange) -> None:
        """Do not keep an exchange; what was not answered stays so, with what is left of it."""
        key = exchange.asked.key
        if self._known.get(key) is exchange:
            del self._known[key]
            if exchange.error:
                self._known[key] = part

    def get(self, path: str) -> Exchange:
        """The answer to a GET."""
        return self.ask(Asked("GET", path))

    def post(self, path: str, body: Any, *, headers: Mapping[str, str] | None = None, again: bool = False) -> Exchange:
        """The answer to a POST of a JSON value, or of text as it is."""
        return self.ask(Asked("POST", path, body, headers or {}), again=again)

    # ----------------------------------------------------------------------------------- the three main routes

    def chat(self, messages: str | Sequence[Any], **members: Any) -> Exchange:
        """The answer to a chat completion (`stream=True`: its events).

        Args:
            messages: messages, or the text of one of the user's.
            members: further members of the body, in place of the usual ones; one that is None is left out.

        Raises:
            NotOffered: there is no such route.
            NoAnswer: no answer came.
        """
        return self._offered(CHAT, self.chat_body(messages, **members))

    def chat_body(self, messages: str | Sequence[Any], **members: Any) -> dict[str, Any]:
        """The body of that request."""
        spoken = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        usual = {"model": self.model, "messages": spoken, "max_tokens": self.tokens, "temperature": 0}
        return self._body(CHAT, usual, members)

    def respond(self, said: Any, **members: Any) -> Exchange:
        """The answer to a request to the Responses API (`stream=True`: its events).

        Args:
            said: the `input`, text or items.
            members: as for `chat`.
        """
        return self._offered(RESPONSES, self.response_body(said, **members))

    def response_body(self, said: Any, **members: Any) -> dict[str, Any]:
        """The body of that request."""
        usual = {"model": self.model, "input": said, "max_output_tokens": self.tokens, "temperature": 0}
        return self._body(RESPONSES, usual, members)

    def message(self, messages: str | Sequence[Any], **members: Any) -> Exchange:
        """The answer to a request to Anthropic's Messages API (`stream=True`: its events).

        Args:
            messages: messages, or the text of one of the user's.
            members: as for `chat`.
        """
        return self._offered(MESSAGES, self.message_body(messages, **members), ANTHROPIC)

    def message_body(self, messages: str | Sequence[Any], **members: Any) -> dict[str, Any]:
        """The body of that request."""
        spoken = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        usual = {"model": self.model, "messages": spoken, "max_tokens": self.tokens, "temperature": 0}
        return self._body(MESSAGES, usual, members)

    def _body(self, path: str, usual: Mapping[str, Any], members: Mapping[str, Any]) -> dict[str, Any]:
        whole = {name: value for name, value in {**usual, **members}.items() if value is not None}
        return usual_members.without(whole, self._refused.get(path, ()))

    def _offered(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Exchange:
        exchange = self.post(path, body, headers=headers)
        if not exchange.absent:
            return exchange
        if not self._answers(path, headers):
            raise NotOffered(path, exchange.status)
        if exchange.status == _NOT_IMPLEMENTED:
            raise NotOffered(path, exchange.status, f"what is asked of {path} is not implemented (HTTP 501)")
        return exchange  # of a route that is there, it refuses what was asked

    def _answers(self, path: str, headers: Mapping[str, str] | None) -> bool:
        """Whether the route answers to a plain request."""
        if path not in self._refused:
            bodies: dict[str, Callable[..., dict[str, Any]]] = {
                CHAT: self.chat_body,
                RESPONSES: self.response_body,
                MESSAGES: self.message_body,
            }
            with suppress(NoAnswer):
                self.for_check().post(path, bodies[path](self.prompts.plain), headers=headers)
        return path in self._refused


def for_responses(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tools as the Responses API takes them."""
    return [{"type": "function", **tool["function"], "strict": False} for tool in tools]


def for_messages(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Tools as Anthropic's API takes them."""
    return [
        {
            "name": tool["function"]["name"],
            "description": tool["function"]["description"],
            "input_schema": tool["function"]["parameters"],
        }
        for tool in tools
    ]


def _pause(exchange: Exchange) -> float | None:
    """Seconds after which a request may be sent again; None where that is too long to wait for, or not to be hoped."""
    told = exchange.headers.get("retry-after", "").strip()
    if not told and exchange.status not in _TOO_MANY:
        return None
    try:
        seconds = float(told) if told else _PAUSE
    except ValueError:  # a date
        seconds = _PAUSE
    return seconds if 0 <= seconds <= _LONGEST_PAUSE else None
