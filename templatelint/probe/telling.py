"""An answer, or a value in it → the words in which a verdict tells of it: short, and of any JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from templatelint.errors import clip
from templatelint.probe.verdict import inconclusive
from templatelint.sources.endpoint.routes import table, text

if TYPE_CHECKING:
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_ROOM = 60  # characters of a text that a message repeats
_SAID = 160  # characters of an error's own words
# no access, no credit, too slow, too many, overloaded: what was asked is not what this answer is about
_BUSY = frozenset({401, 402, 403, 408, 429, 503, 529})
GRAMMAR = "empty grammar stack"
# by its parser, and by the grammar that it enforces
_MISREAD = ("model produced output that does not match the expected", GRAMMAR)
_FOR_NOW = frozenset({408, 429, 503, 529})
_REFUSED = 400
# that thoughts have used the limit up is an error of OpenAI's, and none of what was asked
_USED_UP = (("max_tokens", "output limit"), ("limit was reached", "limit reached"))
# codes of Azure OpenAI, OpenAI and DashScope, and words of LiteLLM and OpenAI; letters alone
_FILTERED = frozenset(
    {"contentfilter", "contentpolicyviolation", "responsibleaipolicyviolation", "datainspectionfailed"}
)
_FILTERED_WORDS = ("contentpolicyviolationerror", "violatingourusagepolicy")


def quoted(value: Any, room: int = _ROOM) -> str:
    """A JSON value: texts and numbers as they are, with all that a terminal would act on escaped; else its kind."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return clip(repr(value), room)
    if isinstance(value, str):
        return clip(repr(clip(value, 4 * room)), room)
    return "an object" if isinstance(value, Mapping) else "an array"


def http(exchange: Exchange) -> str:
    """The status of an answer, and what its error says."""
    said = reason(exchange)
    return f"HTTP {exchange.status}: {said}" if said else f"HTTP {exchange.status}"


def reason(exchange: Exchange) -> str:
    """What an error says, as OpenAI, Anthropic, FastAPI and llama-server write it; empty where it says nothing."""
    answer = exchange.object
    error = answer.get("error")
    said = error_message(exchange) or text(error) or text(answer.get("message")) or text(answer.get("detail"))
    return clip(_printable(said.strip()[: 4 * _SAID]), _SAID)


def _printable(text: str) -> str:
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def error_message(exchange: Exchange) -> str:
    """What the error object of an answer says; empty where there is none that says something."""
    error = exchange.object.get("error")
    return (text(error.get("message")) if isinstance(error, Mapping) else "").strip()


def busy(exchange: Exchange) -> Verdict | None:
    """That the server had other reasons to refuse than the request; None where it had none."""
    if exchange.status in _BUSY:
        return inconclusive(f"the server turns the request away: {http(exchange)}")
    if used_up(exchange):
        return inconclusive(f"the limit is used up before there is an answer: {http(exchange)}")
    if _filtered(exchange):
        return inconclusive(f"a filter turns the prompt away: {http(exchange)}")
    return None


def for_now(exchange: Exchange) -> bool:
    """Whether the server turns a request away that it may answer a little later."""
    return exchange.status in _FOR_NOW


def used_up(exchange: Exchange) -> bool:
    """Whether an error says that the limit of tokens was reached before there was an answer (OpenAI's GPT-5)."""
    if exchange.status != _REFUSED:
        return False
    said = error_message(exchange).casefold()
    return all(any(each in said for each in words) for words in _USED_UP)


def misread(exchange: Exchange) -> bool:
    """Whether a server fails at what the model has said, and not at what was asked (llama-server's parsers).

    A stream tells of it in an event of its own.
    """
    if exchange.crashed:
        return any(words in reason(exchange) for words in _MISREAD)
    failures = (event.object.get("error") for event in exchange.frames)
    told = [text(table(error).get("message")) or text(error) for error in failures]
    return any(words in each for each in told for words in _MISREAD)


def _filtered(exchange: Exchange) -> bool:
    """Whether an error is about what the prompt says, and not about how it is asked."""
    if not exchange.refused:
        return False
    error = table(exchange.object.get("error"))
    codes = {_letters(code) for code in (error.get("code"), table(error.get("innererror")).get("code"))}
    return not codes.isdisjoint(_FILTERED) or any(word in _letters(error.get("message")) for word in _FILTERED_WORDS)


def _letters(said: Any) -> str:
    return "".join(filter(str.isalpha, text(said)[: 4 * _SAID])).casefold()


def counted(number: int, what: str) -> str:
    """A number and what it counts."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
