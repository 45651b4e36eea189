"""A plain answer of the Responses API → its items, texts and counts; what has not their form is left out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from templatelint.probe import answered
from templatelint.probe.answered import whole
from templatelint.probe.endpoint import RESPONSES
from templatelint.probe.telling import error_message, quoted
from templatelint.probe.verdict import failed, inconclusive
from templatelint.probe.wire.exchange import parsed
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

LEAST = 16  # tokens: OpenAI's API takes no lower `max_output_tokens`
MORE = "--max-tokens, with more of them"
_MANY = 64  # items that go back
_REASON, FILTERED = "max_output_tokens", "content_filter"
_TOO_MANY = "rate_limit_exceeded"
_GONE = ("not found", "not persisted")


@dataclass(frozen=True)
class Reply:
    """An answer as clients read it."""

    exchange: Exchange

    @property
    def response(self) -> Mapping[str, Any]:
        """The object; empty where there is none."""
        return self.exchange.object

    @property
    def status(self) -> str:
        """`completed`, `incomplete`, …; empty where it is not told."""
        return text(self.response.get("status"))

    @property
    def reason(self) -> str:
        """Why it is incomplete; empty where that is not told."""
        return text(table(self.response.get("incomplete_details")).get("reason"))

    @cached_property
    def items(self) -> list[Mapping[str, Any]]:
        """Of the output, in order."""
        return rows(self.response, "output")

    def of_type(self, kind: str) -> list[Mapping[str, Any]]:
        """The items of a type."""
        return [item for item in self.items if item.get("type") == kind]

    @property
    def calls(self) -> list[Mapping[str, Any]]:
        """The calls of functions."""
        return self.of_type("function_call")

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        """What is said to the user."""
        return self.of_type("message")

    @property
    def thoughts(self) -> list[Mapping[str, Any]]:
        """The reasoning."""
        return self.of_type("reasoning")

    @cached_property
    def text(self) -> str:
        """All that is said to the user."""
        parts = (part for message in self.messages for part in rows(message, "content"))
        return "".join(text(part.get("text")) for part in parts if part.get("type") == "output_text")

    @cached_property
    def refusal(self) -> str:
        """What the model says in place of an answer; empty where it does not refuse to give one."""
        parts = (part for message in self.messages for part in rows(message, "content"))
        return "".join(text(part.get("refusal")) for part in parts if part.get("type") == "refusal")

    @cached_property
    def said(self) -> str:
        """All that was written: the thoughts, and what is said to the user."""
        parts = (part for item in self.thoughts for part in rows(item, "content"))
        return "".join(text(part.get("text")) for part in parts) + self.text + self.refusal

    @property
    def read(self) -> int | None:
        """Tokens of the prompt; None where they are not told."""
        return whole(table(self.response.get("usage")).get("input_tokens")) or None

    @property
    def written(self) -> int | None:
        """Tokens of the answer; None where they are not told."""
        return whole(table(self.response.get("usage")).get("output_tokens")) or None

    @property
    def cut(self) -> bool:
        """Whether the answer is told to be cut by the limit of its tokens."""
        return self.status == "incomplete" and self.reason == _REASON

    def ran_out(self, tokens: int) -> bool:
        """Whether the answer may be cut by a limit of so many tokens, told or not."""
        return self.status == "incomplete" or (self.written is not None and self.written >= tokens)

    @property
    def shape(self) -> str:
        """What the output consists of, for messages."""
        kinds = [quoted(text(item.get("type")), 30) for item in self.items[:4]]
        return f"{', '.join(kinds) or 'nothing'}{', …' if len(self.items) > len(kinds) else ''}"


def ask(endpoint: Endpoint, given: Any, **members: Any) -> Exchange:
    """The answer to a request that follows on one that was answered: a 404 is a refusal then, not a missing route."""
    return endpoint.post(RESPONSES, endpoint.response_body(given, **members))


def decisive(endpoint: Endpoint, exchange: Exchange) -> None:
    """Let an exchange of a check be its last one: reports show that as what the verdict rests on."""
    record = endpoint.exchanges
    record[:] = [*(each for each in record if each is not exchange), exchange]


def unanswered(exchange: Exchange, request: str, *, may_refuse: bool = False) -> Verdict | None:
    """What keeps an answer from being read; None where it can be (see `answered.unanswered`)."""
    trouble = answered.unanswered(exchange, request, "output", may_refuse=may_refuse)
    if trouble is not None:
        return trouble
    if exchange.object.get("status") == "failed":
        error = table(exchange.object.get("error"))
        told = f"{request} is answered with a failed response: {quoted(text(error.get('message')))}"
        return inconclusive(told) if error.get("code") == _TOO_MANY else failed(told)
    return None


def limit_told(reply: Reply) -> Verdict | None:
    """What is wrong with how an incomplete response tells that its tokens were limited; None where nothing is."""
    if reply.reason == FILTERED:
        return inconclusive("a filter has cut the response")
    if reply.reason != _REASON:
        details = reply.response.get("incomplete_details")
        return failed(f"the response is incomplete, and incomplete_details is {quoted(details)}")
    return None


def arguments_of(call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The arguments of a call; None where they are no JSON object."""
    found = parsed(text(call.get("arguments")))
    return found if isinstance(found, dict) else None


def torn(call: Mapping[str, Any], whole: Mapping[str, Any]) -> bool:
    """Whether a call is only the start of another one: its arguments break off, or were closed where they did."""
    arguments, full = arguments_of(call), arguments_of(whole)
    if arguments is None:
        return True
    if full is None or arguments == full or call.get("name") != whole.get("name"):
        return False
    return all(name in full and text(full[name]).startswith(text(value)) for name, value in arguments.items())


def user(words: str) -> dict[str, Any]:
    """A message of the user's as an item."""
    return {"role": "user", "content": words}


def returned(reply: Reply) -> list[Mapping[str, Any]]:
    """The items of an answer as they go back into the next request, without those too deep to be written."""
    found = []
    for item in reply.items[:_MANY]:
        try:
            json.dumps(item)
        except (RecursionError, ValueError):
            continue
        found.append(item)
    return found


def take_back(
    endpoint: Endpoint, before: Sequence[Any], reply: Reply, after: Sequence[Any], **members: Any
) -> Exchange:
    """The answer to a history in which an output stands as it came.

    Where nothing is kept between two requests (OpenAI's API without storage), thoughts that came without
    `encrypted_content` cannot go back, and clients leave them out.
    """
    items = returned(reply)
    exchange = ask(endpoint, [*before, *items, *after], **members)
    bare = [text(item.get("id")) for item in items if item.get("type") == "reasoning" and not _sealed(item)]
    said = error_message(exchange)
    if not exchange.refused or not any(id_ and id_ in said for id_ in bare):
        return exchange
    if not any(words in said.casefold() for words in _GONE):
        return exchange
    kept = [item for item in items if item.get("type") != "reasoning" or _sealed(item)]
    return ask(endpoint, [*before, *kept, *after], **members)


def _sealed(item: Mapping[str, Any]) -> bool:
    return bool(text(item.get("encrypted_content")))


def output(call: Mapping[str, Any], result: Any) -> dict[str, Any]:
    """What a function gave back, as an item."""
    return {"type": "function_call_output", "call_id": text(call.get("call_id")), "output": result}
