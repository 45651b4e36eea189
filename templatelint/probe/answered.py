"""The answer to a right request → why nothing can be read of it, as a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.probe.telling import busy, http, misread
from templatelint.probe.verdict import failed, inconclusive

if TYPE_CHECKING:
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange


def unheard(exchange: Exchange, request: str) -> Verdict | None:
    """That an answer is about something else than what was asked; None where it is not."""
    if misread(exchange):
        told = http(exchange) if exchange.crashed else "it ends with an error"
        return inconclusive(f"what the model says to {request} is not understood by the server: {told}")
    return busy(exchange)


def unanswered(exchange: Exchange, request: str, member: str, *, may_refuse: bool) -> Verdict | None:
    """What keeps an answer from being read; None where it can be.

    Args:
        exchange: the answer to a right request.
        request: what it is, for messages (`a plain message`).
        member: the list that holds what the model has said.
        may_refuse: it has what not every server offers: nothing is seen of the clause where it is refused.
    """
    if exchange.cut:
        return failed(f"the connection ends before the answer to {request} does")
    if (trouble := unheard(exchange, request)) is not None:
        return trouble
    if may_refuse and (exchange.refused or exchange.absent):
        return inconclusive(f"{request} is refused: {http(exchange)}")
    if not exchange.ok or not isinstance(exchange.object.get(member), list):
        lack = "" if not exchange.ok else f" without a list {member!r}" if exchange.object else " without a JSON object"
        return failed(f"{request} is answered {http(exchange)}{lack}")
    return None


def whole(value: Any) -> int | None:
    """A number of tokens; None for anything else."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
