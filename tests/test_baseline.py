from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from program import DEAF
from reports_by_hand import finding, report, whole

from templatelint import cards
from templatelint.errors import TemplatelintError
from templatelint.model import NotRun, Place, TemplateUse
from templatelint.suppress import baseline
from templatelint.suppress.scope import Scope

if TYPE_CHECKING:
    from program import InProcess

    from templatelint.model import Finding, Report, Severity

EVERY = frozenset(cards.all_cards())
COUNTED: frozenset[Severity] = frozenset({"error", "warning"})
SYSTEM = finding(rule="TL101", name="system-dropped", message="the system message is lost", fingerprint="aa")
ENTRY = {"path": "m.jinja", "rule": "TL201", "fingerprint": "0f", "engines": ["transformers"]}


def _scope(judged: Report, **changes: Any) -> Scope:
    return Scope(**{"report": judged, "rules": EVERY, "whole": True, "weight": "warning", **changes})


def _write(*entries: dict[str, Any], path: str = "b.json") -> str:
    Path(path).write_text(json.dumps({"version": 1, "findings": entries}, indent=2), encoding="utf-8")
    return path


def _applied(judged: Report, *entries: dict[str, Any], path: str = "b.json", **changes: Any) -> Report:
    return baseline.applied(judged, baseline.read(_write(*entries, path=path)), ["m.jinja"], _scope(judged, **changes))


def _renewed(judged: Report, *entries: dict[str, Any], path: str = "b.json", **changes: Any) -> list[dict[str, Any]]:
    known = baseline.read(_write(*entries)) if entries else baseline.Baseline("b.json")
    rows = baseline.renewed(judged, known, ["m.jinja"], _scope(judged, **changes), COUNTED)
    written: list[dict[str, Any]] = json.loads(baseline.written(path, rows))["findings"]
    return written


# ------------------------------------------------------------------------------------------ what is accepted


@pytest.mark.parametrize(
    ("found", "entry", "accepted"),
    [
        (finding(), {}, True),
        (finding(place=Place("m.jinja", 80, 1), message="said otherwise"), {}, True),
        (finding(severity="warning"), {}, True),
        (finding(severity="warning"), {"severity": "warning"}, True),
        (finding(severity="error"), {"severity": "warning"}, True),
        # a note is no matter of concern, what breaks a need that was turned on is
        (finding(severity="note"), {"severity": "note"}, True),
        (finding(severity="warning"), {"severity": "note"}, False),
        (finding(engines=()), {}, True),
        (finding(engines=("transformers", "vllm")), {}, False),
        (finding(engines=("vllm",)), {"engines": ["transformers", "vllm"]}, True),
        (finding(fingerprint="10"), {}, False),
        (finding(rule="TL101"), {}, False),
        (finding(place=Place("n.jinja", 3, 8)), {}, False),
        (finding(place=Place("./x/../m.jinja", 3, 8)), {}, True),
    ],
)
def test_what_an_entry_accepts(folder: Path, found: Finding, entry: dict[str, Any], accepted: bool) -> None:
    (folder / "x").mkdir()
    (folder / "m.jinja").touch()
    after = _applied(report(found, templates=()), {**ENTRY, **entry})
    assert (len(after.findings), len(after.suppressed)) == ((0, 1) if accepted else (1, 0))


def test_a_suppressed_finding_says_where_it_is_accepted_and_why(folder: Path) -> None:
    del folder
    (row,) = _applied(report(finding()), {**ENTRY, "reason": "next release"}).suppressed
    assert (row.kind, row.reason, row.place and row.place.path) == ("baseline", "next release", "b.json")
    assert row.place is not None
    assert '"fingerprint": "0f"' in Path("b.json").read_text(encoding="utf-8").splitlines()[row.place.line - 1]


def test_paths_are_those_seen_from_the_baseline(folder: Path) -> None:
    (folder / "ci").mkdir()
    assert _applied(report(finding()), {**ENTRY, "path": "../m.jinja"}, path="ci/b.json").findings == ()
    assert [row["path"] for row in _renewed(report(finding()), path="ci/b.json")] == ["../m.jinja"]


# ------------------------------------------------------------------------------------------------- what is stale

OTHER = (TemplateUse("n.jinja", "default", "n.jinja", ""),)
GAP = (NotRun("TL201", "m.jinja", "transformers: over budget (tools-offer)"),)


