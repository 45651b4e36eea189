"""The tokens of a GGUF, as the bytes that its header has of them → single tokens, looked up as they are asked for."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, Literal

from templatelint.model import Token
from templatelint.sources.gguf_header import STRIDE, Header

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import TokenType
    from templatelint.sources.gguf_header import ByteSource

# Of the format; llama.cpp takes other numbers for tokens that are not to be found in a text, as normal ones are not.
_TYPES: dict[int, TokenType] = {2: "unknown", 3: "control", 4: "user-defined", 5: "unused", 6: "byte"}
_SPECIAL = (3, 4)
_INT32 = (4, 5)  # value types; llama.cpp loads no file with others here

_MAX_BYTES = 64 << 20  # of texts; the largest real vocabularies have 5 MB
_MAX_SPECIAL = 1 << 16  # tokens; real vocabularies have 6,000 of them at most
_MAX_HITS = 1000  # look-alikes of one text before the texts are gone through one by one


def read(source: ByteSource, header: Header) -> GgufVocabulary | None:
    """The vocabulary of a file whose header was read; None where it has none, or one that nobody could load.

    Args:
        source: the file's bytes; only those of the tokens and their types are asked for.
        header: what was read of it.
    """
    where = header.tokens
    if where is None or not header.vocabulary:
        return None
    start, end = where.marks[0], where.marks[-1]
    if end - start > _MAX_BYTES:
        return None
    texts, types = source.read(start, end - start), b""
    if where.types is not None and where.types[0] in _INT32 and where.types[2] >= header.vocabulary:
        types = source.read(where.types[1], header.vocabulary * 4)
    marks = tuple(mark - start for mark in where.marks)
    return GgufVocabulary(header.vocabulary, texts, types, marks, header.byte_order, where.width)


@dataclass(frozen=True)
class GgufVocabulary:
    """Tokens as they stand in the file: decoding all of them would take longer than anything else of a run.

    Attributes:
        size: how many there are.
        texts: a length and UTF-8, as often.
        types: four bytes each; empty where the file has none, which makes every token a normal one.
        marks: offsets of every 1024th token in `texts`, then its size.
        byte_order: of lengths and types.
        width: bytes of a length.
    """

    size: int
    texts: bytes = field(repr=False)
    types: bytes = field(repr=False)
    marks: tuple[int, ...] = field(repr=False)
    byte_order: Literal["little", "big"]
    width: int
    _known: dict[str, Token | None] = field(default_factory=dict, init=False, repr=False, compare=False)

    def token(self, text: str) -> Token | None:
        """The token whose text this is; of several, the last one, as llama.cpp's map of them has it."""
        if text not in self._known:  # several rules ask, for several engines
            self._known[text] = self._searched(text)
        return self._known[text]

    def _searched(self, text: str) -> Token | None:
        raw = text.encode("utf-8", "surrogatepass")
        wanted = len(raw).to_bytes(self.width, self.byte_order) + raw
        at, found = len(self.texts), None
        for _ in range(_MAX_HITS):
            at = self.texts.rfind(wanted, 0, at + len(wanted) - 1)
            if at < 0:
                return None
            found = self._starts_at(at)
            if found is not None:
                return self._token(found, text)
        last = None
        for number, start, end in self._from(0):
            if self.texts[start:end] == raw:
                last = number
        return None if last is None else self._token(last, text)

    def special(self) -> tuple[Token, ...]:
        """Those of the types control and user-defined, in the order of their ids."""
        from array import array
        from sys import byteorder

        types = array("i", self.types)
        if byteorder != self.byte_order:
            types.byteswap()
        wanted = islice((number for number, kind in enumerate(types) if kind in _SPECIAL), _MAX_SPECIAL)
        found: list[Token] = []
        walk: Iterator[tuple[int, int, int]] = iter(())
        block = -1
        for number in wanted:
            if number // STRIDE != block:
                block = number // STRIDE
                walk = self._from(block)
            start, end = next((start, end) for at, start, end in walk if at == number)
            found.append(self._token(number, self.texts[start:end].decode("utf-8", "replace")))
        return tuple(found)

    def _token(self, number: int, text: str) -> Token:
        kind = 1
        if self.types:
            kind = int.from_bytes(self.types[number * 4 : number * 4 + 4], self.byte_order)
        return Token(number, text, _TYPES.get(kind, "normal"))

    def _starts_at(self, offset: int) -> int | None:
        """The id of the token that begins at an offset; None where the bytes only look like a beginning."""
        block = bisect_right(self.marks, offset, hi=len(self.marks) - 1) - 1
        for number, start, _ in self._from(block):
            if start - self.width >= offset:
                return number if start - self.width == offset else None
        return None

    def _from(self, block: int) -> Iterator[tuple[int, int, int]]:
        """Id, start and end of the text of each token, from the first of a block of 1024 on."""
        unpack = Struct(("<" if self.byte_order == "little" else ">") + ("I" if self.width == 4 else "Q")).unpack_from  # noqa: PLR2004 (bytes)
        at, end = self.marks[block], self.marks[-1]
        number = block * STRIDE
        while at < end:
            start = at + self.width
            at = start + unpack(self.texts, at)[0]
            yield number, start, at
            number += 1
