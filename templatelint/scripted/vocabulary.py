"""Special tokens, selectors and pieces → the vocabulary of a scripted model, in GPT-2's spelling of bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from templatelint.gguf_writing import CONTROL, NORMAL, USER_DEFINED
from templatelint.scripted.automaton import Token

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

# llama.cpp takes this token for BOS and EOS where a file declares none, and gives its text to the template.
_TAKEN_FOR_ENDS = 11
_UNUSED = 5  # a type of tokens: it has no text
_NOTHING = "[unused]"


def spelling() -> list[str]:
    """The character that stands for each byte: itself where it can be seen, else one that can."""
    seen = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    chars = {byte: chr(byte) for byte in seen}
    others = (byte for byte in range(0x100) if byte not in chars)
    chars.update({byte: chr(0x100 + number) for number, byte in enumerate(others)})
    return [chars[byte] for byte in range(0x100)]


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """All tokens, by id.

    Attributes:
        tokens: those before the pieces, as the weights need them.
        texts, types: of all tokens, as the file has them.
    """

    tokens: Sequence[Token]
    texts: Sequence[str]
    types: Sequence[int]

    def number(self, text: str) -> int:
        """The id of a token."""
        return self.texts.index(text)


def vocabulary(
    end: str, specials: Iterable[str], selectors: Mapping[str, int], shared: Iterable[str], pieces: Iterable[bytes]
) -> Vocabulary:
    """The vocabulary.

    Args:
        end: the text of the token that ends replies.
        specials: those of others that are not printed.
        selectors: text → number of the script that it selects.
        shared: what is one token wherever it stands, in scripts too.
        pieces: what scripts consist of.
    """
    spelt = spelling()
    found: dict[str, tuple[int, Token]] = {}
    for byte, char in enumerate(spelt):
        if len(found) == _TAKEN_FOR_ENDS:
            found[_NOTHING] = (_UNUSED, Token())
        found[char] = (NORMAL, Token(byte=byte))
    found[end] = (CONTROL, Token(ends=True))
    for text, number in selectors.items():
        found.setdefault(text, (USER_DEFINED, Token(chooses=number)))
    for text in shared:
        found.setdefault(text, (USER_DEFINED, Token(shared=True)))
    for text in specials:
        found.setdefault(text, (CONTROL, Token()))
    own = ["".join(spelt[byte] for byte in piece) for piece in pieces]
    return Vocabulary(
        tokens=[token for _, token in found.values()],
        texts=[*found, *own],
        types=[*(kind for kind, _ in found.values()), *[NORMAL] * len(own)],
    )
