"""What vLLM 0.33.0 does to requests; each row of the data names the function of its package that does it."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from gguf_bytes import header, text
from jinja2.meta import find_undeclared_variables
from reference import DATA, every, jinja2_environment, quietly, real_templates

from templatelint.engines.vllm import variables
from templatelint.engines.vllm.engine import engine
from templatelint.engines.vllm.loaded import LoadedTemplate
from templatelint.model import Model, Observation, Origin, RenderError, Request, Template, Tokenizer
from templatelint.sources import resolve
from templatelint.traffic import request_from_openai

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

NOW = datetime.fromisoformat("2026-03-02T09:30:00")
TOKENS = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"})
HELLO = {"role": "user", "content": "u"}


def _data(name: str) -> Any:
    return json.loads((DATA / "vllm" / name).read_text("utf-8"))


MESSAGES = _data("messages.json")
VARIABLES = _data("variables.json")
CONTINUED = _data("continued.json")
PROMPTS = _data("prompts.json")


def _template(source: str, name: str = "default", path: str = "chat_template.jinja") -> Template:
    return Template(name, source, Origin(path, source))


def _load(source: str) -> LoadedTemplate:
    loaded = engine("vllm").load(_template(source), TOKENS)
    assert isinstance(loaded, LoadedTemplate)
    return loaded


def _observe(source: str, request: Request) -> Observation:
    loaded = engine("vllm").load(_template(source), TOKENS)
    return Observation(error=loaded) if isinstance(loaded, RenderError) else loaded.render(request, NOW)


def _ordered(value: Any) -> str:
    """Text that differs where the order of members does."""
    return json.dumps(value, ensure_ascii=False)


# ----------------------------------------------------------------------------------------- messages


CONVERSATIONS = [
    pytest.param(template, row, id=f"{row['states']} ({template})")
    for row in MESSAGES["rows"]
    for template in MESSAGES["templates"]
    if template in row
]


@pytest.mark.parametrize(("template", "row"), CONVERSATIONS)
def test_conversation_that_the_template_sees(template: str, row: Mapping[str, Any]) -> None:
    observed = _observe(MESSAGES["templates"][template], Request(row["messages"]))
    if row[template] is None:
        assert observed.error is not None
        assert observed.error.kind == "invalid-request"
    else:
        assert observed.error is None
        assert _ordered(json.loads(observed.prompt or "")) == _ordered(row[template])


def test_request_is_left_as_it_was() -> None:
    messages = [message for row in MESSAGES["rows"] if row["text"] for message in row["messages"]]
    before = _ordered(messages)
    assert _observe(MESSAGES["templates"]["parts"], Request(messages)).prompt is not None
    assert _ordered(messages) == before


BROKEN_ARGUMENTS = {"deep": "[" * 100_000, "long number": '{"a": ' + "9" * 5000 + "}"}


@pytest.mark.parametrize("arguments", BROKEN_ARGUMENTS.values(), ids=BROKEN_ARGUMENTS)
def test_arguments_that_break_the_parser_are_an_error(arguments: str) -> None:
    # renderers/chat_utils/chat_message.py::_postprocess_messages catches what is no JSON, and nothing else
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    observed = _observe(MESSAGES["templates"]["text"], Request([message]))
    assert observed.error is not None
    assert observed.error.kind == "invalid-request"


IMAGE = {"type": "image_url", "image_url": {"url": "data:,"}, "detail": "low"}
MEDIA = {
    # renderers/chat_utils/chat_message.py::parse_chat_message_content_part
    "a part becomes its kind": ("parts", IMAGE, True, '[{"type": "image", "detail": "low"}]'),
    "a sound too": ("parts", {"type": "input_audio", "input_audio": {}}, True, '[{"type": "audio"}]'),
    "a film too": ("parts", {"type": "video_url", "video_url": {"url": ""}}, True, '[{"type": "video"}]'),
    "a part that has an id goes by its member": (
        "parts",
        {"type": "text", "uuid": "1", "image_url": {"url": ""}},
        True,
        '[{"type": "image"}]',
    ),
    # renderers/chat_utils/item_tracker.py::BaseMultiModalItemTracker.add asks the model's class for a text
    "text stands for it that no file tells": ("text", IMAGE, True, "unsupported"),
    # renderers/chat_utils/content_parser.py::MultiModalContentParser.parse_image_embeds
    "embeddings need an option": ("parts", {"type": "image_embeds", "image_embeds": "x"}, True, "invalid-request"),
    "a model of text takes none": ("parts", IMAGE, False, "invalid-request"),
}


@pytest.mark.parametrize(("template", "part", "media", "expected"), MEDIA.values(), ids=MEDIA)
def test_media(template: str, part: Mapping[str, Any], media: bool, expected: str) -> None:
    request = Request([{"role": "user", "content": [part]}], media=media)
    observed = _observe(MESSAGES["templates"][template], request)
    if observed.error is not None:
        assert observed.error.kind == expected
    else:
        assert _ordered(json.loads(observed.prompt or "")[0]["content"]) == expected


# ---------------------------------------------------------------------------------------- variables


@pytest.mark.parametrize("row", [pytest.param(row, id=row["states"]) for row in VARIABLES["rows"]])
def test_variables_that_the_template_sees(row: Mapping[str, Any]) -> None:
    observed = _observe(VARIABLES["template"], request_from_openai({"messages": [HELLO], **row["request"]}))
    if row["seen"] is None:
        assert observed.error is not None
        assert observed.error.kind == "invalid-request"
    else:
        assert observed.error is None
        assert _ordered(json.loads(observed.prompt or "")) == _ordered(row["seen"])


MENTIONED = {
    # renderers/hf.py::_resolve_chat_template_kwargs: jinja2.meta.find_undeclared_variables of the template
    "read": ("{{ colour }}", "red"),
    "only asked whether it is defined": ("{% if colour is defined %}yes{% endif %}", "yes"),
    "read before it is set": ("{% set colour = colour | upper %}{{ colour }}", "RED"),
    "set where it is not defined": ("{% if not colour %}{% set colour = 'blue' %}{% endif %}{{ colour }}", "red"),
    "set before it is read": ("{% set colour = 'blue' %}{{ colour }}", "blue"),
    "set in a branch that is not taken": (
        "{% if false %}{% set colour = 'blue' %}{% endif %}{{ colour }}",
        "red",
    ),
    "set in a loop's own scope": ("{% for i in [] %}{% set colour = 'blue' %}{% endfor %}{{ colour }}", "red"),
    "in a macro": ("{% macro m() %}{{ colour }}{% endmacro %}{{ m() }}", "red"),
    "as a parameter": ("{% macro m(colour) %}{{ colour }}{% endmacro %}[{{ m() }}]", "[]"),
    "as a name in a text": ("{{ '{{ colour }}' }}", "{{ colour }}"),
}


@pytest.mark.parametrize(("source", "expected"), MENTIONED.values(), ids=MENTIONED)
def test_variable_that_the_template_mentions(source: str, expected: str) -> None:
    assert _observe(source, Request([HELLO], variables={"colour": "red"})).prompt == expected


def test_variables_that_real_templates_mention() -> None:
    for name in every(30):
        source = real_templates()[name]
        undeclared = find_undeclared_variables(quietly(jinja2_environment().parse, source))
        names = {*re.findall(r"[^\W\d]\w*", source)} - variables.NAMES_OF_ARGUMENTS
        assert {word for word in names if variables.mentioned({word: 1}, source)} == undeclared & names, name


def test_looking_for_variables_leaves_the_tree_as_it_is() -> None:
    loaded = _load("{{ 1 + 2 }}{{ colour }}")
    before = repr(loaded.tokenizer.compiled.syntax.root)
    assert loaded.render(Request([HELLO], variables={"colour": "red"}), NOW).prompt == "3red"
    assert repr(loaded.tokenizer.compiled.syntax.root) == before


# ----------------------------------------------------------------------------------- continued message


@pytest.mark.parametrize(
    "row", [pytest.param(row, id=f"{row['template']} {row['last']['content']}") for row in CONTINUED["rows"]]
)
def test_continued_message(row: Mapping[str, Any]) -> None:
    # transformers/utils/chat_template_utils.py::render_jinja_template of 5.20
    request = Request([HELLO, row["last"]], add_generation_prompt=False, continue_final_message=True)
    observed = _observe(CONTINUED["templates"][row["template"]], request)
    assert observed.prompt == row["prompt"]
    assert (observed.error is None) == (row["prompt"] is not None)


# ------------------------------------------------------------------------------------- the pinned release

RELEASE = {
    # METADATA of vLLM 0.33.0: transformers<5.21.0,>=5.16.1
    "nothing is added to reasoning (5.21)": ("{{ messages[0].thinking is defined }}", "False"),
    "namespaces are jinja2's (5.23)": ("{% set ns = namespace(_a=1) %}{{ ns._b is defined }}", "False"),
}


@pytest.mark.parametrize(("source", "expected"), RELEASE.values(), ids=RELEASE)
def test_pinned_release(source: str, expected: str) -> None:
    message = {"role": "assistant", "content": "x", "reasoning_content": "r"}
    assert _observe(source, Request([message])).prompt == expected


# ------------------------------------------------------------------------------------------- templates


def test_template_that_raises_is_no_invalid_request() -> None:
    # renderers/hf.py::safe_apply_chat_template answers both with an error; whose it is, differs
    observed = _observe("{{ raise_exception('no') }}", Request([HELLO]))
    assert observed.error == RenderError("refused", "no", 1, 4)


def test_template_that_does_not_parse() -> None:
    loaded = engine("vllm").load(_template("{% for %}"), TOKENS)
    assert isinstance(loaded, RenderError)
    assert loaded.kind == "syntax"


def test_what_is_prepared_and_rendered_is_the_prompt() -> None:
    loaded = _load("{{ bos_token }}{% for m in messages %}{{ m.content }}{% endfor %}")
    request = Request(
        [HELLO, {"role": "assistant", "content": "a "}], add_generation_prompt=False, continue_final_message=True
    )
    prepared = loaded.prepare(request, NOW)
    assert not isinstance(prepared, RenderError)
    rendered = loaded.tokenizer.compiled.render(prepared.variables, NOW)
    assert prepared.finish(rendered) == loaded.render(request, NOW).prompt == "<s>ua "
    assert rendered != "<s>ua "


NAMED = Model("m", "folder", (_template("D"), _template("T", "tool_use")))
TOOLS = [{"type": "function", "function": {"name": "f"}}]
CHOICES: dict[str, tuple[Model, Request, str]] = {
    # transformers: PreTrainedTokenizerBase.get_chat_template; vLLM: renderers/hf.py::resolve_chat_template
    "default": (NAMED, Request([HELLO]), "D"),
    "tool_use for tools": (NAMED, Request([HELLO], TOOLS), "T"),
    "tool_use for tools of chat_template_kwargs": (NAMED, Request([HELLO], variables={"tools": TOOLS}), "T"),
    "default for none of them": (NAMED, Request([HELLO], variables={"tools": "auto"}), "D"),
    "the one that was picked": (Model("m", "folder", (_template("P", "rag"),), picked=True), Request([HELLO]), "P"),
    "no template": (Model("m", "folder", ()), Request([HELLO]), "invalid-request"),
    "of the processor, without tools": (
        Model("m", "folder", (_template("C", path="m/chat_template.json"),)),
        Request([HELLO]),
        "C",
    ),
    "of the processor, with tools": (
        Model("m", "folder", (_template("C", path="m/chat_template.json"),)),
        Request([HELLO], TOOLS),
        "invalid-request",
    ),
    "that file by itself, with tools": (
        Model("m", "config", (_template("C", path="m/chat_template.json"),)),
        Request([HELLO], TOOLS),
        "C",
    ),
}


@pytest.mark.parametrize(("model", "request_", "expected"), CHOICES.values(), ids=CHOICES)
def test_choice(model: Model, request_: Request, expected: str) -> None:
    chosen = engine("vllm").choose(model, request_)
    assert (chosen.kind if isinstance(chosen, RenderError) else chosen.source) == expected


# ------------------------------------------------------------------------------------- bypassed templates

# config.json, further files, and whose code renders instead; "" where the template is used
FOLDERS: dict[str, tuple[dict[str, Any], list[str], str]] = {
    # renderers/online_renderer.py::OnlineRenderer.__init__
    "gpt-oss": ({"model_type": "gpt_oss", "architectures": ["GptOssForCausalLM"]}, [], "openai_harmony"),
    "gpt-oss by its architecture alone": ({"architectures": ["GptOssForCausalLM"]}, [], ""),
    # config/model.py::ModelConfig.__post_init__ and renderers/registry.py
    "DeepSeek V3.2": ({"architectures": ["DeepseekV32ForCausalLM"]}, [], "DeepseekV32Renderer"),
    "DeepSeek V4": ({"architectures": ["DeepseekV4ForCausalLM"]}, [], "DeepseekV4Renderer"),
    "DeepSeek V4 with vision": ({"architectures": ["DeepseekV4ForConditionalGeneration"]}, [], "DeepseekV4Renderer"),
    "DeepSeek V4.1": ({"architectures": ["DeepseekV41ForCausalLM"]}, [], "DeepseekV41Renderer"),
    "Kimi K3": ({"architectures": ["KimiK3ForConditionalGeneration"]}, [], "KimiK3Renderer"),
    "Inkling": ({"architectures": ["InklingForCausalLM"]}, [], "InklingRenderer"),
    "Inkling with vision": ({"architectures": ["InklingForConditionalGeneration"]}, [], "InklingRenderer"),
    "DeepSeek V3.2 by its type alone": ({"model_type": "deepseek_v32"}, [], ""),
    "DeepSeek V3": ({"model_type": "deepseek_v3", "architectures": ["DeepseekV3ForCausalLM"]}, [], ""),
    "Kimi K2": ({"model_type": "kimi_k2", "architectures": ["DeepseekV3ForCausalLM"]}, [], ""),
    # only with --tokenizer-mode cohere
    "Command A": ({"model_type": "cohere2", "architectures": ["Cohere2ForCausalLM"]}, [], ""),
    # tokenizers/kimi_audio.py::KimiAudioTokenizer.get_chat_template
    "Kimi-Audio": ({"architectures": ["MoonshotKimiaForCausalLM"]}, [], "has no chat template"),
    # tokenizers/registry.py::resolve_tokenizer_args
    "Mistral's own format": ({"model_type": "mistral3"}, ["consolidated.safetensors", "tekken.json"], "mistral_common"),
    "Mistral's weights as transformers has them": ({"model_type": "mistral3"}, ["tekken.json"], ""),
    "Mistral's tokenizer as transformers has it": ({"model_type": "mistral3"}, ["consolidated.safetensors"], ""),
    "no config.json that says anything": ({}, [], ""),
    "nonsense": ({"model_type": ["gpt_oss"], "architectures": "KimiK3ForConditionalGeneration"}, [], ""),
}


@pytest.mark.parametrize(("config", "files", "code"), FOLDERS.values(), ids=FOLDERS)
def test_folder_whose_template_is_not_read(
    config: Mapping[str, Any], files: list[str], code: str, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    (tmp_path / "chat_template.jinja").write_text("T", "utf-8")
    for name in files:
        (tmp_path / name).write_bytes(b"")
    chosen = engine("vllm").choose(resolve(str(tmp_path)), Request([HELLO]))
    _check_bypass(chosen, code)
    # the file by itself says nothing about the model that it is used with
    bare = engine("vllm").choose(resolve(str(tmp_path / "chat_template.jinja")), Request([HELLO]))
    assert isinstance(bare, Template)


def _check_bypass(chosen: Template | RenderError, code: str) -> None:
    if not code:
        assert isinstance(chosen, Template)
        return
    assert isinstance(chosen, RenderError)
    assert chosen.kind == "unsupported"
    assert code in chosen.message


GGUFS = {
    "gpt-oss": "openai_harmony",
    "deepseek32": "DeepseekV32Renderer",
    "deepseek4": "DeepseekV4Renderer",
    "kimi-k3": "KimiK3Renderer",
    "deepseek2": "",
    "llama": "",
}


@pytest.mark.parametrize(("architecture", "code"), GGUFS.items(), ids=GGUFS)
def test_gguf_whose_template_is_not_read(architecture: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(header([("general.architecture", text(architecture)), ("tokenizer.chat_template", text("T"))]))
    _check_bypass(engine("vllm").choose(resolve(str(path)), Request([HELLO])), code)


HARMONY = "<|start|>assistant<|channel|>analysis<|message|>T"
# source, what is known of the model besides, and whether vLLM takes it for gpt-oss
HARMONIES: dict[str, tuple[str, dict[str, Any], bool]] = {
    "nothing": (HARMONY, {}, True),
    "nothing that tells the model": (HARMONY, {"transformers_version": "5.0"}, True),
    "its type": (HARMONY, {"model_type": "gpt_oss"}, True),
    "another type": (HARMONY, {"model_type": "internvl_chat"}, False),
    "another architecture": (HARMONY, {"architectures": ["LlamaForCausalLM"]}, False),
    "another architecture of a GGUF": (HARMONY, {"gguf.version": 3, "general.architecture": "llama"}, False),
    "LLM-jp's format": (f"{{# chat_format=llm-jp-harmony-v1 #}}{HARMONY}", {}, False),
    "the mark alone": ("{# unlike <|channel|>analysis #}T", {}, False),
    "Mistral's thoughts": ("[THINK]T[/THINK]", {}, False),
}


@pytest.mark.parametrize(("source", "metadata", "taken"), HARMONIES.values(), ids=HARMONIES)
def test_templates_as_those_of_gpt_oss(source: str, metadata: dict[str, Any], taken: bool) -> None:
    model = Model("m", "file", (_template(source),), metadata=metadata)
    _check_bypass(engine("vllm").choose(model, Request([HELLO])), "openai_harmony" if taken else "")


def test_the_refusal_of_a_bare_template_says_what_would_be_judged() -> None:
    chosen = engine("vllm").choose(Model("m", "file", (_template(HARMONY),)), Request([HELLO]))
    assert isinstance(chosen, RenderError)
    assert "a config.json beside it names another model_type" in chosen.message


def test_model_that_gets_a_template_of_vllms() -> None:
    # transformers_utils/chat_templates/registry.py::_MODEL_TYPE_TO_CHAT_TEMPLATE_FALLBACK
    without = Model("m", "folder", (), metadata={"model_type": "paligemma"})
    chosen = engine("vllm").choose(without, Request([HELLO]))
    assert chosen == RenderError("unsupported", "vLLM has a chat template of its own for paligemma models")
    with_one = Model("m", "folder", (_template("T"),), metadata={"model_type": "paligemma"})
    assert engine("vllm").choose(with_one, Request([HELLO])) == with_one.templates[0]


# ---------------------------------------------------------------------------------------- real templates


def _digests(names: list[str]) -> Iterator[list[str]]:
    requests = [request_from_openai(body) for body in PROMPTS["requests"].values()]
    for name in names:
        loaded = _load(real_templates()[f"{name}.jinja"])
        prompts = [loaded.render(request, NOW).prompt for request in requests]
        yield ["error" if prompt is None else hashlib.sha256(prompt.encode()).hexdigest()[:8] for prompt in prompts]


def test_prompts_of_real_templates() -> None:
    names = [name for name, digests in PROMPTS["prompts"].items() if set(digests.split()) != {"error"}]
    assert len(names) > 50
    found = dict(zip(names, _digests(names), strict=True))
    assert found == {name: PROMPTS["prompts"][name].split() for name in names}
