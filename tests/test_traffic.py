from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from templatelint.errors import TemplatelintError
from templatelint.model import Request
from templatelint.traffic import read_messages, read_requests, read_tools, request_from_openai

TRUTH = Path(__file__).parent.parent.parent / "shared" / "truth" / "requests.json"

USER: dict[str, Any] = {"role": "user", "content": "Good morning"}
TOOL: dict[str, Any] = {"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}


def test_every_member_of_a_body_finds_its_place() -> None:
    body = {
        "model": "any",
        "messages": [USER],
        "tools": [TOOL],
        "tool_choice": "required",
        "add_generation_prompt": False,
        "continue_final_message": "content",
        "documents": [{"text": "a page"}],
        "chat_template_kwargs": {"enable_thinking": False},
        "allow_media": True,
    }
    assert request_from_openai(body) == Request(
        messages=[USER],
        tools=[TOOL],
        add_generation_prompt=False,
        continue_final_message="content",
        documents=[{"text": "a page"}],
        variables={"enable_thinking": False},
        extra={"model": "any", "tool_choice": "required"},
        media=True,
    )


def test_null_members_count_as_absent() -> None:
    absent = dict.fromkeys(
        ("tools", "documents", "chat_template_kwargs", "add_generation_prompt", "continue_final_message", "allow_media")
    )
    assert request_from_openai({"messages": [USER], **absent}) == Request(messages=[USER])
    assert request_from_openai({"messages": [USER], "tools": []}).tools == []
    assert request_from_openai({"messages": [USER]}, media=True).media


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (3, "the request is a number, not an object"),
        (None, "the request is null, not an object"),
        ([USER], "the request is an array, not an object"),
        ({}, "the request has no messages"),
        ({"messages": None}, "the request has no messages"),
        ({"messages": "hi"}, "the request: messages is a string, not an array"),
        ({"messages": {"role": "user"}}, "the request: messages is an object, not an array"),
        ({"messages": [USER, "hi"]}, "the request: messages[1] is a string, not an object"),
        ({"messages": [USER, {"content": "hi"}]}, "the request: messages[1] has no role"),
        ({"messages": [{"role": 1}]}, "the request: messages[0] has no role"),
        ({"messages": [USER], "tools": {}}, "the request: tools is an object, not an array"),
        ({"messages": [USER], "tools": ["look"]}, "the request: tools[0] is a string, not an object"),
        ({"messages": [USER], "documents": [True]}, "the request: documents[0] is a boolean, not an object"),
        (
            {"messages": [USER], "chat_template_kwargs": []},
            "the request: chat_template_kwargs is an array, not an object",
        ),
        (
            {"messages": [USER], "add_generation_prompt": 1},
            "the request: add_generation_prompt is a number, not a boolean",
        ),
        ({"messages": [USER], "allow_media": "yes"}, "the request: allow_media is a string, not a boolean"),
        (
            {"messages": [USER], "continue_final_message": 1},
            "the request: continue_final_message is a number, not a boolean or the name of a field",
        ),
    ],
)
def test_a_malformed_body_is_named_by_its_place(body: object, message: str) -> None:
    with pytest.raises(TemplatelintError) as raised:
        request_from_openai(body)
    assert raised.value.message == message
    assert raised.value.help


# ------------------------------------------------------------------------------------------ users' files


def _write(path: Path, value: object) -> Path:
    path.write_text(value if isinstance(value, str) else json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize("value", [[USER], {"messages": [USER]}], ids=["array", "object"])
def test_messages_come_bare_or_in_a_request(tmp_path: Path, value: object) -> None:
    assert read_messages(_write(tmp_path / "m.json", value)) == Request(messages=[USER])


def test_messages_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps([USER]).encode())))
    assert read_messages("-") == Request(messages=[USER])


