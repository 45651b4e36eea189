"""Requests that are at fault → how a server answers each: refused with an error object, accepted, or with a crash."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from templatelint.probe.parts import decides
from templatelint.probe.telling import busy, error_message, http, used_up
from templatelint.probe.verdict import NoAnswer, failed, inconclusive, passed, warned
from templatelint.sources.endpoint.routes import table, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

Bad = tuple[str, object]
"""What is at fault, in words, and the body: a JSON value, or text that is sent as it is."""


class Answered(NamedTuple):
    """A request at fault as it was answered.

    Attributes:
        what: is at fault.
        wrong: why it is not refused as it has to be, in a few words; empty where it is.
        bare: what is wrong with the error object of a refusal; empty where nothing is.
        said: the line that tells all of it.
    """

    what: str
    wrong: str
    bare: str
    said: str
    exchange: Exchange

    @property
    def fault(self) -> str:
        """What is wrong with the answer."""
        return self.wrong or self.bare


def openai_fault(exchange: Exchange) -> str:
    """What is wrong with an error object as OpenAI writes it, in a few words; empty where nothing is."""
    error = exchange.object.get("error")
    if not isinstance(error, dict):
        return "without an error object"
    for name in ("message", "type"):
        if not text(error.get(name)).strip():
            return f"whose error object has no {name}"
    return ""


def anthropic_fault(exchange: Exchange) -> str:
    """The same as Anthropic writes it."""
    found = openai_fault(exchange)
    if not found and exchange.object.get("type") != "error":
        return 'whose object is not of type "error"'
    return found


def judged(  # noqa: PLR0913 (what is asked, and how its answers are read)
    endpoint: Endpoint,
    path: str,
    bad: Sequence[Bad],
    what: str,
    *,
    shape: Callable[[Exchange], str] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Verdict:
    """What is to be said of a server that all of these requests were sent to.

    Args:
        endpoint: that is asked.
        path: of the requests.
        bad: the requests.
        what: they are, for messages (`faulty bodies`); a single one's name.
        shape: what is wrong with an error object; None where the clause asks for none.
        headers: of the requests.

    Raises:
        NoAnswer: the server does not answer any more.
    """
    found: list[Answered] = []
    trouble: Verdict | None = None
    gone = False
    for name, body in bad:
        try:
            exchange = endpoint.post(path, body, headers=headers)
        except NoAnswer as silence:
            exchange = silence.exchange
            gone = not exchange.cut
            if gone and not any(one.wrong for one in found):
                raise
        trouble = busy(exchange)
        if trouble is not None or gone:
            break
        found.append(_answered(path, name, exchange, shape or openai_fault))
    wrong = [one for one in found if one.wrong or (shape and one.bare)]
    lines = tuple(one.said for one in (*wrong, *(each for each in found if each not in wrong)))
    if wrong:
        if not gone and wrong[0].wrong != _GONE:
            decides(endpoint, wrong[0].exchange)
        if len(bad) == 1:
            return failed(f"{what} is not refused as faulty: {wrong[0].fault}", evidence=lines)
        told = ", ".join(f"{one.what} ({one.fault})" for one in wrong)
        be = "is" if len(wrong) == 1 else "are"
        return failed(f"{len(wrong)} of {len(bad)} {what} {be} not refused as faulty: {told}", evidence=lines)
    if trouble is not None:
        return trouble
    bare = [f"{one.what} ({one.bare})" for one in found if one.bare]
    if bare:
        return warned(f"refused so that no client can read why: {', '.join(bare)}", evidence=lines)
    return passed(
        f"{what} is refused" if len(bad) == 1 else f"all {len(bad)} {what} are refused",
        evidence=lines,
    )


_GONE = "the connection ends without an answer"


def _answered(path: str, what: str, exchange: Exchange, shape: Callable[[Exchange], str]) -> Answered:
    wrong, bare = _wrong(exchange), ""
    if exchange.refused:
        fault = shape(exchange)
        bare = f"HTTP {exchange.status} {fault}" if fault else ""
    told = http(exchange) if exchange.status else _GONE
    return Answered(what, wrong, bare, f"POST {path}, {what}: {told}", exchange)


def _wrong(exchange: Exchange) -> str:
    if not exchange.status:
        return _GONE
    if exchange.refused:
        return ""
    if exchange.ok and exchange.cut:
        return f"HTTP {exchange.status}, and the connection ends in the middle"
    if exchange.ok and isinstance(exchange.object.get("error"), dict):
        return f"an error with HTTP {exchange.status}"
    if exchange.ok:
        return f"accepted with HTTP {exchange.status}"
    return f"HTTP {exchange.status}"


def with_few_tokens(ask: Callable[[int], Exchange], few: int, usual: int) -> tuple[Exchange, int]:
    """The answer to a right request with few tokens, or with the usual number where so few are refused; that number."""
    exchange = ask(few)
    if exchange.refused and (busy(exchange) is None or used_up(exchange)):
        return ask(usual), usual
    return exchange, few


def baseless(exchange: Exchange, request: str) -> Verdict | None:
    """Why refusals would show nothing: what is right is not answered either; None where it is."""
    if (trouble := busy(exchange)) is not None:
        return trouble
    if exchange.ok and exchange.object:
        return None
    return inconclusive(f"{request} is answered {http(exchange)}, so that a refusal shows nothing")


def refused_as_such(
    endpoint: Endpoint, path: str, right: Mapping[str, object], headers: Mapping[str, str] | None = None
) -> bool:
    """Whether a right body of a kind is not taken, so that the refusal of a faulty one of it would show nothing."""
    exchange = endpoint.post(path, right, headers=headers)
    return exchange.refused or exchange.absent


def carries(exchange: Exchange, words: str) -> bool:
    """Whether an error says these words, wherever its lines break."""
    said = error_message(exchange) or text(table(exchange.value).get("message")) or exchange.text
    return "".join(words.split()) in "".join(said.replace("↵", " ").split())
