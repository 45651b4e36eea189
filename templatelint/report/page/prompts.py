"""Prompts of a case, alone or in pairs → what a page shows of them: by message, in pieces, cut to a size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from markupsafe import escape

from templatelint import alignment
from templatelint.report.terminal import visible_block
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from templatelint.inspection import Inspection
    from templatelint.model import Case

_WHOLE = 65_536  # characters of a prompt that are looked at
_MESSAGES = 60  # that are shown of one prompt
_ALIKE = 200  # characters of a text that both prompts have
_ERROR = 1_200  # characters of what an engine or a template says
# characters of a prompt, from the most that is shown to the least
_ROOMS = (6_000, 4_000, 2_500, 1_600, 1_000, 600, 300, 120)
_ROW, _PIECE = 150, 22  # bytes of markup
# what has a colour of its own
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "call", "tools", "reasoning", "cue"})
# what the role of a stretch is called
_NAMES = {"call": "tool call", "tool": "tool result", "tools": "tools", "reasoning": "thoughts"}


@dataclass(frozen=True, slots=True)
class Seen:
    """What one engine made of a case.

    Attributes:
        prompt: None where there is none.
        said: why there is none.
    """

    ref: str
    engine: str
    case: Case
    prompt: str | None
    said: str = ""


def seen(ref: str, inspection: Inspection, engine: str, case_id: str) -> Seen | None:
    """The cell, None where it is none of the corpus (a request of the user's own) or was not tried."""
    view = inspection.views[engine]
    case = view.matrix.cases.get(case_id)
    if case is None:
        return None
    if view.load_error is not None:
        return Seen(ref, engine, case, None, view.load_error.message)
    try:
        cell = view.plain(case_id)
    except NoText as missing:
        return Seen(ref, engine, case, None, missing.why)
    said = cell.error.message if cell.error is not None else ""
    return Seen(ref, engine, case, cell.prompt, said)


@dataclass(frozen=True, slots=True)
class Piece:
    """Some characters of a prompt.

    Attributes:
        own: they are the template's own, no text of the case.
        differs: the other prompt has others.
        left_out: how many are left out here; `text` is empty then.
    """

    text: str
    own: bool = False
    differs: bool = False
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A message: what A's prompt has of it, and B's; `both` where that is the same, or there is one prompt only.

    Attributes:
        role: a word for the style sheet.
        name: what it is called.
        moved: the other prompt has it at another place.
    """

    role: str
    name: str
    moved: bool = False
    both: tuple[Piece, ...] = ()
    a: tuple[Piece, ...] = ()
    b: tuple[Piece, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """What the page shows of a prompt or a pair.

    Attributes:
        rows: the messages.
        more: how many rows are left out behind these.
        cut: how many characters of each prompt nobody looked at.
        said_a: what is said where A has no prompt.
        said_b: the same of B.
    """

    rows: tuple[Row, ...]
    more: int = 0
    cut: int = 0
    said_a: str = ""
    said_b: str = ""

    @property
    def size(self) -> int:
        """About how many bytes of the page this takes."""
        told = sum(len(str(escape(text)).encode("utf-8", "replace")) for text in (self.said_a, self.said_b))
        for row in self.rows:
            told += _ROW
            for piece in (*row.both, *row.a, *row.b):
                told += _PIECE + len(str(escape(piece.text)).encode("utf-8", "replace"))
        return told


@dataclass
class Exhibit:
    """A pair of prompts, or one, with a place on the page.

    Attributes:
        id: where it stands.
        a: one of the cells that show it.
        b: B's; None where there is one model only.
        engines: those that agree on it.
        needed: it is shown before others, which are as long as there is room.
        shown: what is shown; None where there was no room.
    """

    id: str
    a: Seen
    b: Seen | None
    engines: list[str]
    needed: bool
    shown: Shown | None = None
    placed: bool = False

    @property
    def case(self) -> Case:
        """What the prompts were made of."""
        return self.a.case

    @property
    def paired(self) -> bool:
        """Whether there are two prompts."""
        return self.b is not None and self.b.prompt is not None and self.a.prompt is not None


class Exhibition:
    """The prompts of a page, each pair once."""

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], Exhibit] = {}

    def add(self, prefix: str, a: Seen, b: Seen | None, *, needed: bool = True) -> Exhibit:
        """The exhibit of a pair; one that another engine has too is the same.

        Args:
            prefix: of the ids, one for each model or comparison.
            a: what A's engine made of the case.
            b: what B's made of it.
            needed: whether it is shown in any case.
        """
        other = (b.case.id, b.prompt, b.said) if b is not None else ()
        key = (prefix, a.case.id, a.prompt, a.said, *other)
        found = self._found.get(key)
        if found is None:
            found = Exhibit(f"{prefix}-x{len(self._found)}", a, b, [], needed)
            self._found[key] = found
        found.needed = found.needed or needed
        engine = (b or a).engine
        if engine not in found.engines:
            found.engines.append(engine)
        return found

    def hang(self, budget: int) -> None:
        """Decide what is shown of each, so that all of it takes no more than about `budget` bytes."""
        rows = {one.id: _rows(one) for one in self._found.values()}
        needed = [one for one in self._found.values() if one.needed]
        room, sizes = _ROOMS[-1], [0]
        for room in _ROOMS:
            for one in needed:
                one.shown = _shown(one, rows[one.id], room)
            sizes = [one.shown.size for one in needed if one.shown is not None]
            if sum(sizes) <= budget:
                break
        left = budget - sum(sizes)
        for one, size in zip(reversed(needed), reversed(sizes), strict=True):
            if left >= 0:
                break
            one.shown = None  # the command beside it shows it
            left += size
        for one in self._found.values():
            if not one.needed:
                told = _shown(one, rows[one.id], room)
                if told.size <= left:
                    one.shown = told
                    left -= told.size


_Runs: TypeAlias = "tuple[tuple[alignment.Run, ...], tuple[alignment.Run, ...]]"
_Aligned: TypeAlias = "Sequence[tuple[alignment.Row, _Runs]]"


def _rows(one: Exhibit) -> _Aligned:
    prompt_a = (one.a.prompt or "")[:_WHOLE]
    prompt_b = (one.b.prompt or "")[:_WHOLE] if one.b is not None else prompt_a
    if not one.paired:  # what there is beside itself
        prompt_a = prompt_b = prompt_a or prompt_b
    return [(row, alignment.runs(row)) for row in alignment.aligned(prompt_a, prompt_b, one.case)]


def _shown(one: Exhibit, rows: _Aligned, room: int) -> Shown:
    """The rows with at most about `room` characters of each prompt."""
    told: list[Row] = []
    left = room
    for row, runs in rows:
        if left <= 0 or len(told) == _MESSAGES:
            break
        shown = _row(one, row, runs, min(left, max(room // 3, 40)))
        told.append(shown)
        left -= max(_length((*shown.both, *shown.a)), _length((*shown.both, *shown.b)))
    cut = max(
        len(side.prompt) - _WHOLE if side is not None and side.prompt is not None else 0 for side in (one.a, one.b)
    )
    return Shown(
        tuple(told),
        len(rows) - len(told),
        max(cut, 0),
        _said(one.a),
        _said(one.b) if one.b is not None else "",
    )


def _said(side: Seen) -> str:
    if side.prompt is not None:
        return ""
    said = visible_block(side.said) or "no prompt"
    return said if len(said) <= _ERROR else f"{said[:_ERROR]}… ({len(said) - _ERROR:,} more characters)"


def _length(pieces: Iterable[Piece]) -> int:
    return sum(len(piece.text) for piece in pieces)


def _row(one: Exhibit, row: alignment.Row, runs: _Runs, room: int) -> Row:
    cue = row.message == alignment.CUE
    named = "cue" if cue else row.role or "template"
    role, name = named if named in _ROLES else "other", _NAMES.get(named, named)
    a, b = runs
    if not row.same:
        return Row(role, name, row.moved, a=_all(a, room), b=_all(b, room))
    if one.b is None:
        return Row(role, name, both=_all(a, room))
    if one.b.prompt is None:
        return Row(role, name, a=_all(a, min(room, 2 * _ALIKE)))
    if one.a.prompt is None:
        return Row(role, name, b=_all(b, min(room, 2 * _ALIKE)))
    return Row(role, name, both=_all(a, min(room, _ALIKE)))


def _all(runs: Iterable[alignment.Run], room: int) -> tuple[Piece, ...]:
    return tuple(piece for run in runs for piece in _pieces(run, room if run.differs else min(room, 2 * _ALIKE)))


def _pieces(run: alignment.Run, room: int) -> Iterator[Piece]:
    """The run, the middle of a long one left out."""
    own = not run.mark
    text = visible_block(_signed(run.text) if run.differs else run.text)
    if len(text) <= room + room // 4:
        yield Piece(text, own, run.differs)
        return
    head, tail = room * 2 // 3, room // 3
    yield Piece(text[:head], own, run.differs)
    yield Piece("", left_out=len(text) - head - tail)
    yield Piece(text[len(text) - tail :], own, run.differs)


def _signed(text: str) -> str:
    """Text that differs, with the white space to be seen that it begins and ends with."""
    inside = text.strip()
    if not inside:
        return text.replace(" ", "·").replace("\n", "↵\n")
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    return before.replace("\n", "↵\n") + inside + after.replace("\n", "↵\n")
