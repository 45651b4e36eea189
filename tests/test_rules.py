from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import pytest

from templatelint import cards, checks
from templatelint.lint import Options, lint
from templatelint.sources import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from templatelint.model import Card

# ```jinja bad, ```json good tokenizer_config.json: language, verdict, file name
_EXAMPLE = re.compile(r"^```\w+ (bad|good)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SECTIONS = ["What it finds", "Why it matters", "Bad", "Good", "When to ignore it", "Source"]


class Example(NamedTuple):
    rule: str
    verdict: str
    file: str
    text: str


def _examples() -> Iterator[Example]:
    for card in cards.all_cards().values():
        for verdict, file, text in _EXAMPLE.findall(card.prose):
            yield Example(card.id, verdict, file or "chat_template.jinja", text)


@pytest.mark.parametrize("example", list(_examples()), ids=lambda example: f"{example.rule}-{example.verdict}")
def test_every_example_of_a_card_is_judged_as_the_card_says(example: Example, tmp_path: Path) -> None:
    path = tmp_path / example.file
    path.write_text(example.text, encoding="utf-8")
    report = lint([resolve(str(path))], Options(select=(example.rule,)))
    assert {finding.rule for finding in report.findings} == ({example.rule} if example.verdict == "bad" else set())
    # one cause, one finding; what breaks one engine may be a contract of another
    assert len({finding.severity for finding in report.findings}) == len(report.findings)


@pytest.mark.parametrize("card", list(cards.all_cards().values()), ids=lambda card: card.id)
def test_every_card_has_its_sections_and_both_kinds_of_example(card: Card) -> None:
    assert re.findall(r"^## (.+)$", card.prose, re.MULTILINE) == _SECTIONS
    assert {verdict for verdict, _, _ in _EXAMPLE.findall(card.prose)} == {"bad", "good"}


def test_cards_and_checks_pair_up_both_ways() -> None:
    assert sorted(card.name for card in cards.all_cards().values()) == sorted(checks.names())


def test_subsumers_are_rules() -> None:
    known = cards.all_cards().keys()
    assert {rule for card in cards.all_cards().values() for rule in card.subsumed_by} <= known


@pytest.mark.parametrize("name", checks.names())
def test_every_check_names_cells_that_exist(name: str) -> None:
    from templatelint import cases

    for case_id in checks.load(name).CASES:
        assert cases.get(case_id).id == case_id
