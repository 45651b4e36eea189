"""The live endpoint as checks see it: what it is, and requests in the three dialects of HTTP that clients speak."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from templatelint.probe.prompts import Prompts
from templatelint.probe.verdict import NoAnswer, NotOffered
from templatelint.probe.wire.exchange import Asked, Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.model import Model

CHAT, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/responses", "/v1/messages"
ANTHROPIC = {"anthropic-version": "2023-06-01"}


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
    again unless that is asked for: the answer is the same one.

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
        known = None if again else self._known.get(asked.key)
        exchange = self.send(asked) if known is None else known
        self.exchanges.append(exchange)
        self._known[asked.key] = exchange
        if exchange.error or not (exchange.status or exchange.left):
            raise NoAnswer(exchange)
        return exchange

    def remember(self, exchange: Exchange) -> None:
        """Answer with this exchange when the same is asked again."""
        self._known[exchange.asked.key] = exchange

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
        return _without_none({**usual, **members})

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
        return _without_none({**usual, **members})

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
        return _without_none({**usual, **members})

    def _offered(self, path: str, body: Any, headers: Mapping[str, str] | None = None) -> Exchange:
        exchange = self.post(path, body, headers=headers)
        if exchange.absent:
            raise NotOffered(path, exchange.status)
        return exchange


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


def _without_none(members: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}
