from __future__ import annotations

import io
import json
import sys
from dataclasses import FrozenInstanceError
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from templatelint.errors import TemplatelintError
from templatelint.model import Request
from templatelint.traffic import Recorded, read_recorded


def _data(name: str) -> Any:
    return json.loads((Path(__file__).parent / "data" / "traffic" / f"{name}.json").read_text("utf-8"))


BODIES: list[dict[str, Any]] = _data("bodies")
USER = {"role": "user", "content": "Good morning"}
BODY = {"messages": [USER]}
REQUEST = Request(messages=[USER])


def _write(path: Path, *values: object) -> Path:
    """A file of one value, or of one a line."""
    texts = [value if isinstance(value, str) else json.dumps(value) for value in values]
    path.write_bytes("\n".join(texts).encode("utf-8", "surrogatepass"))
    return path


# --------------------------------------------------------------------------------------------- bodies


@pytest.mark.parametrize("row", BODIES, ids=lambda row: row["name"])
@pytest.mark.parametrize("wrap", ["file", "list", "lines"])
def test_a_recorded_body_becomes_a_chat_request(tmp_path: Path, row: dict[str, Any], wrap: str) -> None:
    value = row["recorded"]
    file = _write(tmp_path / ("x.jsonl" if wrap == "lines" else "x.json"), [value] if wrap == "list" else value)
    (recorded,) = read_recorded(file)
    fallback = {"file": "x", "list": "x[0]", "lines": "x:1"}[wrap]
    assert recorded == Recorded(
        name=row.get("called", fallback),
        request=Request(
            messages=row["messages"],
            tools=row.get("tools"),
            variables=row.get("variables", {}),
            extra=row.get("extra", {}),
        ),
        kind=row["kind"],
        left_out=tuple(row.get("left_out", ())),
    )


def test_what_was_recorded_never_changes(tmp_path: Path) -> None:
    (recorded,) = read_recorded(_write(tmp_path / "x.json", BODY))
    with pytest.raises(FrozenInstanceError):
        recorded.name = "y"  # type: ignore[misc]


WRONG: list[tuple[object, str]] = [(value, message) for value, message in _data("flaws")]


@pytest.mark.parametrize(("value", "message"), WRONG)
def test_one_request_that_is_none_says_what_is_wrong(tmp_path: Path, value: object, message: str) -> None:
    file = _write(tmp_path / "x.json", json.dumps(value))
    with pytest.raises(TemplatelintError) as raised:
        read_recorded(file)
    assert raised.value.message == message.format(file)
    assert raised.value.help


@pytest.mark.parametrize(("value", "message"), WRONG)
def test_a_bad_line_is_told_and_the_others_count(tmp_path: Path, value: object, message: str) -> None:
    file = _write(tmp_path / "x.jsonl", BODY, "", json.dumps(value), BODY)
    first, bad, last = read_recorded(file)
    assert (first, last) == (Recorded("x:1", REQUEST, kind="chat"), Recorded("x:4", REQUEST, kind="chat"))
    assert bad == Recorded("x:3", None, message.format(f"{file}:3"))


# ---------------------------------------------------------------------------------------------- files


NAMED: list[tuple[str, list[object], list[str]]] = [
    ("x.json", [BODY], ["x"]),
    ("x.json", [{"id": "own", **BODY}], ["own"]),
    ("x.json", [[BODY, {"id": 3, **BODY}]], ["x[0]", "3"]),
    ("x.json", [{"fixtures": [{"id": "a", **BODY}, BODY]}], ["a", "x[1]"]),
    ("x.json", [{"requests": [{"custom_id": "a", "params": BODY}]}], ["a"]),
    ("x.json", [[[USER], [USER]]], ["x[0]", "x[1]"]),
    ("x.jsonl", [BODY], ["x:1"]),
    ("x.ndjson", [BODY, "", "  ", BODY], ["x:1", "x:4"]),
    ("x.json", [BODY, BODY], ["x:1", "x:2"]),
    ("x.log", [[USER], [USER]], ["x:1", "x:2"]),
    ("x.json", ["{oops", BODY], ["x:1", "x:2"]),
    ("x.jsonl", [{"id": "a", **BODY}, {"id": "a", **BODY}, {"id": "x:2", **BODY}], ["a", "x:2", "x:3"]),
    ("x.jsonl", [{"id": "x.jsonl:2", **BODY}, {"id": "x.jsonl:2", **BODY}], ["x.jsonl:2", "x:2"]),
    ("x.jsonl", [{"id": "", **BODY}, {"id": True, **BODY}, {"id": None, **BODY}], ["x:1", "x:2", "x:3"]),
]


@pytest.mark.parametrize(("name", "values", "names"), NAMED)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_request_has_a_name_of_its_own(
    tmp_path: Path, name: str, values: list[object], names: list[str], newline: str
) -> None:
    file = _write(tmp_path / name, *values)
    file.write_bytes("\ufeff".encode() + file.read_bytes().replace(b"\n", newline.encode()) + newline.encode())
    assert [recorded.name for recorded in read_recorded(file)] == names


