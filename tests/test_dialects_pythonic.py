from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from templatelint import dialects
from templatelint.dialects import python_literals
from templatelint.dialects.reader import Reader, parse
from templatelint.dialects.reply import ToolCall
from templatelint.dialects.stream import Malformed

if TYPE_CHECKING:
    from templatelint.dialects.reply import Reply

NAMES = ("pythonic", "llama4-pythonic", "olmo3", "minicpm3", "lfm2")
TRICKY = ToolCall(
    "save_note",
    {
        "title": 'Zoë\'s "海図" 🌊',
        "body": "a\nb\\n\tc\r\n]) <|tool_call_end|> </function_calls>",
        "number": 12,
        "negative": -0.5,
        "large": 1e300,
        "digits": "007",
        "word": "null",
        "yes": True,
        "nothing": None,
        "nested": {"list": [1, [], {"k": False}], "empty": {}, "text": "}"},
    },
)
TWO = (ToolCall("get_time", {}), ToolCall("weather.get", {"city": "Oslo"}))


def read(text: str, dialect: str, **more: Any) -> Reply:
    """The reply, read whole, and the same read character by character."""
    whole = parse(text, dialect, prefix="", **more)
    reader = Reader(dialect, prefix="", **more)
    for character in text:
        reader.feed(character)
    assert reader.close() == whole
    return whole


@pytest.mark.parametrize("calls", [(TRICKY,), TWO, (TWO[0],)], ids=["tricky", "two", "without arguments"])
@pytest.mark.parametrize("dialect", NAMES)
def test_what_is_written_is_read(dialect: str, calls: tuple[ToolCall, ...]) -> None:
    reply = read(dialects.get(dialect).write(calls), dialect)
    assert (reply.tool_calls, reply.content, reply.problems) == (calls, None, ())


@pytest.mark.parametrize(
    ("dialect", "text", "calls"),
    [
        ("pythonic", "[f(a=1)]", [ToolCall("f", {"a": 1})]),
        ("pythonic", " [ f( a = 'x' , b = [1, 2,], ) , g() , ] ",
         [ToolCall("f", {"a": "x", "b": [1, 2]}), ToolCall("g", {})]),
        ("pythonic", "[f(a={'k': True, 2: null}, b=(1, 'x'), c=(3), d=())]",
         [ToolCall("f", {"a": {"k": True, "2": None}, "b": [1, "x"], "c": 3, "d": []})]),
        ("pythonic", '[f(a="""one "two"\n""", b=\'\'\'\'s\'\'\')]', [ToolCall("f", {"a": 'one "two"\n', "b": "'s"})]),
        ("llama4-pythonic", "[f(a=1)]", []),
        ("llama4-pythonic", "<|python_start|>[f(a=1)]", [ToolCall("f", {"a": 1})]),
        ("olmo3", "<function_calls>f(a=1)\ng(b=2); h()</function_calls>",
         [ToolCall("f", {"a": 1}), ToolCall("g", {"b": 2}), ToolCall("h", {})]),
        ("olmo3", "<function_calls>[f(a=1), g()]</function_calls>", [ToolCall("f", {"a": 1}), ToolCall("g", {})]),
        ("olmo3", "<function_calls>\nf(a=1)\n", [ToolCall("f", {"a": 1})]),
        ("minicpm3", "<|tool_call_start|>\n```\nf(a=1)\n```\n<|tool_call_end|>", [ToolCall("f", {"a": 1})]),
        ("lfm2", '<|tool_call_start|>[{"name": "f", "arguments": {"a": 1}}]<|tool_call_end|>',
         [ToolCall("f", {"a": 1})]),
        ("lfm2", '<|tool_call_start|>{"name": "f", "arguments": {}}<|tool_call_end|>', [ToolCall("f", {})]),
        ("lfm2", "<|tool_call_start|>f(a=1)<|tool_call_end|>", [ToolCall("f", {"a": 1})]),
    ],
)  # fmt: skip
def test_variants(dialect: str, text: str, calls: list[ToolCall]) -> None:
    assert list(read(text, dialect).tool_calls) == calls


@pytest.mark.parametrize(
    "text",
    [
        "[1] It's a list (of one).",
        "[link](https://example.org)",
        "[see (this)]",
        "[f(1)]",
        "[f(a=x)]",
        "[f(a=g())]",
        "[f(a=1 b=2)]",
        "[f(a=1, a=2)]",
        "[f(a={1})]",
        "[f(a={[]: 1})]",
        "[f(a=007)]",
        "[f(a=1e999)]",
        "[f(a=nan)]",
        "[f(a='x' 'y')]",
        "[f(a=[1 2])]",
        "[f(a={'k' 1})]",
        "[f(a={'k': 1 'l': 2})]",
        "[f(a='it's')]",
        "[f(a=1) and g()]",
        "[]",
        "[(a=1)]",
    ],
)
def test_what_is_no_call_stays_text(text: str) -> None:
    reply = read(text, "pythonic")
    assert (reply.tool_calls, reply.content) == ((), text)


@pytest.mark.parametrize("text", ["[f(a=1), g(b=", "[f(a=1)", "[f(a='x", "[f(a=[1, {'k': ", "[f(a", "[f", "[f(a=1, "])
def test_a_list_that_is_cut_is_no_call(text: str) -> None:
    reply = read(text, "pythonic")
    assert (reply.tool_calls, reply.content) == ((), None)
    assert [(problem.kind, problem.text) for problem in reply.problems] == [("cut", text)]


