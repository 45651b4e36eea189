from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from templatelint import cards, data
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """+++
id = "TL999"
name = "moon-ignored"
title = "the moon never reaches the prompt"
impact = "breaks"
need = "tools"
since = "0.1"
fix = "none"
subsumed-by = ["TL001", "TL007"]
+++
"""
FILES = sorted(data.folder("rules").glob("TL*.md"))


def write(folder: Path, text: str) -> Path:
    path = folder / "TL999.md"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_card_is_its_head_and_its_prose(tmp_path: Path) -> None:
    card = cards.read(write(tmp_path, HEAD + "\n## What\nIt says `+++` in mid-line.\n"))
    assert (card.id, card.name, card.impact, card.need) == ("TL999", "moon-ignored", "breaks", "tools")
    assert card.subsumed_by == ("TL001", "TL007")
    assert card.prose == "## What\nIt says `+++` in mid-line.\n"


def test_subsumers_are_optional(tmp_path: Path) -> None:
    assert cards.read(write(tmp_path, HEAD.replace('subsumed-by = ["TL001", "TL007"]\n', ""))).subsumed_by == ()


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (("+++\nid", "id"), "between two lines"),
        (('name = "moon-ignored"\n', ""), "lacks name"),
        (('fix = "none"', 'fix = "none"\ncolour = "red"'), "unknown entries colour"),
        (('fix = "none"', "fix = none"), "not an entry"),
        (('fix = "none"', 'fix = ["none"]'), "confused in fix"),
        (('"TL999"', '"TL998"'), "holds the card of TL998"),
        (('"breaks"', '"annoys"'), "annoys · tools"),
        (('"tools"', '"moon"'), "breaks · moon"),
        (('fix = "none"', 'fix = "maybe"'), "unknown fix: maybe"),
    ],
)
def test_a_broken_card_says_what_is_wrong(tmp_path: Path, change: tuple[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        cards.read(write(tmp_path, HEAD.replace(*change)))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_head_is_toml_and_read_as_toml_reads_it(path: Path) -> None:
    head = tomllib.loads(path.read_text(encoding="utf-8").split("+++\n")[1])
    card = cards.read(path)
    assert head.pop("subsumed-by", []) == list(card.subsumed_by)
    assert head.pop("command", "lint") == card.command
    assert head == {key: getattr(card, key) for key in ("id", "name", "title", "impact", "need", "since", "fix")}


def test_every_file_is_a_card() -> None:
    assert list(cards.all_cards()) == [path.stem for path in FILES] != []


@pytest.mark.parametrize("word", ["TL201", "tl201", "tools-ignored"])
def test_a_card_is_found_by_id_and_by_name(word: str) -> None:
    assert cards.get(word).id == "TL201"


@pytest.mark.parametrize(("word", "near"), [("system-drop", "system-dropped"), ("tool-ignored", "tools-ignored")])
def test_an_unknown_rule_names_the_nearest(word: str, near: str) -> None:
    with pytest.raises(TemplatelintError, match=f'unknown rule "{word}"') as caught:
        cards.get(word)
    assert caught.value.help == f"did you mean {near}?"


def test_a_selector_is_an_id_a_prefix_or_a_name() -> None:
    assert cards.select("TL201") == cards.select("tools-ignored") == ("TL201",)
    assert set(cards.select("TL2")) >= {"TL201", "TL202", "TL203"}
    assert all(rule.startswith("TL2") for rule in cards.select("tl2"))
    assert cards.select("TL") == tuple(cards.all_cards())


@pytest.mark.parametrize("word", ["TL99", "", "2", "tools"])
def test_a_selector_that_means_nothing_is_an_error(word: str) -> None:
    with pytest.raises(TemplatelintError, match="unknown rule"):
        cards.select(word)
