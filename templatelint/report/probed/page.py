"""What probing gave → a page for a terminal: the answer, what is broken and why it matters, the rest in counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.report import summary
from templatelint.report.probed import exchanges, words
from templatelint.report.terminal import visible, visible_block, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.probe import Probed
    from templatelint.probe.verdict import Result, Word
    from templatelint.probe.wire.exchange import Asked, Exchange
    from templatelint.report.probed import Look, Run
    from templatelint.report.terminal import Style

_STYLES: Mapping[Word, Style] = {
    "fail": "red",
    "inconclusive": "yellow",
    "warn": "yellow",
    "pass": "green",
    "skip": "dim",
}
_INDENT = "    "
_FEW, _MANY = 4, 60  # lines of evidence: unasked, and with --verbose
_SHORT = 3  # lines of a request or an answer
_RAW = 6_000  # characters of a raw one
_EXCHANGES = 12  # raw ones of a check
_LISTED = 20  # models that a line names


def write(run: Run, look: Look) -> Iterator[str]:
    """The page."""
    for line in _wrapped(words.answer(run), look, ""):
        yield f"{look.paint(line, 'bold')}\n"
    for remark in run.remarks:
        yield from _labelled("warning", remark, look, "yellow", "")
    if len(run.probed) > 1:
        yield "\n"
        yield from _models(run, look)
    for probed in run.probed:
        if len(run.probed) > 1:
            yield "\n"
            for line in _wrapped(words.of_one(probed), look, ""):
                yield f"{look.paint(line, 'bold')}\n"
        yield from _results(probed, look)


def _models(run: Run, look: Look) -> Iterator[str]:
    """A line a model, and what sets them apart."""
    pad = max(width(visible(one.model)) for one in run.probed)
    for one in run.probed:
        name = visible(one.model)
        ended = "broken off" if one.broken_off else "left out" if one.left_out else ""
        told = "; ".join(filter(None, (counted(one.results, look), ended)))
        yield f"  {name}{' ' * (pad - width(name))}  {told}\n"
    for apart in run.apart:
        names = ", ".join(apart.failing[:_LISTED]), ", ".join(apart.passing[:_LISTED])
        text = f"{apart.id} {apart.name}: broken by {names[0]}; kept by {names[1]}"
        yield from (f"{line}\n" for line in _wrapped(text, look, "  "))


def _results(probed: Probed, look: Look) -> Iterator[str]:
    told: tuple[Word, ...] = ("fail", "inconclusive") if look.quiet else ("fail", "inconclusive", "warn")
    for word in (*told, "pass", "skip") if look.verbose else told:
        for result in words.ranked(probed.results, word):
            yield "\n"
            yield from _result(result, probed, look)
    if not look.quiet and probed.results:
        yield f"\n{counted(probed.results, look)}{_more(probed, look)}\n"


def counted(results: Sequence[Result], look: Look) -> str:
    """How many ended with each verdict."""
    return " · ".join(look.paint(f"{count} {words.TOLD[word]}", _STYLES[word]) for word, count in words.counts(results))


def style(word: Word) -> Style:
    """In which a verdict is shown."""
    return _STYLES[word]


def _more(probed: Probed, look: Look) -> str:
    quiet = {"pass", "skip"} & {result.verdict.word for result in probed.results}
    return " (-v lists them, with what was sent and what came)" if quiet and not look.verbose else ""


# -------------------------------------------------------------------------------------------------- a result


def _result(result: Result, probed: Probed, look: Look) -> Iterator[str]:
    verdict = result.verdict
    label = look.paint(f"{verdict.word}[{result.id}]", _STYLES[verdict.word])
    yield f"{label} {result.name}: {look.paint(visible(verdict.message), 'bold')}\n"
    broken = verdict.word == "fail"
    if broken or look.verbose:
        yield from _labelled("clause", result.clause, look)
    yield from _evidence(verdict.evidence, look)
    if look.verbose:
        yield from _raw(result.exchanges, look)
        if broken and result.exchanges:
            yield from _again(result.exchanges[-1].asked, probed, look)
    elif result.exchanges and verdict.word in {"fail", "inconclusive", "warn"}:
        yield from _short(result.exchanges[-1], look)
    if broken and (why := words.why(result)):
        yield from _labelled("why", why, look)
    if verdict.help:
        yield from _labelled("help", verdict.help, look, "cyan")


def _evidence(lines: Sequence[str], look: Look) -> Iterator[str]:
    most = _MANY if look.verbose else _FEW
    for line in lines[:most]:
        for part in line.splitlines() or [""]:
            yield f"{_INDENT}{look.paint('|', 'blue')} {visible(exchanges.within(part, _RAW))}\n"
    if len(lines) > most:
        yield f"{_INDENT}{look.paint('|', 'blue')} … {summary.counted(len(lines) - most, 'more line')}\n"


def _short(exchange: Exchange, look: Look) -> Iterator[str]:
    room = max(look.columns - len(_INDENT) - len("sent: "), 20)
    told = {"sent": exchanges.sent(exchange.asked, _SHORT * room), "came": exchanges.came(exchange, _SHORT * room)}
    for label, text in told.items():
        whole = visible(text)
        lines = [whole[at : at + room] for at in range(0, len(whole), room)] or [""]
        yield f"{_INDENT}{look.paint(f'{label}:', 'blue')} {lines[0]}\n"
        yield from (f"{_INDENT}      {line}\n" for line in lines[1:])


def _raw(all_of_them: Sequence[Exchange], look: Look) -> Iterator[str]:
    for exchange in all_of_them[-_EXCHANGES:]:
        for label, text in (
            ("sent", exchanges.request(exchange.asked, _RAW)),
            ("came", exchanges.response(exchange, _RAW)),
        ):
            first, *rest = visible_block(text).rstrip("\n").split("\n")
            yield f"{_INDENT}{look.paint(f'{label}:', 'blue')} {first}\n"
            yield from (f"{_INDENT}  {line}".rstrip() + "\n" for line in rest)
    if len(all_of_them) > _EXCHANGES:
        earlier = summary.counted(len(all_of_them) - _EXCHANGES, "earlier request")
        yield f"{_INDENT}… {earlier} (--output-format json has all)\n"


def _again(asked: Asked, probed: Probed, look: Look) -> Iterator[str]:
    """The request that decided it, to be sent by hand; one line, so that it can be copied."""
    if line := exchanges.command(probed.url, asked, _RAW, keyed=probed.keyed):
        yield f"{_INDENT}{look.paint('curl:', 'blue')} {line}\n"


def _labelled(label: str, text: str, look: Look, style: Style = "blue", indent: str = _INDENT) -> Iterator[str]:
    first, *rest = _wrapped(text, look, indent, len(label) + 2)
    yield f"{indent}{look.paint(f'{label}:', style)} {first.removeprefix(indent)}\n"
    yield from (f"{indent}{' ' * (len(label) + 2)}{line.removeprefix(indent)}\n" for line in rest)


def _wrapped(text: str, look: Look, indent: str, taken: int = 0) -> list[str]:
    return [f"{indent}{line}" for line in wrapped(visible(text), look.columns - len(indent) - taken)]
