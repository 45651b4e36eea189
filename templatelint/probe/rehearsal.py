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
    from collections.abc import Iterator, Sequence

    from templatelint.probe import Options
    from templatelint.probe.catalogue import Check
    from templatelint.probe.wire.exchange import Asked, Exchange

ANY_MODEL = "MODEL"
"""What stands for the id of a model that nobody has named."""
_TEMPLATE = ("templates", "thinking", "chat_template.jinja")  # of the corpus: it has tools and thoughts


@dataclass(frozen=True)
class Planned:
    """What a check would send.

    Attributes:
        check: None for the first meeting, before any check.
        requests: in order; one that follows from an answer is the one that a right answer would lead to.
    """

    check: Check | None
    requests: tuple[Asked, ...]


def rehearsed(url: str, checks: Sequence[Check], options: Options) -> Iterator[Planned]:
    """What would be sent, check by check.

    A request that an earlier check has sent is there again, although a run sends it once.

    Args:
        url: of the server, as people may see it.
        checks: which.
        options: as for a run.
    """
    linted = options.linted.templates if options.linted else ()
    template = linted[0].source if linted else data.folder("corpus").joinpath(*_TEMPLATE).read_text("utf-8")
    prompts = with_own(Prompts(), *options.prompts) if options.prompts else Prompts()
    answer = assumed.answering(options.model or ANY_MODEL, template, prompts)
    first: list[Asked] = []

    def send(asked: Asked) -> Exchange:
        first.append(asked)
        return answer(asked)

    endpoint = Endpoint(
        url,
        options.model,
        send,
        linted=options.linted,
        tokens=options.tokens,
        seconds=options.seconds,
        wait=lambda _: None,
    )
    met = contacted(endpoint, Reach(vetting=True))
    yield Planned(None, tuple(first))
    met.prompts = prompts
    told = with_own(scripted(), *options.prompts) if options.prompts else scripted()
    instructed = replace(met, scripted=Scripted(1, "hermes"), prompts=told)
    for check in checks:
        seen = (instructed if check.mode == "scripted" else met).for_check()
        with suppress(NoAnswer, NotOffered):
            check.judge(seen)
        yield Planned(check, tuple(exchange.asked for exchange in seen.exchanges))
