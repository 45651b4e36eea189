"""Words → a list of them, as a sentence has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def listed(words: Iterable[str]) -> str:
    """`user, system and assistant`; of no word nothing."""
    *others, last = [*words] or [""]
    return f"{', '.join(others)} and {last}" if others else last
