"""Small templates and requests on which each thing that llama.cpp's server does to a request can be seen alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

USER = {"role": "user", "content": "Hi"}
CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1.50}'}}
TOOL = {"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}

# Prints messages whole; llama.cpp takes it for string content, object arguments, a system role.
DUMP = "{% for m in messages %}{{ m | tojson }}\n{% endfor %}"
# Reads the arguments as they come.
RAW = (
    "{% for m in messages %}{{ m.content }}{% for c in m.tool_calls %}<{{ c.function.arguments }}>"
    "{% endfor %}{% endfor %}"
)
# Takes content as parts alone, and as either.
PARTS = "{% for m in messages %}{% for p in m.content %}({{ p.text }}){% endfor %}{% endfor %}"
EITHER = (
    "{% for m in messages %}{% if m.content is string %}{{ m.content }}"
    "{% else %}{% for p in m.content %}({{ p.text }}){% endfor %}{% endif %}{% endfor %}"
)
# Never looks at what a system message says.
NO_SYSTEM = "{% for m in messages %}{% if m.role != 'system' %}[{{ m.content }}]{% endif %}{% endfor %}"
# Has reasoning in the history and a cue.
THINKS = (
    "{% for m in messages %}<|{{ m.role }}|>{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>"
    "{% endif %}{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
PLAIN = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


@dataclass(frozen=True)
class Seen:
    """One request, and what is seen of it.

    Attributes:
        id: the normalisation, then what of it.
        prompt: the text; None where the request is rejected.
        says: what the rejection says.
        tokens: special tokens and `add_bos`, `add_eos`, where the usual ones will not do.
    """

    id: str
    template: str
    body: dict[str, Any]
    prompt: str | None = None
    says: str = ""
    tokens: dict[str, Any] = field(default_factory=dict)


def _chat(*messages: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"messages": list(messages), **more}


def _assistant(content: Any = "", **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


_FULL = {
    "role": "assistant",
    "tool_calls": [{**CALL, "index": 0}],
    "tool_call_id": "t",
    "name": "n",
    "reasoning_content": "r",
    "content": None,
    "refusal": "no",
}
_SHOWN = "{% if x is defined %}{{ x | tojson }}{% else %}-{% endif %}"


def _shows(*names: str) -> str:
    """A template that prints variables, and a dash for one that is undefined."""
    return "|".join(_SHOWN.replace("x", name) for name in names)


# Read in llama.cpp b11549: N1, N2, N4–N6 in tools/server/server-common.cpp (and common/arg.cpp for the default of N4),
# N3 there and in common/chat-auto-parser-generator.cpp, N7–N20 in common/chat.cpp. Each row was also seen in a build
# of those files.
NORMALISATIONS = (
    Seen("N1 user without content", DUMP, _chat({"role": "user"}), says="message 1 (user) has no content"),
    Seen(
        "N1 assistant without either",
        DUMP,
        _chat(USER, {"role": "assistant"}, USER),
        says="message 2 (assistant) has neither content nor tool_calls",
    ),
    Seen(
        "N1 content of another type",
        DUMP,
        _chat({"role": "user", "content": {"a": 1}}),
        says="content of message 1 is an object, neither text nor parts",
    ),
    Seen("N1 null content", PLAIN, _chat({"role": "user", "content": None}), "<|user|><|end|><|assistant|>"),
    Seen(
        "N2 image without projector",
        DUMP,
        _chat({"role": "user", "content": [IMAGE]}),
        says="message 1 has a part of type image_url, and the server has no projector for it",
    ),
    Seen(
        "N2 unknown part",
        DUMP,
        _chat({"role": "user", "content": [{"type": "file", "file": {}}]}),
        says="message 1 has a part of type file, which the server does not take",
    ),
    Seen(
        "N2 text part without text",
        DUMP,
        _chat({"role": "user", "content": [{"type": "text"}]}),
        says="message 1 has a text part without text",
    ),
    Seen("N3 content", PLAIN, _chat(USER, _assistant("So ")), "<|user|>Hi<|end|><|assistant|>So "),
    Seen(
        "N3 content behind a closed block",
        THINKS,
        _chat(USER, _assistant("So ")),
        "<|user|>Hi<|end|><|assistant|><think></think>So ",
    ),
    Seen(
        "N3 reasoning",
        THINKS,
        _chat(USER, _assistant("", reasoning_content="Hm")),
        "<|user|>Hi<|end|><|assistant|><think>Hm",
    ),
    Seen(
        "N3 reasoning dropped",
        PLAIN,
        _chat(USER, _assistant("", reasoning_content="Hm")),
        "<|user|>Hi<|end|><|assistant|>",
    ),
    Seen("N3 empty message", PLAIN, _chat(USER, _assistant("")), "<|user|>Hi<|end|>"),
    Seen(
        "N3 parts",
        PLAIN,
        _chat(USER, _assistant([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}])),
        "<|user|>Hi<|end|><|assistant|>a\n\nb",
    ),
    Seen(
        "N3 two assistants",
        PLAIN,
        _chat(USER, _assistant("a"), _assistant("b")),
        says="the last two messages are the assistant's, and one alone can be continued",
    ),
    Seen(
        "N3 calls",
        PLAIN,
        _chat(USER, _assistant("a", tool_calls=[CALL])),
        says="message 2 has tool calls and cannot be continued",
    ),
    Seen(
        "N3 explicit with cue",
        PLAIN,
        _chat(USER, _assistant("a"), continue_final_message=True),
        says="continue_final_message and add_generation_prompt exclude each other",
    ),
    Seen(
        "N3 explicit, of a user",
        PLAIN,
        _chat(USER, {"role": "user", "content": "Go"}, continue_final_message=True, add_generation_prompt=False),
        "<|user|>Hi<|end|><|assistant|>Go",
    ),
    Seen("N4 default", _shows("preserve_reasoning"), _chat(USER), "true"),
    Seen(
        "N4 request wins",
        _shows("preserve_reasoning", "x"),
        _chat(USER, chat_template_kwargs={"preserve_reasoning": False, "x": [1]}),
        "false|[1]",
    ),
    Seen("N5 no support", _shows("enable_thinking"), _chat(USER), "false"),
    Seen("N5 support", THINKS + _shows("enable_thinking"), _chat(USER), "<|user|>Hi<|end|><|assistant|>true"),
    Seen("N5 request", _shows("enable_thinking"), _chat(USER, chat_template_kwargs={"enable_thinking": True}), "true"),
    Seen(
        "N5 text",
        DUMP,
        _chat(USER, chat_template_kwargs={"enable_thinking": "true"}),
        says="enable_thinking is the text 'true', not a boolean",
    ),
    Seen(
        "N5 effort none",
        THINKS + _shows("enable_thinking", "reasoning_effort"),
        _chat(USER, reasoning_effort="none"),
        "<|user|>Hi<|end|><|assistant|>false|-",
    ),
    Seen(
        "N6 grammar beside tools",
        DUMP,
        _chat(USER, tools=[TOOL], grammar='root ::= "a"'),
        says="grammar and tools exclude each other",
    ),
    Seen(
        "N7 N8 what is kept, in which order",
        DUMP,
        _chat(USER, _FULL, {"role": "tool", "content": "", "name": ""}),
        '{"role": "user", "content": "Hi"}\n'
        '{"role": "assistant", "content": "", "reasoning_content": "r", "name": "n", "tool_call_id": "t", '
        '"tool_calls": [{"type": "function", "function": {"name": "f", "arguments": {"a": 1.5}}, "id": "c1"}]}\n'
        '{"role": "tool", "content": ""}\n',
    ),
    Seen(
        "N7 arguments as an object",
        RAW,
        _chat(_assistant("", tool_calls=[{**CALL, "function": {"name": "f", "arguments": {"a": [1, "é"]}}}]), USER),
        '<{"a":[1,"é"]}>Hi',
    ),
    Seen(
        "N7 type of a call",
        DUMP,
        _chat(_assistant("", tool_calls=[{**CALL, "type": "custom"}]), USER),
        says="message 1 has a tool call of type custom, not function",
    ),
    Seen(
        "N7 call without arguments",
        DUMP,
        _chat(_assistant("", tool_calls=[{"type": "function", "function": {"name": "f"}}]), USER),
        says="message 1 has a tool call without arguments",
    ),
    Seen(
        "N7 null reasoning",
        DUMP,
        _chat(_assistant("a", reasoning_content=None), USER),
        says="reasoning_content of message 1 is null, not text",
    ),
    Seen(
        "N8 no calls",
        DUMP,
        _chat(_assistant("a", tool_calls=[]), USER),
        '{"role": "assistant", "content": "a"}\n{"role": "user", "content": "Hi"}\n',
    ),
    Seen(
        "N9 tools",
        _shows("tools"),
        _chat(USER, tools=[{"type": "function", "strict": True, "function": {"name": "f", "strict": True}}]),
        '[{"type": "function", "function": {"name": "f", "description": "", "parameters": {}}}]',
    ),
    Seen(
        "N10 media",
        DUMP,
        _chat(
            {
                "role": "user",
                "content": [{"type": "text", "text": t} for t in "ab"]
                + [IMAGE, {"type": "text", "text": "c"}, {"type": "text", "text": "d"}],
            },
            allow_media=True,
        ),
        '{"role": "user", "content": "a\\nb<__media__>c\\nd"}\n',
    ),
    Seen(
        "N11 string only",
        PLAIN,
        _chat({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
        "<|user|>a\nb<|end|><|assistant|>",
    ),
    Seen("N11 typed only", PARTS, _chat(USER), "(Hi)"),
    Seen("N11 either, string", EITHER, _chat(USER), "Hi"),
    Seen(
        "N11 either, parts",
        EITHER,
        _chat({"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}),
        "(a)(b)",
    ),
    Seen(
        "N12 trimmed",
        "{# You have access to the following functions in JSONSchema format #}" + DUMP,
        _chat({"role": "user", "content": " a\n"}, _assistant("\tb ", reasoning_content=" r "), USER),
        '{"role": "user", "content": "a"}\n{"role": "assistant", "content": "b", "reasoning_content": "r"}\n'
        '{"role": "user", "content": "Hi"}\n',
    ),
    Seen(
        "N13 developer",
        PLAIN,
        _chat({"role": "developer", "content": "d"}, USER),
        "<|system|>d<|end|><|user|>Hi<|end|><|assistant|>",
    ),
    Seen(
        "N13 developer kept",
        "{# <|channel|> #}" + PLAIN,
        _chat({"role": "developer", "content": "d"}, USER),
        "<|developer|>d<|end|><|user|>Hi<|end|><|assistant|>",
    ),
    Seen("N14 merged", NO_SYSTEM, _chat({"role": "system", "content": "s"}, USER), "[s\nHi]"),
    Seen("N14 alone", NO_SYSTEM, _chat({"role": "system", "content": "s"}), ""),
    Seen("N14 not first", NO_SYSTEM, _chat(USER, {"role": "system", "content": "s"}), "[Hi]"),
    Seen(
        "N14 parts",
        "{% for m in messages %}{% if m.role != 'system' %}{% for p in m.content %}({{ p.text }})"
        "{% endfor %}{% endif %}{% endfor %}",
        _chat({"role": "system", "content": "s"}, USER),
        says="content of message 1 is a list of parts, and llama-server can merge text only into the next message of a "
        "template that takes no system message",
    ),
    Seen(
        "N15 content beside calls",
        DUMP,
        _chat(USER, {"role": "assistant", "tool_calls": [CALL]}, USER),
        '{"role": "user", "content": "Hi"}\n{"role": "assistant", "content": "", "tool_calls": '
        '[{"type": "function", "function": {"name": "f", "arguments": {"a": 1.5}}, "id": "c1"}]}\n'
        '{"role": "user", "content": "Hi"}\n',
    ),
    Seen(
        "N16 object",
        RAW.replace("arguments }}", "arguments | tojson }}"),
        _chat(_assistant("", tool_calls=[CALL]), USER),
        '<{"a": 1.5}>Hi',
    ),
    Seen("N16 text", RAW, _chat(_assistant("", tool_calls=[CALL]), USER), '<{"a": 1.50}>Hi'),
    Seen(
        "N16 bad JSON",
        DUMP,
        _chat(_assistant("", tool_calls=[{**CALL, "function": {"name": "f", "arguments": "{a}"}}]), USER),
        says="the arguments of a call of f are not JSON: {a}",
    ),
    Seen(
        "N17 plain",
        _shows("tools", "add_generation_prompt", "documents", "datetime", "date_string", "bos_token", "eos_token"),
        _chat(USER, add_generation_prompt=False, documents=[{"text": "t"}]),
        '-|-|-|"Nov 29 2026"|"29 Nov 2026"|"<s>"|"</s>"',
    ),
    Seen(
        "N17 tools and cue",
        _shows("add_generation_prompt") + "{{ tools[0].function.name }}{{ messages[0].content }}",
        _chat(USER, tools=[TOOL]),
        "truefHi",
    ),
    Seen("N17 no tools", _shows("tools"), _chat(USER, tools=[]), "-"),
    Seen(
        "N17 the request's own date",
        _shows("date_string"),
        _chat(USER, chat_template_kwargs={"date_string": "x"}),
        '"x"',
    ),
    Seen(
        "N18 preserve",
        _shows("preserve_thinking", "clear_thinking", "truncate_history_thinking", "drop_thinking"),
        _chat(USER),
        "true|false|false|false",
    ),
    Seen(
        "N18 not preserved, one kept",
        _shows("preserve_thinking", "clear_thinking", "truncate_history_thinking", "drop_thinking"),
        _chat(USER, chat_template_kwargs={"preserve_reasoning": False, "clear_thinking": False}),
        "false|false|true|true",
    ),
    Seen(
        "N18 effort",
        _shows("reasoning_effort", "reasoning_strength"),
        _chat(USER, reasoning_effort="low"),
        '"low"|"low"',
    ),
    Seen(
        "N19 globals",
        "{{ strftime_now('%Y') }}{{ range(2) | length }}{{ dict(a=1).a }}{% set n = namespace(b=2) %}{{ n.b }}",
        _chat(USER),
        "2026212",
    ),
    Seen("N20 cut", "<s>{{ messages[0].content }}</s>", _chat(USER), "Hi", tokens={"add_bos": True, "add_eos": True}),
    Seen("N20 kept", "<s>{{ messages[0].content }}</s>", _chat(USER), "<s>Hi</s>", tokens={"add_bos": False}),
    Seen(
        "N20 once",
        "{{ bos_token }}{{ bos_token }}{{ messages[0].content }}",
        _chat(USER),
        "<s>Hi",
        tokens={"add_bos": True},
    ),
)