def test_a_line_may_hold_what_other_programs_take_for_newlines(tmp_path: Path) -> None:
    body = {"messages": [{"role": "user", "content": "a\u2028b\x85c\x0bd"}]}
    file = _write(tmp_path / "x.jsonl", json.dumps(body, ensure_ascii=False), json.dumps(body, ensure_ascii=False))
    assert [recorded.request for recorded in read_recorded(file)] == [Request(messages=body["messages"])] * 2


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    _write(tmp_path / "b.json", BODY)
    _write(tmp_path / "a.jsonl", BODY, "{")
    _write(tmp_path / "b.ndjson", BODY)
    _write(tmp_path / "c.json", "[")
    _write(tmp_path / "d.json", [])
    _write(tmp_path / ".hidden.json", BODY)
    _write(tmp_path / "notes.txt", "hi")
    (tmp_path / "e.json").mkdir()
    found = read_recorded(tmp_path)
    assert [(recorded.name, recorded.request is None) for recorded in found] == [
        ("a:1", False),
        ("a:2", True),
        ("b", False),
        ("b:1", False),
        ("c", True),
    ]
    assert [recorded.flaw.removeprefix(str(tmp_path)) for recorded in found if recorded.flaw] == [
        "/a.jsonl:2:2 is not JSON: expecting property name enclosed in double quotes",
        "/c.json:1:2 is not JSON: expecting value",
    ]


def test_names_of_one_folder_do_not_meet(tmp_path: Path) -> None:
    for name in ("a.json", "b.json", "c.json"):
        _write(tmp_path / name, {"id": "b", **BODY})
    _write(tmp_path / "b.ndjson", {"id": "b", **BODY})
    assert [recorded.name for recorded in read_recorded(tmp_path)] == ["b", "b.json", "b:1", "c"]


@pytest.mark.parametrize(("lines", "count"), [([BODY, BODY], 2), ([json.dumps(BODY, indent=1)], 1)])
def test_standard_input_is_read_in_either_form(monkeypatch: pytest.MonkeyPatch, lines: list[Any], count: int) -> None:
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
    assert [recorded.request for recorded in read_recorded("-")] == [REQUEST] * count


NAME_WANTED = "is not JSON: expecting property name enclosed in double quotes"
LONG_NUMBER = b'{"messages": [{"role": "user", "content": ' + b"1" * 5000 + b"}]}"
BAD_FILES: list[tuple[str, bytes, str]] = [
    ("x.json", b"", "{} is empty"),
    ("x.jsonl", b"\xef\xbb\xbf \r\n\n", "{} is empty"),
    ("x.json", b"[]", "{} holds no request"),
    ("x.json", b'{"fixtures": []}', "{} holds no request"),
    ("x.json", b"caf\xe9", "{} is not UTF-8: byte 0xe9 at offset 3 (line 1)"),
    ("x.json", b'{\n "messages": [\n  {"role": "user"}\n ],\n}', "{}:5:1 " + NAME_WANTED),
    ("x.json", b'[\n{"messages": []}\n{"messages": []}\n]', "{}:3:1 is not JSON: expecting ',' delimiter"),
    ("x.json", b"[" * 300_000, "{} is nested too deeply"),
    ("x.json", LONG_NUMBER, "{} holds a number of more than 4,300 digits"),
    ("x.jsonl", b"{\n[\n", "{}:1:2 " + NAME_WANTED + " (and 1 more)"),
    ("x.jsonl", b'{"a": ' * 300_000, "{}:1 is nested too deeply"),
    ("x.jsonl", b"\n" + LONG_NUMBER, "{}:2 holds a number of more than 4,300 digits"),
]


@pytest.mark.parametrize(("name", "raw", "message"), BAD_FILES)
def test_a_file_without_a_request_is_an_error(tmp_path: Path, name: str, raw: bytes, message: str) -> None:
    file = tmp_path / name
    file.write_bytes(raw)
    with pytest.raises(TemplatelintError) as raised:
        read_recorded(file)
    assert raised.value.message == message.format(file)
    assert raised.value.help


def test_a_folder_without_recordings(tmp_path: Path) -> None:
    _write(tmp_path / "notes.txt", "hi")
    with pytest.raises(TemplatelintError, match=r"holds no \*\.json or \*\.jsonl file$"):
        read_recorded(tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TemplatelintError, match=r"^cannot read .*: no such file or directory$"):
        read_recorded(tmp_path / "x.json")


@pytest.mark.parametrize(("depth", "flaw"), [(150, ""), (250, "nested too deeply"), (100_000, "nested too deeply")])
def test_deep_data_are_a_flaw(tmp_path: Path, depth: int, flaw: str) -> None:
    deep = '{"messages": [], "tools": [{"a": ' + "[" * depth + "]" * depth + "}]}"
    _, recorded = read_recorded(_write(tmp_path / "x.jsonl", BODY, deep))
    assert recorded.flaw == (f"{tmp_path / 'x.jsonl'}:2 is {flaw}" if flaw else "")


def test_an_envelope_has_no_end_to_look_for(tmp_path: Path) -> None:
    value: dict[str, Any] = BODY
    for _ in range(9):
        value = {"body": value}
    with pytest.raises(TemplatelintError, match=r"is no request that is known: it holds body$"):
        read_recorded(_write(tmp_path / "x.json", value))
