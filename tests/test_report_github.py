from __future__ import annotations

import re
from typing import Any

import pytest
from reports_by_hand import ABSENT, HOSTILE, finding, hostile, hostile_setting, report, whole

from templatelint import report as reports
from templatelint.model import Place, Related, Report
from templatelint.report import Setting, Unreadable

COMMAND = re.compile(r"::(?P<name>error|warning|notice) (?P<properties>[^:]*)::(?P<body>.*)")


def written(shown: Report, setting: Setting | None = None) -> list[str]:
    text = "".join(reports.write("github", shown, setting or Setting()))
    assert text.endswith("\n")
    return text.removesuffix("\n").split("\n")


def unescaped(text: str) -> str:
    for escape, meant in (("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")):
        text = text.replace(escape, meant)
    return text


def read(line: str) -> tuple[str, dict[str, str], str]:
    """Name, properties and text of a command, as a runner takes it."""
    found = COMMAND.fullmatch(line)
    assert found is not None, line
    pairs = [pair.partition("=") for pair in found["properties"].split(",")]
    return found["name"], {key: unescaped(value) for key, _, value in pairs}, unescaped(found["body"])


def test_a_finding_is_an_annotation() -> None:
    second = (Related("read here", Place("m.jinja", 9, 2), Place("m.jinja", 9, 7), 9),)
    first, last = written(report(finding(related=second, message="50% of the prompt, at least: a\nb"), not_run=ABSENT))
    assert first == (
        "::error file=m.jinja,line=3,endLine=3,col=8,endColumn=17,title=TL201 tools-ignored"
        "::50%25 of the prompt, at least: a\\nb%0Am.jinja:3:8%0Aread here: m.jinja:9:2"
        "%0Aon transformers · needs: tools%0Acases: tools-offer"
        "%0Asee it: templatelint render m.jinja --case tools-offer --engine transformers"
        "%0Ahelp: print `tools` where the system text stands"
    )
    assert last == "1 error · engines: transformers 5.24.0 · not run: llama.cpp, sglang (not modelled yet)"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"end": Place("m.jinja", 5, 2)}, {"file": "m.jinja", "line": "3", "endLine": "5"}),
        ({"span": None}, {"file": "m.jinja", "line": "3"}),
        ({"locatable": False, "place": Place("m.gguf", 3, 8)}, {"file": "m.gguf"}),
        (
            {"place": Place("C:\\a,b\\m.jinja", 3, 8)},
            {"file": "C:\\a,b\\m.jinja", "line": "3", "endLine": "3", "col": "8", "endColumn": "17"},
        ),
    ],
)
def test_places(changes: dict[str, Any], expected: dict[str, str]) -> None:
    _, properties, _ = read(written(report(finding(**changes)))[0])
    assert properties == {**expected, "title": "TL201 tools-ignored"}


def test_errors_come_first_whatever_people_see() -> None:
    findings = [finding(severity=severity, message=severity) for severity in ("note", "warning", "error", "note")]
    lines = written(report(*findings), Setting(least="error", quiet=True))
    assert [read(line)[0] for line in lines] == ["error", "warning", "notice", "notice"]


def test_what_github_leaves_out_is_told() -> None:
    many = [whole(severity="note")] * 11 + [whole()] * 12 + [whole(severity="warning")] * 10
    *commands, told, _ = written(report(*many))
    assert [read(line)[0] for line in commands] == ["error"] * 12 + ["warning"] * 10 + ["notice"] * 11
    assert told == "GitHub annotates the first 10 of each kind in a step; this log has all: 12 errors, 11 notes"


def test_a_reference_that_was_not_read_is_an_error() -> None:
    setting = Setting(2, (Unreadable("a:b", "no such file: a:b", "look again"),))
    assert read(written(report(), setting)[0]) == (
        "error",
        {"title": "a:b: not read"},
        "no such file: a:b\nhelp: look again",
    )


def test_statistics_are_added() -> None:
    lines = written(report(whole(), whole()), Setting(statistics=True))
    assert lines[2:] == ["2  TL201  error    tools-ignored", "2 errors · engines: transformers 5.24.0"]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_breaks_it(text: str) -> None:
    lines = written(hostile(text), hostile_setting(text))
    commands = [line for line in lines if line.lstrip().startswith("::")]
    assert [read(line)[0] for line in commands] == ["error", "error", "warning", "notice"]
    assert lines[: len(commands)] == commands
    for line in lines:
        assert not re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066\ud800-\udfff]", line)
    for line in lines[len(commands) :]:
        assert "##[" not in line
    for line in commands:
        assert set(read(line)[1]) <= {"file", "line", "endLine", "col", "endColumn", "title"}
