"""Requests that mlx-lm 0.32.2 was given, and the prompts that its own code made of them.

`preparations.json` names the file and function of the wheel that each row is about. Expectations come from
`ResponseGenerator._tokenize` itself over transformers 5.24.0, run without MLX.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from reference import DATA

from templatelint.cases import FIXED_NOW
from templatelint.engines.mlx_lm import engine
from templatelint.model import Model, Origin, RenderError, Request, Template, Tokenizer
from templatelint.traffic import request_from_openai

PREPARATIONS = {row["what"]: row for row in json.loads((DATA / "mlx_lm" / "preparations.json").read_bytes())}
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
HELLO = [{"role": "user", "content": "Hi"}]


@pytest.mark.parametrize("what", PREPARATIONS)
def test_what_is_done_to_a_request(what: str) -> None:
    row = PREPARATIONS[what]
    source = row["template"]
    loaded = engine("mlx-lm").load(Template("default", source, Origin("t.jinja", source)), Tokenizer(TOKENS))
    assert not isinstance(loaded, RenderError)
    observation = loaded.render(request_from_openai(row["request"]), FIXED_NOW)
    expected = (row.get("prompt"), row.get("error"))
    assert (observation.prompt, observation.error and observation.error.kind) == expected, row["source"]


@pytest.mark.parametrize(
    ("markers", "thinks"),
    [
        # tokenizer_utils.py::_infer_thinking
        ("</think>", True),
        ("<longcat_think>", True),
        ("<|think:start|>", True),
        ("<channel|>", True),
        ("<|open|><|close|><|sep|><|end_of_msg|>", True),
        ("<|open|><|close|><|sep|>", False),
        ("[THINK]", False),
        ("<seed:think>", False),
    ],
)
def test_thinking_is_on_by_the_markers_of_the_template(markers: str, thinks: bool) -> None:
    source = "{{ enable_thinking }}{# " + markers + " #}"
    loaded = engine("mlx-lm").load(Template("default", source, Origin("t.jinja", source)), Tokenizer())
    assert not isinstance(loaded, RenderError)
    assert loaded.render(Request(HELLO), FIXED_NOW).prompt == str(thinks)


def _model(*names: str, **facts: Any) -> Model:
    templates = tuple(Template(name, "x", Origin("tokenizer_config.json", "x")) for name in names)
    return Model("a", "folder", templates, Tokenizer(facts=facts))


TOOLS = [{"type": "function", "function": {"name": "f"}}]


@pytest.mark.parametrize(
    ("model", "tools", "expected"),
    [
        (_model("default", "tool_use"), TOOLS, "tool_use"),
        (_model("default", "tool_use"), None, "default"),
        # server.py::handle_chat_completions makes null of an empty list
        (_model("default", "tool_use"), [], "default"),
        (_model("rag"), None, "invalid-request!"),
        # server.py::convert_chat
        (_model(), None, "unsupported!"),
        # tokenizer_utils.py::load
        (_model("default", chat_template_type="deepseek_v32"), None, "unsupported!"),
    ],
)
def test_the_template_is_the_one_that_transformers_chooses(model: Model, tools: Any, expected: str) -> None:
    chosen = engine("mlx-lm").choose(model, Request(HELLO, tools))
    assert (f"{chosen.kind}!" if isinstance(chosen, RenderError) else chosen.name) == expected


def test_a_template_that_does_not_compile() -> None:
    source = "{{ x | nonesuch }}"
    error = engine("mlx-lm").load(Template("default", source, Origin("t.jinja", source)), Tokenizer())
    assert isinstance(error, RenderError)
    assert error.kind == "syntax"


def test_a_request_is_left_as_it_is() -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    body = {"messages": [{"role": "assistant", "tool_calls": [call]}, *HELLO]}
    before = json.dumps(body)
    source = "{{ messages }}"
    loaded = engine("mlx-lm").load(Template("default", source, Origin("t.jinja", source)), Tokenizer())
    assert not isinstance(loaded, RenderError)
    loaded.render(request_from_openai(body), FIXED_NOW)
    assert json.dumps(body) == before