@pytest.mark.parametrize(
    ("judged", "entry", "changes", "stale"),
    [
        (report(), {}, {}, True),
        (report(finding()), {}, {}, False),
        # it is there, on one engine more
        (report(finding(engines=("transformers", "vllm"))), {}, {}, False),
        (report(), {"path": "n.jinja"}, {}, False),
        (report(), {"template": "tool_use"}, {}, False),
        (report(templates=OTHER), {}, {}, False),
        (report(), {"engines": ["transformers", "tgi"]}, {}, False),
        (report(), {"engines": []}, {}, True),
        (report(), {"engines": []}, {"whole": False}, False),
        (report(), {}, {"whole": False}, True),
        (report(), {}, {"rules": EVERY - {"TL201"}}, False),
        (report(), {}, {"rules": EVERY - {"TL010"}}, False),
        (report(not_run=GAP), {}, {}, False),
        (report(whole(rule="TL001", name="template-does-not-load")), {}, {}, False),
        (report(), {"rule": "TL701"}, {}, False),
        (report(), {"rule": "TL701"}, {"compared": frozenset({"m.jinja"})}, True),
        (report(templates=()), {"rule": "TL601", "template": ""}, {}, True),
    ],
)
def test_an_entry_is_stale_where_it_was_judged_and_not_found(
    folder: Path, judged: Report, entry: dict[str, Any], changes: dict[str, Any], stale: bool
) -> None:
    for name in ("m.jinja", "n.jinja"):
        (folder / name).touch()
    after = _applied(judged, {**ENTRY, **entry}, **changes)
    told = [found for found in after.findings if found.rule == "TL010"]
    assert [(found.place.path, found.severity) for found in told] == ([("b.json", "warning")] if stale else [])
    assert all(found.message.endswith("m.jinja, which is no longer found") for found in told)


@pytest.mark.parametrize(
    ("entry", "changes", "stale"),
    [
        ({"path": "gone.jinja"}, {}, True),
        ({"path": "gone/m.jinja"}, {"whole": False, "rules": frozenset({"TL010"})}, True),
        ({"path": "gone.jinja"}, {"rules": EVERY - {"TL010"}}, False),
        ({"path": "n.jinja"}, {}, False),
        ({"path": "<stdin>"}, {}, False),
    ],
)
def test_an_entry_of_a_file_that_is_gone_is_stale(
    folder: Path, entry: dict[str, Any], changes: dict[str, Any], stale: bool
) -> None:
    (folder / "n.jinja").touch()
    told = [found.message for found in _applied(report(), {**ENTRY, **entry}, **changes).findings]
    assert told == ([f"the baseline accepts TL201 (tools-ignored) in {entry['path']}, which is gone"] if stale else [])


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":"), (" ,\n", " :\t")])
def test_equal_fingerprints_are_told_apart_by_their_files(folder: Path, separators: tuple[str, str]) -> None:
    entries = [{**ENTRY, "path": path, "message": 'not "fingerprint": "0f"'} for path in ("m.jinja", "n.jinja")]
    rows = ["\n" + json.dumps(entry, separators=separators) for entry in entries]
    text = '{"version": 1, "findings": [' + ",".join(rows) + "]}"
    (folder / "b.json").write_text(text)
    lines = text.splitlines()
    places = [entry.place for entry in baseline.read("b.json").entries]
    seen = [" ".join([*lines[: place.line - 1], lines[place.line - 1][: place.column]]) for place in places if place]
    assert [before.count('"path"') for before in seen] == [1, 2]


# ---------------------------------------------------------------------------------------------- what is written


def test_a_baseline_is_sorted_and_holds_no_line(folder: Path) -> None:
    del folder
    nested = finding(place=Place("a/m.jinja", 1, 1), template="tool_use")
    entries = baseline.renewed(
        report(SYSTEM, finding(), nested), baseline.Baseline("b.json"), ["m.jinja"], _scope(report()), COUNTED
    )
    text = baseline.written("b.json", entries)
    rows = json.loads(text)["findings"]
    assert [(row["path"], row.get("template"), row["rule"]) for row in rows] == [
        ("a/m.jinja", "tool_use", "TL201"),
        ("m.jinja", None, "TL101"),
        ("m.jinja", None, "TL201"),
    ]
    assert rows[1] == {
        "path": "m.jinja",
        "rule": "TL101",
        "name": "system-dropped",
        "severity": "error",
        "engines": ["transformers"],
        "message": "the system message is lost",
        "fingerprint": "aa",
    }
    assert baseline.written("b.json", reversed(entries)) == text


