from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from replies import TRICKY, TWO, kinds, plain, read, tools

from templatelint import dialects

if TYPE_CHECKING:
    from templatelint.dialects.reply import ToolCall

CALL = '{"name": "f", "parameters": {"a": 1}}'
NAMED = '{"name": "f", "arguments": {"a": 1}}'
F = [("f", {"a": 1})]
KNOWN = tools("f", *(call.name for call in (TRICKY, *TWO)))


@pytest.mark.parametrize("calls", [(TRICKY,), TWO, TWO[:1]], ids=["tricky", "two", "without arguments"])
@pytest.mark.parametrize("dialect", ["llama3-json", "xlam", "json-text"])
def test_what_is_written_is_read(dialect: str, calls: tuple[ToolCall, ...]) -> None:
    reply = read(dialects.get(dialect).write(calls), dialect, KNOWN)
    assert plain(reply) == [(call.name, call.arguments) for call in calls]
    assert (reply.content, reply.problems) == (None, ())


@pytest.mark.parametrize(
    ("dialect", "text", "calls", "content"),
    [
        ("llama3-json", CALL, F, None),
        ("llama3-json", NAMED, F, None),
        ("llama3-json", f"\n {CALL}\n<|eot_id|>", F, None),
        ("llama3-json", f"<|python_tag|>{CALL}", F, None),
        ("llama3-json", f"<|python_tag|>\n{CALL}<|eom_id|>", F, None),
        ("llama3-json", f"<|python_tag|>{CALL}; {CALL}<|python_tag|>{CALL}", F * 3, None),
        ("llama3-json", f"{CALL};<|python_tag|>{CALL}\n{CALL}, {CALL}", F * 4, None),
        ("llama3-json", f"[{CALL}, {CALL}]", F * 2, None),
        ("llama3-json", f"Let me see. <|python_tag|>{CALL}", F, "Let me see. "),
        ("llama3-json", f"{CALL}\nThat is it.", F, "That is it."),
        ("llama3-json", f"{CALL}\n{{}} is not", F, "{} is not"),
        ("llama3-json", f"<think>Hm.</think>\n\n{CALL}", F, None),
        ("llama3-json", f"<|start_header_id|>assistant<|end_header_id|>\n\n{CALL}", F, None),
        ("llama3-json", '{"type": "function", "function": {"name": "f", "parameters": {"a": 1}}}', F, None),
        ("xlam", f"[{NAMED}, {NAMED}]", F * 2, None),
        ("xlam", f"</think>[{NAMED}]", F, None),
        ("xlam", f"Yes: [{NAMED}]", [], f"Yes: [{NAMED}]"),
        ("xlam", NAMED, [], NAMED),
        ("xlam", "[]", [], "[]"),
        ("xlam", "[1, 2]", [], "[1, 2]"),
    ],
)
def test_variants(dialect: str, text: str, calls: list[tuple[str, dict[str, Any]]], content: str | None) -> None:
    reply = read(text, dialect, prefix=None if "think" in text else "")
    assert (plain(reply), reply.content, reply.problems) == (calls, content, ())


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        '{"a": 1} is a dict',
        '{"parameters": {}}',
        '{"name": "Ada"}',
        '{"name": "Ada", "age": 36}',
        '{"name": "Ada Lovelace", "parameters": {}}',
        '{"name": "f", "parameters": "for and against"}',
        '{"name": "f", "parameters": {"type": "object", "properties": {}}}',
        '{"answer": 42',
        '{"name": "Ada", "age": 3',
        '{"name": "Ada"',
        '{"name"',
        "{",
        "[1, 2",
        "{don't}",
        "[link](https://example.org)",
    ],
)
def test_json_that_is_no_call_is_content(text: str) -> None:
    reply = read(text, "llama3-json")
    assert (reply.tool_calls, reply.content, reply.problems) == ((), text, ())


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ('{"name": "f", "parameters": {"a', None),
        ('{"name": "f", "arguments":', None),
        ('{"type": "function", "name": "f", "parameters": {', None),
        ('[{"name": "f", "parameters": {"a": 1}}', None),
        ('{"name": "f", "para', ["f"]),
        ('{"name": "f"', ["f"]),
    ],
)
def test_a_call_that_is_cut(text: str, known: list[str] | None) -> None:
    reply = read(text, "llama3-json", None if known is None else tools(*known))
    assert (reply.tool_calls, reply.content, kinds(reply)) == ((), None, ["cut"])
    assert reply.problems[0].text == text


def test_what_precedes_a_cut_call_is_kept() -> None:
    reply = read(f'{CALL}; {{"name": "f", "parameters": {{', "llama3-json")
    assert (plain(reply), kinds(reply)) == (F, ["cut"])


def test_calls_of_a_builtin_tool_are_no_json() -> None:
    text = '<|python_tag|>brave_search.call(query="x")'
    reply = read(text, "llama3-json")
    assert (reply.tool_calls, reply.content, kinds(reply)) == ((), text, ["malformed"])


# ------------------------------------------------------------------------------------------ leaks into text

LEAKS = [
    f"<tools>\n{NAMED}\n</tools>",
    f"```json\n{NAMED}\n```",
    f"```\n{NAMED}\n```",
    f"```json\n[\n  {NAMED}\n]\n```",
    NAMED,
    f"[{NAMED}]",
    '{\n    "name": "f",\n    "arguments": {\n        "a": 1\n    }\n}',
]


@pytest.mark.parametrize("before", ["", "I call it:\n"])
@pytest.mark.parametrize("text", LEAKS)
def test_what_leaks_into_text_is_read_and_told(text: str, before: str) -> None:
    reply = read(before + text, "hermes", tools("f"))
    assert (plain(reply), reply.content) == (F, before.strip() or None)
    assert kinds(reply) == ["foreign"]
    assert "json-text" in reply.problems[0].message
    assert reply.complete


@pytest.mark.parametrize("known", [None, ["g"]])
@pytest.mark.parametrize("text", LEAKS[1:])
def test_text_like_a_call_of_no_tool_is_text(text: str, known: list[str] | None) -> None:
    reply = read(text, "hermes", None if known is None else tools(*known))
    assert (reply.tool_calls, reply.content, reply.problems) == ((), text, ())


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"a": 1}\n```',
        "```python\nprint({'name': 1})\n```",
        '```json\n{"a": 1',
        "```",
        '{"name": "f", "age": 3}',
        '<tools>\n{"type": "function", "function": {"name": "f", "description": "", "parameters": {}}}\n</tools>',
        "<tools>",
    ],
)
def test_other_json_in_text_is_no_fault(text: str) -> None:
    for dialect in ("hermes", "auto", "json-text"):
        reply = read(text, dialect, tools("f"))
        assert (reply.tool_calls, reply.content, reply.problems) == ((), text, ())


def test_a_leaked_call_that_is_cut() -> None:
    reply = read('Yes.\n```json\n{"name": "f", "arguments": {"a', "hermes", tools("f"))
    assert (reply.tool_calls, reply.content, kinds(reply)) == ((), "Yes.", ["cut"])