def test_a_cut_name_is_that_of_a_call_only_where_there_is_such_a_tool() -> None:
    tools = [{"name": "get_weather"}]
    assert not read("[get_wea", "pythonic", tools=tools).complete
    assert read("[sic", "pythonic", tools=tools).content == "[sic"


def test_calls_before_a_cut_one_count_where_each_stands_alone() -> None:
    reply = read("<function_calls>f(a=1)\ng(b='", "olmo3")
    assert reply.tool_calls == (ToolCall("f", {"a": 1}),)
    assert [(problem.kind, problem.text) for problem in reply.problems] == [("cut", "\ng(b='")]


def test_prose_behind_calls_is_content() -> None:
    reply = read("<function_calls>f(a=1)\nLet me see (soon).", "olmo3")
    assert (reply.tool_calls, reply.content) == ((ToolCall("f", {"a": 1}),), "Let me see (soon).")
    assert [problem.kind for problem in reply.problems] == ["unclosed"]


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        (r"'\x41\u00e9\U0001F30A\101\t\a'", "Aé🌊A\t\a"),
        (r'"\ud83c\udf0a"', "🌊"),
        (
            r"'a\
b'",
            "ab",
        ),
        (r"'\d \/ \\d'", r"\d \/ \d"),
        ("-.5", -0.5),
        ("+3", 3),
        ("1.", 1.0),
        ("1e3", 1000.0),
        ("0", 0),
        ("9" * 4000, int("9" * 4000)),
    ],
)
def test_literals(literal: str, value: Any) -> None:
    found = python_literals.read(literal)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "text", ["", "x", "1 2", "'a", r"'\U00110000'", "9" * 5000, "1__0", "0x1F", "[1,,2]", "{'a'}", "%"]
)
def test_what_is_no_literal(text: str) -> None:
    with pytest.raises(Malformed):
        python_literals.read(text)


def test_depth_is_bounded() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert read(f"[f(a={deep[:40]}", "pythonic").tool_calls == ()
    reply = parse(f"[f(a={deep})]", "pythonic", prefix="")
    assert (reply.tool_calls, reply.content) == ((), f"[f(a={deep})]")


@pytest.mark.parametrize("dialect", NAMES)
@pytest.mark.parametrize(
    "call",
    [ToolCall("two words", {}), ToolCall("f", {"two words": 1}), ToolCall("f", {"a": float("inf")}), ToolCall("", {})],
    ids=["name", "key", "number", "no name"],
)
def test_what_cannot_be_written(dialect: str, call: ToolCall) -> None:
    with pytest.raises(ValueError, match=r"is no name|JSON compliant"):
        dialects.get(dialect).write([call])


@pytest.mark.parametrize("before", ["", "Let me look.\n", "Let me look.\r\n\r\n"])
@pytest.mark.parametrize("dialect", ["pythonic", "auto", "hermes"])
@pytest.mark.parametrize("text", ['[f(a="x")]', '[\n  f(a="x")\n]'])
def test_a_list_of_tools_begins_a_line(dialect: str, text: str, before: str) -> None:
    reply = read(before + text, dialect, tools=[{"name": "f"}])
    assert (reply.tool_calls, reply.content) == ((ToolCall("f", {"a": "x"}),), before.strip() or None)


@pytest.mark.parametrize(
    ("dialect", "text", "known"),
    [
        ("auto", "[f(a=1)] is how to call it", None),
        ("auto", "So\n[f(a=1)]\nit is", None),
        ("pythonic", "So\n[f(a=1)]", None),
        ("pythonic", "So [f(a=1)]", "f"),
        ("pythonic", "So\n[f(a=1)]", "g"),
    ],
)
def test_another_list_is_text(dialect: str, text: str, known: str | None) -> None:
    reply = read(text, dialect, tools=None if known is None else [{"name": known}])
    assert (reply.tool_calls, reply.content, reply.problems) == ((), text, ())


@pytest.mark.parametrize(
    ("text", "dialect"),
    [
        ("[f(a=1)]", "pythonic"),
        ("<|tool_call_start|>[f(a=1)]<|tool_call_end|>", "lfm2"),
        ("<|tool_call_start|>\n```python\nf(a=1)\n```\n<|tool_call_end|>", "minicpm3"),
    ],
)
def test_which_dialect_it_is(text: str, dialect: str) -> None:
    reply = read(text, "auto")
    assert (reply.dialect, reply.tool_calls) == (dialect, (ToolCall("f", {"a": 1}),))


@pytest.mark.parametrize("before", ["", "Hm.\n"])
@pytest.mark.parametrize(
    ("value", "why"), [("9" * 5000, "a number of 5000 digits"), ("[" * 200 + "]" * 200, "nested deeper than 100")]
)
def test_what_is_too_large_is_told(value: str, why: str, before: str) -> None:
    text = f"{before}[f(a={value})]"
    reply = read(text, "pythonic", tools=[{"name": "f"}])
    assert (reply.tool_calls, reply.content) == ((), text)
    assert [problem.kind for problem in reply.problems] == ["malformed"]
    assert why in reply.problems[0].message
