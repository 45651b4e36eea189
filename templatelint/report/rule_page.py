"""Card → the page of its rule as formats show it: facts in a line, prose in blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Card

_FIXES = {
    "none": "fix: by hand",
    "sometimes": "fix: --fix cures it where the proof holds",
    "unsafe": "fix: --unsafe-fixes cures it where the proof holds",
}
_FENCE = "```"
_HEADING = "## "


class Block(NamedTuple):
    """A stretch of a card's prose; code keeps its newlines."""

    kind: Literal["heading", "paragraph", "code"]
    text: str


def facts(card: Card) -> str:
    """What a rule weighs, whether it has a fix, and beside what it is silent."""
    cured = "checked by templatelint probe" if card.command == "probe" else _FIXES[card.fix]
    told = [f"Impact: {card.impact} · need: {card.need}", cured, f"since {card.since}"]
    if card.subsumed_by:
        told.append(f"hidden where it follows from what {' or '.join(card.subsumed_by)} tells")
    return " · ".join(told)


def blocks(prose: str) -> Iterator[Block]:
    """The prose of a card in the order of its text."""
    lines: list[str] = []
    coded = False
    for line in [*prose.splitlines(), ""]:
        fence = line.startswith(_FENCE)
        if coded and not fence:
            lines.append(line)
            continue
        if coded:
            yield Block("code", "\n".join(lines))
        elif lines and (fence or not line or line.startswith(_HEADING)):
            yield Block("paragraph", " ".join(lines))
        elif line and not fence and not line.startswith(_HEADING):
            lines.append(line)
            continue
        coded = fence and not coded
        lines = []
        if line.startswith(_HEADING):
            yield Block("heading", line.removeprefix(_HEADING))


def section(prose: str, heading: str) -> str:
    """The paragraphs under that heading, an empty line between; empty where there is none."""
    found: list[str] = []
    inside = False
    for block in blocks(prose):
        if block.kind == "heading":
            inside = block.text == heading
        elif inside and block.kind == "paragraph":
            found.append(block.text)
    return "\n\n".join(found)
