"""Expectations are what mistral.rs's own functions do, named with each; its files stand in the engine's docstring."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from templatelint.model import Model, Origin, RenderError, Request, Template, Tokenizer

pytest.importorskip("minijinja", reason="needs the extra minijinja")

from templatelint.engines.mistral_rs import LoadedTemplate, edited, engine

NOW = datetime.fromisoformat("2026-03-02T09:30:00")
TOKENS = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"})
USER = {"role": "user", "content": "hi"}
TOOL = {"type": "function", "function": {"name": "f"}}


def template(source: str, name: str = "default", path: str = "t.json", *, listed: bool = True) -> Template:
    return Template(name, source, Origin(path, source, escaped=listed))


def model(*templates: Template) -> Model:
    return Model("m", "config", templates)


def loaded(source: str = "") -> LoadedTemplate:
    found = engine("mistral.rs").load(template(source), TOKENS)
    assert isinstance(found, LoadedTemplate)
    return found


def variables(request: Request, source: str = "") -> dict[str, Any]:
    prepared = loaded(source).prepare(request, NOW)
    assert not isinstance(prepared, RenderError), prepared
    return dict(prepared.variables)


def messages(*given: dict[str, Any], source: str = "") -> Any:
    return variables(Request(given), source)["messages"]


def rejection(request: Request) -> str:
    prepared = loaded().prepare(request, NOW)
    assert isinstance(prepared, RenderError)
    assert prepared.kind == "invalid-request"
    return prepared.message


def call(arguments: str = '{"a": 1}', **more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}, **more}


# ---------------------------------------------------------------------- messages: `parse_request`


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (USER, USER),
        ({**USER, "refusal": None, "audio": 1}, USER),
        ({"name": "n", "tool_call_id": "c", "content": "x", "role": "tool"}, None),
        ({"role": "assistant", "content": "x", "reasoning_content": "r"}, None),
        ({"role": "assistant", "content": "x", "reasoning": "r"}, {"role": "assistant", "content": "x"}),
        ({"role": "developer", "content": "x"}, None),
        ({"role": "user", "content": [{"text": "x"}]}, {"role": "user", "content": "x"}),
        (
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "user", "content": [{"type": "text", "text": "a b"}]},
        ),
    ],
)
def test_a_message(given: dict[str, Any], expected: dict[str, Any] | None) -> None:
    assert messages(given) == [given if expected is None else expected]


def test_the_members_of_a_message_are_in_an_order_of_their_own() -> None:
    (message,) = messages({"name": "n", "tool_call_id": "c", "content": "x", "reasoning_content": "r", "role": "tool"})
    assert list(message) == ["role", "content", "reasoning_content", "tool_call_id", "name"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [('{"a": 1}', {"a": 1}), ("[1]", "[1]"), ("", ""), ("{nope", "{nope"), ('{"a": NaN}', '{"a": NaN}')],
)
def test_arguments_that_are_an_object_become_one(arguments: str, expected: Any) -> None:
    """`parse_tool_call_arguments`."""
    (message,) = messages({"role": "assistant", "content": None, "tool_calls": [call(arguments, index=0)]})
    assert message == {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": expected}}],
    }


def test_a_call_without_an_id_takes_its_function_for_one() -> None:
    (message,) = messages({"role": "assistant", "tool_calls": [call(id=None)]})
    assert message["tool_calls"][0]["id"] == "f"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"role": "user", "content": None}, "neither content nor tool calls"),
        ({"role": "system", "content": [{"type": "text", "text": "a"}]}, "only a user's may be"),
        ({"role": "user", "content": [{"type": "thought", "text": "a"}]}, "of no known type"),
        ({"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}, "no text"),
    ],
)
def test_a_message_that_is_rejected(given: dict[str, Any], message: str) -> None:
    assert message in rejection(Request([given]))


GEMMA = "<|tool_call>{{ 1 }}<tool_call|>"
LIQUID = "<|tool_call_start|>{{ 1 }}<|tool_call_end|>"


def test_results_for_gemma() -> None:
    """`preprocess_gemma4_tool_messages`."""
    found = messages(
        USER,
        {"role": "assistant", "content": "beside", "tool_calls": [call()]},
        {"role": "tool", "content": '{"temp": 72}', "name": "f"},
        {"role": "tool", "content": "sunny"},
        {"role": "assistant", "content": "so"},
        {"role": "tool", "content": "1"},
        source=GEMMA,
    )
    assert [message["role"] for message in found] == ["user", "assistant", "user", "assistant", "user"]
    assert found[1]["content"] == ""
    assert found[2] == {
        "role": "user",
        "tool_responses": [{"name": "f", "response": {"temp": 72}}, {"name": "unknown", "response": "sunny"}],
    }
    assert found[3]["content"] == "so"


@pytest.mark.parametrize(
    ("rendered", "prompt"),
    [("x<tool_response|>", "x<tool_response|><|turn>model\n"), ("x", "x")],
)
def test_the_cue_for_gemma(rendered: str, prompt: str) -> None:
    """The end of `apply_chat_template_to`."""
    found = loaded(f"{{{{ '{rendered}' }}}}{{# <|tool_call> <tool_call|> #}}").render(Request([USER]), NOW)
    assert found.prompt == prompt


def test_content_beside_calls_is_lost_for_liquid() -> None:
    """`clear_assistant_tool_call_content`."""
    answer = {"role": "assistant", "content": "beside", "tool_calls": [call()]}
    assert messages(answer, source=LIQUID)[0]["content"] == ""
    assert messages(answer)[0]["content"] == "beside"


# --------------------------------------------------- variables: `apply_chat_template_to`, `tool_template_value`


def test_the_variables_of_a_plain_request() -> None:
    assert variables(Request([USER], documents=[{"title": "t"}], variables={"other": 1})) == {
        "messages": [USER],
        "add_generation_prompt": True,
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": None,
        "date_string": "02, March, 2026",
        "enable_thinking": True,
    }


def test_tools_have_an_order_of_their_own() -> None:
    given = {
        "function": {
            "parameters": {"z": 1, "required": [], "properties": {"b": {}, "a": {}}, "$defs": {}, "type": "object"},
            "strict": True,
            "name": "python",
            "description": "d",
            "more": 1,
        },
        "type": "function",
    }
    found = variables(Request([USER], tools=[given]))
    assert json.dumps(found["tools"]) == json.dumps(
        [
            {
                "type": "function",
                "function": {
                    "name": "python",
                    "description": "d",
                    "parameters": {
                        "type": "object",
                        "properties": {"b": {}, "a": {}},
                        "required": [],
                        "$defs": {},
                        "z": 1,
                    },
                    "strict": True,
                },
            }
        ]
    )
    assert found["xml_tools"] == found["tools"]
    assert found["builtin_tools"] == ["python"]


def test_no_tools_are_no_variable() -> None:
    assert {"tools", "xml_tools", "builtin_tools"}.isdisjoint(variables(Request([USER], tools=[])))
    assert variables(Request([USER], tools=[TOOL]))["tools"] == [TOOL]


@pytest.mark.parametrize(
    ("choice", "tools", "message"),
    [
        ("required", None, "there are no tools"),
        ({"type": "function", "function": {"name": "g"}}, [TOOL], "which is not among the tools"),
    ],
)
def test_a_choice_without_the_tool(choice: Any, tools: Any, message: str) -> None:
    """`validate_openai_tool_choice`."""
    assert message in rejection(Request([USER], tools, extra={"tool_choice": choice}))


@pytest.mark.parametrize(
    ("extra", "kwargs", "thinking", "effort"),
    [
        ({}, {}, True, None),
        ({"enable_thinking": False}, {"enable_thinking": True}, False, None),
        ({}, {"enable_thinking": False}, False, None),
        ({}, {"enable_thinking": "no"}, True, None),
        ({"reasoning_effort": " NONE "}, {}, False, "off"),
        ({"reasoning_effort": "max"}, {}, True, "xhigh"),
        ({}, {"reasoning_effort": "low"}, True, "low"),
    ],
)
def test_reasoning_controls(extra: Any, kwargs: Any, thinking: bool, effort: str | None) -> None:
    """`resolve_reasoning_controls`, and its test `reasoning_controls_resolve_consistently`."""
    found = variables(Request([USER], variables=kwargs, extra=extra))
    assert found["enable_thinking"] is thinking
    assert found.get("reasoning_effort") == found.get("reasoning_strength") == effort


@pytest.mark.parametrize(
    "extra", [{"reasoning_effort": "extreme"}, {"reasoning_effort": "off", "enable_thinking": True}]
)
def test_reasoning_controls_that_are_rejected(extra: dict[str, Any]) -> None:
    assert "reasoning_effort" in rejection(Request([USER], extra=extra))


# ------------------------------------------------------------------------------------ templates


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% for m in messages[::-1] %}", "{% for m in messages|reverse %}"),
        ("{{ range(messages|length - 1, -1, -1) }}", "{{ range(messages|length - 1)|reverse }}"),
        ("a{%- generation %}b{% endgeneration -%}c", "abc"),
        ('{%- set meta = message.get("metadata", "") %}{{ meta }}', ""),
        ('{%- set meta = message.get("metadata", "") %}', '{%- set meta = message.get("metadata", "") %}'),
        ("namespace(name=tcid if tcid else '')", "namespace(name=(tcid if tcid else ''))"),
    ],
)
def test_the_edits_of_a_template(source: str, expected: str) -> None:
    assert edited(source).text == expected


@pytest.mark.parametrize(
    ("names", "tools", "chosen"),
    [
        (["default"], [TOOL], "default"),
        (["tool_use", "default"], None, "default"),
        (["default", "tool_use"], [TOOL], "tool_use"),
        (["default", "rag"], [TOOL], None),
        (["rag", "other"], None, "other"),
        ([], None, None),
    ],
)
def test_named_templates(names: list[str], tools: Any, chosen: str | None) -> None:
    found = engine("mistral.rs").choose(model(*(template("", name) for name in names)), Request([USER], tools))
    assert (found.name if isinstance(found, Template) else None) == chosen


def test_named_templates_of_several_files_are_not_read() -> None:
    files = [template("", name, f"{name}.jinja", listed=False) for name in ("default", "tool_use")]
    found = engine("mistral.rs").choose(model(*files), Request([USER], [TOOL]))
    assert found == files[0]


@pytest.mark.parametrize(
    "request_",
    [Request([USER], add_generation_prompt=False), Request([{"role": "user", "content": [{"type": "image_url"}]}])],
)
def test_what_is_not_known(request_: Request) -> None:
    found = engine("mistral.rs").choose(model(template("")), request_)
    assert isinstance(found, RenderError)
    assert found.kind == "unsupported"


def test_a_prompt() -> None:
    source = "{{ unk_token }}{% for m in messages %}\n  {{ m|tojson }}\n{% endfor %}{{ tools is defined }}"
    assert loaded(source).render(Request([USER]), NOW).prompt == 'none  {"role": "user", "content": "hi"}\nfalse'


def test_a_loop_control_is_no_statement() -> None:
    found = engine("mistral.rs").load(template("{% for a in b %}{% break %}{% endfor %}"), TOKENS)
    assert isinstance(found, RenderError)
    assert "unknown statement break" in found.message
