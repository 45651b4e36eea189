"""What a check concludes: a verdict and the fact behind it; and what keeps it from a conclusion."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from templatelint.model import Severity
    from templatelint.probe.wire.exchange import Exchange

Word = Literal["pass", "fail", "warn", "inconclusive", "skip"]
WORDS: tuple[Word, ...] = ("fail", "inconclusive", "warn", "pass", "skip")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a check concludes.

    Attributes:
        message: the fact with its values, in one clause.
        evidence: lines that show it, where a message has no room (a log of chunks, the start of a diff).
        help: what to do about it.
    """

    word: Word
    message: str
    evidence: tuple[str, ...] = ()
    help: str = ""


def passed(message: str, *, evidence: tuple[str, ...] = ()) -> Verdict:
    """The clause was kept."""
    return Verdict("pass", message, evidence)


def failed(message: str, *, evidence: tuple[str, ...] = (), cure: str = "") -> Verdict:
    """The clause was broken."""
    return Verdict("fail", message, evidence, cure)


def warned(message: str, *, evidence: tuple[str, ...] = (), cure: str = "") -> Verdict:
    """What was done is allowed, and unusual enough to surprise a client."""
    return Verdict("warn", message, evidence, cure)


def inconclusive(message: str, *, evidence: tuple[str, ...] = (), cure: str = "") -> Verdict:
    """The model did not do what the check needs, so that nothing was seen of the server."""
    return Verdict("inconclusive", message, evidence, cure)


def skipped(message: str, *, cure: str = "") -> Verdict:
    """The clause says nothing about this server, or the check's instrument is not there."""
    return Verdict("skip", message, (), cure)


@dataclass(frozen=True, slots=True)
class Result:
    """A check as it ended.

    Attributes:
        id: `TL901`, …
        severity: of a broken clause.
        clause: what was promised, in a sentence.
        exchanges: what was sent and what came, in order; a request that an earlier check has sent is there again.
        seconds: of wall-clock time.
    """

    id: str
    name: str
    severity: Severity
    clause: str
    verdict: Verdict
    exchanges: tuple[Exchange, ...] = field(default=(), repr=False)
    seconds: float = 0.0


class NotOffered(Exception):
    """The server has no such route: its clauses do not concern it.

    Attributes:
        route: the path.
        status: of HTTP; 0 where it was not even asked.
        told: the fact, in a clause.
    """

    def __init__(self, route: str, status: int, told: str = "") -> None:
        super().__init__(route)
        self.route = route
        self.status = status
        self.told = told or f"the server has no {route} (HTTP {status})"


class NoAnswer(Exception):
    """A request got no HTTP answer, or one that does not end: it is gone, late, or beyond all bounds.

    Attributes:
        exchange: what there was of it.
    """

    def __init__(self, exchange: Exchange) -> None:
        super().__init__(exchange.error)
        self.exchange = exchange
