"""What probing gave → one line a check that was not kept, `URL: verdict[TL901] name: message`, and the counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.report.probed import words
from templatelint.report.probed.page import counted, style
from templatelint.report.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.probe.verdict import Word
    from templatelint.report.probed import Look, Run


def write(run: Run, look: Look) -> Iterator[str]:
    """The lines."""
    yield f"{look.paint(visible(words.answer(run)), 'bold')}\n"
    for remark in run.remarks:
        yield f"{look.paint('warning:', 'yellow')} {visible(remark)}\n"
    told: tuple[Word, ...] = ("fail", "inconclusive", *(() if look.quiet else ("warn",)))
    for probed in run.probed:
        place = f"{probed.url}?model={probed.model}" if len(run.probed) > 1 else probed.url
        for word in (*told, "pass", "skip") if look.verbose else told:
            for result in words.ranked(probed.results, word):
                label = look.paint(f"{word}[{result.id}]", style(word))
                yield f"{visible(place)}: {label} {result.name}: {visible(result.verdict.message)}\n"
        if not look.quiet and probed.results:
            yield f"{counted(probed.results, look)}\n"
