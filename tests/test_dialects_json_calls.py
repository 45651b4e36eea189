from __future__ import annotations

from typing import Any

import pytest
from replies import TRICKY, TWO, kinds, plain, read, tools

from templatelint import dialects
from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Malformed
from templatelint.dialects.syntaxes.json_calls import call_of

NAMES = (
    "hermes",
    "falcon",
    "granite",
    "granite-20b-fc",
    "hunyuan-a13b",
    "jamba",
    "minimax-m1",
    "nemotron-nano-v2",
    "command-r",
    "command-r7b",
    "phi4-mini",
    "internlm",
    "apertus",
    "hyperclovax",
    "gigachat3",
)
CALL = '{"name": "f", "arguments": {"a": 1}}'
F = [("f", {"a": 1})]


@pytest.mark.parametrize("before", ["", "Let me see.\n"])
@pytest.mark.parametrize("calls", [(TRICKY,), TWO, TWO[:1]], ids=["tricky", "two", "without arguments"])
@pytest.mark.parametrize("dialect", NAMES)
def test_what_is_written_is_read(dialect: str, calls: tuple[ToolCall, ...], before: str) -> None:
    reply = read(before + dialects.get(dialect).write(calls), dialect)
    assert plain(reply) == [(call.name, call.arguments) for call in calls]
    assert (reply.content, reply.problems) == (before.strip() or None, ())


@pytest.mark.parametrize("dialect", NAMES)
def test_without_calls_nothing_is_written(dialect: str) -> None:
    assert dialects.get(dialect).write(()) == ""


@pytest.mark.parametrize("call", [ToolCall("two words", {}), ToolCall("", {}), ToolCall("f", {"x": float("nan")})])
@pytest.mark.parametrize("dialect", NAMES)
def test_what_no_call_can_carry_is_refused(dialect: str, call: ToolCall) -> None:
    with pytest.raises(ValueError, match=r"."):
        dialects.get(dialect).write([call])


