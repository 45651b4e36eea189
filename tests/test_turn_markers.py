"""TL112 on single edits of sound templates: each lost marker is found, each harmless edit is not."""

from __future__ import annotations

import pytest

from templatelint.lint import Options, lint
from templatelint.model import Model, Origin, Template, Tokenizer

CALLS = "{% for c in m.tool_calls or [] %}\n<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}"
SOUND = {
    "chatml": "{% if tools %}<|im_start|>system\n{{ tools | tojson }}<|im_end|>\n{% endif %}"
    "{% for m in messages %}{% if m.role == 'tool' %}<|im_start|>user\n<tool_response>\n{{ m.content }}\n"
    "</tool_response><|im_end|>\n{% else %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}" + CALLS + "<|im_end|>\n"
    "{% endif %}{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    "llama": "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content or '' }}" + CALLS + "<|eot_id|>{% endfor %}{{ tools | tojson if tools }}"
    "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
    "mistral": "{% for m in messages %}{% if m.role == 'tool' %}[TOOL_RESULTS]{{ m.content }}[/TOOL_RESULTS]"
    "{% elif m.role == 'assistant' %}{{ m.content or '' }}" + CALLS + "</s>"
    "{% else %}[INST] {{ m.content }} [/INST]{% endif %}{% endfor %}{{ tools | tojson if tools }}",
    "gemma": "{{ tools | tojson if tools }}{% for m in messages %}<start_of_turn>"
    "{{ 'model' if m.role == 'assistant' else 'user' }}\n{{ m.content or '' }}" + CALLS + "<end_of_turn>\n{% endfor %}"
    "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}",
}
LOST = [
    ("chatml", "{{ tools | tojson }}<|im_end|>", "{{ tools | tojson }}"),
    ("chatml", "{% endfor %}<|im_end|>\n", "{% endfor %}\n"),
    ("chatml", "</tool_response><|im_end|>", "</tool_response>"),
    ("chatml", "</tool_response>", ""),
    ("chatml", "</tool_call>", ""),
    ("chatml", "{% else %}<|im_start|>{{ m.role }}\n", "{% else %}{{ '<|im_start|>' + m.role if not m.tool_calls }}\n"),
    ("chatml", "<|im_end|>\n{% endif %}{% endfor %}", "<|im_end|><|im_end|>\n{% endif %}{% endfor %}"),
    ("llama", "<|eot_id|>", ""),
    ("llama", "<|eot_id|>", "{{ '<|eot_id|>' if not m.tool_calls }}"),
    ("llama", "<|end_header_id|>", ""),
    ("mistral", "</s>", ""),
    ("mistral", " [/INST]", ""),
    ("mistral", "[/TOOL_RESULTS]", ""),
    ("gemma", "<end_of_turn>", ""),
]
HARMLESS = [
    ("chatml", "<|im_end|>\n", "<|im_end|>"),
    ("chatml", "{{ tools | tojson }}", "Write calls in <tool_call> tags.\n{{ tools | tojson }}"),
    ("llama", "<|eot_id|>", "{{ '<|eom_id|>' if m.tool_calls else '<|eot_id|>' }}"),
    ("gemma", "<end_of_turn>\n", "\n<end_of_turn>\n"),
]


def _found(source: str) -> list[str]:
    model = Model(
        "model",
        "file",
        (Template("default", source, Origin("chat_template.jinja", source)),),
        Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True),
    )
    return [found.message for found in lint([model], Options(("transformers",), select=("TL112",))).findings]


@pytest.mark.parametrize("family", SOUND)
def test_a_sound_template_is_left_alone(family: str) -> None:
    assert _found(SOUND[family]) == []


@pytest.mark.parametrize(("family", "old", "new"), LOST)
def test_a_lost_marker_is_found(family: str, old: str, new: str) -> None:
    assert old in SOUND[family]
    assert _found(SOUND[family].replace(old, new))


@pytest.mark.parametrize(("family", "old", "new"), HARMLESS)
def test_a_harmless_edit_is_left_alone(family: str, old: str, new: str) -> None:
    assert old in SOUND[family]
    assert _found(SOUND[family].replace(old, new)) == []
