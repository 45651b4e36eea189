from __future__ import annotations

import json
import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

import pytest
from gguf_bytes import from_json
from launches import audited

from templatelint import audit, cards, checks, overrides
from templatelint.lint import Options, lint
from templatelint.pin import checking
from templatelint.sources import resolve
from templatelint.sources.reach import Reach
from templatelint.suppress import accepting
from templatelint.suppress.scope import DRIFT, UNUSED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import ModuleType

    from program import InProcess

    from templatelint.model import Card

# ```jinja bad, ```json good tokenizer_config.json, ```hex bad model.gguf: language, verdict, file name; ```toml beside
# templatelint.toml: a file that has to be there; ```json bad model.gguf: the keys of its header
_EXAMPLE = re.compile(r"^```(\w+) (bad|good|beside)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# rules that tell of what the settings and other findings have to do with a template: the command finds them
_OF_THE_COMMAND = {UNUSED: accepting, DRIFT: overrides, checking.RULE: checking}
# rules that tell of how a server was started: ```sh bad launch
_OF_THE_LAUNCH = {audit.LAUNCH: audit, audit.TOOLS: audit}
_ELSEWHERE = {**_OF_THE_COMMAND, **_OF_THE_LAUNCH}
_SECTIONS = ["What it finds", "Why it matters", "Bad", "Good", "When to ignore it", "Source"]


class Example(NamedTuple):
    rule: str
    verdict: str
    file: str
    content: bytes


def _examples() -> Iterator[Example]:
    for card in cards.all_cards().values():
        for language, verdict, file, text in _EXAMPLE.findall(card.prose):
            content = bytes.fromhex(text) if language == "hex" else text.encode()
            if language == "json" and file.endswith(".gguf"):
                content = from_json(json.loads(text))
            yield Example(card.id, verdict, file or "chat_template.jinja", content)


_VERDICTS = [example for example in _examples() if example.verdict != "beside"]


@pytest.mark.parametrize(
    "example",
    [example for example in _VERDICTS if example.rule not in _ELSEWHERE],
    ids=lambda example: f"{example.rule}-{example.verdict}",
)
def test_every_example_of_a_card_is_judged_as_the_card_says(example: Example, tmp_path: Path) -> None:
    beside = [other for other in _examples() if other.rule == example.rule and other.verdict == "beside"]
    for written in (*beside, example):
        path = tmp_path / written.file
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(written.content)
    vetting = cards.get(example.rule).command == "vet"
    # of files in a folder of their own, the folder is the model
    model = resolve(str(path if path.parent == tmp_path else path.parent), reach=Reach(vetting=vetting))
    report = lint([model], Options(select=(example.rule,), vetting=vetting))
    assert {finding.rule for finding in report.findings} == ({example.rule} if example.verdict == "bad" else set())
    # one cause, one finding; what breaks one engine may be a contract of another
    assert len({finding.severity for finding in report.findings}) == len(report.findings)


@pytest.mark.parametrize(
    "example",
    [example for example in _VERDICTS if example.rule in _OF_THE_COMMAND],
    ids=lambda example: f"{example.rule}-{example.verdict}",
)
def test_the_command_judges_examples_as_the_card_says(example: Example, folder: Path, cli: InProcess) -> None:
    beside = [other for other in _examples() if other.rule == example.rule and other.verdict == "beside"]
    for written in (*beside, example):
        (folder / written.file).write_bytes(written.content)
    command = ("pin", "--check") if cards.get(example.rule).command == "pin" else ("lint",)
    ran = cli(*command, example.file, "--output-format", "json")
    found = {row["severity"] for row in json.loads(ran.out)["findings"] if row["rule"] == example.rule}
    assert found & {"error", "warning"} if example.verdict == "bad" else not found


@pytest.mark.parametrize(
    "example",
    [example for example in _VERDICTS if example.rule in _OF_THE_LAUNCH],
    ids=lambda example: f"{example.rule}-{example.verdict}",
)
def test_the_audit_judges_command_lines_as_the_card_says(example: Example) -> None:
    program, *words = shlex.split(example.content.decode())
    assert program == "llama-server"
    found, not_run = audited(words)
    assert {one.rule for one in found} == ({example.rule} if example.verdict == "bad" else set())
    assert not_run == ()


@pytest.mark.parametrize("card", list(cards.all_cards().values()), ids=lambda card: card.id)
def test_every_card_has_its_sections_and_both_kinds_of_example(card: Card) -> None:
    assert re.findall(r"^## (.+)$", card.prose, re.MULTILINE) == _SECTIONS
    assert {verdict for _, verdict, _, _ in _EXAMPLE.findall(card.prose)} - {"beside"} == {"bad", "good"}


def test_cards_and_checks_pair_up_both_ways() -> None:
    paired = {card.name for card in cards.all_cards().values() if card.id not in _ELSEWHERE}
    assert paired == set(checks.names())


@pytest.mark.parametrize(("rule", "module"), _ELSEWHERE.items(), ids=str)
def test_a_rule_without_a_check_has_a_card_and_is_found_elsewhere(rule: str, module: ModuleType) -> None:
    assert cards.get(rule).name not in checks.names()
    assert rule in [value for value in vars(module).values() if isinstance(value, str)]


def test_subsumers_are_rules() -> None:
    known = cards.all_cards().keys()
    assert {rule for card in cards.all_cards().values() for rule in card.subsumed_by} <= known


def test_no_rule_stands_above_itself() -> None:
    above = {card.id: set(card.subsumed_by) for card in cards.all_cards().values()}
    for _ in above:
        above = {rule: larger.union(*(above[one] for one in larger)) for rule, larger in above.items()}
    assert not [rule for rule, larger in above.items() if rule in larger]


@pytest.mark.parametrize("name", checks.names())
def test_every_check_names_cells_that_exist(name: str) -> None:
    from templatelint import cases

    for case_id in checks.load(name).CASES:
        assert cases.get(case_id).id == case_id
