from __future__ import annotations

import pytest

from templatelint.severity import Stance, severity

ALL = frozenset({"transformers", "llama.cpp"})
ONE = frozenset({"llama.cpp"})


@pytest.mark.parametrize(
    ("impact", "need", "hit", "named", "expected"),
    [
        ("breaks", "chat", ALL, False, "error"),
        ("breaks", "chat", ONE, False, "warning"),
        ("breaks", "chat", ONE, True, "error"),
        ("degrades", "chat", ALL, False, "warning"),
        ("degrades", "chat", ALL, True, "warning"),
        ("informs", "chat", ALL, True, "note"),
        ("breaks", "agent", ALL, True, "note"),
        ("degrades", "agent", ALL, False, "note"),
    ],
)
def test_the_three_sentences(impact: str, need: str, hit: frozenset[str], named: bool, expected: str) -> None:
    stance = Stance(needs={"chat", "system"}, engines=ALL, named=named, asked=False)
    assert severity(impact, need, hit, stance) == expected  # type: ignore[arg-type] # the table is typed as text
