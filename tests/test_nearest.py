"""Mistyped words and the known ones that they were meant for."""

from __future__ import annotations

import pytest

from templatelint import cards
from templatelint.engines import ENGINES
from templatelint.nearest import nearest


@pytest.mark.parametrize(
    ("word", "known", "meant"),
    [
        ("lnit", ("lint", "list", "init"), "lint"),
        ("vlm", ENGINES, "vllm"),
        ("llamacpp", ENGINES, "llama.cpp"),
        ("transfomers", ENGINES, "transformers"),
        ("TL20l", cards.all_cards(), "TL201"),
        ("llama4", ("qwen3:4b", "llama3:8b"), "llama3:8b"),
        ("tool", ("default", "tool_use"), "tool_use"),
        ("--selct", ("--select", "--extend-select"), "--select"),
        ("--out", ("--output-format", "--offline"), "--output-format"),
        ("hermess", ("openai", "hermes"), "hermes"),
    ],
)
def test_a_slip_is_seen_through(word: str, known: tuple[str, ...], meant: str) -> None:
    assert nearest(word, known) == meant


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("--fix", ("--config", "--select", "--ignore")),
        ("--baseline", ("--select", "--lock", "--needs")),
        ("nope", ("openai", "hermes", "pythonic")),
        ("TL99", cards.all_cards()),
        ("x", ("a", "b")),
        ("", ("a", "b")),
    ],
)
def test_another_word_is_none(word: str, known: tuple[str, ...]) -> None:
    assert nearest(word, known) is None
