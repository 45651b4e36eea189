from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from templatelint import dialects
from templatelint.dialects.reader import Reader, parse
from templatelint.dialects.reply import ToolCall
from templatelint.dialects.tools import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.dialects.reply import Reply

NAMES = (
    "qwen3-coder",
    "mimo",
    "seed-oss",
    "glm",
    "longcat",
    "hy3",
    "solar-open2",
    "k2-horizon",
    "deepseek-v3.2",
    "deepseek-v4",
    "deepseek-v4.1",
    "gigachat3.5",
    "minimax-m2",
    "step3",
    "dots",
    "minicpm5",
    "kimi-k3",
    "minimax-m3",
    "muse",
)
DATA = tomllib.loads((Path(__file__).parent / "data" / "dialects" / "tagged.toml").read_text(encoding="utf-8"))
TRICKY = ToolCall(
    "save_note",
    {
        "title": 'Zoë\'s "海図" & 🌊',
        "body": "  a\n\tb \\n c < d > e\n\n",
        "empty": "",
        "number": 12,
        "negative": -0.5,
        "large": 1e300,
        "digits": "007",
        "word": "null",
        "python": "True",
        "object": '{"a": [1]}',
        "yes": True,
        "nothing": None,
        "nested": {"list": [1, {"k": False}], "text": "}", "none": []},
        "list": ["a", "b\nc"],
        "tags": "<html><param>1</param></html> </arg> <function> [/x]",
    },
)
TWO = (ToolCall("get_time", {}), ToolCall("weather.get", {"city": "Oslo"}))
WEATHER: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "hours": {"type": "array"}},
            },
        },
    },
    {"name": "get_time", "parameters": {"type": "object", "properties": {}}},
    {"name": "f"},
]
PARIS = ToolCall("get_weather", {"city": "Paris"})
PARIS3 = ToolCall("get_weather", {"city": "Paris", "days": 3})
TIME = ToolCall("get_time", {})


def table(name: str) -> list[Any]:
    rows: list[dict[str, Any]] = DATA[name]
    return [pytest.param(row, id=f"{row.get('dialect', name)}-{number}") for number, row in enumerate(rows, 1)]


def read(text: str, dialect: str, tools: Sequence[dict[str, Any]] | None = WEATHER, prefix: str = "") -> Reply:
    """The reply, read whole, and the same read character by character."""
    whole = parse(text, dialect, tools, prefix)
    reader = Reader(dialect, tools, prefix)
    for character in text:
        reader.feed(character)
    assert reader.close() == whole
    return whole


def schema(value: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"type": kind_of(value)}
    if isinstance(value, dict):
        found["properties"] = {key: schema(inner) for key, inner in value.items()}
    if isinstance(value, list):
        found["items"] = {"type": sorted({kind_of(item) for item in value}), "properties": {"k": {"type": "boolean"}}}
    return found


def tools_for(calls: Sequence[ToolCall]) -> list[dict[str, Any]]:
    return [{"name": call.name, "parameters": schema(dict(call.arguments))} for call in calls]


# --------------------------------------------------------------------------------------- written, then read


@pytest.mark.parametrize("calls", [(TRICKY,), TWO, (TWO[0],)], ids=["tricky", "two", "without arguments"])
@pytest.mark.parametrize("dialect", NAMES)
def test_what_is_written_is_read(dialect: str, calls: tuple[ToolCall, ...]) -> None:
    reply = read(dialects.get(dialect).write(calls), dialect, tools_for(calls))
    assert (reply.tool_calls, reply.content, reply.problems) == (calls, None, ())


@pytest.mark.parametrize("dialect", NAMES)
def test_text_around_calls_is_content(dialect: str) -> None:
    text = dialects.get(dialect).write([PARIS])
    reply = read(f"I look.\n\n{text}\n", dialect)
    assert (reply.tool_calls, reply.problems) == ((PARIS,), ())
    # Muse's recipient stands at the start of a reply, and nowhere else.
    assert reply.content == ("I look.\n\nto=get_weather<|message|>" if dialect == "muse" else "I look.")


