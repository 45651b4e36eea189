"""Requests that llama-cpp-python 0.3.35 was given, and the prompts that its own code made of them.

`preparations.json` names the function that each row is about; `formats.json` is about templates that it knows to the
letter and writes in Python. Expectations come from the chat handlers of `llama_cpp/llama_chat_format.py` themselves,
run without llama.cpp.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from reference import DATA, real_templates

from templatelint.cases import FIXED_NOW
from templatelint.engines.llama_cpp_python import engine
from templatelint.engines.prepared import Prepared
from templatelint.model import Model, Observation, Origin, RenderError, Request, Template, Tokenizer
from templatelint.renderers.jinja2 import compile_template
from templatelint.traffic import request_from_openai

FOLDER = DATA / "llama_cpp_python"
PREPARATIONS = {row["what"]: row for row in json.loads((FOLDER / "preparations.json").read_bytes())}
FORMATS = {f"{row['format']}: {row['what']}": row for row in json.loads((FOLDER / "formats.json").read_bytes())}
TOKENIZER = Tokenizer({"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"})
CLOSE = "{% endgeneration %}"
HELLO = Request([{"role": "user", "content": "Hi"}])


def _loaded(source: str, tokenizer: Tokenizer = TOKENIZER, name: str = "default") -> Any:
    loaded = engine("llama-cpp-python").load(Template(name, source, Origin("m.gguf", source)), tokenizer)
    assert not isinstance(loaded, RenderError)
    return loaded


def _outcome(observation: Observation) -> tuple[str | None, str | None]:
    return observation.prompt, None if observation.error is None else observation.error.kind


@pytest.mark.parametrize("what", PREPARATIONS)
def test_what_is_done_to_a_request(what: str) -> None:
    row = PREPARATIONS[what]
    observation = _loaded(row["template"]).render(request_from_openai(row["request"]), FIXED_NOW)
    assert _outcome(observation) == (row.get("prompt"), row.get("error")), row["source"]


@pytest.mark.parametrize("what", FORMATS)
def test_templates_that_are_known_are_written_in_python(what: str) -> None:
    row = FORMATS[what]
    loaded = _loaded(real_templates()[row["template"]])
    request = Request(row["messages"])
    assert _outcome(loaded.render(request, FIXED_NOW)) == (row.get("prompt"), row.get("error"))
    prepared = loaded.prepare(request, FIXED_NOW)
    if "prompt" in row:
        program = compile_template(real_templates()[row["template"]], restricted=False)
        assert isinstance(prepared, Prepared)
        assert prepared.finish(program.render(prepared.variables)) == row["prompt"]


def test_a_template_is_known_only_as_the_default_one() -> None:
    source = real_templates()["openbmb-VoxCPM2.jinja"]
    chatml = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"
    assert _loaded(source, name="chatml").render(HELLO, FIXED_NOW).prompt == chatml
    assert _loaded(source).render(HELLO, FIXED_NOW).prompt == "<|im_start|>system\n<|im_end|>\n" + chatml


def test_tokens_that_a_vocabulary_lacks_are_empty() -> None:
    # llama.py::Llama.__init__
    assert _loaded("{{ 'a' + bos_token + eos_token }}", Tokenizer()).render(HELLO, FIXED_NOW).prompt == "a"


def test_names_are_not_guarded_as_in_newer_transformers() -> None:
    assert _loaded("{% set n = namespace(_a=1) %}{{ n._b }}{{ dict(a=1).a }}").render(HELLO, FIXED_NOW).prompt == "1"


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("{% generation %}\n{{ messages.nope.x }}{% endgeneration %}", 2, 13),
        ("{% if true %}{% generation %}a{% generation %}\n  {{ messages.nope.x }}" + 2 * CLOSE + "{% endif %}", 2, 15),
    ],
)
def test_a_failure_inside_of_a_generation_block_has_its_place(source: str, line: int, column: int) -> None:
    error = _loaded(source).render(HELLO, FIXED_NOW).error
    assert (error.kind, error.line, error.column) == ("raised", line, column)


@pytest.mark.parametrize(
    ("source", "line", "column"),
    [
        ("{% if %}", 1, 7),
        ("a\n{{ x | nonesuch }}", 2, 8),
        ("{% generation %}\n{{ x | nonesuch }}{% endgeneration %}", 2, 8),
    ],
)
def test_a_template_that_does_not_compile(source: str, line: int, column: int) -> None:
    error = engine("llama-cpp-python").load(Template("default", source, Origin("m.gguf", source)), TOKENIZER)
    assert isinstance(error, RenderError)
    assert (error.kind, error.line, error.column) == ("syntax", line, column)


@pytest.mark.parametrize(
    ("names", "picked", "expected"),
    [
        # llama.py::Llama.__init__
        (("tool_use", "default"), False, "default"),
        (("tool_use", "default"), True, "tool_use"),
        (("tool_use",), False, "unsupported!"),
        ((), False, "unsupported!"),
    ],
)
def test_the_default_template_serves_every_request(names: tuple[str, ...], picked: bool, expected: str) -> None:
    templates = tuple(Template(name, "x", Origin("m.gguf", "x")) for name in names)
    request = Request(HELLO.messages, [{"type": "function", "function": {"name": "f"}}])
    chosen = engine("llama-cpp-python").choose(Model("m.gguf", "gguf", templates, picked=picked), request)
    assert (f"{chosen.kind}!" if isinstance(chosen, RenderError) else chosen.name) == expected