def test_a_byte_order_mark_and_nan_are_read_as_python_does(tmp_path: Path) -> None:
    file = tmp_path / "m.json"
    file.write_bytes(b'\xef\xbb\xbf{"messages": [{"role": "user", "content": "hi"}], "temperature": NaN}')
    assert str(read_messages(file).extra) == "{'temperature': nan}"


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "{} is empty"),
        (b" \n", "{} is empty"),
        (b'{"messages": [}', "{}:1:15 is not JSON: expecting value"),
        (b'[\n  {"role": "user",\n   "content": "hi"\n', "{}:4:1 is not JSON: expecting ',' delimiter"),
        (b'["a\nb"]', "{}:1:4 is not JSON: invalid control character"),
        (b'["abc', "{}:1:2 is not JSON: unterminated string"),
        (b'[{"role": "user"}] x', "{}:1:20 is not JSON: extra data"),
        (b'[\n"caf\xe9"]', "{} is not UTF-8: byte 0xe9 at offset 6 (line 2)"),
        (b'[\r"caf\xe9"]', "{} is not UTF-8: byte 0xe9 at offset 6 (line 2)"),
        (b"[\r1,\r\n2\r3]", "{}:4:1 is not JSON: expecting ',' delimiter"),
        ("[]".encode("utf-16"), "{} is UTF-16 text, JSON is UTF-8"),
        (b"[" * 200_000, "{} is nested too deeply"),
        (b'[{"role": "user", "content": "\\uD83D"}]', "{} holds \\ud83d, half of a surrogate pair"),
        (b"[" + b"1" * 5000 + b"]", "{} holds a number of more than 4,300 digits"),
        (b'"hi"', "{} is a string, not an object"),
        (b'{"messages": [{"role": "user"}, 7]}', "{}: messages[1] is a number, not an object"),
    ],
)
def test_a_bad_file_gets_one_exact_sentence(tmp_path: Path, raw: bytes, message: str) -> None:
    file = tmp_path / "m.json"
    file.write_bytes(raw)
    with pytest.raises(TemplatelintError) as raised:
        read_messages(file)
    assert raised.value.message == message.format(file)
    assert raised.value.help


def test_a_whole_surrogate_pair_is_a_character(tmp_path: Path) -> None:
    file = _write(tmp_path / "m.json", r'[{"role": "user", "content": "\uD83D\uDEA2"}]')
    assert read_messages(file).messages[0]["content"] == "\U0001f6a2"


@pytest.mark.parametrize("read", [read_messages, read_tools, read_requests])
def test_a_file_that_is_not_there(tmp_path: Path, read: Any) -> None:
    missing = tmp_path / "none.json"
    with pytest.raises(TemplatelintError, match=f"^cannot read {re.escape(str(missing))}: no such file or directory$"):
        read(missing)


@pytest.mark.parametrize("read", [read_messages, read_tools])
def test_a_folder_is_no_file(tmp_path: Path, read: Any) -> None:
    with pytest.raises(TemplatelintError, match=r"^cannot read .*"):
        read(tmp_path)


OPENAI_TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}},
}
SCHEMA = {"type": "object", "properties": {}}


@pytest.mark.parametrize(
    "value",
    [
        [OPENAI_TOOL],
        OPENAI_TOOL,
        {"messages": [], "tools": [OPENAI_TOOL]},
        [{"function": OPENAI_TOOL["function"]}],
        [{"type": "function", "name": "look", "description": "Looks.", "parameters": SCHEMA}],
        [{"name": "look", "description": "Looks.", "input_schema": SCHEMA, "cache_control": {"type": "ephemeral"}}],
        [{"type": "custom", "name": "look", "description": "Looks.", "input_schema": SCHEMA}],
        {
            "tools": [
                {"name": "look", "title": "Look", "description": "Looks.", "inputSchema": SCHEMA, "annotations": {}}
            ]
        },
        {
            "jsonrpc": "2.0",
            "id": 1,
            "result": {"tools": [{"name": "look", "description": "Looks.", "inputSchema": SCHEMA}]},
        },
    ],
    ids=["openai", "one", "request", "untyped", "responses", "anthropic", "custom", "mcp", "mcp envelope"],
)
def test_tools_of_every_form_become_openai_tools(tmp_path: Path, value: object) -> None:
    assert read_tools(_write(tmp_path / "t.json", value)) == [OPENAI_TOOL]