@pytest.mark.parametrize(
    ("judged", "entry", "changes", "kept"),
    [
        # reasons stay, the rest is as it is now
        (
            report(finding(severity="warning")),
            {"reason": "r", "severity": "error"},
            {},
            ("r", "warning", "transformers"),
        ),
        (report(finding(severity="note")), {"reason": "r"}, {}, ("r", "note", "transformers")),
        # engines that were not asked now are still accepted
        (report(finding()), {"engines": ["tgi"]}, {}, (None, "error", "tgi transformers")),
        (report(finding()), {"engines": ["vllm"]}, {}, (None, "error", "transformers vllm")),
        (report(), {}, {}, None),
        # not judged now
        (report(), {"reason": "r"}, {"rules": EVERY - {"TL201"}}, ("r", "error", "transformers")),
        (report(templates=OTHER), {"reason": "r"}, {}, ("r", "error", "transformers")),
    ],
)
def test_what_becomes_of_an_entry(
    folder: Path,
    judged: Report,
    entry: dict[str, Any],
    changes: dict[str, Any],
    kept: tuple[str | None, str, str] | None,
) -> None:
    (folder / "m.jinja").touch()
    rows = _renewed(judged, {**ENTRY, **entry}, **changes)
    assert [(row.get("reason"), row["severity"], " ".join(row["engines"])) for row in rows] == ([kept] if kept else [])


def test_entries_of_files_that_are_gone_go(folder: Path) -> None:
    del folder
    assert _renewed(report(), {**ENTRY, "path": "gone.jinja"}) == []


def test_what_is_not_shown_is_not_accepted(folder: Path) -> None:
    del folder
    assert _renewed(report(replace(SYSTEM, severity="note"))) == []


# ------------------------------------------------------------------------------------------ what is no baseline


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "b.json is empty"),
        ("{", "b.json:1:2: not JSON"),
        ("[]", "b.json holds a list, not a JSON object"),
        ("{}", "b.json is no baseline of this version"),
        ('{"version": 2, "findings": []}', "b.json is no baseline of this version"),
        ('{"version": 1, "findings": {}}', "b.json is no baseline of this version"),
        ('{"version": 1, "findings": [1]}', "b.json: finding 1 is no object"),
        ('{"version": 1, "findings": [{"path": "m", "rule": "TL201"}]}', 'b.json: finding 1 has no "fingerprint"'),
        ('{"version": 1, "findings": [{"path": ["m"]}]}', 'b.json: finding 1 has no "path"'),
        ('{"version": 1, "findings": [{"raison": ""}]}', 'b.json: finding 1: unknown member "raison"'),
        ("[" * 100_000, "b.json nests JSON values too deeply"),
        *(
            (json.dumps({"version": 1, "findings": [{**ENTRY, **change}]}), f"b.json: finding 1: {message}")
            for change, message in (
                ({"rule": "TL20l"}, 'unknown rule "TL20l"'),
                ({"severity": "eror"}, 'unknown severity "eror"'),
                ({"engines": "vllm"}, '"engines" is no list of strings'),
                ({"engines": ["vllm", "vlm"]}, 'unknown engine "vlm"'),
                ({"reason": None}, '"reason" is no string'),
            )
        ),
    ],
)
def test_a_file_that_is_no_baseline_is_told_in_one_line(folder: Path, text: str, message: str) -> None:
    del folder
    Path("b.json").write_text(text, encoding="utf-8")
    with pytest.raises(TemplatelintError) as caught:
        baseline.read("b.json")
    assert caught.value.message.startswith(message)
    assert "\n" not in caught.value.message


@pytest.mark.parametrize("path", ["\0", "\ud800", "x" * 5_000, "<stdin>", "../" * 200])
def test_no_path_of_an_entry_is_fatal(folder: Path, path: str) -> None:
    del folder
    after = _applied(report(finding()), {**ENTRY, "path": path})
    assert [found.rule for found in after.findings if found.rule != "TL010"] == ["TL201"]
    assert isinstance(_renewed(report(finding()), {**ENTRY, "path": path}), list)


# --------------------------------------------------------------------------------------------- the command line


