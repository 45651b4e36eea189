"""Text → runs of characters in it that nobody sees, what they say, and markers in look-alike letters."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_ZERO_WIDTH = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
    "\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0080-\U000e00ff\U000e01f0-\U000e0fff"
)
_BIDI = "\u202a-\u202e\u2066-\u2069"
_SELECTORS = "\u180b-\u180d\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS = "\U000e0000-\U000e007f"
_CONTROLS = "\x00-\x08\x0b\x0e-\x1f\x7f-\x9f"
_PRIVATE = "\ue000-\uf8ff\U000f0000-\U000ffffd\U00100000-\U0010fffd"
_BLANKS = "\u2028\u2029\u2800"
_NONE = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\U000ffffe\U000fffff\U0010fffe\U0010ffff"
_SUSPECT = re.compile(f"[{_ZERO_WIDTH}{_BIDI}{_SELECTORS}{_TAGS}{_CONTROLS}{_PRIVATE}{_BLANKS}{_NONE}]+")
_KINDS = tuple(
    (kind, re.compile(f"[{characters}]"))
    for kind, characters in (
        ("tag", _TAGS),
        ("bidirectional", _BIDI),
        ("selector", _SELECTORS),
        ("zero-width", _ZERO_WIDTH),
        ("control", _CONTROLS),
        ("blank", _BLANKS),
        ("none", _NONE),
        ("private-use", _PRIVATE),
    )
)
_NAMES = {
    "tag": "tag character",
    "bidirectional": "bidirectional override",
    "selector": "variation selector",
    "zero-width": "zero-width character",
    "control": "control character",
    "blank": "blank character",
    "none": "code point without a character",
    "private-use": "private-use character",
}
# The flags that are shown: of the United Kingdom's parts (Unicode's emoji sequences), and of American states.
_FLAG = re.compile("gb(?:eng|sct|wls|nir)|us[a-z]{2}")
_BLACK_FLAG = "\U0001f3f4"
_CANCEL = "\U000e007f"
_JOINERS = "\u200c\u200d"
_MARKS = "\u200e\u200f\u061c"
_SOFT = "\u00ad"
# three of a kind with one character between them carry bits, whatever stands around them
_BITS = re.compile(
    f"[{_JOINERS}{_MARKS}{_SOFT}\u200b](?:[^\\s\u2190-\u2bff\U0001f000-\U0001faff\ufe0f][{_JOINERS}{_MARKS}{_SOFT}\u200b]){{2,}}"
)
_LONGEST = 60
_LEFTWARD = ("R", "AL", "AN")
_SURROGATES = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_UNSPACED = re.compile("[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u1a20-\u1aaf\ua980-\ua9df\uaa60-\uaa7f]")
_MONGOLIAN = re.compile("[\u1820-\u18aa]")
# Arabic and its kin, which join; India's, Sri Lanka's, Tibet's, Burma's and Cambodia's, which stack
_JOINING = re.compile("[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18aa\ufb50-\ufdff\ufe70-\ufefe]")
_EMOJI = re.compile("[\u00a9\u00ae\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]")
_IDEOGRAPH = re.compile("[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]")
# what has standardised variants besides emoji
_VARIED = re.compile(
    "[0\u1000-\u109f\u2200-\u22ff\u2a00-\u2aff\u3000-\u30ff\u3400-\u9fff\ua840-\ua877\uaa60-\uaa7f\uf900-\ufaff\uff00-\uffef"
    "\U00020000-\U0003fffd]"
)
_MARKER = re.compile(r"<[|｜/]{0,2}[^<>|｜\s]{1,60}[|｜]?>|\[[^\[\]\s]{1,60}\]")
_LATIN, _ALIKE = "LATIN", ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE")


class Hidden(NamedTuple):
    """A run of characters that a reader does not see.

    Attributes:
        kind: `tag`, `bidirectional`, `selector`, `zero-width`, `control`, `blank`, `none`, `private-use`, or `alike`
            for a marker in letters of two scripts.
        start: where it begins in the text.
        text: the run.
    """

    kind: str
    start: int
    text: str

    @property
    def told(self) -> str:
        """The run in words: how many of what, which, and what they spell."""
        if self.kind == "alike":
            return self._alike()
        points = list(dict.fromkeys(f"U+{ord(character):04X}" for character in self.text))
        listed = ", ".join(points[:3]) + (" …" if len(points) > 3 else "")  # noqa: PLR2004 (enough to search for)
        count = len(self.text)
        name = _NAMES[self.kind] + ("s" if count > 1 else "")
        spelt = self._spelt()
        return f"{count} {name} ({listed})" + (f" that spell {spelt!r}" if spelt else "")

    def _alike(self) -> str:
        other = next(character for character in self.text if _script(character) in _ALIKE)
        return f"a marker in which U+{ord(other):04X} stands for a Latin letter: {self.text!r}"

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


def runs(text: str, before: str = "", after: str = "") -> Iterator[Hidden]:
    """Those that no script and no emoji needs, in order, then markers in letters of two scripts.

    Args:
        text: what is looked through.
        before: what stands in front of it in its first line.
        after: what stands behind it in its last line.
    """
    if text.isascii() and text.isprintable():
        return
    text = _SURROGATES.sub(_paired, text)
    bits = [found.span() for found in _BITS.finditer(text)]
    for found in _SUSPECT.finditer(text):
        run = found[0]
        while bits and bits[0][1] <= found.start():
            bits.pop(0)
        carries = bool(bits) and bits[0][0] <= found.start()
        kinds = {kind for kind, characters in _KINDS if characters.search(run)}
        around = _Around(text, found.start(), found.end(), before, after)
        if carries or not _needed(run, kinds, around):
            first = next(kind for kind, _ in _KINDS if kind in kinds)
            yield Hidden(first, found.start(), run)
    if not text.isascii():
        for found in _MARKER.finditer(text):
            scripts = set() if found[0].isascii() else {_script(character) for character in found[0]}
            if _LATIN in scripts and scripts.intersection(_ALIKE):
                yield Hidden("alike", found.start(), found[0])


class _Around(NamedTuple):
    """Where a run stands."""

    text: str
    start: int
    end: int
    before: str
    after: str

    @property
    def left(self) -> str:
        """The character in front of it; empty where there is none."""
        return self.text[self.start - 1 : self.start] if self.start else self.before[-1:]

    @property
    def right(self) -> str:
        """The character behind it."""
        return self.text[self.end : self.end + 1] or self.after[:1]

    @property
    def leftward(self) -> bool:
        """Whether letters that are written from right to left stand in its line."""
        first = self.text.rfind("\n", 0, self.start) + 1
        last = self.text.find("\n", self.end)
        near = self.text[max(first, self.start - 400) : min(len(self.text) if last < 0 else last, self.end + 400)]
        line = (self.before if not first else "") + near + (self.after if last < 0 else "")
        return any(unicodedata.bidirectional(character) in _LEFTWARD for character in line)


def _paired(pair: re.Match[str]) -> str:
    """The character that two halves are in UTF-16."""
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _script(character: str) -> str:
    return unicodedata.name(character, "").partition(" ")[0] if character.isalpha() else ""


def _needed(run: str, kinds: set[str], around: _Around) -> bool:
    """Whether the run does what Unicode has its characters for."""
    if kinds == {"tag"}:
        letters = "".join(chr(ord(character) - 0xE0000) for character in run.removesuffix(_CANCEL))
        return around.left == _BLACK_FLAG and run.endswith(_CANCEL) and _FLAG.fullmatch(letters) is not None
    if len(run) == 1:
        return _needed_alone(run, kinds, around.left, around.right, around)
    # a selector behind what it selects a form of, then a joiner to the next emoji
    return run in ("\ufe0e\u200d", "\ufe0f\u200d") and _selects("\ufe0f", around.left) and _is(_EMOJI, around.right)


def _needed_alone(character: str, kinds: set[str], left: str, right: str, around: _Around) -> bool:
    if "selector" in kinds:
        return _selects(character, left)
    if character in _JOINERS:
        return _is(_EMOJI, right) if character == "\u200d" and _is(_EMOJI, left) else _is(_JOINING, left)
    if character in _MARKS:
        return around.leftward
    return {
        _SOFT: left.isalpha() and right.isalpha(),
        "\u200b": _is(_UNSPACED, left) or _is(_UNSPACED, right),
        "\u180e": _is(_MONGOLIAN, left) and _is(_MONGOLIAN, right),
        "\u2800": any("\u2800" < beside <= "\u28ff" for beside in (left, right)),
    }.get(character, False)


def _selects(selector: str, left: str) -> bool:
    """Whether the character in front has a form that the selector selects."""
    if "\u180b" <= selector <= "\u180d":
        return _is(_MONGOLIAN, left)
    if selector in "\ufe0e\ufe0f":
        return bool(left) and (left in "#*0123456789\u203c\u2049\u2122\u2139" or _is(_EMOJI, left))
    if selector <= "\ufe0f":
        return _is(_VARIED, left)
    return selector <= "\U000e011f" and _is(_IDEOGRAPH, left)  # as many as Unicode's database of ideographs has


def _is(characters: re.Pattern[str], character: str) -> bool:
    return bool(character) and characters.match(character) is not None
