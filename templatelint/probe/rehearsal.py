"""Checks → the requests that they would send, as if to a llama-server that is right in everything; nothing is sent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from templatelint import data
from templatelint.probe import assumed
from templatelint.probe.endpoint import Endpoint, Scripted
from templatelint.probe.prompts import Prompts, scripted, with_own
from templatelint.probe.server.contact import contacted
from templatelint.probe.verdict import NoAnswer, NotOffered
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.probe import Options
    from templatelint.probe.catalogue import Check
    from templatelint.probe.wire.exchange import Asked, Exchange

ANY_MODEL = "MODEL"
"""What stands for the id of a model that nobody has named."""
_VERSIONS = ("", "/api/version", "/version", "/server_info")  # by which Ollama, vLLM and SGLang are known
_TEMPLATE = ("templates", "thinking", "chat_template.jinja")  # of the corpus: it has tools and thoughts


@dataclass(frozen=True)
class Planned:
    """What a check would send.

    Attributes:
        check: None for the first meeting, before any check.
        requests: in order; one that follows from an answer is the one that a right answer would lead to.
        sent: which of them are sent; to others, the answer is known from before.
        elsewhere: what is asked besides where `/props` is missing, as servers other than llama-server lack it.
    """

    check: Check | None
    requests: tuple[Asked, ...]
    sent: tuple[bool, ...]
    elsewhere: tuple[Asked, ...] = ()


def rehearsed(url: str, checks: Sequence[Check], options: Options) -> Iterator[Planned]:
    """What would be sent, check by check.

    Args:
        url: of the server, as people may see it.
        checks: which.
        options: as for a run.
    """
    linted = options.linted.templates if options.linted else ()
    template = linted[0].source if linted else data.folder("corpus").joinpath(*_TEMPLATE).read_text("utf-8")
    prompts = with_own(Prompts(), *options.prompts) if options.prompts else Prompts()
    model = options.model or ANY_MODEL
    answer = assumed.answering(model, template, prompts)
    met, first = _met(url, options, answer)
    known = {exchange.asked.key for exchange in first}
    others = {
        exchange.asked.key: exchange.asked
        for version in _VERSIONS
        for exchange in _met(url, options, assumed.other(answer, model, version))[1]
    }
    elsewhere = tuple(asked for key, asked in others.items() if key not in known)
    yield Planned(None, tuple(exchange.asked for exchange in first), (True,) * len(first), elsewhere)
    fresh: set[int] = set()

    def send(asked: Asked) -> Exchange:
        exchange = answer(asked)
        fresh.add(id(exchange))  # which its check keeps
        return exchange

    met.send = send
    met.prompts = prompts
    told = with_own(scripted(), *options.prompts) if options.prompts else scripted()
    instructed = replace(met, scripted=Scripted(1, "hermes"), prompts=told)
    for check in checks:
        seen = (instructed if check.mode == "scripted" else met).for_check()
        with suppress(NoAnswer, NotOffered):
            check.judge(seen)
        sent = []
        for exchange in seen.exchanges:
            sent.append(id(exchange) in fresh)
            fresh.discard(id(exchange))
        yield Planned(check, tuple(exchange.asked for exchange in seen.exchanges), tuple(sent))


def _met(url: str, options: Options, answer: Callable[[Asked], Exchange]) -> tuple[Endpoint, list[Exchange]]:
    """The endpoint after the first meeting, and what that takes."""
    took: list[Exchange] = []

    def send(asked: Asked) -> Exchange:
        took.append(answer(asked))
        return took[-1]

    endpoint = Endpoint(
        url,
        options.model,
        send,
        linted=options.linted,
        tokens=options.tokens,
        seconds=options.seconds,
        wait=lambda _: None,
    )
    return contacted(endpoint, Reach(vetting=True)), took
