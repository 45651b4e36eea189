"""What llama.cpp believes that a template supports: one probe at a time, each on a template that differs in it alone.

The probes were read in common/jinja/caps.cpp of llama.cpp b11549; every row was also seen in a build of that file.
"""

from __future__ import annotations

from typing import Any

import pytest

from templatelint.cases import FIXED_NOW
from templatelint.engines.llamacpp.capabilities import Capabilities, probe
from templatelint.renderers.llamacpp import compile_template


def each(body: str) -> str:
    """A template that does the same with every message `m`."""
    return f"{{% for m in messages %}}{body}{{% endfor %}}"


# Each prints messages and, where it says so, tools and calls.
CHAT = each("{{ m.role }}: {{ m.content }}\n")
TOOLS = "{% for t in tools %}{{ t.function.name }}{% endfor %}"
PARTS = "{% for p in m.content %}{{ p.text }}{% endfor %}"
CALLS = each("{{ m.content }}{% for c in m.tool_calls %}<ARGUMENTS>{% endfor %}")
FIRST_CALL = "{{ m.content }}{% if m.tool_calls %}{{ m.tool_calls[0].function.arguments | tojson }}{% endif %}"
RAW_CALLS = CALLS.replace("ARGUMENTS", "{{ c.function.name }}{{ c.function.arguments }}")
JSON_CALLS = CALLS.replace("ARGUMENTS", "{{ c.function.name }}{{ c.function.arguments | tojson }}")
NO_CALLS = {"tools": False, "tool_calls": False, "parallel_tool_calls": False}

