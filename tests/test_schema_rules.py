"""What the rules on tool definitions that lose parts, and on calls that are none, say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from told import is_told, real, small, told

from templatelint.lint import Options, lint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.model import Finding, Model

TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}CALLS<|im_end|>\n{% endfor %}"
CHAT = TURNS.replace("CALLS", "{{ m.tool_calls | tojson if m.tool_calls }}")


def _tools(shown: str) -> str:
    """A template that shows of each tool `t` and its parameters `p` just that."""
    return "{% for t in tools or [] %}{% set p = t.function.parameters %}" + shown + "{% endfor %}" + CHAT


def _calls(shown: str) -> str:
    """A template that shows its tools, and of the tool calls of a message `m` that."""
    return "{{ tools | tojson if tools }}" + TURNS.replace("CALLS", shown)


EACH = "{% for k, v in p.properties | items %}"
NAMES = "{{ t.function.name }}: {{ t.function.description }}"
TYPESCRIPT = (
    NAMES
    + EACH
    + "{{ k }}{{ '?' if k not in (p.required or []) }}: {{ v | tojson }};{% endfor %}{{ p['$defs'] | tojson }}"
)
TWO_LOST = "the definition that a `$ref` names and the list of required parameters"
FLAT = (
    "the values of an `enum`, the properties of an object, the `items` of an array, the branches of `anyOf` and "
    "the definition that a `$ref` names"
)
ALL = ("transformers", "llama.cpp", "vllm", "sglang")
HANDING_ON = ("transformers", "sglang")
DROPPING = ("llama.cpp", "vllm")


class Row(NamedTuple):
    says: str
    template: str
    engines: Sequence[str]
    found: Sequence[str]


ROWS = [
    Row("TL211: the whole tool as JSON", _tools("{{ t | tojson }}"), ALL, []),
    Row("TL211: its function as JSON", _tools("{{ t.function | tojson }}"), ALL, []),
    Row("TL211: a question mark tells what is required", _tools(TYPESCRIPT), ALL, []),
    Row(
        "TL211: a reference without its definition",
        _tools(NAMES + EACH + "{{ k }}: {{ v | tojson }}{% endfor %}"),
        ALL,
        [f"warning a tool's definition reaches the prompt without {TWO_LOST}"],
    ),
    Row(
        "TL211: names, types and descriptions alone",
        _tools(NAMES + "{{ p.required | tojson }}" + EACH + "{{ k }} {{ v.type }} {{ v.description }}{% endfor %}"),
        ALL,
        [f"warning a tool's definition reaches the prompt without {FLAT}"],
    ),
    Row(
        "TL211: the list is shown, descriptions are not",
        _tools("{{ t.function.name }}{{ p | tojson }}"),
        ALL,
        ["warning a tool's definition reaches the prompt without the tool's description"],
    ),
    Row(
        "TL211: what is within a lost part is not named",
        _tools(NAMES),
        ALL,
        ["warning a tool's definition reaches the prompt without the parameters"],
    ),
    Row(
        "TL210: a tool that requires nothing",
        _tools("{{ t | tojson }}{% if p %}{{ p.required[0] + '' }}{% endif %}"),
        ("transformers", "vllm", "sglang"),
        ["error a tool that requires no parameter makes the template raise: "],
    ),
    Row("TL211: a tool that is not shown at all is TL201", CHAT, ALL, []),
    Row("TL212: asked for itself", _calls("{{ m.tool_calls | tojson if m.tool_calls }}"), ALL, []),
    Row("TL212: a loop over nothing", _calls("{% for c in m.tool_calls or [] %}{{ c | tojson }}{% endfor %}"), ALL, []),
    Row(
        "TL212: the first of none",
        _calls("{% if m.tool_calls is defined %}{{ m.tool_calls[0].function | tojson }}{% endif %}"),
        HANDING_ON,
        ["error an empty list of tool calls on a plain answer makes the template raise: "],
    ),
    Row(
        "TL212: these engines leave it out",
        _calls("{% if m.tool_calls is defined %}{{ m.tool_calls[0].function | tojson }}{% endif %}"),
        DROPPING,
        [],
    ),
    Row(
        "TL212: a section that holds nothing",
        _calls("{% if m.tool_calls is defined %}<calls>{{ m.tool_calls | tojson }}</calls>{% endif %}"),
        HANDING_ON,
        ["error an empty list of tool calls changes a plain answer: '…183 slot and leaves at seven.<calls>[]</calls>"],
    ),
    Row(
        "TL212: refused with a word",
        _calls("{% if 'tool_calls' in m and m.tool_calls | length != 1 %}{{ raise_exception('one call') }}{% endif %}"),
        HANDING_ON,
        [],  # no call reaches the prompt: TL202 tells of more
    ),
]


def _told(model: Model, engine: str, rule: str) -> list[Finding]:
    return told(model, engine, rule, ("chat", "tools"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.says)
def test_a_rule_says_this_and_no_more(row: Row) -> None:
    for engine in row.engines:
        is_told(_told(small(row.template), engine, row.says[:5]), row.found, engine)


# real templates: rule, engine, what is said
REAL = [
    ("openai-gpt-oss-120b", "TL211", "llama.cpp", "without descriptions inside an object, descriptions inside `items`"),
    (
        "google-gemma-4-31B-it",
        "TL211",
        "vllm",
        "without the branches of `anyOf` and the definition that a `$ref` names",
    ),
    ("ByteDance-Seed-OSS", "TL211", "transformers", f"without {FLAT}"),
    ("openai-gpt-oss-120b", "TL212", "transformers", "makes the template raise: list object has no element 0"),
    (
        "meta-llama-Llama-3.1-8B-Instruct",
        "TL212",
        "sglang",
        "raise: This model only supports single tool-calls at once!",
    ),
    ("LFM2.5-8B-A1B", "TL212", "sglang", "<|tool_call_start|>[]<|tool_call_end|>"),
    ("allenai-Olmo-3-7B-Instruct", "TL212", "transformers", "<function_calls></function_calls>"),
]
SILENT = [
    ("Qwen-Qwen2.5-7B-Instruct", ALL),
    ("Qwen-Qwen3-0.6B", ALL),
    ("GLM-4.6", ALL),
    ("Kimi-K2-Instruct", ALL),
    ("Mistral-Small-3.2-24B-Instruct-2506", ALL),
]


@pytest.mark.parametrize(("name", "rule", "engine", "said"), REAL)
def test_real_templates_that_need_to_be_told(name: str, rule: str, engine: str, said: str) -> None:
    assert [said in finding.message for finding in _told(real(name), engine, rule)] == [True]


@pytest.mark.parametrize(("name", "engines"), SILENT)
def test_silence_about_what_real_templates_do_right(name: str, engines: Sequence[str]) -> None:
    report = lint([real(name)], Options(engines=tuple(engines), select=("TL211", "TL212")))
    assert [finding.message for finding in report.findings] == []


def test_a_definition_is_judged_where_only_parameters_are_shown() -> None:
    (finding,) = _told(small(_tools(EACH + "{{ k }}{{ v | tojson }}{% endfor %}")), "transformers", "TL211")
    assert "without the tool's name, the tool's description" in finding.message
