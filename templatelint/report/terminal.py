"""Text of any origin → text that is safe and legible on a terminal: escapes, colour, width."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from typing import TextIO

ColorChoice = Literal["auto", "always", "never"]
Style = Literal["bold", "dim", "red", "yellow", "blue", "cyan", "green", "mark"]

_CODES: dict[Style, str] = {
    "bold": "1",
    "dim": "2",
    "red": "1;31",
    "yellow": "1;33",
    "blue": "1;34",
    "cyan": "36",
    "green": "32",
    "mark": "7;33",
}

# Control characters, surrogates, and what steers or hides text without showing: soft hyphen, zero-width and
# bidirectional characters, line and paragraph separators, interlinear and tag characters, variation selectors
# beyond the emoji ones.
_UNSAFE = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SUSPECT = re.compile(f"[\t\n{_UNSAFE}]")
_NAMED = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}


def visible(text: str) -> str:
    r"""One line of text with every control or hidden character spelt out (`\x1b`, `\u202e`, `\n`)."""
    return _SUSPECT.sub(lambda match: _spelt(match[0]), text)


def visible_block(text: str) -> str:
    """The same for text of several lines: newlines and tabs stay."""
    return _SUSPECT.sub(lambda match: match[0] if match[0] in "\t\n" else _spelt(match[0]), text)


def _spelt(character: str) -> str:
    code = ord(character)
    if character in _NAMED:
        return _NAMED[character]
    if code < 0x100:  # noqa: PLR2004 (two hex digits)
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 (four hex digits)


def width(text: str) -> int:
    """How many columns visible text takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1 for character in text)


# a word as a shell reads it, with what is quoted in it; a command of such words
_WORD = r"""(?:'[^']*'|"[^"]*"|[^\s'"`;,()])+"""
_COMMAND = re.compile(
    r"\b(?:templatelint (?:lint|vet|inspect|pin|diff|embed|extract|render|parse|probe|rule|cases|engines)"
    rf"|ollama (?:pull|run)|hf download)(?: {_WORD})+"
)
_HELD = "\0"  # in place of a space; visible text has none


def wrapped(text: str, room: int) -> list[str]:
    """Lines of at most so many columns, one at least; a command stays whole, so that it can be copied."""
    from textwrap import wrap

    held = _COMMAND.sub(lambda match: match[0].replace(" ", _HELD), text)
    long_words = held == text
    lines = wrap(held, max(room, 20), break_on_hyphens=False, break_long_words=long_words) or [text]
    return [line.replace(_HELD, " ") for line in lines]


@dataclass(frozen=True, slots=True)
class Paint:
    """Puts text in a style, or leaves it alone where there is no colour."""

    on: bool

    def __call__(self, text: str, style: Style) -> str:
        """The text, in that style where colour is on."""
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.on and text else text


def wants_color(stream: TextIO | None, choice: ColorChoice) -> bool:
    """Whether output to `stream` (None: a file) is coloured; NO_COLOR outranks FORCE_COLOR."""
    if choice != "auto":
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in {"", "0", "false"}:
        return True
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def columns(stream: TextIO | None) -> int:
    """The width to write for: the terminal's, 80 where there is none."""
    if stream is None or not stream.isatty():
        return 80
    from shutil import get_terminal_size

    return max(40, get_terminal_size((80, 24)).columns)
