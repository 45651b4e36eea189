from __future__ import annotations

from typing import Any

import pytest

from templatelint import dialects
from templatelint.dialects.reader import Reader, parse
from templatelint.dialects.reply import Reply, ToolCall

NAMES = ("gemma4", "functiongemma")
TRICKY = ToolCall(
    "save_note",
    {
        "title": 'Zoë\'s "海図" 🌊',
        "body": "a\nb\\n\tc }<tool_call|> <end_function_call>, k:1",
        "number": 12,
        "negative": -0.5,
        "large": 1e300,
        "digits": "007",
        "word": "null",
        "yes": True,
        "nothing": None,
        "key with space": {"list": [1, [], {"k": False}], "empty": {}, "text": "}"},
    },
)
TWO = (ToolCall("get_time", {}), ToolCall("weather.get", {"city": "Oslo"}))


def read(text: str, dialect: str = "gemma4", prefix: str = "") -> Reply:
    """The reply, read whole, and the same read character by character."""
    whole = parse(text, dialect, prefix=prefix)
    reader = Reader(dialect, prefix=prefix)
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
    ("inside", "arguments"),
    [
        ("{}", {}),
        ("{ a : 1 , b : [ 1 , ] , }", {"a": 1, "b": [1]}),
        ('{<|"|>a<|"|>:1,"b":2}', {"a": 1, "b": 2}),
        (r'{a:"x, \"y\" }",b:<|"|>"<|"|>}', {"a": 'x, "y" }', "b": '"'}),
        ("{a:Paris,b:12:30,c:None,d:False}", {"a": "Paris", "b": "12:30", "c": None, "d": False}),
        ('{a:<|"|>\\<|"|>,b:<|"|><|"|>}', {"a": "\\", "b": ""}),
    ],
)
def test_variants_of_arguments(inside: str, arguments: dict[str, Any]) -> None:
    reply = read(f"<|tool_call>call:f{inside}<tool_call|>")
    assert (reply.tool_calls, reply.problems) == ((ToolCall("f", arguments),), ())


@pytest.mark.parametrize(
    ("text", "calls", "kinds"),
    [
        ("<|tool_call>f{a:1}<tool_call|>", 1, []),
        ("<|tool_call> call:f {a:1} <tool_call|>", 1, []),
        ("<|tool_call>call:f{a:1}call:g{}<tool_call|>", 2, []),
        ("<|tool_call>call:f{a:1}", 1, ["unclosed"]),
        ("<|tool_call>call:f{a:1}<|tool_call>call:g{}<tool_call|>", 2, ["unclosed"]),
        ('<|tool_call>call:f{a:<|"|>x', 0, ["cut"]),
        ('<|tool_call>call:f{a:<|"|>x<|"|>', 0, ["cut"]),
        ("<|tool_call>call:f", 0, ["cut"]),
        ("<|tool_call>call:f{a:1}<tool_call|><|tool_call>call:g{b:", 1, ["cut"]),
        ("<|tool_call>call:f no brace<tool_call|>", 0, ["malformed"]),
        ("<|tool_call>{a:1}<tool_call|>", 0, ["malformed"]),
        ("<|tool_call>call:f{a}<tool_call|>", 0, ["malformed"]),
        ("<|tool_call>call:f{a:}<tool_call|>", 0, ["malformed"]),
        ("<|tool_call>call:f{a:[}]<tool_call|>", 0, ["malformed"]),
        ("<|tool_call>call:f{a:[1]2}<tool_call|>", 0, ["malformed"]),
        (r'<|tool_call>call:f{a:"\x"}<tool_call|>', 0, ["malformed"]),
    ],
)
def test_marks(text: str, calls: int, kinds: list[str]) -> None:
    reply = read(text)
    assert len(reply.tool_calls) == calls
    assert [problem.kind for problem in reply.problems] == kinds
    assert (reply.content == text) == (kinds == ["malformed"])


def test_the_thought_channel_is_reasoning() -> None:
    text = "<|channel>thought\nLook <|tool_call>call:f{}<tool_call|>.\n<channel|>Hello<turn|>"
    reply = read(text, prefix="<|turn>model\n")
    assert (reply.reasoning_content, reply.content) == ("Look <|tool_call>call:f{}<tool_call|>.", "Hello")
    opened = read("Look.\n<channel|>Hello", prefix="<|turn>model\n<|channel>thought\n")
    assert (opened.reasoning_content, opened.content) == ("Look.", "Hello")
    closed = read("Hello", prefix="<|turn>model\n<|channel>thought\n<channel|>")
    assert (closed.reasoning_content, closed.content) == (None, "Hello")


def test_depth_is_bounded() -> None:
    text = "<|tool_call>call:f{a:" + "[" * 100_000 + "]" * 100_000 + "}<tool_call|>"
    assert parse(text, "gemma4", prefix="").content == text


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("two words", {}),
        ToolCall("f", {"a:b": 1}),
        ToolCall("f", {" a": 1}),
        ToolCall("f", {"a": float("nan")}),
        ToolCall("f", {"a": 'x<|"|>y'}),
    ],
    ids=["name", "key", "blank", "number", "mark"],
)
def test_what_cannot_be_written(call: ToolCall) -> None:
    with pytest.raises(ValueError, match=r"is no name|is no key|JSON compliant|would end there"):
        dialects.get("gemma4").write([call])


def test_a_key_that_is_there_twice_is_told() -> None:
    reply = read('<|tool_call>call:f{a:<|"|>x<|"|>,a:2}<tool_call|>', "gemma4")
    assert [dict(call.arguments) for call in reply.tool_calls] == [{"a": 2}]
    assert [(problem.kind, problem.text) for problem in reply.problems] == [("dropped", "a:x")]
