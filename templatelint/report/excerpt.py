"""Finding → its line of the template in three parts, the construct in the middle, cut to a width."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from templatelint.report.terminal import visible, width

if TYPE_CHECKING:
    from templatelint.model import Finding

_TAB = "    "


class Excerpt(NamedTuple):
    """What stands before the construct, the construct as far as it is in that line, and what follows; all visible."""

    before: str
    marked: str
    after: str


def excerpt(finding: Finding, room: int) -> Excerpt | None:
    """The line within so many columns, cut around the construct; None where the finding has no line to show."""
    if finding.span is None or not finding.excerpt.strip():
        return None
    line = finding.excerpt
    start = min((finding.excerpt_column or finding.place.column) - 1, len(line))
    end = min(start + max(1, finding.span[1] - finding.span[0]), max(len(line), start + 1))
    return _clip_around(_shown(line[:start]), _shown(line[start:end]), _shown(line[end:]), room)


def _shown(text: str) -> str:
    return visible(text.replace("\t", _TAB))


def _clip_around(before: str, marked: str, after: str, room: int) -> Excerpt:
    """The three parts cut to `room` columns: the mark stays longest, with a little of what led to it."""
    if width(before) + width(marked) + width(after) <= room:
        return Excerpt(before, marked, after)
    marked = clip_end(marked, room - 2)
    left = room - width(marked)
    lead = min(width(before), max(left - width(after), left // 2))
    before = _clip_start(before, lead)
    return Excerpt(before, marked, clip_end(after, left - width(before)))


def clip_end(text: str, room: int) -> str:
    """The text within so many columns, cut at its end."""
    if width(text) <= room:
        return text
    while text and width(text) > room - 1:
        text = text[: room - 1] if len(text) > room else text[:-1]
    return text + "…" if room > 0 else ""


def _clip_start(text: str, room: int) -> str:
    if width(text) <= room:
        return text
    while text and width(text) > room - 1:
        text = text[1 - room :] if room > 1 and len(text) > room else text[1:]
    return "…" + text if room > 0 else ""
