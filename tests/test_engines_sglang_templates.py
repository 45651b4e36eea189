"""What SGLang 0.5.23 concludes from a template, and when it uses another.

Lists of real templates come from its own functions, run over all 786.
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from reference import DATA, every, real_templates

from templatelint.cases import FIXED_NOW
from templatelint.engines.sglang import content_format, engine
from templatelint.engines.sglang.detection import low_effort_switch, reads_call_ids
from templatelint.model import Lines, Model, Origin, RenderError, Request, Template, Tokenizer

REAL = {kind: set(names) for kind, names in json.loads((DATA / "sglang" / "real_templates.json").read_bytes()).items()}
HELLO = Request([{"role": "user", "content": "Hi"}])

# ------------------------------------------------ parser/jinja_template_utils.py, parser/template_detection.py


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{% for part in message.content %}{% endfor %}", "openai"),
        ("{% for part in message['content'] %}{% endfor %}", "openai"),
        ("{% for part in msg.content %}{% endfor %}", "openai"),
        ("{% for part in m['content'] %}{% endfor %}", "openai"),
        ("{% for part in message.content | list %}{% endfor %}", "openai"),
        ("{% for part in message.content[1:] %}{% endfor %}", "openai"),
        ("{% for part in (message.content | list)[1:] %}{% endfor %}", "openai"),
        ("{% generation %}{% for part in message.content %}{% endfor %}{% endgeneration %}", "openai"),
        ("{# a provision #}", "openai"),
        ("{% for part in image %}", "openai"),
        ("{% for part in chat.content %}{% endfor %}", "string"),
        ("{% for part in message.content.parts %}{% endfor %}", "string"),
        ("{% for part in messages[0].content %}{% endfor %}", "string"),
        ("{% set content = message.content %}{% for part in content %}{% endfor %}", "string"),
        ("{% if message.content is string %}{{ message.content }}{% endif %}", "string"),
        ("{% for part in message.content %}", "string"),
        ("{% for part in message.content %}{{ part | nonesuch }}{% endfor %}", "string"),
    ],
)
def test_content_format(source: str, expected: str) -> None:
    assert content_format(source) == expected


@pytest.mark.parametrize("name", every(12))
def test_conclusions_from_real_templates(name: str) -> None:
    source = real_templates()[name]
    assert content_format(source) == ("openai" if name in REAL["keep lists"] else "string")
    assert reads_call_ids(source) == (name in REAL["read call ids"])
    assert bool(low_effort_switch(source)) == (name in REAL["switch low effort"])


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("{{ message.tool_call_id }}", True),
        ("{{ message['tool_call_id'] }}", True),
        ("{{ message.get('tool_call_id') }}", True),
        ("{{ messages | selectattr('tool_call_id', 'equalto', 1) | list }}", True),
        ("{{ messages | map(attribute='tool_call_id') | list }}", True),
        ("{{ messages | groupby('tool_call_id') }}", False),
        ("{{ message.pop('tool_call_id') }}", False),
        ("{% if 'tool_call_id' in message %}{% endif %}", False),
        ("{# tool_call_id #}", False),
    ],
)
def test_reading_call_ids(source: str, expected: bool) -> None:
    assert reads_call_ids(source) == expected


NEMOTRON = "{# low_effort truncate_history_thinking #}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (NEMOTRON, "low_effort"),
        ("{# low_effort #}", None),
        (NEMOTRON + "<|channel|>", None),
        (NEMOTRON + "reasoning_effort [THINK]", None),
        (NEMOTRON + "[THINK]", "low_effort"),
        (NEMOTRON + "reasoning_effort reasoning_mode_token no_think", None),
        (NEMOTRON + "<ifm|think><ifm|think_fast>reasoning_effort", None),
        (NEMOTRON + "[gMASK]<sop>Reasoning Effort:<tool_call><arg_key><arg_value>", None),
        (NEMOTRON + "{% if not enable_thinking is defined %}{% set enable_thinking = false %}{% endif %}", None),
        (NEMOTRON + "{% set enable_thinking = enable_thinking | default(false) %}", None),
        (NEMOTRON + "{% set enable_thinking = enable_thinking | default(false, boolean=true) %}", None),
        (NEMOTRON + "{% set enable_thinking = enable_thinking | default(true) %}", "low_effort"),
        (NEMOTRON + "{% set enable_thinking = enable_thinking | default(false, x) %}", "low_effort"),
        (NEMOTRON + "{% set enable_thinking = thinking | default(false) %}", "low_effort"),
    ],
)
def test_low_effort_switch(source: str, expected: str | None) -> None:
    assert low_effort_switch(source) == expected


# -------------------------------------------------------------------------------------- which template it uses


def _template(name: str, source: str = "x") -> Template:
    return Template(name, source, Origin("tokenizer_config.json", source))


GLM53 = "[gMASK]<sop>Reasoning Effort: <tool_call><arg_key><arg_value>"
DSA = {"architectures": ["GlmMoeDsaForCausalLM"]}
FLASH = {"architectures": ["Glm5NextForConditionalGeneration"]}

# reference, kind, metadata, template → what renders the prompt instead, by its name
REPLACED: list[tuple[str, str, dict[str, Any], str, str]] = [
    # parser/conversation.py, functions under @register_conv_template_matching_function
    ("stepfun/POINTS-1.5", "folder", {}, "x", "points-v15-chat"),
    ("ml/checkpoints/a", "folder", {}, "x", ""),
    ("fnlp/MOSS-VL-8B", "folder", {}, "x", "moss-vl"),
    ("OpenGVLab/InternVL3-8B", "folder", {}, "x", "internvl-2-5"),
    ("deepseek-ai/Janus-Pro-7B", "folder", {}, "x", "janus-pro"),
    ("lmsys/vicuna-7b", "folder", {}, "x", "vicuna_v1.1"),
    ("deepseek-ai/deepseek-vl2-tiny", "folder", {}, "x", "deepseek-vl2"),
    ("lmms-lab/llava-onevision-qwen2-7b", "folder", {}, "x", "chatml-llava"),
    ("openbmb/MiniCPM-V-2_6", "folder", {}, "x", "minicpmv"),
    ("openbmb/MiniCPM-o-2_6", "folder", {}, "x", "minicpmo"),
    ("openbmb/MiniCPM-V-4_6", "folder", {}, "x", ""),
    ("openbmb/MiniCPM-V-next", "folder", {"model_type": "minicpmv4_7"}, "x", ""),
    ("microsoft/Phi-4-multimodal-instruct", "folder", {}, "x", "phi-4-mm"),
    ("deepseek-ai/DeepSeek-OCR", "folder", {}, "x", "deepseek-ocr"),
    ("PaddlePaddle/PaddleOCR-VL", "folder", {}, "x", "paddle-ocr"),
    ("openai/whisper-large", "folder", {}, "x", "whisper"),
    ("models/unlimited", "folder", {}, "x", "unlimited-ocr"),
    ("models/a", "folder", {"model_type": "internvl_chat"}, "x", "internvl-2-5"),
    ("models/a/tokenizer_config.json", "config", {"model_type": "phi4mm"}, "x", "phi-4-mm"),
    ("models/internvl/tokenizer_config.json", "config", {}, "x", "internvl-2-5"),
    ("internvl.gguf", "gguf", {}, "x", "internvl-2-5"),
    ("internvl.jinja", "file", {}, "x", ""),
    ("Qwen/Qwen3-8B", "folder", {"model_type": "qwen3", "architectures": ["Qwen3ForCausalLM"]}, "x", ""),
    # entrypoints/openai/chat_encoding.py::resolve_chat_encoding_spec
    ("a", "folder", {"architectures": ["DeepseekV4ForCausalLM"]}, "x", "dsv4 "),
    ("a", "folder", {"architectures": ["DeepseekV41ForCausalLM"]}, "x", "dsv41"),
    ("a", "folder", {"architectures": ["DeepseekV4ForCausalLM"], "model_type": "deepseek_v41"}, "x", "dsv41"),
    ("a", "folder", {"architectures": ["KimiK3ForConditionalGeneration"]}, "x", "kimi_k3"),
    ("a", "folder", {"architectures": ["InklingForConditionalGeneration"]}, "x", "inkling"),
    ("a", "folder", {"architectures": ["DeepseekV32ForCausalLM"]}, "", "dsv32"),
    ("a", "folder", {"architectures": ["DeepseekV32ForCausalLM"]}, "x", ""),
    # parser/python_chat_template.py::resolve_python_chat_template
    ("a", "folder", DSA, GLM53, "GlmMoeDsaForCausalLM"),
    ("a", "folder", DSA, GLM53 + "enable_thinking", ""),
    ("a", "folder", DSA, GLM53 + "<|begin_of_image|>", ""),
    ("a", "folder", DSA, "x", ""),
    ("a", "folder", FLASH, GLM53 + "<|begin_of_image|>", "Glm5NextForConditionalGeneration"),
    ("a", "folder", FLASH, GLM53, ""),
]


@pytest.mark.parametrize(("ref", "kind", "metadata", "source", "by"), REPLACED)
def test_models_whose_template_is_not_used(ref: str, kind: str, metadata: dict[str, Any], source: str, by: str) -> None:
    templates: tuple[Template, ...] = (_template("default", source),) if source else ()
    chosen = engine("sglang").choose(Model(ref, kind, templates, metadata=metadata), HELLO)
    if by:
        assert isinstance(chosen, RenderError)
        assert (chosen.kind, by in chosen.message) == ("unsupported", True), chosen.message
    else:
        assert chosen == templates[0]


@pytest.mark.parametrize("tools", [None, [], [{"type": "function", "function": {"name": "f"}}]])
def test_the_first_template_serves_every_request(tools: Any) -> None:
    # parser/template_manager.py::_select_named_template
    model = Model("a", "folder", (_template("rag"), _template("default"), _template("tool_use")))
    assert engine("sglang").choose(model, Request(HELLO.messages, tools)) == model.templates[0]


def test_a_model_without_a_template() -> None:
    chosen = engine("sglang").choose(Model("a", "folder", ()), HELLO)
    assert chosen == RenderError("invalid-request", "the tokenizer has no chat template")


# ----------------------------------------------------- --chat-template: template_manager.py::_load_jinja_template

# source → prompt of a file that is passed; what differs from the template as such
PASSED = {
    "newlines around the text go": ("\n\nx\n\n", "x"),
    "of any kind": ("\r\n\r\nx\r\n\r\n", "x"),
    "a backslash and an n are a newline": ("a\\nb{{ 'c' }}", "a\nbc"),
    "also in a raw block": ("{% raw %}\\n{% endraw %}|", "\n|"),
    "inside of a string they were one": ("{{ 'a\\nb' }}|", "a\nb|"),
    "behind a backslash the newline is escaped": ("{{ 'a\\\\nb' }}|", "ab|"),
    "it makes templates of what was copied out of JSON": ("{% if true %}\\nx{% endif\\n%}|", "x|"),
}


@pytest.mark.parametrize("what", PASSED)
@pytest.mark.parametrize("path", ["t.jinja", "models/a/chat_template.jinja", "a/additional_chat_templates/rag.jinja"])
def test_a_file_that_is_passed_is_read_in_its_own_way(what: str, path: str) -> None:
    source, prompt = PASSED[what]
    loaded = engine("sglang").load(Template("default", source, Origin(path, source)), Tokenizer())
    same = path != "t.jinja" and what != "inside of a string they were one"
    if isinstance(loaded, RenderError):
        assert same
        return
    assert (loaded.render(HELLO, FIXED_NOW).prompt != prompt) == same


@pytest.mark.parametrize(
    "source",
    [
        "{{ messages.nope.x }}",
        "\n\n{{ messages.nope.x }}",
        "a\\nb\\n{{ messages.nope.x }}",
        "\r\n\\n\r\n{{ 'a\\nb' }}{{ messages.nope.x }}\\n",
        "\n\\n{{ x | nope }}",
        "\n{% if \\n messages.nope.x \\n %}{% endif %}",
    ],
)
def test_a_failure_is_placed_in_the_file(source: str) -> None:
    loaded = engine("sglang").load(Template("default", source, Origin("t.jinja", source)), Tokenizer())
    error = loaded if isinstance(loaded, RenderError) else loaded.render(HELLO, FIXED_NOW).error
    assert error is not None
    assert (error.line, error.column) == Lines(source).line_of(source.index("nope"))


def test_the_content_format_is_that_of_the_text_before() -> None:
    source = "{{ messages | tojson }}\\n{# ima\\nge #}"
    loaded = engine("sglang").load(Template("default", source, Origin("t.jinja", source)), Tokenizer())
    assert not isinstance(loaded, RenderError)
    request = Request([{"role": "user", "content": [{"type": "text", "text": "a"}]}])
    assert loaded.render(request, FIXED_NOW).prompt == '[{"role": "user", "content": "a"}]\n'
