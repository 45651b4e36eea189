"""Several verdicts of one check → the worst of them, with the exchange that it is about as the last of the record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint.probe.verdict import WORDS, passed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange


def worst(endpoint: Endpoint, parts: Sequence[Callable[[], Verdict]]) -> Verdict:
    """What a check concludes that has parts: what the worst says, and what the others say as evidence.

    Args:
        endpoint: of the check, whose record the parts extend.
        parts: each is judged by the last exchange that it makes; one that is skipped says nothing.

    Raises:
        NoAnswer: the server does not answer.
    """
    found: list[tuple[Verdict, Exchange | None]] = []
    for part in parts:
        verdict = part()
        if verdict.word != "skip":
            found.append((verdict, endpoint.exchanges[-1] if endpoint.exchanges else None))
    told = [verdict.message for verdict, _ in found]
    verdict, exchange = min(found, key=lambda each: WORDS.index(each[0].word))
    if verdict.word == "pass":
        return passed("; ".join(told))
    if exchange is not None:
        decides(endpoint, exchange)
    others = [message for message in told if message != verdict.message]
    return replace(verdict, evidence=(*verdict.evidence, *others))


def decides(endpoint: Endpoint, exchange: Exchange) -> None:
    """Put an exchange behind the others of the check: the last one is shown beside the verdict."""
    others = [each for each in endpoint.exchanges if each is not exchange]
    endpoint.exchanges[:] = [*others, exchange]
