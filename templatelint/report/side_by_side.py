"""Pairs of prompts → both beside each other, message by message, with roles in a margin and differences pointed out."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, TypeAlias

from templatelint.alignment import Run, aligned, runs
from templatelint.report.terminal import visible, width, wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from templatelint.alignment import Row
    from templatelint.exhibits import Pair
    from templatelint.report import Setting
    from templatelint.report.terminal import Paint

_BESIDE = 100  # columns from which on two prompts have room beside each other
_MARGIN = 12  # columns of the sign and the role
_BETWEEN = " │ "
_LINES = {True: 5, False: 16}  # how many lines of a text are shown that is alike in both, that is not
_WORD = 16  # columns that are left empty at most, so that no word is cut
_ROWS = 200  # messages
_BREAK = "↵"
_DIFFERS, _ONLY_A, _ONLY_B, _MOVED = "≠", "-", "+", "↕"

# a piece of a line, and whether it differs
_Piece: TypeAlias = "tuple[str, bool]"
_Line: TypeAlias = "list[_Piece]"


def write(pairs: Iterable[Pair], setting: Setting) -> Iterator[str]:
    """Each pair beside each other, below each other where there is no room, and an empty line behind it.

    Long texts are cut in the middle unless the setting is verbose.

    Args:
        pairs: what to show.
        setting: how the reader wants it told; its `columns` decide on the form.
    """
    for pair in pairs:
        yield from _pair(pair, setting)
        yield "\n"


def _pair(pair: Pair, setting: Setting) -> Iterator[str]:
    paint = setting.paint
    engines = dict.fromkeys((pair.a.engine, pair.b.engine))
    yield f"{paint(visible(pair.case.id), 'bold')} on {', '.join(map(visible, engines))}\n"
    form = _Beside(setting) if setting.columns >= _BESIDE else _Below(setting)
    yield from form.heads(pair)
    for letter, side in zip("AB", (pair.a, pair.b), strict=True):
        if side.prompt is None:
            for line in wrapped(visible(f"{letter} has no prompt: {side.said}"), setting.columns - 2):
                yield f"  {paint(line, 'red')}\n"
    if pair.a.prompt is not None and pair.a.prompt == pair.b.prompt:
        yield "  both prompts are the same\n"
    if pair.a.prompt is None and pair.b.prompt is None:
        return
    single = pair.a.prompt is None or pair.b.prompt is None
    rows = aligned(pair.a.prompt or "", pair.b.prompt or "", pair.case)
    before: str | None = ""
    left_out = 0 if setting.verbose else max(0, len(rows) - _ROWS)
    for at, row in enumerate(rows):
        if left_out and at == _ROWS // 2:
            yield f"  {paint(f'… {left_out:,} messages', 'dim')}\n"
        if left_out and _ROWS // 2 <= at < _ROWS // 2 + left_out:
            continue
        a, b = runs(row)
        if single:
            a, b = _plain(a), _plain(b)
        role = row.role or "·"
        yield from form.row("" if role == before else role, "" if single else _sign(row), a, b)
        before = role


def _plain(told: Sequence[Run]) -> tuple[Run, ...]:
    """Runs that have nothing to differ from."""
    return tuple(Run(run.role, run.mark, run.text, differs=False) for run in told)


def _sign(row: Row) -> str:
    if row.moved:
        return _MOVED
    if not row.a or not row.b:
        return _ONLY_A if row.a else _ONLY_B
    return "" if row.same else _DIFFERS


class _Beside:
    """Two columns."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.room = (setting.columns - _MARGIN - len(_BETWEEN)) // 2

    def heads(self, pair: Pair) -> Iterator[str]:
        """What stands in which column."""
        paint = self.setting.paint
        heads = [
            _cut_end(visible(f"{letter}  {side.ref}"), self.room) for letter, side in zip("AB", pair[1:], strict=True)
        ]
        gap = " " * (self.room - width(heads[0]))
        yield f"{' ' * _MARGIN}{paint(heads[0], 'cyan')}{gap}{_BETWEEN}{paint(heads[1], 'cyan')}\n"

    def row(self, role: str, sign: str, a: Sequence[Run], b: Sequence[Run]) -> Iterator[str]:
        """The lines of a message."""
        paint = self.setting.paint
        sides = (_lines(side, self.room, self.setting, whole=not sign) for side in (a, b))
        name = role
        for left, right in zip_longest(*sides, fillvalue=[]):
            gap = " " * (self.room - sum(width(text) for text, _ in left))
            line = f"{_painted(left, paint)}{gap}{_BETWEEN}{_painted(right, paint)}"
            yield f"{_margin(_line_sign(sign, left, right), name, paint)}{line}".rstrip() + "\n"
            name = ""


