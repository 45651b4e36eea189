"""Special tokens that a GGUF does not name → what llama.cpp, and what is built on it, take for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from templatelint.model import Tokenizer


def text_of(tokenizer: Tokenizer, name: str) -> str:
    """The text of a special token as the files have it, else that of the token taken for it; empty for none."""
    return tokenizer.special_tokens.get(name) or taken_for(tokenizer, name)


def taken_for(tokenizer: Tokenizer, name: str) -> str:
    """The text of the token whose id llama.cpp assumes where a GGUF names none; empty where it assumes none."""
    text: str = tokenizer.facts.get(f"llama.cpp.{name}", "")
    return text
