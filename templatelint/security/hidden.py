"""Text → runs of characters in it that nobody sees, and what they say."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb"
)
_BIDI = "\u202a-\u202e\u2066-\u2069"
_SELECTORS = "\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"
_CONTROLS = "\x00-\x08\x0b\x0e-\x1f\x7f-\x9f"
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_SUSPECT = re.compile(f"[{_ZERO_WIDTH}{_BIDI}{_SELECTORS}{_TAGS}{_CONTROLS}{_PRIVATE}]+")
_KINDS = tuple(
    (kind, re.compile(f"[{characters}]"))
    for kind, characters in (
        ("tag", _TAGS),
        ("bidirectional", _BIDI),
        ("selector", _SELECTORS),
        ("zero-width", _ZERO_WIDTH),
        ("control", _CONTROLS),
        ("private-use", _PRIVATE),
    )
)
_NAMES = {
    "tag": "tag character",
    "bidirectional": "bidirectional override",
    "selector": "variation selector",
    "zero-width": "zero-width character",
    "control": "control character",
    "private-use": "private-use character",
}
_ENGLAND = "\U0001f3f4"  # the flag that tag characters make another flag of
_JOINERS = "\u200c\u200d"
_MARKS = "\u200e\u200f\u061c"
_LONGEST = 60
_REGION = 7  # tags of a flag: a region's code and the end


class Hidden(NamedTuple):
    """A run of characters that a reader does not see.

    Attributes:
        kind: `tag`, `bidirectional`, `selector`, `zero-width`, `control` or `private-use`.
        start: where it begins in the text.
        text: the run.
    """

    kind: str
    start: int
    text: str

    @property
    def told(self) -> str:
        """The run in words: how many of what, which, and what they spell."""
        points = list(dict.fromkeys(f"U+{ord(character):04X}" for character in self.text))
        listed = ", ".join(points[:3]) + (" …" if len(points) > 3 else "")  # noqa: PLR2004 (enough to search for)
        count = len(self.text)
        name = _NAMES[self.kind] + ("s" if count > 1 else "")
        spelt = self._spelt()
        return f"{count} {name} ({listed})" + (f" that spell {spelt!r}" if spelt else "")

    def _spelt(self) -> str:
        if self.kind == "tag":
            letters = (chr(ord(character) - 0xE0000) for character in self.text)
            return _readable("".join(letters))
        if self.kind == "selector":
            return _readable(bytes(map(_byte, self.text)).decode("utf-8", "replace"))
        return ""


def _byte(selector: str) -> int:
    point = ord(selector)
    if point >= 0xE0100:  # noqa: PLR2004 (the supplement)
        return (point - 0xE0100 + 16) & 0xFF
    return (point - 0xFE00) & 0xFF


def _readable(text: str) -> str:
    """The text where most of it can be read; else nothing."""
    seen = "".join(character if character.isprintable() else " " for character in text).strip()
    letters = sum(character.isalnum() for character in seen)
    if len(seen) < 2 or letters * 2 < len(text) or "\ufffd" in seen:  # noqa: PLR2004 (one letter spells nothing)
        return ""
    return seen if len(seen) <= _LONGEST else seen[:_LONGEST] + "…"


def runs(text: str) -> Iterator[Hidden]:
    """Those that no script and no emoji needs, in order."""
    if text.isascii() and text.isprintable():
        return
    for found in _SUSPECT.finditer(text):
        run = found[0]
        kinds = {kind for kind, characters in _KINDS if characters.search(run)}
        before = text[found.start() - 1 : found.start()]
        after = text[found.end() : found.end() + 1]
        if not _needed(run, kinds, before, after):
            first = next(kind for kind, _ in _KINDS if kind in kinds)
            yield Hidden(first, found.start(), run)


def _needed(run: str, kinds: set[str], before: str, after: str) -> bool:
    """Whether the run does what Unicode has its characters for."""
    if kinds == {"tag"}:
        return before == _ENGLAND and run.endswith("\U000e007f") and len(run) <= _REGION
    if len(run) == 1:
        return _needed_alone(run, kinds, before, after)
    # a selector behind what it selects a form of, then a joiner to the next emoji
    return run in ("\ufe0e\u200d", "\ufe0f\u200d") and _selectable(before) and _joined(after)


def _needed_alone(character: str, kinds: set[str], before: str, after: str) -> bool:
    if character == "\u00ad":
        return before.isalpha() and after.isalpha()
    if character in _MARKS:
        return _leftward(before) or _leftward(after)
    if "selector" in kinds:
        return _selectable(before)
    return character in _JOINERS and _joined(before) and (_joined(after) or character == "\u200c")


def _leftward(character: str) -> bool:
    return bool(character) and unicodedata.bidirectional(character) in ("R", "AL", "AN")


def _selectable(character: str) -> bool:
    """Symbols, digits of keycaps, ideographs and letters of the scripts that have variants."""
    return bool(character) and (character in "#*0123456789" or ord(character) > 0xA8) and not character.isspace()  # noqa: PLR2004


def _joined(character: str) -> bool:
    """Emoji and letters of scripts that join."""
    return bool(character) and ord(character) >= 0x590 and not character.isspace()  # noqa: PLR2004 (Hebrew and on)
