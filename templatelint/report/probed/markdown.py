"""What probing gave → Markdown for a comment or a job's summary: the answer, a table, an item a broken clause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.probe.verdict import WORDS
from templatelint.report.markdown_text import ROOM, code, fitting, folded, inert, prose
from templatelint.report.probed import exchanges, words
from templatelint.report.summary import counted
from templatelint.report.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.probe import Probed
    from templatelint.probe.verdict import Result, Word
    from templatelint.report.probed import Look, Run

_LINE = 400  # characters of a request or an answer
_COMMAND = 1_500  # characters of a request as a line of a shell
_MODELS = 50  # that the table names
_SHARE = 12_000  # characters of what is folded away
_TOLD: tuple[Word, ...] = ("fail", "inconclusive", "warn")


def write(run: Run, look: Look) -> Iterator[str]:
    """The text; what was kept or skipped is folded away."""
    head = f"### templatelint probe: {prose(words.answer(run))}\n\n" + "".join(_head(run))
    foot = "" if look.quiet else "".join(_kept(run))
    yield head
    items = [
        _item(result, probed, many=len(run.probed) > 1)
        for word in _TOLD
        for probed in run.probed
        for result in words.ranked(probed.results, word)
    ]
    if items:
        yield from fitting(items, ROOM - len(head) - len(foot))
        yield "\n"
    yield foot


def _head(run: Run) -> Iterator[str]:
    for remark in run.remarks:
        yield f"- **warning**: {prose(remark)}\n"
    if run.remarks:
        yield "\n"
    if not run.probed:
        return
    yield f"| model | {' | '.join(words.TOLD[word] for word in WORDS)} |\n|---|{'--:|' * len(WORDS)}\n"
    for one in run.probed[:_MODELS]:
        name = inert(visible(one.model)) or "-"
        yield f"| <code>{name}</code> | {' | '.join(str(one.summary[word] or '') for word in WORDS)} |\n"
    yield "\n"
    for apart in run.apart:
        yield (
            f"- {apart.id} {apart.name}: broken by {prose(', '.join(apart.failing))}; "
            f"kept by {prose(', '.join(apart.passing))}\n"
        )
    if run.apart:
        yield "\n"


def _item(result: Result, probed: Probed, *, many: bool) -> str:
    verdict = result.verdict
    whose = f" ({prose(probed.model)})" if many and probed.model else ""
    lines = [f"- **{verdict.word}** {result.id} {result.name}{whose}: {prose(verdict.message)}"]
    if verdict.word == "fail":
        lines.append(f"clause: {prose(result.clause)}")
    if result.exchanges:
        last = result.exchanges[-1]
        lines += [f"sent: {code(exchanges.sent(last.asked, _LINE))}", f"came: {code(exchanges.came(last, _LINE))}"]
        command = exchanges.command(probed.url, last.asked, _COMMAND, keyed=probed.keyed)
        if command and verdict.word == "fail":
            lines.append(f"curl: {code(command, _COMMAND)}")
    if verdict.word == "fail" and (why := words.why(result)):
        lines.append(f"why: {prose(why)}")
    if verdict.help:
        lines.append(f"help: {prose(verdict.help)}")
    return "<br>\n  ".join(lines) + "\n"


def _kept(run: Run) -> Iterator[str]:
    for word, title in (("pass", "kept"), ("skip", "skipped")):
        rows = [
            f"- {result.id} {result.name}: {prose(result.verdict.message)}\n"
            for probed in run.probed
            for result in probed.results
            if result.verdict.word == word
        ]
        if rows:
            yield from folded(f"{counted(len(rows), 'clause')} {title}", fitting(rows, _SHARE))
            yield "\n"
