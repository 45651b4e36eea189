"""What Ollama asks its llama-server: openai/openai.go, api/types.go, server/routes.go and llm/llama_server.go."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from templatelint.engines import gojson, ollama
from templatelint.model import Model, Observation, Origin, RenderError, Request, Template, Tokenizer

NOW = datetime.fromisoformat("2026-03-02T09:30:00")
USER = {"role": "user", "content": "Hello."}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
CALLS = (
    "{% for m in messages %}{% for c in m.tool_calls %}"
    "{{ c.function.name }}{{ c.function.arguments|tojson }}{% endfor %}{% endfor %}"
)
CHAT = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if tools %}{{ tools|tojson }}{% endif %}"
THINKS = CHAT + "{{ '<think></think>' if enable_thinking }}{{ reasoning_effort }}"


def _loaded(source: str) -> ollama.LoadedTemplate:
    loaded = ollama.engine("ollama").load(Template("default", source, Origin("t", source)), Tokenizer({}))
    assert isinstance(loaded, ollama.LoadedTemplate)
    return loaded


def _forwarded(request: Request, source: str = CHAT) -> Request:
    return _loaded(source).forwarded(request)


# ------------------------------------------------------------ messages: FromChatRequest, then llamaServerChatMessage

SENT_CALL = {"id": "c1", "index": 0, "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}
A, B = ({"type": "text", "text": text} for text in "ab")
PNG = "data:image/png;base64,AAAA"

MESSAGES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "other members are lost, reasoning among them": (
        [{**USER, "name": "n", "reasoning": "r", "reasoning_content": "r"}],
        [USER],
    ),
    "roles are lower-cased": ([{"role": "User", "content": "Hello."}], [USER]),
    "a result bears the name of its call": (
        [
            {"role": "assistant", "content": "", "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "R"},
        ],
        [
            {"role": "assistant", "content": "", "tool_calls": [SENT_CALL]},
            {"role": "tool", "content": "R", "tool_call_id": "c1", "name": "f"},
        ],
    ),
    "a name that a result has stays": (
        [{"role": "tool", "tool_call_id": "c9", "name": "n", "content": "R"}],
        [{"role": "tool", "content": "R", "tool_call_id": "c9", "name": "n"}],
    ),
    "null beside calls is an empty text": (
        [{"role": "assistant", "content": None, "tool_calls": [CALL]}],
        [{"role": "assistant", "content": "", "tool_calls": [SENT_CALL]}],
    ),
    "null beside an empty list is one too": (
        [{"role": "assistant", "content": None, "tool_calls": []}],
        [{"role": "assistant", "content": ""}],
    ),
    "each part becomes a message": (
        [{"role": "user", "content": [A, B]}],
        [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}],
    ),
    "an image is a message of its own": (
        [{"role": "user", "content": [A, {"type": "image_url", "image_url": {"url": PNG}}]}],
        [
            {"role": "user", "content": "a"},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": PNG}}]},
        ],
    ),
    "a result in parts loses its call": (
        [USER, {"role": "tool", "tool_call_id": "c1", "content": [{"type": "text", "text": "R"}]}],
        [USER, {"role": "tool", "content": "R"}],
    ),
    "calls go to the last part": (
        [{"role": "assistant", "content": [A, B], "tool_calls": [CALL]}],
        [{"role": "assistant", "content": "a"}, {"role": "assistant", "content": "b", "tool_calls": [SENT_CALL]}],
    ),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_messages(name: str) -> None:
    messages, expected = MESSAGES[name]
    assert _forwarded(Request(messages)).messages == expected


REJECTED: dict[str, tuple[Request, str]] = {
    "no messages": (Request([]), "a conversation without messages only loads the model"),
    "null": (Request([{"role": "user", "content": None}]), "message 1 has neither content nor tool_calls"),
    "part": (
        Request([{"role": "user", "content": [{"type": "video_url"}]}]),
        "message 1 has a part that ollama does not take",
    ),
    "image": (
        Request([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}]),
        "message 1 has an image that is not given as base64 data",
    ),
    "arguments": (
        Request([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": ""}}]}]),
        "arguments of a tool call of message 1 are no JSON object",
    ),
    "mapping": (
        Request([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {}}}]}]),
        "arguments of a tool call of message 1 is no text but dict",
    ),
    "effort": (
        Request([USER], extra={"reasoning_effort": "minimal"}),
        "the reasoning effort is minimal, none of high, medium, low, max, none",
    ),
    "thinking": (
        Request([USER], extra={"reasoning": {"effort": "low"}}),
        "ollama finds no thinking in the template, and a reasoning effort is asked for",
    ),
    "property": (
        Request([USER], [{"function": {"parameters": {"properties": {"p": True}}}}]),
        "a property is no object but bool",
    ),
    "number": (
        Request([USER], [{"function": {"parameters": {"$defs": 10**400}}}]),
        "a number is beyond 64-bit floats",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_what_ollama_rejects(name: str) -> None:
    request, message = REJECTED[name]
    assert _loaded(CHAT).render(request, NOW) == Observation(error=RenderError("invalid-request", message))


# ----------------------------------------------------------------------------------- tools: api.Tool and its fields


def test_a_tool_is_cut_down_to_what_ollama_has_fields_for() -> None:
    tool = {
        "function": {
            "strict": True,
            "parameters": {
                "required": ["p"],
                "properties": {
                    "z": {"type": ["string"], "default": 1, "description": "d", "enum": ["a", 1.0]},
                    "p": {"anyOf": [{"type": "null", "minimum": 1}, {"type": ["integer", "null"]}]},
                    "o": {"properties": {"i": {"$ref": "#"}}, "required": [], "type": "object"},
                    "l": {"items": {"type": "string", "format": "date", "a": 1}, "type": "array"},
                },
                "additionalProperties": False,
                "$defs": {"d": {"z": 1, "a": 2}},
                "type": "object",
            },
            "description": "",
            "name": "f",
        },
        "type": "function",
    }
    (sent,) = _forwarded(Request([USER], [tool])).tools or ()
    expected = (
        '{"type": "function", "function": {"name": "f", "parameters": {"type": "object", '
        '"$defs": {"d": {"a": 2, "z": 1}}, "required": ["p"], "properties": {'
        '"z": {"type": "string", "description": "d", "enum": ["a", 1]}, '
        '"p": {"anyOf": [{"type": "null"}, {"type": ["integer", "null"]}]}, '
        '"o": {"type": "object", "properties": {"i": {}}}, '
        '"l": {"type": "array", "items": {"a": 1, "format": "date", "type": "string"}}}}}}'
    )
    assert json.dumps(sent) == expected


def test_a_tool_without_parameters_is_given_some() -> None:
    (sent,) = _forwarded(Request([USER], [{"type": "function", "function": {"name": "f"}}])).tools or ()
    assert sent["function"]["parameters"] == {"type": "", "properties": None}


def test_no_tools_are_none_and_tool_choice_is_not_read() -> None:
    assert _forwarded(Request([USER], [])).tools is None
    sent = _forwarded(Request([USER], [TOOL], extra={"tool_choice": "none"}))
    assert sent.tools
    assert sent.extra == {}


def test_tools_need_a_template_that_speaks_of_them() -> None:  # ChatTemplateHasToolSupport
    deaf = "{% for m in messages %}{{ m.content }}{% endfor %}"
    error = _loaded(deaf).render(Request([USER], [TOOL]), NOW).error
    message = "ollama takes no tools: its template speaks neither of tools nor of tool_call"
    assert error == RenderError("invalid-request", message)
    assert _loaded(deaf + "{# tool_call #}").render(Request([USER], [TOOL]), NOW).prompt == "Hello."


# ---------------------------------------------------- thinking: ChatHandler, ChatTemplateHasThinkingSupport, ThinkValue

SPLITS = CHAT + "{{ messages[0].content.split('</think>')[0] and '' }}"

THINKING: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "a template that thinks is told to": (THINKS, {}, {"enable_thinking": True}),
    "so is one that cuts thoughts off": (SPLITS.replace("messages[0].", ""), {}, {"enable_thinking": True}),
    "unless it reads reasoning": (SPLITS.replace("messages[0].", "") + "{# reasoning_content #}", {}, {}),
    "another is told nothing": (CHAT, {}, {}),
    "an effort": (THINKS, {"reasoning_effort": "low"}, {"enable_thinking": True, "reasoning_effort": "low"}),
    "an effort as an object": (
        THINKS,
        {"reasoning": {"effort": "max"}, "reasoning_effort": "low"},
        {"enable_thinking": True, "reasoning_effort": "max"},
    ),
    "none": (CHAT, {"reasoning_effort": "none"}, {"enable_thinking": False}),
}


@pytest.mark.parametrize("name", THINKING)
def test_thinking(name: str) -> None:
    source, extra, expected = THINKING[name]
    server = _loaded(CHAT).server
    sent = ollama.LoadedTemplate(server, source).forwarded(Request([USER], extra=extra))
    assert sent.variables == expected


def test_no_variable_of_the_request_reaches_a_template() -> None:
    request = Request([USER], variables={"enable_thinking": False, "x": 1}, documents=[{}])
    assert _forwarded(request, THINKS) == Request([USER], variables={"enable_thinking": True})


FORMATS: tuple[tuple[Any, Any], ...] = (
    ({"type": " JSON_OBJECT"}, {"type": "json_object"}),
    (
        {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object", "b": 1}}},
        {"type": "json_schema", "json_schema": {"name": "schema", "schema": {"b": 1, "type": "object"}}},
    ),
    ({"type": "json_schema"}, None),
    ({"type": "text"}, None),
)


@pytest.mark.parametrize(("given", "expected"), FORMATS)
def test_response_formats(given: Any, expected: Any) -> None:
    sent = _forwarded(Request([USER], extra={"response_format": given})).extra
    assert sent == ({} if expected is None else {"response_format": expected})


# ------------------------------------------------------------------------------------------------ what comes of it


def test_the_prompt_is_llama_servers() -> None:
    loaded = _loaded(CALLS + CHAT)
    result = {"role": "tool", "tool_call_id": "c1", "content": "R"}
    request = Request([USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}, result], [TOOL])
    assert loaded.render(request, NOW).prompt == (
        'f{"a": 1}<user>Hello.<assistant><tool>R'
        '[{"type": "function", "function": {"name": "f", "description": "", '
        '"parameters": {"type": "object", "properties": {}}}}]'
    )


def test_a_template_that_llama_server_does_not_start_with() -> None:
    loaded = _loaded("{{ raise_exception('never') }}")
    assert loaded.refusal is not None
    assert loaded.refusal.kind == "no-start"
    broken = Template("default", "{% if %}", Origin("t", "{% if %}"))
    assert isinstance(ollama.engine("ollama").load(broken, Tokenizer({})), RenderError)


def test_the_choice_of_a_template() -> None:
    engine = ollama.engine("ollama")
    template = Template("default", CHAT, Origin("t", CHAT))
    model = Model("m", "gguf", (template,))
    assert engine.choose(model, Request([USER], [TOOL])) is template
    answer = Request([USER, {"role": "assistant", "content": "W"}], add_generation_prompt=False)
    assert engine.choose(model, answer) is template
    unknown = engine.choose(model, Request([USER], add_generation_prompt=False))
    assert unknown == RenderError("unsupported", "ollama cannot be asked to leave the generation prompt out")
    bare = engine.choose(model, Request([USER], [{"type": "function", "function": {"name": "f", "parameters": {}}}]))
    assert isinstance(bare, RenderError)
    assert bare.kind == "unsupported"
    harmony = Model("m", "gguf", (template,), metadata={"general.architecture": "gpt-oss"})
    chosen = engine.choose(harmony, Request([USER]))
    assert isinstance(chosen, RenderError)
    assert chosen.kind == "unsupported"
    tool_use = Template("tool_use", CHAT, Origin("t", CHAT))
    deaf = Template("default", "{{ messages }}", Origin("t", "{{ messages }}"))
    assert engine.choose(Model("m", "gguf", (template, tool_use)), Request([USER], [TOOL])) is tool_use
    chosen = engine.choose(Model("m", "gguf", (deaf, tool_use)), Request([USER], [TOOL]))
    assert isinstance(chosen, RenderError)
    assert chosen.kind == "invalid-request"


# --------------------------------------------------------------------------------------------- Go's encoding/json

DUMPED: tuple[tuple[str, str | None], ...] = (
    ('{"b": 1, "a": {"z": 1, "c": [true, null]}}', '{"b":1,"a":{"c":[true,null],"z":1}}'),
    (r'{"t": "<a x=\"\">&\u2028\u2029é"}', r'{"t":"\u003ca x=\"\"\u003e\u0026\u2028\u2029é"}'),
    (r'{"t": "\ud83d"}', '{"t":"\ufffd"}'),
    ('{"n": [1.0, 47.376887, -0.5, 1e-6, 1e-7]}', '{"n":[1,47.376887,-0.5,0.000001,1e-7]}'),
    ('{"n": [1e20, 1e21, 1.5e300]}', '{"n":[100000000000000000000,1e+21,1.5e+300]}'),
    ('{"n": 9223372036854775807}', '{"n":9223372036854776000}'),
    ('{"n": 1e400}', None),
    ("[1]", None),
    ("null", None),
    ('{"n": NaN}', None),
    ("", None),
)


@pytest.mark.parametrize(("text", "expected"), DUMPED)
def test_arguments_as_go_writes_them(text: str, expected: str | None) -> None:
    value = gojson.object_of(text)
    assert (None if value is None else gojson.dump(value)) == expected
