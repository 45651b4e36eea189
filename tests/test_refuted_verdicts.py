"""What real engines once refuted, or the maintainer of a real template would have: each is told rightly since."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from templatelint.lint import Options, lint
from templatelint.model import Model, Origin, Template, Tokenizer

HEAD = "<|im_start|>{{ m.role }}\n"
PLAIN = (
    "{% for m in messages %}{{ '### User:' if m.role == 'user' else '### Assistant:' }}\n{{ m.content }}\n{% endfor %}"
)
CHATML = "{% for m in messages %}" + HEAD + "{{ m.content }}END{% endfor %}"
CUE = "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
BY_LINE = "{% for m in messages %}{{ m.content }}{{ '</s>' if m.role == 'assistant' else '\n\n' }}{% endfor %}"
TWO_STYLES = (
    "{% if tools %}<|start_of_role|>tools<|end_of_role|>{{ tools | tojson }}<|end_of_text|>\n{% endif %}"
    "{% for m in messages %}<|{{ m.role }}|>\n{{ m.content or '' }}"
    "{{ m.tool_calls | tojson if m.tool_calls }}{{ '<|end_of_text|>' if m.role == 'assistant' else '\n' }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
LAST_USER_ALONE = (
    "{% set ns = namespace(text='') %}{% for m in messages if m.role == 'user' %}{% set ns.text = m.content %}"
    "{% endfor %}Classify this: {{ ns.text }}"
)
INST = (
    "{% for m in messages %}EACH{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
    "{% else %} {{ m.content }} </s>{% endif %}{% endfor %}"
)
EMBEDDING = "{% for m in messages %}[IN] {{ m.content }} [OUT]{% endfor %}"
CALL = (
    "{{ tools | tojson if tools }}{% for m in messages %}" + HEAD + "{{ m.content or '' }}"
    "{% for c in m.tool_calls or [] %}<call={{ c.function.name }}>{% for k, v in c.function.arguments | items %}"
    "<{{ k }}>{{ v }}</{{ k }}>{% endfor %}</call>{% endfor %}<|im_end|>\n{% endfor %}" + CUE
)
WHOLE = CALL.replace(
    "{% for k, v in c.function.arguments | items %}<{{ k }}>{{ v }}</{{ k }}>{% endfor %}", "{{ c.function.arguments }}"
)
TOOLS_BEHIND = CALL.replace("{{ tools | tojson if tools }}", "").replace(CUE, "{{ tools | tojson if tools }}" + CUE)
HALF_TYPED = (
    "{% for m in messages %}" + HEAD + "{% if m.role == 'user' and m.content is not string %}"
    "{% for part in m.content %}{{ part.text }}{% endfor %}{% else %}{{ m.content }}{% endif %}<|im_end|>\n{% endfor %}"
    + CUE
)
HERMES = (
    "{% if tools %}<|im_start|>system\n# Tools\n{{ tools | tojson }}\nFor each call return\n"
    '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call><|im_end|>\n{% endif %}'
    "{% for m in messages %}" + HEAD + "{{ m.content if m.content and SHOWN }}{% for c in m.tool_calls or [] %}"
    '\n<tool_call>\n{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>'
    "{% endfor %}<|im_end|>\n{% endfor %}" + CUE
)
ELEMENTS = (
    '{% for m in messages %}<turn role="{{ m.role }}">{{ m.content }}</turn>\n{% endfor %}<turn role="assistant">'
)
HEADER = "<|begin|>{{ 'Me' if m.role == 'assistant' else m.role }}<|end_header|>\n\n"
SETTING = "<b>{{ 'system as=assistant' if m.role == 'system' else 'ai name=' + m.role }}\n"
AS_ANOTHER = CHATML.replace("m.role", "'ANOTHER' if m.role == 'system' else m.role").replace("END", "<|im_end|>\n")
CLOCK = "Now: {{ strftime_now('FORM') }}\n" + CHATML.replace("END", "<|im_end|>\n")


class Row(NamedTuple):
    about: str
    rule: str
    engine: str
    template: str
    found: tuple[str, ...]


ROWS = [
    Row(
        "headers in plain words have no marker to close",
        "TL112",
        "transformers",
        PLAIN + "{{ '### Assistant:\n' if add_generation_prompt }}",
        ("warning nothing that could be a stop token ends an assistant turn",),
    ),
    Row(
        "answers that end in no token, where questions do",
        "TL112",
        "transformers",
        CHATML.replace("END", "{{ '<|im_end|>' if m.role == 'user' }}\n") + CUE,
        ("error nothing that could be a stop token ends an assistant turn",),
    ),
    Row(
        "an answer on a line of its own, ended by a token",
        "TL112",
        "transformers",
        BY_LINE,
        ("warning the turns of user.1 and assistant.1 fuse",),
    ),
    Row(
        "nothing between question and answer",
        "TL112",
        "transformers",
        BY_LINE.replace("\n\n", ""),
        ("error the turns of user.1 and assistant.1 fuse",),
    ),
    Row("a token that ends turns opened in another style", "TL112", "transformers", TWO_STYLES, ()),
    Row("a system text inside of a message that is lost", "TL101", "llama.cpp", LAST_USER_ALONE, ()),
    Row("that message", "TL109", "llama.cpp", LAST_USER_ALONE, ("error assistant and user text is missing",)),
    Row(
        "a system text that nobody moves",
        "TL101",
        "transformers",
        LAST_USER_ALONE,
        ("error a leading system message does not reach the prompt",),
    ),
    Row("the end of the question is the cue", "TL501", "transformers", INST.replace("EACH", "| "), ()),
    Row("questions and answers alike", "TL501", "transformers", EMBEDDING, ()),
    Row(
        "a cue that is there in any case",
        "TL501",
        "transformers",
        CHATML.replace("END", "<|im_end|>\n") + HEAD.replace("{{ m.role }}", "assistant"),
        (),
    ),
    Row(
        "no cue",
        "TL501",
        "transformers",
        CHATML.replace("END", "<|im_end|>\n"),
        ("error add_generation_prompt adds no assistant cue",),
    ),
    Row(
        "an object inside of the arguments",
        "TL006",
        "transformers",
        CALL,
        ("warning an argument that is an object is printed as a Python dict",),
    ),
    Row(
        "the arguments themselves",
        "TL006",
        "transformers",
        WHOLE,
        ("error call arguments are printed as a Python dict",),
    ),
    Row(
        "a tool's definition behind the user's text is no trace of a call",
        "TL202",
        "transformers",
        TOOLS_BEHIND.replace("m.tool_calls or []", "[]"),
        ("error tool calls of earlier assistant turns leave no trace in the prompt",),
    ),
    Row(
        "a call behind a user's text that is lost",
        "TL215",
        "sglang",
        HERMES.replace("SHOWN", "m.role != 'user'"),
        (),
    ),
    Row("its syntax", "TL213", "sglang", HERMES.replace("SHOWN", "m.role != 'user'"), ()),
    Row("that call where nothing is lost", "TL215", "sglang", HERMES.replace("SHOWN", "true"), ()),
    Row("a header that is an element", "TL111", "vllm", ELEMENTS, ()),
    Row(
        "a text before such a header",
        "TL111",
        "vllm",
        "You are kind.\n" + ELEMENTS,
        ("note the template adds a system text of its own even beside a system message of yours: 'You are kind.'",),
    ),
    Row("the system's own header", "TL103", "vllm", CHATML.replace("END", "<|im_end|>\n") + CUE, ()),
    Row("headers that end alike", "TL103", "vllm", CHATML.replace(HEAD, HEADER).replace("END", "<|end|>"), ()),
    Row("headers that name a role at their ends", "TL103", "vllm", CHATML.replace(HEAD, SETTING), ()),
    Row(
        "the user's header",
        "TL103",
        "vllm",
        AS_ANOTHER.replace("ANOTHER", "user"),
        ("note the system text is written as a turn of the user's own",),
    ),
    Row(
        "the assistant's header",
        "TL103",
        "llama.cpp",
        AS_ANOTHER.replace("ANOTHER", "assistant"),
        ("warning the system text is written as a turn of the assistant's own",),
    ),
    Row("the date", "TL504", "vllm", CLOCK.replace("FORM", "%d %B %Y"), ("note the prompt changes with the date",)),
    Row("the hour", "TL504", "vllm", CLOCK.replace("FORM", "%H:%M"), ("note the prompt changes with the minute",)),
    Row(
        "the second",
        "TL504",
        "vllm",
        CLOCK.replace("FORM", "%Y-%m-%dT%I:%M:%S"),
        ("note the prompt changes with the second",),
    ),
    Row(
        "a part that is printed is no tool",
        "TL006",
        "vllm",
        HALF_TYPED.replace("{% for m in messages %}", "{{ tools | tojson if tools }}{% for m in messages %}", 1),
        ("error text is handed over as a list of parts, and assistant content is printed as data",),
    ),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.rule} {row.about}")
def test_it_is_told_rightly(row: Row) -> None:
    template = Template("default", row.template, Origin("chat_template.jinja", row.template))
    tokenizer = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True)
    model = Model("chat_template.jinja", "file", (template,), tokenizer)
    report = lint([model], Options((row.engine,), select=(row.rule,)))
    told = [f"{finding.severity} {finding.message}" for finding in report.findings]
    assert len(told) == len(row.found), told
    assert all(said.startswith(words) for said, words in zip(told, row.found, strict=True)), told
