"""What became of a model → a page: the answer, a table of need × engine, launch lines, and the findings as lint's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint.report.page import linted
from templatelint.report.page.parts import cut

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.model import Report
    from templatelint.report import Setting
    from templatelint.report.page.scores import Kind
    from templatelint.vet import Vetted
    from templatelint.vet.verdicts import Word

_KINDS: Mapping[Word, Kind] = {"works": "works", "degraded": "degrades", "broken": "breaks", "unknown": "unknown"}


@dataclass(frozen=True, slots=True)
class _Cell:
    """A verdict: the kind that it is painted as, its word, the rules that the page tells of, and why it is unknown."""

    kind: Kind
    word: Word
    because: Sequence[str]
    why: str

    def __iter__(self) -> Iterator[object]:
        return iter((self.kind, self.word, self.because, self.why))


def write(vetted: Vetted, report: Report, setting: Setting) -> Iterator[str]:
    """The page in pieces.

    Args:
        vetted: what became of the model.
        report: its report, what is accepted set apart.
        setting: how the reader wants it told.
    """
    told = {finding.rule for finding in report.findings}
    rows: dict[str, tuple[str, bool, list[_Cell]]] = {}
    for one in vetted.verdicts:
        because = [rule for rule in one.because if rule in told]
        _, _, cells = rows.setdefault(one.need, (one.need, one.asked, []))
        cells.append(_Cell(_KINDS[one.verdict], one.verdict, because, cut(one.why)))
    yield from linted.write(
        report,
        setting,
        "vetted",
        answer=cut(setting.answer),
        engines_of=list(dict.fromkeys(one.engine for one in vetted.verdicts)),
        needs=[*rows.values()],
        launch=[(engine, one.line, (*one.remarks, *one.aside)) for engine, one in vetted.launches.items()],
        cures=[*vetted.cures],
    )