@pytest.mark.parametrize("dialect", NAMES)
def test_what_is_cut_is_no_call(dialect: str) -> None:
    # What GLM closes a call with is believed at the end of a reply, even without what should stand before.
    marks = "</tool_call>" if dialect != "glm" else "</tool"
    calls = (PARIS3, ToolCall("get_weather", {"city": f"a {marks} b </function> c </parameter> d", "days": 1}))
    text = dialects.get(dialect).write(calls)
    for end in range(len(text)):
        reply = parse(text[:end], dialect, WEATHER, "")
        assert reply.tool_calls == calls[: len(reply.tool_calls)]
        assert not reply.tool_calls or text[:end].count("get_weather") >= len(reply.tool_calls)


@pytest.mark.parametrize(
    ("dialect", "call"),
    [
        ("qwen3-coder", ToolCall("a b", {})),
        ("qwen3-coder", ToolCall("", {})),
        ("qwen3-coder", ToolCall("f", {"a>b": 1})),
        ("qwen3-coder", ToolCall("f", {"a": "x</parameter>\n</function>"})),
        ("qwen3-coder", ToolCall("f", {"a": "x</parameter>\n<parameter=b>\n1"})),
        ("glm", ToolCall("f", {"a": "x</arg_value></tool_call>"})),
        ("glm", ToolCall("f", {"a<": 1})),
        ("deepseek-v4", ToolCall("f", {'a"': 1})),
        ("deepseek-v4", ToolCall("f", {"a": float("nan")})),
        ("kimi-k3", ToolCall("f", {"a": "<|close|>argument<|sep|><|close|>call<|sep|>"})),
        ("minimax-m3", ToolCall("f", {"a": "]<]minimax[>[</a>"})),
        ("minicpm5", ToolCall("f", {"a": "]]></param>"})),
        ("muse", ToolCall("f", {"a": "</atem:parameter></atem:invoke>"})),
    ],
)
def test_what_would_be_read_as_something_else_is_not_written(dialect: str, call: ToolCall) -> None:
    with pytest.raises(ValueError, match="would be read as something else"):
        dialects.get(dialect).write([call])


def test_one_type_for_two_kinds_of_value_is_not_written() -> None:
    with pytest.raises(ValueError, match="would be read as something else"):
        dialects.get("glm").write([ToolCall("f", {"a": "7"}), ToolCall("f", {"a": 7})])


def test_nothing_is_written_for_no_call() -> None:
    assert {dialects.get(name).write([]) for name in NAMES} == {""}


@pytest.mark.parametrize("data", table("layout"))
def test_the_layout_is_that_of_the_models(data: dict[str, Any]) -> None:
    assert dialects.get(data["dialect"]).write([PARIS3]) == data["text"]


# -------------------------------------------------------------------------------------------------- variants


@pytest.mark.parametrize("data", table("variant"))
def test_variants(data: dict[str, Any]) -> None:
    reply = read(data["text"], data["dialect"])
    calls = [ToolCall(**call) for call in data.get("calls", ())]
    assert list(reply.tool_calls) == calls
    assert [problem.kind for problem in reply.problems] == data.get("problems", [])
    assert reply.content is None or not calls


# ------------------------------------------------------------------------------------ marks within a value


@pytest.mark.parametrize("data", table("quoted"))
def test_marks_in_a_value_are_text(data: dict[str, Any]) -> None:
    calls = (ToolCall("get_weather", {"city": data["value"], "days": 2}), PARIS)
    text = dialects.get(data["dialect"]).write(calls)
    assert read(text, data["dialect"]).tool_calls == calls
    for end in range(len(text)):
        cut = parse(text[:end], data["dialect"], WEATHER, "").tool_calls
        assert cut == calls[: len(cut)]


