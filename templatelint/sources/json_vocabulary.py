"""The tokens of a `tokenizer.json`, left as the text that they stand in → single tokens, looked up when asked for."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from templatelint.model import Token
from templatelint.sources import opening

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MAX_BYTES = 64 << 20  # the largest real ones have 35 MB

_VOCABULARY, _MERGES = re.compile(rb'"vocab"\s*:\s*([\[{])'), re.compile(rb'"merges"\s*:\s*\[')
# What stands round a token: `{"text": 7,` of BPE, WordPiece and WordLevel, `["text", -7.5]` of Unigram. In valid JSON
# a quotation mark inside of a string has a backslash before it, so that neither can stand there.
_BEFORE = {b"{": re.compile(rb"[{,]\s*\Z"), b"[": re.compile(rb"\[\s*\Z")}
_BEHIND = {b"{": re.compile(rb"\s*:\s*(\d{1,9})(?!\d)"), b"[": re.compile(rb"\s*,\s*-?\d")}
# The bounds are for files that are no JSON: what repeats without one remembers every step.
_EACH = {
    b"{": re.compile(rb'(?<!\\)"\s*:\s*(\d{1,9})(?!\d)'),
    b"[": re.compile(rb'\[\s*"(?:[^"\\]|\\.){0,65536}"\s*,\s*-?\d'),
}
_BLANK = 64  # characters of it that may stand before a token
_BYTE = re.compile(r"<0x[0-9A-F]{2}>")


def read(path: str, added_tokens: Any, config: Mapping[str, Any], named: Iterable[str] = ()) -> JsonVocabulary:
    """The vocabulary of a file that is there.

    Args:
        path: the `tokenizer.json`.
        added_tokens: its member of that name.
        config: `tokenizer_config.json` as parsed, whose `added_tokens_decoder` may name more.
        named: special tokens by name, which transformers adds where they are none yet.
    """
    decoder = config.get("added_tokens_decoder")
    more = [{"id": key, **value} for key, value in _objects(decoder)] if isinstance(decoder, dict) else []
    listed = [entry for _, entry in _objects(dict(enumerate(added_tokens)))] if isinstance(added_tokens, list) else []
    return JsonVocabulary(path, tuple(_added([*listed, *more])), tuple(dict.fromkeys(named)))


def _objects(entries: Mapping[Any, Any]) -> Iterator[tuple[Any, dict[str, Any]]]:
    return ((key, value) for key, value in entries.items() if isinstance(value, dict))


def _added(entries: Sequence[Mapping[str, Any]]) -> Iterator[Token]:
    known = set()
    for entry in entries:
        text, number = entry.get("content"), entry.get("id")
        if isinstance(text, str) and text not in known and str(number).isdecimal():
            known.add(text)
            yield Token(int(str(number)), text, "control" if entry.get("special") is True else "user-defined")


@dataclass(frozen=True)
class JsonVocabulary:
    """Tokens as they stand in the file, which is read when the first one is looked for that was not added.

    Attributes:
        path: the file.
        added: the tokens that are found in a prompt before it is split.
        named: texts that are tokens too, behind all others where the file has none of them.
    """

    path: str
    added: tuple[Token, ...]
    named: tuple[str, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        """What goes to another process: what was read of the file does not."""
        return {"path": self.path, "added": self.added, "named": self.named}

    @property
    def size(self) -> int:
        """The highest id and one."""
        return self._size

    def token(self, text: str) -> Token | None:
        """The token whose text this is."""
        if text not in self._by_text:  # several rules ask, for several engines
            found = self._searched(text)
            self._by_text[text] = found if text not in self.named else self._special(text, found)
        return self._by_text[text]

    def special(self) -> tuple[Token, ...]:
        """The added ones, in the file's order."""
        return self.added

    def _special(self, text: str, found: Token | None) -> Token:
        """A named token as transformers has it: what the model's vocabulary lacks stands behind all others."""
        if found is not None:
            return Token(found.id, text, "control")
        known = {token.text for token in self.added}
        lacking = [one for one in self.named if one not in known and self._searched(one) is None]
        return Token(self.size + lacking.index(text), text, "control")

    @cached_property
    def _by_text(self) -> dict[str, Token | None]:
        return {token.text: token for token in self.added}

    @cached_property
    def _raw(self) -> bytes:
        return opening.read_bytes(self.path, MAX_BYTES, "a tokenizer")

    @cached_property
    def _place(self) -> tuple[int, bytes]:
        """Where the vocabulary begins, and with which bracket; what has none begins at the end."""
        found = _VOCABULARY.search(self._raw)
        return (found.start(1), found[1]) if found else (len(self._raw), b"{")

    @cached_property
    def _size(self) -> int:
        start, bracket = self._place
        merges = _MERGES.search(self._raw, start)  # which follow as a rule, and are two thirds of a file
        each = _EACH[bracket].finditer(self._raw, start, merges.start() if merges else len(self._raw))
        highest = max((int(one[1]) for one in each), default=-1) if bracket == b"{" else sum(1 for _ in each) - 1
        return max(highest, *(token.id for token in self.added), -1) + 1

    def _searched(self, text: str) -> Token | None:
        start, bracket = self._place
        for written in dict.fromkeys((json.dumps(text, ensure_ascii=False), json.dumps(text))):
            wanted, at = written.encode("utf-8", "surrogatepass"), start
            while (at := self._raw.find(wanted, at)) >= 0:
                behind = _BEHIND[bracket].match(self._raw, at + len(wanted))
                if behind is not None and _BEFORE[bracket].search(self._raw[max(0, at - _BLANK) : at]):
                    number = int(behind[1]) if bracket == b"{" else self._count(start, at)
                    return Token(number, text, "byte" if _BYTE.fullmatch(text) else "normal")
                at += len(wanted)
        return None

    def _count(self, start: int, end: int) -> int:
        """How many tokens of a list stand before an offset."""
        return sum(1 for _ in _EACH[b"["].finditer(self._raw, start, end))