@pytest.mark.parametrize(
    ("dialect", "text", "calls"),
    [
        ("hermes", f"<tool_call>{CALL}</tool_call>", F),
        ("hermes", f"<tool_call>\n{CALL}\n{CALL}\n</tool_call>", F * 2),
        ("hermes", f"<tool_call>{CALL},{CALL}</tool_call>", F * 2),
        ("hermes", f"<tool_calls>\n<tool_call>\n{CALL}\n</tool_call>\n<tool_call>{CALL}</tool_call></tool_calls>",
         F * 2),
        ("hermes", '<tool_call>{"function": {"name": "f", "arguments": "{\\"a\\": 1}"}}</tool_call>',
         F),
        ("hermes", "<tool_call>{'name': 'f', 'arguments': {'a': 1}}</tool_call>", F),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": \'it"s\', "b": None}}</tool_call>',
         [("f", {"a": 'it"s', "b": None})]),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": 1,}}</tool_call>', F),
        ("hermes", '<tool_call>{"name": "f", "parameters": {"a": 1}}</tool_call>', F),
        ("hermes", '<tool_call>{"function": "f", "args": {"a": 1}}</tool_call>', F),
        ("hermes", '<tool_call>{"name": "f", "arguments": null}</tool_call>', [("f", {})]),
        ("hermes", '<tool_call>{"name": "f"}</tool_call>', [("f", {})]),
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": "x\ny"}}</tool_call>', [("f", {"a": "x\ny"})]),
        ("falcon", f"<tool_call>{CALL}</tool_call>", F),
        ("granite", f"<tool_call>[{CALL}]</tool_call>", F),
        ("granite", f"<tool_call>[{CALL}]", F),
        ("granite", f"<|tool_call|>\n{CALL}\n<|tool_call_end|>\n<|tool_call|>\n{CALL}\n<|tool_call_end|>", F * 2),
        ("granite-20b-fc", f"<function_call>{CALL} <function_call> {CALL}", F * 2),
        ("jamba", f"<tool_calls>[\n    {CALL},\n    {CALL}\n]</tool_calls><|eom|>", F * 2),
        ("jamba", """<tool_calls>[{"name": "f", "arguments": {'a': 1}, "id": "call_1"}]</tool_calls>""", F),
        ("hunyuan-a13b", f"<answer>\n<tool_calls>[{CALL}]</tool_calls>\n</answer>", F),
        ("minimax-m1", f"<tool_calls>\n{CALL}\n{CALL}\n</tool_calls>", F * 2),
        ("command-r", f"Action:\n```json\n[\n    {CALL}\n]\n```", F),
        ("command-r7b", f"<|START_ACTION|>[\n    {CALL}\n]<|END_ACTION|><|END_OF_TURN_TOKEN|>", F),
        ("phi4-mini", f"<|tool_call|>[{CALL}]<|/tool_call|>", F),
        ("internlm", f"<|action_start|> <|plugin|>{CALL}<|action_end|>", F),
        ("apertus", '<|tools_prefix|>[{"f": {"a": 1}, "g": {}}]<|tools_suffix|>', [*F, ("g", {})]),
        ("hyperclovax", f"<|im_end|>\n<|im_start|>assistant -> tool/function_call\n[{CALL}]<|im_end|><|stop|>", F),
        ("gigachat3", f"<|message_sep|>\n\nfunction call<|role_sep|>\n{CALL}<|message_sep|>\n\n", F),
    ],
)  # fmt: skip
def test_variants(dialect: str, text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    reply = read(text, dialect)
    assert (plain(reply), reply.content, reply.problems) == (calls, None, ())


@pytest.mark.parametrize(
    ("dialect", "text", "content", "problems"),
    [
        ("hermes", f"<tool_call>{CALL}", None, ["unclosed"]),
        ("hermes", f"<tool_call>{CALL}\nDone.", "Done.", ["unclosed"]),
        ("hermes", f"<tool_calls><tool_call>{CALL}</tool_call>", None, ["unclosed"]),
        ("hermes", f"Yes <tool_call>{CALL}</tool_call> then no", "Yes then no", []),
        ("hermes", f"<tool_call>[{CALL}]</tool_call>", None, ["foreign"]),
        ("jamba", f"<tool_calls>[{CALL}]\nDone.", "Done.", ["unclosed"]),
        ("jamba", "One. <tool_calls>[]</tool_calls> Two.", "One. Two.", []),
        ("command-r7b", f"<|START_RESPONSE|>Hm.<|END_RESPONSE|><|START_ACTION|>[{CALL}]<|END_ACTION|>", "Hm.", []),
    ],
)
def test_what_stands_beside_calls(dialect: str, text: str, content: str | None, problems: list[str]) -> None:
    reply = read(text, dialect)
    assert (reply.content, kinds(reply), reply.complete) == (content, problems, True)


@pytest.mark.parametrize(
    "body",
    [
        "not JSON",
        '{"arguments": {}}',
        '{"name": "", "arguments": {}}',
        '{"name": "two words", "arguments": {}}',
        '{"name": "f", "arguments": [1]}',
        '{"name": "f", "arguments": "text"}',
        '{"name": "f", "arguments": {"a": NaN}}',
        '{"name": "f", "arguments": {"a": 1e999}}',
        '{"name": "f", "arguments": {"a": 1}',
        '{"name": "f", "arguments": {"a": 1]}',
        '{"name": "f", "arguments": {"a" 1}}',
        '{"name": "f", "description": "What it does", "parameters": {}}',
        '{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "string"}}}}',
        "[" * 101 + "]" * 101,
        '"text"',
        "12",
    ],
)
def test_what_is_no_call_stays_in_the_content(body: str) -> None:
    text = f"<tool_call>{body}</tool_call>"
    reply = read(text, "hermes")
    assert (reply.tool_calls, reply.content, kinds(reply)) == ((), text, ["malformed"])


@pytest.mark.parametrize(
    ("text", "calls", "begun"),
    [
        ('<tool_call>\n{"name": "f", "argu', [], '<tool_call>\n{"name": "f", "argu'),
        ("<tool_call>", [], "<tool_call>"),
        ('<tool_call>{"name": "f", "arguments": {"a": "\\', [], '<tool_call>{"name": "f", "arguments": {"a": "\\'),
        (f'<tool_call>{CALL}</tool_call>\n<tool_call>{{"name"', F, '<tool_call>{"name"'),
        (f'<tool_call>{CALL},{{"name"', F, ',{"name"'),
    ],
)
def test_a_reply_that_ends_inside_a_call(text: str, calls: list[tuple[str, dict[str, Any]]], begun: str) -> None:
    reply = read(text, "hermes")
    assert (plain(reply), reply.content, kinds(reply)) == (calls, None, ["cut"])
    assert reply.problems[0].text == begun
    assert text[reply.problems[0].offset :] == begun


@pytest.mark.parametrize(
    ("found", "call"),
    [
        ({"name": "f", "arguments": {}, "id": 7}, ToolCall("f", {}, "7")),
        ({"tool_name": "f", "parameters": {"a": 1}, "tool_call_id": "0"}, ToolCall("f", {"a": 1}, "0")),
        ({"id": "x", "type": "function", "function": {"name": "f", "arguments": ""}}, ToolCall("f", {}, "x")),
        ({"name": "f", "parameters": {"type": "object"}}, ToolCall("f", {"type": "object"})),
    ],
)
def test_objects_that_are_calls(found: Any, call: ToolCall) -> None:
    assert call_of(found) == call


def test_a_call_that_nothing_marks_has_arguments() -> None:
    assert call_of({"name": "Ada"}) == ToolCall("Ada", {})
    with pytest.raises(Malformed):
        call_of({"name": "Ada"}, whole=True)


@pytest.mark.parametrize(
    ("text", "reasoning", "content"),
    [
        (f"<think>Hm.</think>\n\nYes.\n<tool_call>{CALL}</tool_call>", "Hm.", "Yes."),
        (f"Hm.\n</think>\n<tool_call>{CALL}</tool_call>", "Hm.", None),
        (f"<think>As in <tool_call>{CALL}</tool_call></think><tool_call>{CALL}</tool_call>",
         f"As in <tool_call>{CALL}</tool_call>", None),
        (f"<think>Hm. <tool_call>{CALL}</tool_call>", "Hm.", None),
    ],
)  # fmt: skip
def test_thoughts(text: str, reasoning: str, content: str | None) -> None:
    reply = read(text, "hermes", prefix=None)
    assert (plain(reply), reply.reasoning_content, reply.content) == (F, reasoning, content)


def test_a_call_of_no_tool_is_text_and_told() -> None:
    text = f"<tool_call>{CALL}</tool_call>"
    reply = read(text, "hermes", tools("g"))
    assert (plain(reply), reply.content, kinds(reply)) == ([], text, ["unknown-tool"])


@pytest.mark.parametrize(
    ("name", "alias"), [("hermes", "Qwen2.5"), ("command-r7b", "cohere_command3"), ("jamba", "apriel")]
)
def test_aliases(name: str, alias: str) -> None:
    assert dialects.get(alias).name == name


@pytest.mark.parametrize("dialect", NAMES)
def test_lines_may_end_in_two_characters(dialect: str) -> None:
    calls = [ToolCall("f", {"a": 1}), ToolCall("f", {"a": "x"})]
    reply = read(dialects.get(dialect).write(calls).replace("\n", "\r\n"), dialect, tools("f"))
    assert (plain(reply), reply.content, reply.problems) == ([(c.name, c.arguments) for c in calls], None, ())


@pytest.mark.parametrize(
    ("body", "lost"),
    [
        ('{"name": "f", "arguments": {"a": 1}}}', "}"),
        ('{"name": "f", "arguments": {"a": 1}}}]\n}', "}]\n}"),
        ('{"name": "f", "arguments": {"a": 1}, "extra": "KEPT"}', '"extra": "KEPT"'),
        ('{"name": "f", "arguments": {"a": 1}, "parameters": {"a": 2}}', '"parameters": {"a": 2}'),
        ('{"name": "f", "tool_name": "g", "arguments": {"a": 1}}', '"tool_name": "g"'),
        ('{"name": "f", "arguments": {"a": 2, "a": 1}}', '"a": 2'),
        ('{"name": "g", "arguments": {"a": 1}, "name": "f"}', '"name": "g"'),
        ('{"function": {"name": "f", "arguments": {"a": 1}, "strict": true}}', '"strict": true'),
    ],
)
def test_what_is_no_part_of_a_call_is_told(body: str, lost: str) -> None:
    reply = read(f"<tool_call>\n{body}\n</tool_call>", "hermes", tools("f"))
    assert (plain(reply), reply.content, reply.complete) == (F, None, True)
    assert [(problem.kind, problem.text) for problem in reply.problems] == [("dropped", lost)]


@pytest.mark.parametrize(
    "body",
    [
        '{"id": "1", "type": "function", "function": {"name": "f", "arguments": {"a": 1}}}',
        '{"type": "function", "name": "f", "arguments": {"a": 1}, "index": null}',
        '{"function": "f", "arguments": "{\\"a\\": 1}"}',
    ],
)
def test_what_calls_have_is_not_told(body: str) -> None:
    reply = read(f"<tool_call>{body}</tool_call>", "hermes", tools("f"))
    assert (plain(reply), reply.problems) == (F, ())


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        (f"<tool_calls>\n{CALL}\n</tool_calls>", "minimax-m1"),
        (f"<tool_calls>[{CALL}]</tool_calls>", "hunyuan-a13b"),
        (f"<tool_call>{CALL}</tool_call>", "hermes"),
    ],
)
def test_which_dialect_it_is(text: str, dialect: str) -> None:
    reply = read(text, "auto")
    assert (reply.dialect, plain(reply)) == (dialect, F)


@pytest.mark.parametrize(
    ("value", "why"),
    [("9" * 5000, "a number of 5000 digits"), ('{"b":' * 2000 + "1" + "}" * 2000, "nested deeper than 100")],
)
@pytest.mark.parametrize(
    ("dialect", "before", "after"),
    [
        ("hermes", '<tool_call>{"name": "f", "arguments": {"a": ', "}}</tool_call>"),
        ("llama3-json", '{"name": "f", "parameters": {"a": ', "}}"),
        ("hermes", 'Yes.\n{"name": "f", "parameters": {"a": ', "}}"),
        ("mistral", '[TOOL_CALLS]f[ARGS]{"a": ', "}"),
    ],
)
def test_what_is_too_large_is_told(dialect: str, before: str, after: str, value: str, why: str) -> None:
    text = before + value + after
    reply = read(text, dialect, tools("f"))
    assert (reply.tool_calls, reply.content, kinds(reply)) == ((), text, ["malformed"])
    assert why in reply.problems[0].message
    assert "sys." not in reply.problems[0].message
