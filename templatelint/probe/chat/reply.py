"""A plain answer of the chat route → its message, calls and counts, whatever JSON it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from templatelint.probe.prompts import TOOLS
from templatelint.probe.schema import fault
from templatelint.probe.telling import busy, http, misread, quoted
from templatelint.probe.verdict import failed, inconclusive, passed
from templatelint.probe.wire.exchange import parsed
from templatelint.reading import THOUGHT
from templatelint.sources.endpoint.routes import table, text

if TYPE_CHECKING:
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

# where servers put what the model thought
_THOUGHTS = ("reasoning_content", "reasoning")
FILTERED = "content_filter"
PARAMETERS: Mapping[str, Mapping[str, Any]] = {
    tool["function"]["name"]: tool["function"]["parameters"] for tool in TOOLS
}


@dataclass(frozen=True)
class Call:
    """An entry of `tool_calls`; any JSON."""

    raw: Any

    @property
    def id(self) -> str:
        """Empty where it is no text."""
        return text(table(self.raw).get("id"))

    @property
    def kind(self) -> Any:
        """Its `type`."""
        return table(self.raw).get("type")

    @property
    def name(self) -> str:
        """Of the function; empty where it is no text."""
        return text(table(table(self.raw).get("function")).get("name"))

    @property
    def arguments(self) -> Any:
        """As they came: a JSON text, where all is well."""
        return table(table(self.raw).get("function")).get("arguments")

    @cached_property
    def value(self) -> Any:
        """The JSON value that the arguments are; None where they are none."""
        return parsed(text(self.arguments))

    @property
    def malformed(self) -> str:
        """What breaks the form that the API prescribes, in a clause; empty where nothing does."""
        if not isinstance(self.raw, Mapping):
            return f"an entry of tool_calls is {quoted(self.raw)}"
        if not self.id:
            return f"the id of a call is {quoted(self.raw.get('id'))}"
        if self.kind != "function":
            return f"the type of a call is {quoted(self.kind)}"
        if not self.name:
            return f"the function of a call has the name {quoted(table(self.raw.get('function')).get('name'))}"
        if not isinstance(self.arguments, str):
            return f"the arguments of {quoted(self.name)} are {quoted(self.arguments)}, not a JSON text"
        return ""

    @property
    def unlike_tool(self) -> str:
        """What in it is not as the tool that it names wants it, in a clause; empty where nothing is."""
        if self.name not in PARAMETERS:
            return f"the function {quoted(self.name)} was not offered"
        if not isinstance(self.value, Mapping):
            return f"the arguments of {self.name} are no JSON object: {quoted(self.arguments)}"
        found = fault(self.value, PARAMETERS[self.name])
        return f"the arguments of {self.name}: {found}" if found else ""


@dataclass(frozen=True)
class ChatReply:
    """What there is in an answer; empty where it is missing or of another type."""

    exchange: Exchange

    @cached_property
    def choices(self) -> list[Any]:
        """All of them."""
        found = self.exchange.object.get("choices")
        return found if isinstance(found, list) else []

    @property
    def choice(self) -> Mapping[str, Any]:
        """The first one."""
        return table(self.choices[0]) if self.choices else {}

    @property
    def message(self) -> Mapping[str, Any]:
        """Of the first choice."""
        return table(self.choice.get("message"))

    @property
    def content(self) -> str:
        """What is said."""
        return text(self.message.get("content"))

    @property
    def thoughts(self) -> str:
        """What was thought before."""
        return next(filter(None, (text(self.message.get(name)) for name in _THOUGHTS)), "")

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The entries of `tool_calls`."""
        found = self.message.get("tool_calls")
        return tuple(map(Call, found)) if isinstance(found, list) else ()

    @property
    def finish(self) -> str:
        """`finish_reason`."""
        return text(self.choice.get("finish_reason"))

    @property
    def cut_before_answer(self) -> bool:
        """Whether the limit was reached while the model was still thinking, be it in the text."""
        if self.finish != "length":
            return False
        said = self.content.strip()
        return not said or any(said.startswith(start) and end not in said for start, end in THOUGHT)

    @property
    def told_finish(self) -> str:
        """The same in words, whatever it is."""
        return f"finish_reason {quoted(self.choice.get('finish_reason'))}"

    @property
    def tokens(self) -> int | None:
        """`usage.completion_tokens`; None where there is no such number."""
        found = table(self.exchange.object.get("usage")).get("completion_tokens")
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    @property
    def thinks_hidden(self) -> bool:
        """Whether tokens are counted for thoughts that are not handed over."""
        details = table(table(self.exchange.object.get("usage")).get("completion_tokens_details"))
        hidden = details.get("reasoning_tokens")
        return isinstance(hidden, int) and hidden > 0 and not self.thoughts

    @property
    def prompt_tokens(self) -> int | None:
        """`usage.prompt_tokens`; None where there is no such number."""
        found = table(self.exchange.object.get("usage")).get("prompt_tokens")
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    @property
    def unusable(self) -> Verdict | None:
        """Why there is nothing to judge in it: the server was busy, refuses, or gives no reply; None where it does.

        A refusal says that something is not supported, which is no broken promise: a check whose clause is broken by
        one looks for it by itself.
        """
        turned_away = busy(self.exchange)
        if turned_away is not None:
            return turned_away
        if self.exchange.refused:
            return inconclusive(f"the request is refused: {http(self.exchange)}")
        if misread(self.exchange):
            return inconclusive(f"the server cannot read what the model has said: {http(self.exchange)}")
        return failed(self._missing) if self._missing else None

    @property
    def withheld(self) -> Verdict | None:
        """That the model refused to answer, or a filter stopped it; None where neither did."""
        return withheld(text(self.message.get("refusal")), self.finish)

    def unusable_unless_refused(self, what: str) -> Verdict | None:
        """Why there is nothing to judge in it, or the model withholds it, where it keeps the clause to refuse.

        Args:
            what: the server refuses then, in words.
        """
        exchange = self.exchange
        if exchange.refused and busy(exchange) is None:
            return passed(f"{what} is refused: {http(exchange)}")
        return self.unusable or self.withheld

    @property
    def malformed(self) -> str:
        """What breaks the form of its calls, in a clause; empty where nothing does."""
        return next(filter(None, (call.malformed for call in self.calls)), "")

    @property
    def unlike_tools(self) -> str:
        """What in its calls is not as the tools want it, in a clause; empty where nothing is."""
        return next(filter(None, (call.unlike_tool for call in self.calls)), "")

    @property
    def _missing(self) -> str:
        exchange = self.exchange
        if not exchange.ok:
            return f"the server fails: {http(exchange)}"
        if exchange.cut:
            return "the connection ends before the reply does"
        if not isinstance(exchange.value, Mapping):
            return f"HTTP {exchange.status} without a JSON object: {quoted(exchange.text)}"
        if not self.message:
            return "a choice without a message" if self.choices else "a reply without choices"
        return ""


def withheld(refusal: str, finish: str) -> Verdict | None:
    """What there is to conclude of an answer that was not given for what was asked; None of any other.

    Args:
        refusal: what the model says in place of an answer; empty where it gives one.
        finish: `finish_reason`.
    """
    if refusal:
        return inconclusive(f"the model refuses to answer: {quoted(refusal)}")
    if finish == FILTERED:
        return inconclusive(f"a filter ends the answer: finish_reason {quoted(finish)}")
    return None
