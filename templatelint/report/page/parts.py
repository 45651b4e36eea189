"""What both pages are made of, as their templates are given it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from templatelint.report.page import scores

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from templatelint.model import NotRun
    from templatelint.outcomes import Subject
    from templatelint.report.page.prompts import Exhibition
    from templatelint.report.page.scores import Cell, Kind

_PAGE = 780_000  # bytes, of which what is no prompt leaves the rest to the prompts
_CELL = 400  # bytes that a cell takes, with its share of predictions and of the commands beside them
_LEAST = 60_000
_TEXT = 400  # characters of a line
_REASONS = 20


@dataclass(frozen=True)
class Page:
    """What the sections of a page share.

    Attributes:
        names: reference → the name that the page calls it by.
        subjects: what clients rely on.
        exhibition: the prompts.
        replay: flags that a command needs to show a cell again.
    """

    names: Mapping[str, str]
    subjects: Sequence[Subject]
    exhibition: Exhibition
    replay: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """The needs in their order."""
        return tuple(dict.fromkeys(subject.need for subject in self.subjects))

    @property
    def needs(self) -> frozenset[str]:
        """The needs that these belong to."""
        return frozenset(self.columns)


@dataclass(frozen=True, slots=True)
class Group:
    """A model's rows of the matrix.

    Attributes:
        letter: `A` or `B`; empty where nothing is compared.
        target: the id of what the page says of the model.
        rows: an engine, and a cell for each need.
    """

    letter: str
    name: str
    target: str
    rows: Sequence[tuple[str, Sequence[Cell]]]


@dataclass(frozen=True, slots=True)
class Row:
    """One thing, engine by engine; `says` is what there is to say of it in clauses."""

    name: str
    cells: Sequence[Cell]
    says: Sequence[str] = field(default=())


def legend(*kinds: Kind) -> list[tuple[Kind, str]]:
    """The kinds of cells, with their words."""
    return [(kind, scores.WORDS[kind]) for kind in kinds]


def reasons(rows: Iterable[NotRun]) -> list[tuple[str, list[str]]]:
    """Why something did not run, and what."""
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row.why, []).append(row.ref)
    return [(cut(why), names) for why, names in list(found.items())[:_REASONS]]


def clipped(lines: Iterable[str], most: int) -> list[str]:
    """The first lines, and how many there are besides."""
    told = list(lines)
    rest = len(told) - most
    return [cut(text) for text in told[:most]] + ([f"… {rest:,} more"] if rest > 0 else [])


def cut(text: str, room: int = _TEXT) -> str:
    """The text, or its beginning with the count of what is left out."""
    return text if len(text) <= room else f"{text[:room]}… ({len(text) - room:,} more characters)"


def room(cells: Iterable[int]) -> int:
    """How many bytes of prompts there is room for beside rows of so many cells."""
    return max(_PAGE - _CELL * sum(cells), _LEAST)
