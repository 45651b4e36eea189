"""Faults that users of engines reported: the rule that tells of each, on the engines that show it and on no other."""

from __future__ import annotations

import json
import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import npm  # noqa: F401 (tells where the package behind two engines is)
import pytest
from gguf_bytes import from_json, header, text, texts

from templatelint import cards, checks, engines
from templatelint.lint import Options, lint
from templatelint.model import Model, Origin, Template, Tokenizer
from templatelint.sources import resolve
from templatelint.sources.reach import Reach

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


# ------------------------------------------------------------------------- what the tokens of a model's files say

_CHATML = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
_GEMMA = _CHATML.replace("<|im_start|>", "<start_of_turn>").replace("<|im_end|>", "<end_of_turn>")
_CUE = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
_STOPPED = {"eos_token_id": [1, 3]}
_TOKENS = ("<s>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<start_of_turn>", "<end_of_turn>")


class Reported(NamedTuple):
    """A report about a model's files: an HF folder where it has a config, else a GGUF.

    Attributes:
        config: what `tokenizer_config.json` has beside the template.
        generation: `generation_config.json`.
        types: of the tokens of the GGUF.
        keys: its further keys.
        fires: rule → the engines that show the fault.
    """

    source: str
    template: str
    fires: Mapping[str, set[str]]
    config: Mapping[str, Any] | None = None
    generation: Mapping[str, Any] = _STOPPED
    types: Sequence[int] = (3, 3, 3, 3, 3, 3)
    keys: Mapping[str, int | bool] = {}


_ABOUT_TOKENS = (
    # the encoder's fault, and undone by these engines today: a template may print BOS
    Reported(
        "abetlen/llama-cpp-python#1501",
        "{{ bos_token }}" + _CHATML + _CUE,
        {"TL604": set()},
        keys={"add_bos_token": True, "bos_token_id": 0, "eos_token_id": 3},
    ),
    Reported(
        "abetlen/llama-cpp-python#1501",
        " {{ bos_token }}" + _CHATML + _CUE,
        {"TL604": {"llama.cpp"}},
        keys={"add_bos_token": True, "bos_token_id": 0, "eos_token_id": 3},
    ),
    Reported(
        "gergap/vim-ollama#98",
        "{{ bos_token }}" + _CHATML + _CUE,
        {"TL607": {"transformers", "llama.cpp", "vllm", "sglang"}},
        config={"bos_token": None, "eos_token": "<|im_end|>"},
    ),
    Reported("unslothai/unsloth#5070", _GEMMA, {"TL603": {"llama.cpp"}}, types=(3, 3, 3, 3, 1, 1)),
    Reported("unslothai/unsloth#5070", _GEMMA, {"TL603": set()}),
    Reported(
        "Blaizzy/mlx-vlm#2112",
        _CHATML + _CUE,
        {"TL606": {"transformers", "vllm", "sglang"}},
        config={"eos_token": "<|endoftext|>"},
        generation={"eos_token_id": [1]},
    ),
    Reported("Blaizzy/mlx-vlm#2112", _CHATML + _CUE, {"TL606": set()}, config={"eos_token": "<|endoftext|>"}),
    # nothing ends a turn: TL112 says so, and no token is there to be judged
    Reported(
        "ikawrakow/ik_llama.cpp#339",
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}Assistant:",
        {"TL606": set()},
        keys={"eos_token_id": 1},
    ),
)


@pytest.mark.parametrize("report", _ABOUT_TOKENS, ids=lambda report: f"{report.source} {sorted(report.fires)}")
def test_a_report_about_tokens_is_judged_right(report: Reported, tmp_path: Path) -> None:
    path = tmp_path
    if report.config is None:
        path = tmp_path / "model.gguf"
        keys = {f"tokenizer.ggml.{key}": value for key, value in report.keys.items()}
        arrays = {"tokenizer.ggml.tokens": list(_TOKENS), "tokenizer.ggml.token_type": list(report.types)}
        path.write_bytes(
            from_json({"tokenizer.ggml.model": "gpt2", **arrays, **keys, "tokenizer.chat_template": report.template})
        )
    else:
        added = [{"id": number, "content": token, "special": True} for number, token in enumerate(_TOKENS)]
        for name, content in (
            ("tokenizer.json", {"added_tokens": added}),
            ("generation_config.json", report.generation),
            ("tokenizer_config.json", {**report.config, "chat_template": report.template}),
        ):
            (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")
    rules = tuple(set().union(*map(_above, report.fires)))
    found = lint([resolve(str(path), reach=Reach(vetting=True))], Options(select=rules, vetting=True)).findings
    told = {rule: {name for one in found if one.rule == rule for name in one.engines} for rule in report.fires}
    assert told == report.fires


# ------------------------------------------------------------------------------------------ the reports themselves

_LATER = "needs what a model's files say of its tokens (see above), or is about safety"
_EXPECTED: Mapping[str, Mapping[str, Sequence[str]]] = tomllib.loads(
    (_DATA / "handed.toml").read_text(encoding="utf-8")
)


def _handed() -> list[dict[str, Any]]:
    if not _HANDED.is_file():
        return []
    records = map(json.loads, _HANDED.read_text(encoding="utf-8").splitlines())
    return [record for record in records if record["for"] == "lint"]


def _to_come(rule: str) -> bool:
    return (
        rule not in cards.all_cards() or cards.get(rule).name not in checks.names() or cards.get(rule).command != "lint"
    )


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
