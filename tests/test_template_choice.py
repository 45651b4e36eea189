from __future__ import annotations

import pytest

from templatelint.lint import Options, lint
from templatelint.model import Finding, Model, Origin, Template, Tokenizer
from templatelint.vet import Beside, vet

TURNS = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TOOLS = "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}" + TURNS
BROKEN = "{% if"
ORDERED = (("tool_use", BROKEN), ("default", TURNS))


def _found(
    named: dict[str, str], *engines: str, picked: bool = False, select: tuple[str, ...] = ("TL001", "TL608")
) -> list[Finding]:
    templates = tuple(
        Template(name, source, Origin("m.gguf", source, locatable=False)) for name, source in named.items()
    )
    model = Model("m.gguf", "gguf", templates, Tokenizer(special_tokens={"bos_token": "<s>"}), picked=picked)
    options = Options(engines=engines, select=select, vetting=True)
    return list(lint([model], options).findings)


@pytest.mark.parametrize(
    ("named", "told"),
    [
        pytest.param({"default": TURNS, "tool_use": TOOLS}, {("sglang", "tools")}, id="sglang takes the first"),
        pytest.param({"tool_use": TOOLS, "default": TURNS}, set(), id="the first serves plain chat alike"),
        pytest.param({"tool_use": "t" + TURNS, "default": TURNS}, {("sglang", "chat")}, id="or otherwise"),
        pytest.param({"rag": "r" + TURNS, "default": TURNS}, {("sglang", "chat")}, id="any first"),
        pytest.param({"default": TURNS, "tool_use": "{#- t -#}" + TURNS}, set(), id="another text of the same prompts"),
        pytest.param({"default": TOOLS}, set(), id="one template"),
        pytest.param({"default": TOOLS, "rag": "r" + TURNS}, set(), id="one that nobody chooses"),
    ],
)
def test_a_choice_is_told_where_it_changes_the_prompt(named: dict[str, str], told: set[tuple[str, str]]) -> None:
    found = [finding for finding in _found(named) if finding.rule == "TL608"]
    assert {(engine, need) for finding in found for engine in finding.engines for need in finding.needs} == told
    assert all(finding.severity == "warning" for finding in found)


def test_engines_that_take_the_default_template_whatever_a_request_has_are_told() -> None:
    (finding,) = _found({"default": TURNS, "tool_use": TOOLS}, "llama-cpp-python", "mlx-lm", "llama.cpp")
    assert finding.engines == ("llama-cpp-python",)
    assert finding.message.endswith("tool definitions do not reach the prompt")


def test_a_picked_template_leaves_no_choice() -> None:
    assert _found({"tool_use": TOOLS, "default": TURNS}, "sglang", picked=True) == []


def test_a_template_for_tools_that_does_not_parse_fails_where_it_is_used_and_is_ignored_by_llama_cpp() -> None:
    fails, ignored = _found({"default": TURNS, "tool_use": BROKEN})
    assert (fails.severity, fails.ref, fails.engines) == ("error", "m.gguf#tool_use", ("transformers", "vllm"))
    assert (ignored.severity, ignored.ref, ignored.engines) == ("warning", "m.gguf#tool_use", ("llama.cpp",))
    assert "logs that it ignores it, and serves requests with tools with the default template" in ignored.message


@pytest.mark.parametrize(
    ("named", "engine", "told"),
    [
        pytest.param({"default": BROKEN, "tool_use": TOOLS}, "llama.cpp", "m.gguf", id="the default one"),
        pytest.param({"tool_use": BROKEN}, "llama.cpp", "m.gguf#tool_use", id="in place of a default one"),
        pytest.param({"tool_use": BROKEN, "default": TURNS}, "sglang", "m.gguf#tool_use", id="the first of sglang"),
        pytest.param({"default": TURNS, "rag": BROKEN}, "llama.cpp", "", id="never looked at by llama.cpp"),
        pytest.param({"default": TURNS, "tool_use": BROKEN}, "sglang", "", id="nor by sglang"),
        pytest.param({"default": TURNS, "tool_use": BROKEN}, "llama-cpp-python", "m.gguf#tool_use", id="all compiled"),
    ],
)
def test_a_template_that_does_not_load_ends_what_uses_it(named: dict[str, str], engine: str, told: str) -> None:
    found = [finding for finding in _found(named, engine) if finding.rule == "TL001"]
    assert [(finding.ref, finding.severity) for finding in found] == ([(told, "error")] if told else [])


def test_what_a_template_for_tools_does_to_chat_it_does_to_tools() -> None:
    named = {"default": TURNS, "tool_use": "{{ raise_exception('no tools') }}"}
    (refused,) = _found(named, select=("TL210",))
    # SGLang serves nothing with it, and does not speak against the error
    assert (refused.severity, refused.engines) == ("error", ("transformers", "llama.cpp", "vllm"))
    assert refused.message.startswith("a request that offers tools makes the template raise: ")
    assert {finding.needs for finding in _found({"default": TURNS, "tool_use": BROKEN}, "vllm")} == {("tools",)}
    assert {finding.needs for finding in _found({"default": BROKEN, "tool_use": TOOLS}, "vllm")} == {("chat",)}
    assert {finding.needs for finding in _found({"default": TURNS, "tool_use": BROKEN}, "llama-cpp-python")} == {
        ("chat",)
    }


def test_a_template_harms_nobody_on_an_engine_that_serves_nothing_with_it() -> None:
    named = {"default": TOOLS, "tool_use": TOOLS + "{% if never %}{{ 1 | nosuch }}{% endif %}"}
    every = ("transformers", "llama.cpp", "sglang")
    told = [finding for finding in _found(named, *every, select=("TL0",)) if finding.template == "tool_use"]
    assert {engine for finding in told for engine in finding.engines} == {"transformers", "llama.cpp"}


def test_an_engine_that_goes_on_without_a_template_is_launched() -> None:
    templates = tuple(Template(name, source, Origin("m", source)) for name, source in ORDERED)
    model = Model("m.gguf", "gguf", templates, Tokenizer(special_tokens={"bos_token": "<s>"}))
    vetted = vet(model, Options(engines=("llama.cpp",), needs=("chat", "tools")), Beside(upstream="none"))
    assert {verdict.need: verdict.verdict for verdict in vetted.verdicts if verdict.asked} == {
        "chat": "works",
        "tools": "broken",
    }
    assert "llama.cpp" in vetted.launches
