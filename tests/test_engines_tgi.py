"""Expectations are what text-generation-inference's own types and functions do, named with each."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from templatelint.model import Model, Origin, RenderError, Request, Template, Tokenizer

pytest.importorskip("minijinja", reason="needs the extra minijinja")

from templatelint.engines.tgi import LoadedTemplate, edited, engine

NOW = datetime.fromisoformat("2026-03-02T09:30:00")
USER = {"role": "user", "content": "hi"}
PARAMETERS = {"type": "object", "properties": {"b": {}, "a": {}}}
TOOL = {"type": "function", "function": {"name": "f", "parameters": PARAMETERS, "strict": True}}
SEEN = {
    "type": "function",
    "function": {
        "description": None,
        "name": "f",
        "arguments": '{"type":"object","properties":{"b":{},"a":{}}}',
    },
}
PROMPT = (
    "\nGiven the functions available, please respond with a JSON for a function call with its proper arguments that "
    "best answers the given prompt. Respond in the format {name: function name, parameters: dictionary of argument "
    "name and its value}.Do not use variables.\n"
)


def loaded(source: str = "{{ tools }}", tokenizer: Tokenizer | None = None) -> LoadedTemplate:
    found = engine("tgi").load(Template("default", source, Origin("t", source)), tokenizer or Tokenizer())
    assert isinstance(found, LoadedTemplate)
    return found


def variables(request: Request, source: str = "{{ tools }}") -> dict[str, Any]:
    prepared = loaded(source).prepare(request, NOW)
    assert not isinstance(prepared, RenderError), prepared
    return dict(prepared.variables)


def names(tools: Any) -> list[str]:
    return [tool["function"]["name"] for tool in tools]


def call(arguments: Any = '{"a":1}') -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}


# ------------------------------------------------------- messages: `MessageBody`, `From<Message> for TextMessage`


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (USER, "hi"),
        ({"role": "tool", "content": "r", "tool_call_id": "c1", "name": "f"}, "r"),
        ({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "ab"),
        (
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {"url": "u"}}],
            },
            "a![](u)",
        ),
        ({"role": "assistant", "content": "", "tool_calls": [call()]}, ""),
        ({"role": "assistant", "content": "so", "tool_calls": [call()], "reasoning_content": "r"}, "so"),
        (
            {"role": "assistant", "content": None, "tool_calls": [call()]},
            r'[{"id":"c1","type":"function","function":{"description":null,"name":"f","arguments":"\"{\\\"a\\\":1}\""}}]',
        ),
        (
            {"role": "assistant", "tool_calls": [call({"a": 1})]},
            r'[{"id":"c1","type":"function","function":{"description":null,"name":"f","arguments":"{\"a\":1}"}}]',
        ),
    ],
)
def test_a_message_is_role_and_text(given: dict[str, Any], text: str) -> None:
    assert variables(Request([given, USER]))["messages"][0] == {"role": given["role"], "content": text}


@pytest.mark.parametrize(
    "given",
    [
        {"role": "assistant", "content": None},
        {"role": "assistant"},
        {"role": "user", "content": [{"type": "input_audio"}]},
        {"role": "assistant", "tool_calls": [{**call(), "id": None}]},
    ],
)
def test_a_message_that_is_rejected(given: dict[str, Any]) -> None:
    found = loaded().prepare(Request([given]), NOW)
    assert isinstance(found, RenderError)
    assert found.kind == "invalid-request"


# ------------------------------------------------------------------------------- tools: `ToolGrammar::apply`


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, ["f", "g", "no_tool"]),
        ("auto", ["f", "g", "no_tool"]),
        ("required", ["f", "g"]),
        ("g", ["g"]),
        ({"type": "function", "function": {"name": "f"}}, ["f"]),
    ],
)
def test_tools_by_choice(choice: Any, expected: list[str]) -> None:
    other = {"type": "function", "function": {"name": "g", "parameters": {}}}
    request = Request([USER], [TOOL, other], extra={} if choice is None else {"tool_choice": choice})
    assert names(variables(request)["tools"]) == expected


def test_no_tools_are_none() -> None:
    assert variables(Request([USER]))["tools"] is None
    assert variables(Request([USER], [TOOL], extra={"tool_choice": "none"}))["tools"] is None
    assert variables(Request([USER], [], extra={"tool_choice": "required"}))["tools"] is None
    assert names(variables(Request([USER], []))["tools"]) == ["no_tool"]


def test_a_tool_has_its_parameters_as_text_under_another_name() -> None:
    """`FunctionDefinition`, `serialize_as_string`."""
    assert variables(Request([USER], [TOOL]))["tools"][0] == SEEN


@pytest.mark.parametrize(
    ("extra", "tools"),
    [
        ({"response_format": {"type": "json_object"}}, [TOOL]),
        ({"tool_choice": "h"}, [TOOL]),
        ({}, [{"type": "function", "function": {"name": "f"}}]),
    ],
)
def test_tools_that_are_rejected(extra: dict[str, Any], tools: Any) -> None:
    found = loaded().prepare(Request([USER], tools, extra=extra), NOW)
    assert isinstance(found, RenderError)
    assert found.kind == "invalid-request"


# ------------------------------------------------------------------------------ prompts: `ChatTemplate::apply`


def test_a_template_that_reads_tools_gets_the_tool_prompt_alone() -> None:
    assert variables(Request([USER], [TOOL]))["messages"][-1]["content"] == f"hi\n---\n{PROMPT}"
    own = Request([USER], [TOOL], extra={"tool_prompt": "do"})
    assert variables(own)["messages"][-1]["content"] == "hi\n---\ndo"


def test_a_template_that_reads_none_gets_them_in_the_last_message() -> None:
    content = variables(Request([USER], [TOOL]), "{% set tools = 1 %}{{ tools }}")["messages"][-1]["content"]
    listed = (
        r'[{"type":"function","function":{"description":null,"name":"f",'
        r'"arguments":"{\"type\":\"object\",\"properties\":{\"b\":{},\"a\":{}}}"}},'
        r'{"type":"function","function":{"description":"Open ended response with no specific tool selected",'
        r'"name":"no_tool","arguments":"{\"type\":\"object\"}"}}]'
    )
    assert content == f"hi\n---\n{listed}\n{PROMPT}"


def test_calls_at_the_end_get_nothing() -> None:
    request = Request([USER, {"role": "assistant", "tool_calls": [call()]}], [TOOL])
    assert PROMPT not in variables(request)["messages"][-1]["content"]


SHOWN = (
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}{{ '<assistant>' if add_generation_prompt }}"
)


@pytest.mark.parametrize(
    ("last", "prompt"),
    [
        (USER, "<user>hi</><assistant>"),
        ({"role": "assistant", "content": "so "}, "<assistant>so"),
        ({"role": "assistant", "content": ""}, "<assistant></><assistant>"),
    ],
)
def test_a_last_answer_is_continued(last: dict[str, Any], prompt: str) -> None:
    assert loaded(SHOWN).render(Request([last]), NOW).prompt == prompt


def test_no_variables_of_the_request_reach_a_template() -> None:
    assert set(variables(Request([USER], variables={"enable_thinking": False}, documents=[]))) == {
        "messages",
        "bos_token",
        "eos_token",
        "add_generation_prompt",
        "tools",
    }


def test_how_it_prints() -> None:
    source = (
        "  {% for m in messages %}\n{{ m|tojson }}\n  {% endfor %}{{ bos_token }}{{ eos_token }}{{ tools is none }}"
    )
    found = loaded(source, Tokenizer({"eos_token": "</s>"})).render(Request([{"role": "user", "content": "<é>"}]), NOW)
    assert found.prompt == '  \n{"content":"\\u003cé\\u003e","role":"user"}\n  none</s>true'


# ---------------------------------------------------------------------------- templates: `ChatTemplate::new`


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% generation %}a{% endgeneration %}", "a"),
        ("{%- generation %}a", "{%- generation %}a"),
        ("{% for m in messages[::-1] %}", "{% for m in messages|reverse %}"),
        ("messages[0]['content'][0]['text']", "messages[0]['content']"),
    ],
)
def test_the_edits_of_a_template(source: str, expected: str) -> None:
    assert edited(source).text == expected


def test_a_generation_tag_that_is_left_does_not_compile() -> None:
    source = "{%- generation %}a{%- endgeneration %}"
    found = engine("tgi").load(Template("default", source, Origin("t", source)), Tokenizer())
    assert isinstance(found, RenderError)
    assert "unknown statement generation" in found.message


def made(*listed: str, path: str = "tokenizer_config.json", kind: str = "folder") -> Model:
    return Model("m", kind, tuple(Template(name, "", Origin(path, "")) for name in listed))


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (made("tool_use", "default"), None),
        (made("tool_use"), "invalid-request"),
        (made(), "invalid-request"),
        (made("default", path="m/chat_template.jinja"), "unsupported"),
        (made("default", path="m/chat_template.jinja", kind="file"), None),
    ],
)
def test_only_default_is_used_and_no_jinja_file_of_a_model(model: Model, kind: str | None) -> None:
    found = engine("tgi").choose(model, Request([USER], [TOOL]))
    if kind is None:
        assert isinstance(found, Template)
        assert found.name == "default"
    else:
        assert isinstance(found, RenderError)
        assert found.kind == kind


def test_the_generation_prompt_is_always_on() -> None:
    found = engine("tgi").choose(made("default"), Request([USER], add_generation_prompt=False))
    assert isinstance(found, RenderError)
    assert found.kind == "unsupported"