def test_an_argument_begins_only_where_the_function_has_it() -> None:
    value = "a\n<parameter=other>\nb"
    text = f"<function=get_weather>\n<parameter=city>\n{value}\n</parameter>\n</function>"
    assert read(text, "qwen3-coder").tool_calls == (ToolCall("get_weather", {"city": value}),)
    assert read(text, "qwen3-coder", None).tool_calls == (ToolCall("get_weather", {"city": "a", "other": "b"}),)


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("qwen3-coder", "Say <function=f> to call."),
        ("qwen3-coder", "<tool_call> begins a call."),
        ("qwen3-coder", "<tool_call>\n<function=get weather>\n</function>\n</tool_call>"),
        ("glm", "Use <tool_call> tags."),
        ("glm", "<tool_call>something</tool_call>"),
        ("minimax-m2", "<invoke>get_time</invoke>"),
        ("minimax-m2", '<invoke name="get time"></invoke>'),
        ("deepseek-v4", "<｜DSML｜tool_calls>\n</｜DSML｜tool_calls>"),
        ("minimax-m3", ']<]minimax[>[<invoke name="get_time">text]<]minimax[>[</invoke>'),
    ],
)
def test_what_is_no_call_stays_in_the_content(dialect: str, text: str) -> None:
    reply = read(text, dialect)
    assert (reply.tool_calls, reply.content) == ((), text)


# ------------------------------------------------------------------------------------ single dialects


@pytest.mark.parametrize(
    ("tools", "values"),
    [
        (None, {"a": [1, "x"], "b": {"c": 2, "d": [True]}, "e": "", "f": "\n z ", "g": {"item": 1, "other": 2}}),
        (
            [
                {
                    "name": "f",
                    "parameters": {
                        "properties": {
                            "a": {"type": "array", "items": {"type": "string"}},
                            "b": {"properties": {"c": {"type": "string"}}, "type": "object"},
                            "e": {"type": "array"},
                        }
                    },
                }
            ],
            {"a": ["1", "x"], "b": {"c": "2", "d": [True]}, "e": [], "f": "\n z ", "g": {"item": 1, "other": 2}},
        ),
    ],
    ids=["types not known", "types known"],
)
def test_elements_of_minimax_m3(tools: list[dict[str, Any]] | None, values: dict[str, Any]) -> None:
    inside = (
        "<a>\n@<item>1@</item>\n@<item>x@</item>\n@</a>\n@<b>@<c>2@</c>@<d>@<item>true@</item>@</d>@</b>@<e>@</e>"
        "@<f>\n z @</f>@<g>@<item>1@</item>@<other>2@</other>@</g>"
    )
    text = f'@<tool_call>\n@<invoke name="f">@{inside}@</invoke>\n@</tool_call>'.replace("@", "]<]minimax[>[")
    assert read(text, "minimax-m3", tools).tool_calls == (ToolCall("f", values),)


def test_elements_of_minimax_m3_that_nest_too_deep_are_text() -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]
    with pytest.raises(ValueError, match="would be read as something else"):
        dialects.get("minimax-m3").write([ToolCall("f", {"a": deep})])
    text = f'@<invoke name="f">{"@<a>" * 200}'.replace("@", "]<]minimax[>[")
    assert [problem.kind for problem in read(text, "minimax-m3").problems] == ["cut"]


@pytest.mark.parametrize("data", table("kimi-k3"))
def test_channels_of_kimi_k3(data: dict[str, Any]) -> None:
    reply = read(data["text"], "kimi-k3", prefix=data["prefix"])
    assert (reply.content, reply.reasoning_content, reply.problems) == (data.get("content"), data.get("reasoning"), ())


@pytest.mark.parametrize("data", table("muse"))
def test_messages_of_muse(data: dict[str, Any]) -> None:
    reply = read(data["text"], "muse", prefix=data["prefix"])
    assert (reply.content, reply.reasoning_content) == (data.get("content"), data.get("reasoning"))
    assert reply.tool_calls == (TIME,) * data.get("calls", 0)


