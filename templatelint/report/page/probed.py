"""What probing gave → a page: the answer, models beside each other, each check with what was sent and what came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint.probe.verdict import WORDS
from templatelint.report.page import document
from templatelint.report.page.parts import cut
from templatelint.report.probed import exchanges, words
from templatelint.report.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.probe import Probed
    from templatelint.probe.verdict import Result, Word
    from templatelint.probe.wire.exchange import Exchange
    from templatelint.report.probed import Look, Run

_ROOM = 1_500_000  # characters of requests and answers on a page
_RAW: Mapping[Word, int] = {"fail": 6_000, "inconclusive": 4_000, "warn": 4_000, "pass": 2_000, "skip": 500}
_EXCHANGES: Mapping[Word, int] = {"fail": 8, "inconclusive": 4, "warn": 4, "pass": 1, "skip": 1}
_LINES = 100  # of evidence
_UNFOLDED = 3  # broken clauses: so many can be read at a glance
_MODELS = 100


@dataclass(frozen=True, slots=True)
class Item:
    """A check: verdict, grounds, and (title, request, answer, command) of the exchanges that there is room for."""

    id: str
    name: str
    word: Word
    severity: str
    message: str
    clause: str
    why: str
    evidence: str
    help: str
    exchanges: Sequence[tuple[str, str, str, str]]
    more: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Section:
    """The checks of a model, those that were broken first."""

    id: str
    name: str
    answer: str
    counts: Sequence[tuple[Word, int]]
    items: Sequence[Item]
    unfolded: bool


class _Room:
    """What is left of a number of characters."""

    def __init__(self, left: int) -> None:
        self.left = left

    def take(self, text: str) -> str:
        """The text, where there is room for it."""
        if len(text) > self.left:
            return "(there is no room for it here; --output-format json has it)"
        self.left -= len(text)
        return text


def write(run: Run, look: Look) -> Iterator[str]:
    """The page in pieces."""
    del look  # the reader folds and unfolds
    room = _Room(_ROOM)
    sections = [_section(f"m{number}", one, room) for number, one in enumerate(run.probed[:_MODELS], 1)]
    yield from document.page(
        "probed",
        url=run.url,
        answer=cut(words.answer(run).removeprefix(run.url).lstrip(": ")),
        trouble=bool(run.trouble),
        remarks=[cut(text) for text in run.remarks],
        totals=[(word, words.TOLD[word], sum(one.summary[word] for one in run.probed)) for word in WORDS],
        sections=sections,
        apart=[(one.id, one.name, cut(", ".join(one.failing)), cut(", ".join(one.passing))) for one in run.apart],
        engines=(),
        not_run=(),
    )


def _section(at: str, probed: Probed, room: _Room) -> Section:
    results = [result for word in WORDS for result in words.ranked(probed.results, word)]
    return Section(
        at,
        cut(probed.model) or "the model",
        cut(words.of_one(probed)),
        words.counts(probed.results),
        [_item(result, probed, room) for result in results],
        probed.summary["fail"] <= _UNFOLDED,
    )


def _item(result: Result, probed: Probed, room: _Room) -> Item:
    verdict = result.verdict
    shown = result.exchanges[-_EXCHANGES[verdict.word] :]
    earlier = len(result.exchanges) - len(shown)
    lines = verdict.evidence[:_LINES]
    rest = len(verdict.evidence) - len(lines)
    return Item(
        result.id,
        result.name,
        verdict.word,
        result.severity,
        cut(verdict.message),
        result.clause,
        words.why(result),
        room.take("\n".join((*map(cut, lines), *([f"… {counted(rest, 'more line')}"] if rest else [])))),
        cut(verdict.help),
        [_exchange(exchange, probed, room, _RAW[verdict.word]) for exchange in shown],
        counted(earlier, "earlier request") if earlier else "",
        result.seconds,
    )


def _exchange(exchange: Exchange, probed: Probed, room: _Room, most: int) -> tuple[str, str, str, str]:
    asked = exchange.asked
    title = cut(f"{asked.method} {asked.path}: {f'HTTP {exchange.status}' if exchange.status else 'no answer'}")
    command = exchanges.command(probed.url, asked, most, keyed=probed.keyed)
    return (
        title,
        room.take(exchanges.request(asked, most)),
        room.take(exchanges.response(exchange, most)),
        room.take(command) if len(command) <= room.left else "",
    )