@pytest.mark.parametrize("tool", [{"name": "look"}, {"name": "look", "description": None, "inputSchema": None}])
def test_what_a_tool_leaves_out_stays_out(tmp_path: Path, tool: object) -> None:
    assert read_tools(_write(tmp_path / "t.json", [tool])) == [{"type": "function", "function": {"name": "look"}}]


def test_openai_tools_are_kept_as_they_are(tmp_path: Path) -> None:
    tool = {"type": "function", "function": {"name": "look", "strict": True, "extra": 1}, "more": None}
    assert read_tools(_write(tmp_path / "t.json", [tool])) == [tool]
    strict = {"type": "function", "name": "look", "strict": True}
    assert read_tools(_write(tmp_path / "t.json", [strict]))[0]["function"] == {"name": "look", "strict": True}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "{} holds no tool"),
        ({"tools": []}, "{} holds no tool"),
        ({"tools": "look"}, "{}: tools is a string, not an array of tools"),
        ({"result": {"tools": None}}, "{}: result.tools is null, not an array of tools"),
        ("3", "{} is a number, not an array of tools"),
        ([OPENAI_TOOL, "look"], "{}: [1] is a string, not an object"),
        ([{"function": "look"}], "{}: [0].function is a string, not an object"),
        ([{"function": {}}], "{}: [0].function has no name"),
        ({"tools": [{"inputSchema": SCHEMA}]}, "{}: tools[0] has no name"),
        ([{"name": "look", "input_schema": "x"}], "{}: [0].input_schema is a string, not a JSON schema object"),
        (
            [{"function": {"name": "look", "parameters": []}}],
            "{}: [0].function.parameters is an array, not a JSON schema object",
        ),
        (
            [{"type": "bash_20250124", "name": "bash"}],
            '{}: [0] is of type "bash_20250124", which has no schema to show to a model',
        ),
        ({"hello": 1}, "{} has no name"),
    ],
)
def test_what_is_no_tool_is_named_by_its_place(tmp_path: Path, value: object, message: str) -> None:
    file = _write(tmp_path / "t.json", value)
    with pytest.raises(TemplatelintError) as raised:
        read_tools(file)
    assert raised.value.message == message.format(file)
    assert raised.value.help


def test_a_folder_gives_its_bodies_by_stem(tmp_path: Path) -> None:
    for name in ("b.json", "a-b.json", "a.json", "._a.json", "notes.txt"):
        _write(tmp_path / name, {"id": "ignored", "messages": [USER]})
    (tmp_path / "folder.json").mkdir()
    requests = read_requests(tmp_path)
    assert [name for name, _ in requests] == ["a", "a-b", "b"]
    assert all(request == Request(messages=[USER]) for _, request in requests)


@pytest.mark.parametrize("wrap", [lambda bodies: bodies, lambda bodies: {"fixtures": bodies}], ids=["list", "fixtures"])
def test_a_list_gives_its_bodies_by_id_in_its_order(tmp_path: Path, wrap: Any) -> None:
    bodies = [
        {"id": "second", "messages": [USER], "desc": "x"},
        {"id": "first", "messages": [USER], "allow_media": True},
    ]
    assert read_requests(_write(tmp_path / "all.json", wrap(bodies))) == [
        ("second", Request(messages=[USER], extra={"desc": "x"})),
        ("first", Request(messages=[USER], media=True)),
    ]