@pytest.mark.parametrize("dialect", NAMES)
def test_a_dialect_is_found_by_its_calls(dialect: str) -> None:
    # These differ in the newlines around values alone, or not at all without their section.
    alike = {"mimo": "qwen3-coder"}
    text = dialects.get(dialect).write([PARIS, PARIS3])
    reply = read(f" {text}", dialects.AUTO, None if dialect == "glm" else WEATHER)
    assert (reply.dialect, reply.tool_calls) == (alike.get(dialect, dialect), (PARIS, PARIS3))


@pytest.mark.parametrize(
    ("text", "own"),
    [
        ("<function=f>\n<parameter=a>\n" * 4000, "hermes"),
        ("<tool_call><function=f><parameter=a>x</parameter>!" * 2000, "hermes"),
        ("<tool_call><function=f><parameter=a>" * 2000, "qwen3-coder"),
        ('<invoke name="f"><parameter name="a' * 2000, "minimax-m2"),
        (']<]minimax[>[<invoke name="f">]<]minimax[>[<a>' * 2000, "minimax-m3"),
        (']<]minimax[>[<invoke name="f">]<]minimax[>[<a>x]<]minimax[>[</a>!' * 500, "minimax-m3"),
    ],
)
def test_marks_by_the_thousand_are_no_calls_and_no_text_is_lost(text: str, own: str) -> None:
    reply = parse(text, own, WEATHER, "")
    assert not reply.tool_calls
    lost = "".join(problem.text for problem in reply.problems)
    assert len((reply.content or "") + lost) >= len(text.strip())


@pytest.mark.parametrize("before", ["", "Let me see.\r\n"])
@pytest.mark.parametrize("dialect", NAMES)
def test_lines_may_end_in_two_characters(dialect: str, before: str) -> None:
    if dialect == "muse":
        before = ""  # text before a message without its beginning
    text = before + dialects.get(dialect).write([PARIS, PARIS3]).replace("\n", "\r\n")
    reply = read(text, dialect, WEATHER)
    assert (reply.tool_calls, reply.content, reply.problems) == ((PARIS, PARIS3), before.strip() or None, ())


@pytest.mark.parametrize(
    ("value", "city"),
    [
        ("\r\nOslo\r\n", "Oslo"),
        ("\r\n\r\nOslo\r\n\r\n", "\r\nOslo\r\n"),
        ("\nOslo\r\n", "Oslo\r"),
        ("Oslo\r\n", "Oslo"),
        ("Oslo", "Oslo"),
    ],
)
def test_one_end_of_a_line_around_a_value_is_layout(value: str, city: str) -> None:
    text = f"<tool_call><function=get_weather><parameter=city>{value}</parameter></function></tool_call>"
    assert read(text, "qwen3-coder", WEATHER).tool_calls == (ToolCall("get_weather", {"city": city}),)


def test_an_argument_that_is_there_twice_is_told() -> None:
    text = "<function=get_weather><parameter=city>Oslo</parameter><parameter=city>Paris</parameter></function>"
    reply = read(text, "qwen3-coder", WEATHER)
    assert reply.tool_calls == (PARIS,)
    assert [(problem.kind, problem.text) for problem in reply.problems] == [("dropped", "Oslo")]


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [("days", "9" * 5000, "a number of 5000 digits"), ("hours", "[" * 2000 + "]" * 2000, "nested deeper than 100")],
)
def test_what_is_too_large_for_its_type_is_told(key: str, value: str, why: str) -> None:
    text = f"<function=get_weather><parameter={key}>{value}</parameter></function>"
    reply = read(text, "qwen3-coder", WEATHER)
    assert reply.tool_calls == (ToolCall("get_weather", {key: value}),)
    assert [problem.kind for problem in reply.problems] == ["malformed"]
    assert why in reply.problems[0].message
