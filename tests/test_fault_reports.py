"""Faults that users of engines reported: the rule that tells of each, on the engines that show it and on no other."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import npm  # noqa: F401 (tells where the package behind two engines is)
import pytest
from gguf_bytes import header, text, texts

from templatelint import cards, checks, engines
from templatelint.lint import Options, lint
from templatelint.model import Model, Origin, Template, Tokenizer
from templatelint.sources import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_DATA = Path(__file__).parent / "data" / "reports"
_HANDED = Path(__file__).parents[2] / "shared" / "bugs.jsonl"
_GROUPS = {"native": ("transformers", "transformers@4.57", "transformers@5.20", "transformers.js")}


class Row(NamedTuple):
    title: str
    template: str
    fires: Mapping[str, Sequence[str]]


def _kinds() -> Iterator[Row]:
    data = tomllib.loads((_DATA / "kinds.toml").read_text(encoding="utf-8"))
    for number, report in enumerate(data["report"]):
        template = report["template"]
        for name, part in data["parts"].items():
            template = template.replace(f"<<{name}>>", part)
        title = f"{'+'.join(report['fires'])} {number} {report['source']}: {report['about']}"
        yield Row(title, template, report["fires"])


@cache
def _engines(group: str) -> frozenset[str]:
    """The engines of a group, an engine alone, or all, as far as they can be used here."""
    members = [
        name
        for name, entry in engines.ENGINES.items()
        if group in {"all", name, entry.renderer, f"{entry.renderer}-jinja"} or name in _GROUPS.get(group, ())
    ]
    assert members, group
    return frozenset(members) & frozenset(engines.available())


def _expected(groups: Iterable[str]) -> set[str]:
    found: set[str] = set()
    for group in groups:
        found = found - _engines(group[1:]) if group.startswith("-") else found | _engines(group)
    return found


def _model(source: str) -> Model:
    template = Template("default", source, Origin("chat_template.jinja", source))
    return Model("model", "file", (template,), Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True))


def _told(source: str, rules: Iterable[str]) -> dict[str, set[str]]:
    """Rule → the engines on which it fires, those rules beside it that could hide it."""
    asked = set().union(*map(_above, rules))
    report = lint([_model(source)], Options(engines=("all",), select=tuple(sorted(asked))))
    assert not [gap for gap in report.not_run if "crashed" in gap.why]
    return {
        rule: {engine for finding in report.findings if finding.rule == rule for engine in finding.engines}
        for rule in rules
    }


def _above(rule: str) -> set[str]:
    """The rule, and those that could hide it, or what hides it."""
    return {rule}.union(*map(_above, cards.get(rule).subsumed_by))


@pytest.fixture(autouse=True, scope="module")
def _loaded() -> None:
    """What engines load templates with, imported once."""
    engines.preload(engines.running(("all",)))


@pytest.mark.parametrize("row", list(_kinds()), ids=lambda row: row.title)
def test_a_rule_fires_on_the_engines_that_show_the_fault_and_on_no_other(row: Row) -> None:
    expected = {rule: _expected(groups) for rule, groups in row.fires.items()}
    assert _told(row.template, row.fires) == expected


# --------------------------------------------------------------------------- a model's files without a template

# nomic-ai/gpt4all#3287
_CHAT_MODEL = (
    ("general.architecture", text("llama")),
    ("tokenizer.ggml.model", text("gpt2")),
    ("tokenizer.ggml.tokens", texts("<s>", "a")),
)


def test_a_gguf_without_a_template_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(header(_CHAT_MODEL))
    report = lint([resolve(str(path))], Options(engines=("all",)))
    assert {finding.rule for finding in report.findings} == {"TL601"}
    assert "llama.cpp" in report.findings[0].engines


def test_a_tokenizer_config_without_a_template_is_told_so(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    path.write_text(json.dumps({"tokenizer_class": "LlamaTokenizerFast", "bos_token": "<s>"}), encoding="utf-8")
    report = lint([resolve(str(path))], Options(engines=("all",)))
    assert {finding.rule for finding in report.findings} == {"TL601"}
    assert {"transformers", "vllm"} <= set(report.findings[0].engines)


# ------------------------------------------------------------------------------------------ the reports themselves

_LATER = "needs what a tokenizer says, or is about safety: rules of a later command"
_EXPECTED: Mapping[str, Mapping[str, Sequence[str]]] = tomllib.loads(
    (_DATA / "handed.toml").read_text(encoding="utf-8")
)


def _handed() -> list[dict[str, Any]]:
    if not _HANDED.is_file():
        return []
    records = map(json.loads, _HANDED.read_text(encoding="utf-8").splitlines())
    return [record for record in records if record["for"] == "lint"]


def _to_come(rule: str) -> bool:
    return rule not in cards.all_cards() or cards.get(rule).name not in checks.names()


@pytest.mark.skipif(not _HANDED.is_file(), reason="the reports are not beside the project")
@pytest.mark.parametrize("record", _handed(), ids=lambda record: record["id"])
def test_a_report_is_judged_right(record: dict[str, Any]) -> None:
    named = [*record["rules"], *record["not_rules"]]
    rules = [rule for rule in named if not _to_come(rule)]
    templates = dict.fromkeys(case["template"] for case in record["cases"] if "template" in case)
    if not rules:
        pytest.skip(f"{', '.join(named)} {_LATER}")
    if not templates:
        pytest.skip("about a file, not a template: see above")
    told: dict[str, set[str]] = {rule: set() for rule in rules}
    for template in templates:
        for rule, hit in _told(template, rules).items():
            told[rule] |= hit
    assert told == {rule: _expected(_EXPECTED[record["id"]].get(rule, ())) for rule in rules}


def test_every_report_is_expected_to_give_something() -> None:
    known = {record["id"] for record in _handed()}
    assert not known or set(_EXPECTED) <= known
