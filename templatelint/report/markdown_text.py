"""Text of any origin → Markdown in which it is nothing but text: no markup, no link, no notice to anybody."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.report.terminal import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

ROOM = 60_000
"""Characters: GitHub takes comments of 65,536, entities and all."""
_TEXT = 600  # characters of a text
# What Markdown or HTML could take for markup. As entities, they are text whatever stands around them.
_MARKUP = re.compile(r"[\\`*_{}\[\]<>#|~&$]")
# What becomes a link or a notice to somebody all the same: a space of no width keeps it apart.
_NOTICE = re.compile(r"@(?=\w)|(?:&#35;|\bGH-)(?=\d)|:(?=//)|\bwww(?=\.)", re.IGNORECASE)
_BACKTICKS = re.compile("`+")


def prose(text: str, room: int = _TEXT) -> str:
    """One line of text as it is, except that what our messages put between backticks is code."""
    parts = visible(cut(text, room)).split("`")
    if len(parts) % 2 == 0:  # one is open: it is no mark of ours
        return inert("`".join(parts))
    return "".join(f"<code>{inert(part)}</code>" if at % 2 else inert(part) for at, part in enumerate(parts))


def inert(text: str) -> str:
    """Text that is no markup, and neither calls nor links to anything."""
    escaped = _MARKUP.sub(lambda found: f"&#{ord(found[0])};", text)
    return _NOTICE.sub(lambda found: f"{found[0]}&#8203;", escaped)


def code(text: str, room: int = _TEXT) -> str:
    """A span of code that can be copied; outside tables."""
    text = visible(cut(text, room))
    fence = "`" * (max((len(found[0]) for found in _BACKTICKS.finditer(text)), default=0) + 1)
    pad = " " if text.startswith(("`", " ")) or text.endswith(("`", " ")) else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def cut(text: str, room: int = _TEXT) -> str:
    """The text, or its beginning."""
    return text if len(text) <= room else f"{text[:room]}…"


def folded(summary: str, lines: Iterable[str]) -> Iterator[str]:
    """Lines behind a summary that unfolds them."""
    yield f"<details><summary>{summary}</summary>\n\n"
    yield from lines
    yield "\n</details>\n"


def fitting(items: Sequence[str], room: int) -> Iterator[str]:
    """As many of the items as there is room for, and how many there are besides."""
    for number, item in enumerate(items):
        room -= len(item)
        if room < 0:
            yield f"- … and {len(items) - number} more: there is no room here\n"
            return
        yield item
