"""A plain answer of Anthropic's Messages API → its blocks, calls and counts; what has not their form is left out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from templatelint.probe import answered
from templatelint.probe.answered import whole
from templatelint.probe.endpoint import ANTHROPIC, MESSAGES
from templatelint.probe.telling import quoted
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

LIMIT, CALLS, END, STOPPED = "max_tokens", "tool_use", "end_turn", "stop_sequence"
# why an answer ends that is neither at its end nor cut by its limit: nothing more is seen in it
OTHERWISE = frozenset({"pause_turn", "refusal", "model_context_window_exceeded"})
_STOP_REASONS = frozenset({END, LIMIT, STOPPED, CALLS, *OTHERWISE})
# type of a block → its members that clients read, and what they are
_MEMBERS: Mapping[str, Mapping[str, type]] = {
    "text": {"text": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "thinking": {"thinking": str},  # and a signature, which only Anthropic can give: the SDK's types tell of it
}
_FILLED = frozenset({"id", "name"})
_MANY = 64  # blocks that go back
_READ = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


@dataclass(frozen=True)
class MessageReply:
    """An answer as clients read it."""

    exchange: Exchange

    @property
    def message(self) -> Mapping[str, Any]:
        """The object; empty where there is none."""
        return self.exchange.object

    @cached_property
    def blocks(self) -> list[Mapping[str, Any]]:
        """Of the content, in order."""
        return rows(self.message, "content")

    def of_type(self, kind: str) -> list[Mapping[str, Any]]:
        """The blocks of a type."""
        return [block for block in self.blocks if block.get("type") == kind]

    @property
    def calls(self) -> list[Mapping[str, Any]]:
        """The calls of functions."""
        return self.of_type("tool_use")

    @cached_property
    def text(self) -> str:
        """All that is said."""
        return "".join(text(block.get("text")) for block in self.of_type("text"))

    @cached_property
    def thoughts(self) -> str:
        """All that was thought before."""
        return "".join(text(block.get("thinking")) for block in self.of_type("thinking"))

    @property
    def said(self) -> str:
        """All that was written, in order: the thoughts, and what is said."""
        return self.thoughts + self.text

    @property
    def stop(self) -> str:
        """`stop_reason`; empty where it is not told."""
        return text(self.message.get("stop_reason"))

    @property
    def told_stop(self) -> str:
        """The same in words, whatever it is."""
        return f"stop_reason {quoted(self.message.get('stop_reason'))}"

    @property
    def read(self) -> int | None:
        """Tokens of the prompt, those from a cache among them; None where they are not told."""
        usage = table(self.message.get("usage"))
        counts = [whole(usage.get(name)) or 0 for name in _READ]
        return sum(counts) or None

    @property
    def written(self) -> int | None:
        """Tokens of the answer; None where they are not told."""
        return whole(table(self.message.get("usage")).get("output_tokens")) or None

    @property
    def shape(self) -> str:
        """What the content consists of, for messages."""
        kinds = [quoted(text(block.get("type")), 30) for block in self.blocks[:4]]
        return f"{', '.join(kinds) or 'nothing'}{', …' if len(self.blocks) > len(kinds) else ''}"

    def faults(self) -> Iterator[str]:
        """What breaks the form that the API prescribes, each in a clause."""
        for name, value in (("type", "message"), ("role", "assistant")):
            if self.message.get(name) != value:
                yield _told(self.message, name)
        for name in ("id", "model"):
            if not text(self.message.get(name)):
                yield _told(self.message, name)
        if self.stop not in _STOP_REASONS:
            yield _told(self.message, "stop_reason")
        usage = table(self.message.get("usage"))
        for name in ("input_tokens", "output_tokens"):
            if whole(usage.get(name)) is None:
                yield f"usage.{_told(usage, name)}"
        content = self.message.get("content")
        for place, block in enumerate(content if isinstance(content, list) else []):
            if found := block_fault(block):
                yield f"content[{place}]: {found}"


def _told(holder: Mapping[str, Any], name: str) -> str:
    return f"{name} is {quoted(holder[name])}" if name in holder else f"{name} is missing"


def block_fault(block: Any) -> str:
    """What is wrong with a block, in a clause; empty where nothing is, or its type is none that we know."""
    if not isinstance(block, dict):
        return f"it is {quoted(block)}"
    kind = block.get("type")
    if not isinstance(kind, str):
        return _told(block, "type")
    for name, of in _MEMBERS.get(kind, {}).items():
        if not isinstance(block.get(name), of) or (name in _FILLED and not block[name]):
            return _told(block, name)
    return ""


def ask(endpoint: Endpoint, messages: Sequence[Any], **members: Any) -> Exchange:
    """The answer to a request that follows on one that was answered: a 404 is a refusal then, not a missing route."""
    return endpoint.post(MESSAGES, endpoint.message_body(messages, **members), headers=ANTHROPIC)


def unanswered(exchange: Exchange, request: str, *, may_refuse: bool = False) -> Verdict | None:
    """What keeps an answer from being read; None where it can be (see `answered.unanswered`)."""
    return answered.unanswered(exchange, request, "content", may_refuse=may_refuse)


def returned(reply: MessageReply) -> list[Mapping[str, Any]]:
    """The blocks of an answer as they go back into the next request, without those too deep to be written."""
    found = []
    for block in reply.blocks[:_MANY]:
        try:
            json.dumps(block)
        except (RecursionError, ValueError):
            continue
        found.append(block)
    return found


def result_of(call: Mapping[str, Any], said: str) -> dict[str, Any]:
    """What a function gave back, as a block."""
    return {"type": "tool_result", "tool_use_id": text(call.get("id")), "content": said}


def input_of(call: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The arguments of a call; None where they are no JSON object."""
    found = call.get("input")
    return found if isinstance(found, dict) else None