ROWS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("plain chat", CHAT, NO_CALLS),
    # 1: content as a string, or as parts
    (
        "1 parts only",
        each(PARTS),
        {**NO_CALLS, "string_content": False, "typed_content": True},
    ),
    (
        "1 part by index, text lost",
        each("{{ m.content[0].text }}"),
        {**NO_CALLS, "string_content": False, "typed_content": True},
    ),
    ("1 part by index, text kept", each("{{ m.content[0].text }}{{ m.content }}"), {**NO_CALLS, "typed_content": True}),
    ("1 slices are no parts", each("{{ m.content[:99] }}"), NO_CALLS),
    (
        "1 refuses strings",
        each("{{ raise_exception('x') if m.content == 'STRING_MARKER' }}{{ m.content }}"),
        {**NO_CALLS, "string_content": False},
    ),
    # 1b: only where a template asks whether content is a string
    (
        "1b either",
        each("{% if m.content is string %}{{ m.content }}{% else %}" + PARTS + "{% endif %}"),
        {**NO_CALLS, "typed_content": True},
    ),
    (
        "1b not asked",
        each("{% if m.content is mapping %}" + PARTS + "{% else %}{{ m.content }}{% endif %}"),
        NO_CALLS,
    ),
    (
        "1b fails on parts",
        each("{% if m.content is string %}{{ m.content }}{% else %}" + PARTS + "{{ raise_exception('x') }}{% endif %}"),
        NO_CALLS,
    ),
    # 2: looked at is enough, also in a render that raises
    (
        "2 system unread",
        each("{% if m.role != 'system' %}{{ m.content }}{% endif %}"),
        {**NO_CALLS, "system_role": False},
    ),
    (
        "2 system read, not printed",
        each("{% if m.content != 'x' and m.role != 'system' %}{{ m.content }}{% endif %}"),
        NO_CALLS,
    ),
    ("2 system read, then refused", each("{{ m.content }}{{ raise_exception('x') if m.role == 'system' }}"), NO_CALLS),
    (
        "2 system refused unread",
        each("{{ raise_exception('x') if m.role == 'system' }}{{ m.content }}"),
        {**NO_CALLS, "system_role": False},
    ),
    # 3: an object of arguments
    ("3 calls with arguments as JSON", TOOLS + JSON_CALLS, {"object_arguments": True}),
    ("3 calls, arguments as they are", TOOLS + RAW_CALLS, {}),
    ("3 tools unread", JSON_CALLS, {"tools": False, "object_arguments": True}),
    ("3 calls unread", TOOLS + CHAT, {"tool_calls": False, "parallel_tool_calls": False}),
    (
        "3 a single argument",
        TOOLS + CALLS.replace("ARGUMENTS", "{{ c.function.arguments.arg }}"),
        {"object_arguments": True},
    ),
    # 4: tried where 3 did not settle it
    ("4 arguments as text only", TOOLS + CALLS.replace("ARGUMENTS", "{{ c.function.arguments.strip() }}"), {}),
    ("4 neither", TOOLS + CALLS.replace("ARGUMENTS", "{{ raise_exception('x') }}"), NO_CALLS),
    (
        "4 tools seen by a render that raises",
        TOOLS + each("{{ m.content }}{{ raise_exception('x') if m.role == 'tool' }}"),
        NO_CALLS,
    ),
    # 5: two calls
    (
        "5 only one call",
        TOOLS + each("{{ raise_exception('x') if m.tool_calls and m.tool_calls | length > 1 }}" + FIRST_CALL),
        {"parallel_tool_calls": False, "object_arguments": True},
    ),
    (
        "5 the second unread",
        TOOLS + each(FIRST_CALL),
        {"parallel_tool_calls": False, "object_arguments": True},
    ),
    # 6: printed, not merely read
    ("6 reasoning of all turns", CHAT + each("{{ m.reasoning_content }}"), {**NO_CALLS, "preserve_reasoning": True}),
    (
        "6 reasoning on demand",
        CHAT + each("{% if not clear_thinking %}{{ m.reasoning_content }}{% endif %}"),
        {**NO_CALLS, "preserve_reasoning": True},
    ),
    (
        "6 reasoning of the last turn",
        CHAT + each("{% if loop.index > 3 %}{{ m.reasoning_content }}{% endif %}"),
        NO_CALLS,
    ),
    ("6 reasoning only looked at", CHAT + each("{% if m.reasoning_content %}!{% endif %}"), NO_CALLS),
    # 7: looked at, under either name
    ("7 effort", CHAT + "{{ reasoning_effort }}", {**NO_CALLS, "reasoning_effort": True}),
    ("7 strength", CHAT + "{% if reasoning_strength == 'low' %}!{% endif %}", {**NO_CALLS, "reasoning_effort": True}),
    (
        "7 effort behind thinking",
        CHAT + "{% if enable_thinking %}{{ reasoning_effort }}{% endif %}",
        {**NO_CALLS, "reasoning_effort": True},
    ),
    # a probe that raises is tried again with empty reasoning
    (
        "retry with reasoning",
        TOOLS
        + JSON_CALLS
        + each("{{ raise_exception('x') if m.role == 'assistant' and m.reasoning_content is undefined }}"),
        {"object_arguments": True},
    ),
    # tools are an empty list in the probes without tools, not undefined
    (
        "no tools are a list",
        "{{ tools | length }}{{ tools | tojson }}" + CHAT,
        {"tool_calls": False, "parallel_tool_calls": False},
    ),
    ("BOS and EOS are empty", "{{ raise_exception('x') if bos_token or eos_token }}" + CHAT, NO_CALLS),
)


@pytest.mark.parametrize(
    ("source", "differs"), [pytest.param(source, differs, id=name) for name, source, differs in ROWS]
)
def test_probe(source: str, differs: dict[str, Any]) -> None:
    assert probe(compile_template(source), FIXED_NOW) == Capabilities(**differs)


def test_names_of_the_server() -> None:
    assert Capabilities(tools=False).as_props() == {
        "supports_string_content": True,
        "supports_typed_content": False,
        "supports_tools": False,
        "supports_tool_calls": True,
        "supports_parallel_tool_calls": True,
        "supports_system_role": True,
        "supports_preserve_reasoning": False,
        "supports_reasoning_effort": False,
        "supports_object_arguments": False,
    }
