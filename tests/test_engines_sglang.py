"""Requests that SGLang 0.5.23 was given, and the prompts that its own code made of them.

`preparations.json` names the file and function of the wheel that each row is about; `sampled.json` holds requests drawn
at random, most of them valid. Expectations come from `OpenAIServingChat._process_messages` itself, run with a tokenizer
of transformers 5.19.0 and without the imports that need a GPU.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from reference import DATA

from templatelint.cases import FIXED_NOW
from templatelint.engines.prepared import Prepared
from templatelint.engines.sglang import engine
from templatelint.model import Observation, Origin, RenderError, Template, Tokenizer
from templatelint.renderers.jinja2 import compile_template
from templatelint.traffic import request_from_openai

PREPARATIONS = {row["what"]: row for row in json.loads((DATA / "sglang" / "preparations.json").read_bytes())}
SAMPLED = json.loads((DATA / "sglang" / "sampled.json").read_bytes())
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}


def _loaded(source: str, tokenizer: Tokenizer) -> Any:
    loaded = engine("sglang").load(Template("default", source, Origin("tokenizer_config.json", source)), tokenizer)
    assert not isinstance(loaded, RenderError)
    return loaded


def _outcome(observation: Observation) -> str:
    return f"{observation.error.kind}!" if observation.error is not None else str(observation.prompt)


def _expected(row: dict[str, Any]) -> str:
    return f"{row['error']}!" if "error" in row else str(row["prompt"])


@pytest.mark.parametrize("what", PREPARATIONS)
def test_what_is_done_to_a_request(what: str) -> None:
    row = PREPARATIONS[what]
    loaded = _loaded(row["template"], Tokenizer(TOKENS))
    assert _outcome(loaded.render(request_from_openai(row["request"]), FIXED_NOW)) == _expected(row), row["source"]


@pytest.mark.parametrize("number", range(len(SAMPLED["rows"])))
def test_requests_drawn_at_random(number: int) -> None:
    row = SAMPLED["rows"][number]
    loaded = _loaded(SAMPLED["templates"][row["template"]], Tokenizer({"bos_token": "<s>"}))
    assert _outcome(loaded.render(request_from_openai(row["request"]), FIXED_NOW)) == _expected(row)


@pytest.mark.parametrize("what", PREPARATIONS)
def test_what_is_prepared_gives_the_prompt(what: str) -> None:
    row = PREPARATIONS[what]
    prepared = _loaded(row["template"], Tokenizer(TOKENS)).prepare(request_from_openai(row["request"]), FIXED_NOW)
    if isinstance(prepared, RenderError):
        assert f"{prepared.kind}!" == _expected(row)
    elif "prompt" in row:
        program = compile_template(row["template"], restricted=False)
        assert isinstance(prepared, Prepared)
        assert prepared.finish(program.render(prepared.variables)) == row["prompt"]


def test_a_request_is_left_as_it_is() -> None:
    body = {
        "messages": [
            {
                "role": "assistant",
                "content": [{"type": "text", "text": "a"}],
                "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
            }
        ],
        "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "dict"}}}],
    }
    before = json.dumps(body)
    _loaded("{{ messages }}{{ tools }}", Tokenizer()).render(request_from_openai(body), FIXED_NOW)
    assert json.dumps(body) == before


@pytest.mark.parametrize(
    ("add_bos", "prompt"),
    [
        pytest.param(True, "> <s>So", id="the one that encoding adds is dropped again"),
        pytest.param(None, "> <s>So", id="not known"),
        pytest.param(False, "> So", id="the one in the text is taken for it"),
    ],
)
def test_a_text_to_go_on_with_may_lose_its_bos(add_bos: bool | None, prompt: str) -> None:
    # serving_chat.py::_append_assistant_prefix_to_prompt_ids
    loaded = _loaded("> ", Tokenizer(TOKENS, add_bos=add_bos))
    request = request_from_openai(
        {
            "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "<s>So"}],
            "continue_final_message": True,
        }
    )
    assert loaded.render(request, FIXED_NOW).prompt == prompt


def test_a_template_that_does_not_compile_is_told_with_its_place() -> None:
    source = "a\n{{ x | nonesuch }}"
    error = engine("sglang").load(Template("default", source, Origin("tokenizer_config.json", source)), Tokenizer())
    assert isinstance(error, RenderError)
    assert (error.kind, error.line, error.column) == ("syntax", 2, 8)


def test_the_engine_says_what_it_is() -> None:
    sglang = engine("sglang")
    assert (sglang.name, sglang.renderer, sglang.version, sglang.emulated, sglang.client_form) == (
        "sglang",
        "jinja2",
        "0.5.23",
        False,
        "wire",
    )