class _Below:
    """One column: what is alike once, and else A's lines before B's."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.room = max(setting.columns - _MARGIN - 2, 20)

    def heads(self, pair: Pair) -> Iterator[str]:
        """What the letters stand for."""
        for letter, side in zip("AB", pair[1:], strict=True):
            head = _cut_end(visible(f"{letter}  {side.ref}"), self.setting.columns - 2)
            yield f"  {self.setting.paint(head, 'cyan')}\n"

    def row(self, role: str, sign: str, a: Sequence[Run], b: Sequence[Run]) -> Iterator[str]:
        """The lines of a message."""
        paint, name = self.setting.paint, role
        alike = [("  ", a)] if a and b and not sign else []
        for letter, side in alike or [("A ", a), ("B ", b)]:
            for line in _lines(side, self.room, self.setting, whole=not sign):
                text = f"{paint(letter, 'cyan') if letter.strip() else letter}{_painted(line, paint)}"
                yield f"{_margin(_line_sign(sign, line, []), name, paint)}{text}".rstrip() + "\n"
                name = ""


def _line_sign(sign: str, left: _Line, right: _Line) -> str:
    """The sign of a message, at those of its lines that show what it says."""
    if sign != _DIFFERS:
        return sign
    return sign if any(differs for _, differs in (*left, *right)) else ""


def _margin(sign: str, role: str, paint: Paint) -> str:
    name = _cut_end(visible(role), _MARGIN - 3)
    gap = " " * (_MARGIN - 2 - width(name))
    return f"{paint(sign, 'yellow') if sign else ' '} {paint(name, 'blue')}{gap}"


def _painted(line: _Line, paint: Paint) -> str:
    return "".join(paint(text, "yellow") if differs else text for text, differs in line)


# ---------------------------------------------------------------------------------------------- lines of a text


def _lines(told: Sequence[Run], room: int, setting: Setting, *, whole: bool) -> list[_Line]:
    """The runs in lines of that many columns; the middle left out where there are many.

    Args:
        told: the runs.
        room: columns.
        setting: a verbose one shows all lines.
        whole: both sides of the message are alike.
    """
    most = None if setting.verbose else _LINES[whole]
    lines: list[_Line] = [[]]
    used = 0
    for run in told:
        for piece, ends in _pieces(run.text, None if most is None else most * room):
            for part in _folded(piece, room, used):
                if part is None:
                    lines.append([])
                    used = 0
                    continue
                lines[-1].append((part, run.differs))
                used += width(part)
            if ends:
                lines.append([])
                used = 0
    lines = lines if lines[-1] else lines[:-1]
    if most is None or len(lines) <= most:
        return lines
    head = most // 2
    tail = most - head - 1
    left_out = lines[head : len(lines) - tail]
    differs = any(differing for line in left_out for _, differing in line)
    return [*lines[:head], [(f"… {len(left_out)} lines", differs)], *lines[len(lines) - tail :]]


def _pieces(text: str, most: int | None) -> Iterator[tuple[str, bool]]:
    """A text line by line, made visible, and whether it ends there; of more than twice so many characters the ends."""
    if most is not None and len(text) > 2 * most:
        text = f"{text[:most]}… {len(text) - 2 * most:,} characters …{text[-most:]}"
    *ended, last = text.split("\n")
    for line in ended:
        yield visible(line) + _BREAK, True
    yield visible(last), False


def _folded(text: str, room: int, used: int) -> Iterator[str | None]:
    """The text in parts that have room in a line; None where a new line begins."""
    if text.removesuffix(_BREAK).isascii():
        while text:
            if used >= room:
                yield None
                used = 0
            free = room - used
            if len(text) > free:  # between words, where one ends near
                free = text.rfind(" ", max(0, free - _WORD), free) + 1 or free
            yield text[:free]
            used = room
            text = text[free:]
        return
    part = ""
    for character in text:
        columns = width(character)
        if used + columns > room and (part or used):
            yield part
            yield None
            part, used = "", 0
        part += character
        used += columns
    yield part


def _cut_end(text: str, room: int) -> str:
    """As much of its beginning as has room."""
    if width(text) <= room:
        return text
    while text and width(text) > room - 1:
        text = text[:-1]
    return text + "…"
