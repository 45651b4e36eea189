from __future__ import annotations

import json
from typing import Any

import pytest
from reports_by_hand import ABSENT, finding, report, whole

from templatelint import __version__
from templatelint import report as reports
from templatelint.model import Place, Related, Suppressed
from templatelint.report import Remark, Setting, Unreadable

SETTING = Setting(
    exit_code=2,
    unreadable=(Unreadable("gone.gguf", "no such file: gone.gguf", "look again"),),
    remarks=(Remark("m.jinja", "BOS <s> assumed"),),
)
RELATED = (Related("read here", Place("m.jinja", 9, 2), Place("m.jinja", 9, 7), 9),)
REPORT = report(
    finding(related=RELATED),
    whole(severity="warning"),
    whole(severity="note"),
    suppressed=(Suppressed(finding(rule="TL101", related=RELATED), "comment", "meant so", Place("a.jinja", 3, 1)),),
    not_run=ABSENT[:1],
)
FINDING = {
    "rule": "TL201",
    "name": "tools-ignored",
    "severity": "error",
    "message": "tool definitions never reach the prompt",
    "help": "print `tools` where the system text stands",
    "ref": "m.jinja",
    "template": "default",
    "path": "m.jinja",
    "line": 3,
    "column": 8,
    "end_line": 3,
    "end_column": 17,
    "engines": ["transformers"],
    "needs": ["tools"],
    "evidence": [{"case": "tools-offer", "engine": "transformers"}],
    "related": [
        {"message": "read here", "path": "m.jinja", "line": 9, "column": 2, "end_line": 9, "end_column": 7},
    ],
    "fingerprint": "0f",
}
HEAD = {
    "version": 1,
    "tool": {"name": "templatelint", "version": __version__},
    "engines": [{"name": "transformers", "renderer": "jinja2", "version": "5.24.0", "emulated": True}],
    "templates": [{"ref": "m.jinja", "name": "default", "path": "m.jinja", "sha256": "ab" * 32}],
}
TAIL = {
    "unreadable": [{"ref": "gone.gguf", "message": "no such file: gone.gguf", "help": "look again"}],
    "remarks": [{"ref": "m.jinja", "message": "BOS <s> assumed"}],
    "summary": {"error": 1, "warning": 1, "note": 1},
    "exit_code": 2,
}


def text(form: str, setting: Setting = SETTING) -> str:
    return "".join(reports.write(form, REPORT, setting))


def test_json_has_the_members_of_the_contract() -> None:
    body = json.loads(text("json"))
    assert body["findings"][0] == FINDING
    assert [found["severity"] for found in body.pop("findings")] == ["error", "warning", "note"]
    place = {"path": "a.jinja", "line": 3, "column": 1}
    accepted = {"kind": "comment", "reason": "meant so", "place": place}
    assert body.pop("suppressed") == [{**FINDING, "rule": "TL101", "suppression": accepted}]
    assert body.pop("not_run") == [{"rule": "*", "ref": "*", "why": "llama.cpp: not modelled yet"}]
    assert body == {**HEAD, **TAIL}


def test_jsonl_says_the_same_a_line_each() -> None:
    lines = [json.loads(line) for line in text("jsonl").splitlines()]
    assert [line["type"] for line in lines] == ["finding"] * 3 + ["suppressed", "not_run", "summary"]
    assert lines[0] == {"type": "finding", **FINDING}
    assert lines[-1] == {"type": "summary", **HEAD, **TAIL}


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_machines_are_told_all_whatever_people_see(form: str) -> None:
    assert text(form, Setting(2, SETTING.unreadable, SETTING.remarks, least="error", quiet=True)) == text(form)


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_statistics_are_added(form: str) -> None:
    last: dict[str, Any] = json.loads(
        text(form, Setting(statistics=True)).splitlines()[-1]
        if form == "jsonl"
        else text(form, Setting(statistics=True))
    )
    assert {"rule": "TL201", "name": "tools-ignored", "severity": "note", "count": 1} in last["statistics"]
    assert len(last["statistics"]) == 3


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_any_text_survives_in_ascii(form: str) -> None:
    odd = 'quote " back \\ \x1b[2J \u202e \ud800 日本 \x9b'
    shown = "".join(reports.write(form, report(finding(message=odd)), Setting()))
    assert shown.isascii()
    assert not any(ord(character) < 0x20 for character in shown.replace("\n", ""))
    body = json.loads(shown if form == "json" else shown.splitlines()[0])
    assert (body["findings"][0] if form == "json" else body)["message"] == odd
