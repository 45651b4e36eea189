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
    assert (reply.tool_calls, reply.content, reply.complete) == ((), text, True)
    assert kinds(reply) == (["doubtful"] if known is None else [])


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


ORDERS = [
    '{"type": "function", "name": "f", "parameters": {"a": 1}}',
    '{"arguments": {"a": 1}, "name": "f"}',
    '{"type": "function", "function": {"name": "f", "arguments": {"a": 1}}}',
    '{"function": {"arguments": {"a": 1}, "name": "f"}, "type": "function"}',
    '{"id": "call_1", "name": "f", "arguments": {"a": 1}}',
    '[{"arguments": {"a": 1}, "name": "f"}]',
    '{\r\n  "arguments": {"a": 1}, "name": "f"}',
]


@pytest.mark.parametrize("before", ["", "I call it.\n", "I call it.\r\n  ", "<think>Hm.</think>"])
@pytest.mark.parametrize("dialect", ["llama3-json", "hermes", "auto", "xlam", "mistral"])
@pytest.mark.parametrize("text", ORDERS)
def test_a_call_of_a_tool_begins_a_line(text: str, dialect: str, before: str) -> None:
    reply = read(before + text, dialect, tools("f"), None)
    assert plain(reply) == F
    assert reply.content == (None if "think" in before else before.strip() or None)
    assert reply.complete


@pytest.mark.parametrize("dialect", ["hermes", "auto", "llama3-json"])
@pytest.mark.parametrize("text", ORDERS[:6])
def test_within_a_line_it_is_text(text: str, dialect: str) -> None:
    reply = read(f"One writes {text} there.", dialect, tools("f"))
    assert (reply.tool_calls, reply.content) == ((), f"One writes {text} there.")


@pytest.mark.parametrize("dialect", ["hermes", "auto", "pythonic"])
def test_text_around_a_call_keeps_its_lines(dialect: str) -> None:
    assert read(f"One.\n[{NAMED}]\nTwo.", dialect, tools("f")).content == "One.\nTwo."


@pytest.mark.parametrize(
    ("text", "dialect", "found"),
    [
        (NAMED, "json-text", "json-text"),
        (f"```json\n{NAMED}\n```", "json-text", "json-text"),
        (NAMED, "auto", "llama3-json"),
        (f"[{NAMED}]", "auto", "xlam"),
        (f"[{NAMED}]<|im_end|>", "auto", "xlam"),
    ],
)
def test_without_tools_a_whole_reply_is_a_call(text: str, dialect: str, found: str) -> None:
    reply = read(text, dialect)
    assert (reply.dialect, plain(reply), reply.content) == (found, F, None)


@pytest.mark.parametrize("dialect", ["auto", "json-text"])
@pytest.mark.parametrize("text", [f"[{CALL}] is what I know.", f"See\n[{CALL}]\nthere.", f"{CALL} it is"])
def test_without_tools_a_part_of_one_is_none(text: str, dialect: str) -> None:
    reply = read(text, dialect)
    assert (reply.tool_calls, reply.content, kinds(reply)) == ((), text, ["doubtful"])
