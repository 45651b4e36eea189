"""Checks × endpoint → results: one after the other, each with its own record; what breaks off is told."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from templatelint import cards
from templatelint.probe.keeping import ROOM, Keeping
from templatelint.probe.verdict import NoAnswer, NotOffered, Result, Verdict, inconclusive, skipped
from templatelint.severity import of_impact

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.probe.catalogue import Check
    from templatelint.probe.endpoint import Endpoint

# checks in a row that end without an answer, and requests at all, after which the server counts as gone
_PATIENCE, _LOST = 2, 6


class BrokenOff(Exception):
    """The server answers no more: what remains of the run would wait in vain.

    Attributes:
        why: in a clause.
    """

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def run(
    checks: Sequence[Check],
    endpoint: Endpoint,
    progress: Callable[[int, int], None] | None = None,
    *,
    room: int = ROOM,
) -> Iterator[Result]:
    """The results in the order of the checks.

    Args:
        checks: which.
        endpoint: whom to ask.
        progress: told how many of how many are done.
        room: bytes that all exchanges may take.

    Raises:
        BrokenOff: after the results there are: the server answers no more.
    """
    silent = 0
    lost: set[int] = set()
    keeping = Keeping(room, endpoint.forget)
    for done, check in enumerate(checks):
        if progress is not None:
            progress(done, len(checks))
        seen = endpoint.for_check()
        start = time.monotonic()
        verdict = _judged(check, seen)
        exchanges = keeping.kept(seen.exchanges)
        card = cards.clause(check.id)
        yield Result(
            check.id,
            check.name,
            of_impact(card.impact),
            card.title,
            verdict,
            exchanges,
            time.monotonic() - start,
        )
        unanswered = bool(exchanges) and bool(exchanges[-1].error)
        silent = silent + 1 if unanswered else 0
        lost.update(id(exchange) for exchange in exchanges if exchange.error)  # each is kept by its endpoint
        if silent == _PATIENCE:
            raise BrokenOff(exchanges[-1].error)
        if unanswered and len(lost) >= _LOST:
            raise BrokenOff(f"{len(lost)} requests got no answer, the last: {exchanges[-1].error}")
    if progress is not None:
        progress(len(checks), len(checks))


def _judged(check: Check, endpoint: Endpoint) -> Verdict:
    if check.mode == "scripted" and endpoint.scripted is None:
        return skipped(
            "needs the scripted model", cure="templatelint cases --scripted-gguf OUT --template REF writes one"
        )
    try:
        return check.judge(endpoint)
    except NotOffered as absence:
        return skipped(absence.told)
    except NoAnswer as silence:
        asked = silence.exchange.asked
        return inconclusive(f"{asked.method} {asked.path}: {silence.exchange.error or 'no answer'}")