def test_a_file_with_one_body_is_named_by_its_stem(tmp_path: Path) -> None:
    assert read_requests(_write(tmp_path / "mine.json", {"messages": [USER]})) == [("mine", Request(messages=[USER]))]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "{} holds no request"),
        ({"fixtures": []}, "{} holds no request"),
        ({"fixtures": 3}, "{} is a number, not an array of request bodies"),
        ([{"messages": [USER]}], "{}: [0] has no id"),
        ([{"id": "", "messages": [USER]}], "{}: [0] has no id"),
        ([{"id": 3, "messages": [USER]}], "{}: [0] has no id"),
        ({"fixtures": [7]}, "{}: fixtures[0] is a number, not an object"),
        (
            [{"id": "a", "messages": [USER]}, {"id": "b", "messages": [USER]}, {"id": "a", "messages": [USER]}],
            '{}: [2] has the id "a" of [0]',
        ),
        ("{", "{}:1:2 is not JSON: expecting property name enclosed in double quotes"),
    ],
)
def test_a_bad_collection_is_named_by_its_place(tmp_path: Path, value: object, message: str) -> None:
    file = _write(tmp_path / "all.json", value)
    with pytest.raises(TemplatelintError) as raised:
        read_requests(file)
    assert raised.value.message == message.format(file)
    assert raised.value.help


def test_a_folder_without_bodies(tmp_path: Path) -> None:
    _write(tmp_path / "notes.txt", "hi")
    with pytest.raises(TemplatelintError, match=r"holds no \*\.json file$"):
        read_requests(tmp_path)


BAD_BODIES: list[tuple[object, str]] = [
    ([{"messages": [USER]}], " is an array, not an object"),
    (7, " is a number, not an object"),
    ({}, " has no messages"),
    ({"messages": [{"content": "hi"}]}, ": messages[0] has no role"),
    ({"messages": [USER], "tools": ["look"]}, ": tools[0] is a string, not an object"),
    (r'{"messages": [{"role": "user", "content": "\uD83D"}]}', " holds \\ud83d, half of a surrogate pair"),
]


@pytest.mark.parametrize(("bad", "wrong"), BAD_BODIES)
def test_a_bad_body_in_a_folder_leaves_the_others(tmp_path: Path, bad: object, wrong: str) -> None:
    good, file = _write(tmp_path / "a.json", {"messages": [USER]}), _write(tmp_path / "b.json", bad)
    (name, request), (bad_name, error) = read_requests(good.parent)
    assert (name, request, bad_name) == ("a", Request(messages=[USER]), "b")
    assert isinstance(error, TemplatelintError)
    assert error.message == f"{file}{wrong}"


@pytest.mark.parametrize(("bad", "wrong"), [row for row in BAD_BODIES if isinstance(row[0], dict)])
def test_a_bad_body_in_a_list_leaves_the_others(tmp_path: Path, bad: dict[str, Any], wrong: str) -> None:
    file = _write(tmp_path / "all.json", [{"id": "a", "messages": [USER]}, {"id": "b", **bad}])
    (_, request), (name, error) = read_requests(file)
    assert (request, name) == (Request(messages=[USER]), "b")
    assert isinstance(error, TemplatelintError)
    assert error.message == f"{file}: [1]{wrong}"


@pytest.mark.parametrize("raw", [b"", b"{", b"caf\xe9", b"[" * 200_000, b"1" * 5000])
def test_a_file_in_a_folder_that_is_no_json_is_an_error(tmp_path: Path, raw: bytes) -> None:
    _write(tmp_path / "a.json", {"messages": [USER]})
    (tmp_path / "b.json").write_bytes(raw)
    with pytest.raises(TemplatelintError, match=re.escape(str(tmp_path / "b.json"))):
        read_requests(tmp_path)


def test_standard_input_that_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(TemplatelintError, match=r"^standard input is closed$"):
        read_messages("-")


@pytest.mark.skipif(not TRUTH.is_file(), reason="the handed requests are not beside this checkout")
def test_the_handed_requests_are_read() -> None:
    requests = {name: request for name, request in read_requests(TRUTH) if isinstance(request, Request)}
    assert len(requests) == 32
    assert requests["image_part"].media
    assert requests["tool_required"].extra["tool_choice"] == "required"
    assert not requests["user_nogen"].add_generation_prompt