def test_a_baseline_is_written_and_holds(cli: InProcess, folder: Path) -> None:
    flags = ("lint", "deaf.jinja", "--engine", "transformers", "--needs", "tools,system")
    wrote = cli(*flags, "--write-baseline", "b.json")
    rows = json.loads((folder / "b.json").read_text(encoding="utf-8"))["findings"]
    assert {"TL101", "TL201"} <= {row["rule"] for row in rows}
    assert wrote.code == 0
    assert wrote.err == f"note: b.json accepts {len(rows)} findings\n"
    assert f" · {len(rows)} suppressed" in wrote.out
    assert cli(*flags).code == 1
    assert cli(*flags, "--baseline", "b.json").code == 0
    (folder / "templatelint.toml").write_text('baseline = "b.json"')
    assert cli(*flags).code == 0
    assert cli(*flags, "--isolated").code == 1
    fewer = {"version": 1, "findings": [{**row, "reason": "why"} for row in rows if row["rule"] != "TL101"]}
    (folder / "b.json").write_text(json.dumps(fewer))
    again = cli(*flags, "--output-format", "json")
    body = json.loads(again.out)
    assert (again.code, [row["rule"] for row in body["findings"] if row["severity"] == "error"]) == (1, ["TL101"])
    assert {row["suppression"]["reason"] for row in body["suppressed"]} == {"why"}
    cli(*flags, "--write-baseline", "b.json", "-q")
    renewed = json.loads((folder / "b.json").read_text(encoding="utf-8"))["findings"]
    assert {row["rule"]: row.get("reason") for row in renewed} == {
        row["rule"]: None if row["rule"] == "TL101" else "why" for row in rows
    }


def test_a_baseline_that_is_not_there_or_is_none_ends_the_run(cli: InProcess, folder: Path) -> None:
    missing = cli("lint", "deaf.jinja", "--baseline", "b.json")
    assert (missing.code, missing.out) == (2, "")
    assert missing.err == "error: no such baseline: b.json\nhelp: --write-baseline b.json makes it\n"
    for flag in ("--baseline", "--write-baseline"):
        ran = cli("lint", "chat_template.jinja", flag, "deaf.jinja")
        assert (ran.code, ran.out, ran.err.count("error: ")) == (2, "", 1)
    assert (folder / "deaf.jinja").read_text(encoding="utf-8") == DEAF


@pytest.mark.parametrize("empty", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_is_no_baseline_but_can_become_one(cli: InProcess, folder: Path, empty: bytes) -> None:
    (folder / "b.json").write_bytes(empty)
    flags = ("lint", "deaf.jinja", "--engine", "transformers")
    ran = cli(*flags, "--baseline", "b.json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: b.json is empty\nhelp: --write-baseline b.json fills it\n"
    if not empty:
        assert cli(*flags, "--write-baseline", "b.json").code == 0
        assert baseline.read("b.json").entries


def test_a_byte_order_mark_is_no_part_of_a_baseline(folder: Path) -> None:
    text = Path(_write(ENTRY)).read_bytes()
    (folder / "marked.json").write_bytes(b"\xef\xbb\xbf" + text)
    assert baseline.read("marked.json").entries == baseline.read("b.json").entries


@pytest.mark.parametrize("more", [(), ("--fix",)])
def test_a_baseline_is_not_written_where_only_changes_are_printed(
    cli: InProcess, folder: Path, more: tuple[str, ...]
) -> None:
    ran = cli("lint", "deaf.jinja", "--diff", "--write-baseline", "b.json", *more)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: --diff and --write-baseline exclude each other")
    assert not (folder / "b.json").exists()


def test_what_cannot_be_read_keeps_its_entries(cli: InProcess, folder: Path) -> None:
    _write({**ENTRY, "path": "bytes.jinja", "reason": "kept"})
    (folder / "bytes.jinja").write_bytes(b"\xff")
    ran = cli("lint", "bytes.jinja", "chat_template.jinja", "--engine", "transformers", "--write-baseline", "b.json")
    assert ran.code == 2
    assert ran.err.startswith("error: bytes.jinja is not UTF-8")
    rows = json.loads((folder / "b.json").read_text(encoding="utf-8"))["findings"]
    assert [row["reason"] for row in rows if row["path"] == "bytes.jinja"] == ["kept"]


def test_where_nothing_is_read_nothing_is_written(cli: InProcess, folder: Path) -> None:
    assert cli("lint", "gone.jinja", "--write-baseline", "b.json").code == 2
    assert not (folder / "b.json").exists()
