"""What stands before and after @huggingface/jinja in transformers.js and LM Studio."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from npm import needs_package

from templatelint import cases
from templatelint.engines import lmstudio, transformers_js
from templatelint.model import Model, Observation, Origin, RenderError, Request, Template, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.engines import Engine

NOW = datetime.fromisoformat("2026-03-02T09:30:00")
USER = {"role": "user", "content": "Hello."}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}


def _template(source: str, name: str = "default") -> Template:
    return Template(name, source, Origin("t.jinja", source))


def _render(engine: Engine, source: str, request: Request, tokens: Mapping[str, str] | None = None) -> Observation:
    loaded = engine.load(_template(source), Tokenizer(tokens or {}))
    return Observation(error=loaded) if isinstance(loaded, RenderError) else loaded.render(request, NOW)


# ------------------------------------------------------------- transformers.js: src/tokenization_utils.js of 4.3.2

# template, request, special tokens → prompt: `apply_chat_template`
PROMPTS: dict[str, tuple[str, Request, dict[str, str], str]] = {
    "messages as they are": (
        "{{ messages|tojson }}",
        Request([{**USER, "name": None, "reasoning": "r", "x": [1.0]}]),
        {},
        '[{"role": "user", "content": "Hello.", "name": null, "reasoning": "r", "x": [1]}]',
    ),
    "no messages": ("{{ messages|length }}", Request([]), {}, "0"),
    "tools and documents are null where there are none": (
        "{{ tools is none }} {{ documents is none }}",
        Request([USER]),
        {},
        "true true",
    ),
    "tools as they are": (
        "{{ tools|tojson }}",
        Request([USER], [{"function": {"strict": True, "name": "f"}}]),
        {},
        '[{"function": {"strict": true, "name": "f"}}]',
    ),
    "an empty list of tools": ("{{ tools|tojson }}", Request([USER], []), {}, "[]"),
    "the generation prompt": ("{{ add_generation_prompt }}", Request([USER], add_generation_prompt=False), {}, "false"),
    "special tokens, except empty ones": (
        "{{ bos_token }}{{ eos_token is defined }}{{ pad_token is defined }}",
        Request([USER]),
        {"bos_token": "<s>", "eos_token": ""},
        "<s>falsefalse",
    ),
    "variables come last": (
        "{{ bos_token }}{{ messages }}{{ add_generation_prompt }}",
        Request([USER], variables={"bos_token": "B", "messages": "M", "add_generation_prompt": "A"}),
        {"bos_token": "<s>"},
        "BMA",
    ),
    "options of the call are no variables": (
        "{{ tokenize is defined }}{{ return_dict is defined }}{{ sanitize is defined }}",
        Request([USER], variables={"tokenize": True, "return_dict": True, "sanitize": True}),
        {},
        "falsefalsetrue",
    ),
    "a message to continue is only told of": (
        "{{ messages[-1].content }}{{ continue_final_message }}",
        Request([{"role": "assistant", "content": "Well"}], add_generation_prompt=False, continue_final_message=True),
        {},
        "Welltrue",
    ),
}


@needs_package
@pytest.mark.parametrize("name", PROMPTS)
def test_transformers_js_passes_what_it_is_given(name: str) -> None:
    source, request, tokens, expected = PROMPTS[name]
    assert _render(transformers_js.engine("transformers.js"), source, request, tokens) == Observation(expected)


@needs_package
def test_a_variable_that_the_library_has_itself_is_declared_twice() -> None:
    request = Request([USER], variables={"range": 1})
    error = _render(transformers_js.engine("transformers.js"), "{{ 1 }}", request).error
    assert error == RenderError("raised", "Variable already declared: range")


def test_transformers_js_chooses_as_transformers_does() -> None:  # get_chat_template
    engine = transformers_js.engine("transformers.js")
    default, tool_use = _template("", "default"), _template("", "tool_use")
    model = Model("m", "folder", (default, tool_use))
    assert engine.choose(model, Request([USER])) is default
    assert engine.choose(model, Request([USER], [])) is tool_use
    assert engine.choose(Model("m", "folder", (default,)), Request([USER], [TOOL])) is default
    assert isinstance(engine.choose(Model("m", "folder", (tool_use,)), Request([USER])), RenderError)


def test_the_native_form_is_what_javascript_callers_pass() -> None:
    assert transformers_js.engine("transformers.js").client_form == "native"
    assert lmstudio.engine("lmstudio").client_form == "wire"


# ---------------------------------------------------- LM Studio: lmstudio-js, packages/lms-shared-types; its reports

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"b": 1, "a": {"z": null}}'}}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "Done."}

# messages → messages as the template sees them
MESSAGES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "other members are lost (ChatHistoryData.ts)": (
        [{**USER, "name": "n", "x": 1}],
        [{"role": "user", "content": "Hello."}],
    ),
    "arguments are a mapping, content a text (ChatHistoryData.ts; #812, #884)": (
        [USER, {"role": "assistant", "content": None, "tool_calls": [CALL]}, RESULT],
        [
            {"role": "user", "content": "Hello."},
            {
                "role": "assistant",
                "content": "",
                "tool_calls": [
                    {"id": "c1", "type": "function", "function": {"name": "f", "arguments": {"b": 1, "a": {"z": None}}}}
                ],
            },
            {"role": "tool", "content": "Done.", "tool_call_id": "c1"},
        ],
    ),
    "a list without calls is none": (
        [{"role": "assistant", "content": "Hi.", "tool_calls": []}, USER],
        [{"role": "assistant", "content": "Hi."}, {"role": "user", "content": "Hello."}],
    ),
    "one text part is a text": (
        [{"role": "user", "content": [{"type": "text", "text": "Hello."}]}],
        [{"role": "user", "content": "Hello."}],
    ),
    "images are left out (#393)": (
        [{"role": "user", "content": [{"type": "image_url", "image_url": {}}, {"type": "text", "text": "Hello."}]}],
        [{"role": "user", "content": "Hello."}],
    ),
}


@needs_package
@pytest.mark.parametrize("name", MESSAGES)
def test_what_lm_studio_makes_of_messages(name: str) -> None:
    messages, expected = MESSAGES[name]
    prompt = _render(lmstudio.engine("lmstudio"), "{{ messages|tojson }}", Request(messages)).prompt
    assert prompt is not None
    assert json.loads(prompt) == expected
    assert [*json.loads(prompt)[0]][:2] == ["role", "content"]


@needs_package
def test_what_lm_studio_makes_of_tools() -> None:  # LLMToolUseSetting.ts; changelogs of 0.3.17 and 0.3.18
    rich = {
        "strict": True,
        "parameters": {"$defs": {"d": {}}, "title": "t", "properties": {"p": {"default": 1}}, "type": "object"},
        "name": "f",
    }
    bare = {"name": "g", "description": "d"}
    tools = [{"function": rich, "type": "function"}, {"type": "function", "function": bare}]
    prompt = _render(lmstudio.engine("lmstudio"), "{{ tools|tojson }}", Request([USER], tools)).prompt
    assert prompt == (
        '[{"type": "function", "function": {"name": "f", "parameters": {"type": "object", '
        '"properties": {"p": {"default": 1}}, "$defs": {"d": {}}}}}, '
        '{"type": "function", "function": {"name": "g", "description": "d"}}]'
    )


@needs_package
def test_the_other_variables_of_lm_studio() -> None:  # LLMPromptTemplate.ts; #2057
    source = (
        "{{ bos_token }}{{ eos_token }}{{ pad_token is defined }}{{ tools is defined }}{{ add_generation_prompt }}"
        "{{ enable_thinking is defined }}"
    )
    request = Request([USER], [], variables={"enable_thinking": False})
    observed = _render(lmstudio.engine("lmstudio"), source, request, {"bos_token": "<s>", "pad_token": "<p>"})
    assert observed.prompt == "<s>falsefalsetruefalse"


# what is not known of LM Studio
UNKNOWN: dict[str, tuple[Request, str]] = {
    "no cue": (Request([USER], add_generation_prompt=False), "a wish for no generation prompt"),
    "choice": (Request([USER], [TOOL], extra={"tool_choice": "none"}), "tools that are not to be called"),
    "prefill": (Request([USER, {"role": "assistant", "content": "W"}]), "a conversation that leaves nothing to answer"),
    "empty": (Request([]), "a conversation that leaves nothing to answer"),
    "role": (Request([{"role": "developer", "content": "d"}, USER]), "messages of the role developer"),
    "reasoning": (
        Request([{"role": "assistant", "content": "", "reasoning_content": "r"}, USER]),
        "reasoning that a client sends back",
    ),
    "texts": (
        Request([{"role": "user", "content": [{"type": "text", "text": "a"}] * 2}]),
        "several texts in one message",
    ),
    "audio": (Request([{"role": "user", "content": [{"type": "input_audio"}]}]), "parts that are no text"),
    "number": (Request([{"role": "user", "content": 1}]), "content that is neither text nor a list"),
    "image": (
        Request([{"role": "user", "content": [{"type": "image_url"}]}], media=True),
        "images of a model that sees them",
    ),
    "arguments": (
        Request([{"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{"}}]}, USER]),
        "arguments that are no JSON object",
    ),
    "nameless": (Request([{"role": "assistant", "tool_calls": [{}]}, USER]), "tool calls without a name"),
    "named": (
        Request([USER], [{"type": "function", "function": {"name": "getTime"}}]),
        "the name getTime of a tool, which it may write otherwise",
    ),
    "kind": (Request([USER], [{"type": "custom"}]), "tools that are no functions with a name"),
    "schema": (
        Request([USER], [{"type": "function", "function": {"name": "f", "parameters": {"type": "string"}}}]),
        "parameters that are no object with properties",
    ),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_lm_studio_is_not_judged_by_what_is_not_known(name: str) -> None:
    request, what = UNKNOWN[name]
    source = _template("{{ 1 }}")
    chosen = lmstudio.engine("lmstudio").choose(Model("m", "file", (source,)), request)
    assert chosen == RenderError("unsupported", f"what LM Studio does with {what} is not known")


@needs_package
def test_asked_all_the_same_lm_studio_says_what_is_not_known() -> None:
    error = _render(lmstudio.engine("lmstudio"), "{{ 1 }}", Request([])).error
    assert error is not None
    assert error.kind == "unsupported"


def test_lm_studio_takes_the_default_template() -> None:
    engine = lmstudio.engine("lmstudio")
    default, other = _template("", "default"), _template("", "tool_use")
    assert engine.choose(Model("m", "gguf", (other, default)), Request([USER], [TOOL])) is default
    assert engine.choose(Model("m", "gguf", (other, default), picked=True), Request([USER])) is other
    assert isinstance(engine.choose(Model("m", "gguf", (other,)), Request([USER])), RenderError)


@needs_package
@pytest.mark.parametrize("module", [transformers_js, lmstudio])
def test_both_load_and_render_the_cases_of_the_corpus(module: Any) -> None:
    source = "{% for m in messages %}<{{ m.role }}>{{ m.content if m.content is string }}{% endfor %}"
    template = _template(source)
    engine = module.engine("any")
    model = Model("m", "file", (template,))
    loaded = engine.load(template, Tokenizer({}))
    for case_id, case in cases.all_cases().items():
        request = cases.to_form(case.request, engine.client_form)
        if engine.choose(model, request) is template:
            assert loaded.render(request, NOW).prompt is not None, case_id
