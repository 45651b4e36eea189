"""What the rules on generation prompts and on the marks for training say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from told import is_told, real, small, told

from templatelint.lint import Options, lint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.model import Finding, Model

ALL = ("transformers", "llama.cpp", "vllm", "sglang")
TRAINING = ("transformers", "vllm", "sglang")  # what trains renders as these do

TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
CUE = "<|im_start|>assistant\n"


def _cued(text: str) -> str:
    """A template of which prompts end with that text, where a cue is asked for."""
    return TURNS + "{% if add_generation_prompt %}{{ '" + text.replace("\n", "\\n") + "' }}{% endif %}"


def _masked(answer: str, other: str = "{{ m.content }}<|im_end|>") -> str:
    """A template that writes answers so, between two headers."""
    asked = "{% if m.role == 'assistant' %}" + answer + "{% else %}" + other + "{% endif %}"
    return (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n"
        + asked
        + "{{ '\\n' }}{% endfor %}"
        + _cued(CUE)[len(TURNS) :]
    )


GENERATION = "{% generation %}{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}<|im_end|>{% endgeneration %}"
IN_A_MACRO = (
    "{% macro answer(m) %}Here is what the assistant says to that, at some length and with some words: "
    + GENERATION
    + "{% endmacro %}"
    + _masked("{{ answer(m) }}")
)
CONTRADICTS = "warning the cue '<|im_end|>\\n<|im_start|>"


class Row(NamedTuple):
    says: str
    template: str
    found: Sequence[str]
    engines: Sequence[str]


# an end of text where no cue is asked for, as Phi-3 has
ENDED = TURNS + "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% else %}{{ eos_token }}{% endif %}"
# without a cue more is different than the cue
OPENED_TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ '[done]' if not add_generation_prompt }}{{ m.content }}"
    "<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\\n<think>' if add_generation_prompt }}"
)

ROWS = [
    Row("TL503: nothing changes", _cued(CUE), [], ALL),
    Row("TL503: an end of text where no cue is asked for", ENDED, [], ALL),
    Row("TL503: a thought opened by the cue", _cued(CUE + "<think>\n"), [], ALL),
    Row("TL503: an empty thought in the cue", _cued(CUE + "<think>\n\n</think>\n\n"), [], ALL),
    Row("TL503: texts that differ without a cue", OPENED_TURNS, [], ALL),
    Row(
        "TL503: a text that only the last message has",
        _cued(CUE).replace("}}<|im_end|>", "}}{{ ' (latest)' if loop.last }}<|im_end|>"),
        ["error text of earlier turns changes as the history grows: 20% of the prompt of chat-long@1 is rewritten"],
        ALL,
    ),
    Row(
        "TL503: thoughts that go when the next question comes",
        _cued(CUE).replace(
            "{{ m.content }}",
            "{{ m.reasoning_content if m.reasoning_content and messages[-1].role == 'tool' }}{{ m.content }}",
        ),
        ["error reasoning of earlier turns is removed from the history: "],
        ("transformers", "llama.cpp"),
    ),
    Row("TL502: inside its condition", _cued(CUE), [], ALL),
    Row("TL502: no cue at all", TURNS, [], ALL),
    Row(
        "TL502: the user's turn ends with it",
        "{% for m in messages %}{% if m.role == 'user' %}[INST]{{ m.content }}[/INST]"
        "{% else %}{{ m.content }}</s>{% endif %}{% endfor %}",
        [],
        ALL,
    ),
    Row("TL502: an end of text that is always there", TURNS + "<|endoftext|>", [], ALL),
    Row("TL502: nobody trains with it", TURNS + CUE + "{{ '' }}", [], ("llama.cpp",)),
    Row(
        "TL502: without a condition",
        TURNS + CUE + "{{ '' }}",
        ["warning the cue '<|im_start|>assistant' follows the last answer too, whatever add_generation_prompt says"],
        TRAINING,
    ),
    Row(
        "TL502: a condition that is always true",
        TURNS + "{% if add_generation_prompt is defined %}" + CUE + "<think>{% endif %}",
        ["warning the cue '<|im_start|>assistant\\n<think>' follows the last answer too"],
        ("transformers",),
    ),
    Row(
        "TL502: after questions",
        TURNS + "{% if messages[-1].role == 'user' %}" + CUE + "{% endif %}",
        ["note a last question is followed by the cue, '<|im_end|>\\n<|im_start|>assistant\\n', whatever"],
        TRAINING,
    ),
    Row(
        "TL505: the cue's newline ends the file",
        TURNS + CUE,
        ["warning the newline at the end of the file is dropped, and the cue with it"],
        ALL,
    ),
    Row("TL505: behind a block", _cued(CUE) + "\n", [], ALL),
    Row("TL505: behind what prints its own", TURNS + "{{ '<|im_start|>assistant\\n' }}\n", [], ALL),
    Row("TL505: behind a comment", _cued(CUE) + "{# the end #}\n", [], ALL),
    Row("TL505: the history has none either", (TURNS + CUE).replace("{{ m.role }}\n", "{{ m.role + ':' }}"), [], ALL),
    Row("TL507: the same", _cued(CUE), [], ALL),
    Row("TL507: other blanks", _cued("<|im_start|>assistant\n "), [], ALL),
    Row(
        "TL507: a line break is left to the model",
        _cued("<|im_start|>assistant"),
        ["note the cue '<|im_end|>\\n<|im_start|>assistant' leaves out '\\n', with which the history goes on"],
        ALL,
    ),
    Row(
        "TL507: a line break more",
        _cued("<|im_start|>assistant\n\n"),
        ["note the cue '<|im_end|>\\n<|im_start|>assistant\\n\\n' ends with '\\n' more than assistant turns open with"],
        ALL,
    ),
    Row(
        "TL507: everybody is the user",
        _cued(CUE).replace("{{ m.role }}", "user"),
        [
            CONTRADICTS.replace("warning", "error") + "assistant\\n' differs from what opens",
        ],
        ALL,
    ),
    Row("TL507: the role is left to the model", _cued("<|im_start|>"), [], ALL),
    Row("TL507: opens a thought", _cued(CUE + "<think>\n"), [], ALL),
    Row("TL507: an empty thought", _cued(CUE + "<think>\n\n</think>\n\n"), [], ALL),
    Row("TL507: thinks in words", _cued(CUE + "Here is my reasoning:\n"), [], ALL),
    Row("TL507: opens a section", _cued(CUE + "<|channel|>"), [], ALL),
    Row("TL507: another role", _cued("<|im_start|>model\n"), [CONTRADICTS + "model\\n' differs from what opens"], ALL),
    Row("TL507: the user's role", _cued("<|im_start|>user\n"), [CONTRADICTS + "user\\n' differs from what opens"], ALL),
    Row("TL507: words of an answer", _cued(CUE + "Sure, "), [CONTRADICTS + "assistant\\nSure, ' differs"], ALL),
    Row(
        "TL507: another marker",
        _cued("<|im_begin|>assistant\n"),
        ["warning the cue '<|im_end|>\\n<|im_begin|>assistant\\n' differs from what opens"],
        ALL,
    ),
    Row(
        "TL507: a marker too few",
        _cued("assistant\n"),
        ["warning the cue '<|im_end|>\\nassistant\\n' differs from what opens"],
        ALL,
    ),
    Row(
        "TL507: the history is quoted to a classifier",
        "{% for m in messages %}{{ m.role | upper }}: {{ m.content }}\n{% endfor %}<|im_end|>\n<|im_start|>assistant",
        [],
        ALL,
    ),
    Row("TL506: the text and its end", _masked(GENERATION), [], ("transformers",)),
    Row(
        "TL506: and the newline", _masked(GENERATION.replace("|>{% end", "|>{{ '\\n' }}{% end")), [], ("transformers",)
    ),
    Row("TL506: engines that return no mask", TURNS, [], ("llama.cpp", "vllm", "sglang")),
    Row("TL506: none", TURNS, ["error no `generation` block says what the assistant writes"], ("transformers",)),
    Row(
        "TL506: without the end",
        _masked(
            "{% generation %}{{ m.content }}{{ m.tool_calls | tojson if m.tool_calls }}{% endgeneration %}<|im_end|>"
        ),
        ["error the end-of-turn token '<|im_end|>' follows the `generation` block instead of ending it"],
        ("transformers",),
    ),
    Row(
        "TL506: without the calls",
        _masked(
            GENERATION.replace("{{ m.tool_calls", "{% endgeneration %}{{ m.tool_calls").replace(
                "<|", "{% generation %}<|"
            )
        ),
        [
            "error the end-of-turn token",
            "error no `generation` block covers tool calls, as 'Petrel2291' in tool-loop@6",
        ],
        ("transformers",),
    ),
    Row(
        "TL506: without the thoughts",
        _masked("{{ '<think>' + m.reasoning_content + '</think>' if m.reasoning_content }}" + GENERATION),
        ["error no `generation` block covers thoughts, as 'Bluetail4850' in reasoning-history@2+nogen"],
        ("transformers",),
    ),
    Row(
        "TL506: with the header",
        "{% for m in messages %}{% if m.role == 'assistant' %}{% generation %}<|im_start|>assistant\n{{ m.content }}"
        "{{ m.tool_calls | tojson if m.tool_calls }}<|im_end|>{% endgeneration %}"
        "{% else %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>{% endif %}{{ '\\n' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
        ["warning a `generation` block covers the header of the turn: '<|im_start|>assistant'"],
        ("transformers",),
    ),
    Row(
        "TL506: everybody's text",
        _masked(GENERATION, GENERATION),
        ["error a `generation` block covers user text: "],
        ("transformers",),
    ),
    Row(
        "TL506: transformers miscounts in a macro",
        IN_A_MACRO,
        ["error no `generation` block covers an assistant's text"],
        ("transformers",),
    ),
]
NEEDS = ("chat", "training", "prefix-cache")


def _told(model: Model, engine: str, rule: str) -> list[Finding]:
    return told(model, engine, rule, NEEDS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says)
def test_a_rule_says_this_and_no_more(row: Row) -> None:
    for engine in row.engines:
        is_told(_told(small(row.template), engine, row.says[:5]), row.found, engine)


def test_that_there_are_no_marks_is_said_to_those_who_train() -> None:
    model = small(TURNS)
    assert told(model, "transformers", "TL506", None) == []
    assert told(model, "transformers", "TL506", ("chat",)) == []


def test_wrong_marks_are_a_note_to_all_others() -> None:
    model = small(_masked(GENERATION, GENERATION))
    assert {finding.severity for finding in told(model, "transformers", "TL506", None)} == {"note"}


# real templates: rule, engine, what is said
REAL = [
    (
        "NousResearch-Meta-Llama-3.1-8B-Instruct",
        "TL502",
        "sglang",
        "'<|start_header_id|>assistant<|end_header_id|>' follows",
    ),
    ("microsoft-wavecoder-ultra-6.7b", "TL502", "transformers", "the cue '@@ Response' follows the last answer too"),
    ("arcee-ai-AFM-4.5B", "TL502", "transformers", "a last question is followed by the cue"),
    (
        "Motif-Technologies-Motif-2-12.7B-Instruct",
        "TL507",
        "vllm",
        "the cue '\\n<|endofturn|><|assistant|>\\n' differs",
    ),
    ("UnicomLLM-Unichat-llama3-Chinese-8B", "TL507", "llama.cpp", "the cue '\\nAssistant:' differs"),
    ("MiniMaxAI-MiniMax-Text-01-hf", "TL506", "transformers", "the end-of-turn token '<end_of_sentence>' follows"),
    (
        "HuggingFaceTB-SmolLM3-3B@3e0e27",
        "TL506",
        "transformers",
        "covers the header of the turn: '<|im_start|>assistant'",
    ),
]
RULES = ("TL502", "TL505", "TL506", "TL507")
SILENT = [
    "Qwen-Qwen2.5-7B-Instruct",
    "Qwen-Qwen3-0.6B",
    "meta-llama-Llama-3.1-8B-Instruct",
    "Mistral-Small-3.2-24B-Instruct-2506",
    "openai-gpt-oss-120b",
    "GLM-4.6",
    "Kimi-K2-Instruct",
    "Qwen-Qwen3Guard-Gen-4B",
    "LiquidAI-LFM2.5-8B-A1B-Base",
]


@pytest.mark.parametrize(("name", "rule", "engine", "said"), REAL)
def test_real_templates_that_need_to_be_told(name: str, rule: str, engine: str, said: str) -> None:
    assert [said in finding.message for finding in _told(real(name), engine, rule)] == [True]


@pytest.mark.parametrize("name", SILENT)
def test_silence_about_cues_and_marks_that_are_right(name: str) -> None:
    report = lint([real(name)], Options(select=RULES))
    assert [finding.message for finding in report.findings] == []
