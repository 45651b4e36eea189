from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from reports_by_hand import ABSENT, HOSTILE, finding, hostile, hostile_setting, report, whole

from templatelint import report as reports
from templatelint.model import NotRun, Report, Suppressed, TemplateUse
from templatelint.report import Setting, Unreadable

if TYPE_CHECKING:
    from pathlib import Path
    from xml.etree.ElementTree import Element

    from program import InProcess

# Element → its attributes, those that must be there, and its children: what Jenkins' schema junit-10 allows and we use.
ALLOWED: dict[str, tuple[set[str], set[str], set[str]]] = {
    "testsuites": ({"name", "tests", "failures", "errors"}, set(), {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "file"},
        {"name", "tests", "failures", "errors"},
        {"testcase", "system-out"},
    ),
    "testcase": ({"classname", "name"}, {"name"}, {"skipped", "error", "failure", "system-out"}),
    "failure": ({"type", "message"}, set(), set()),
    "error": ({"type", "message"}, set(), set()),
    "skipped": ({"type", "message"}, set(), set()),
    "system-out": (set(), set(), set()),
}


def written(shown: Report, setting: Setting | None = None) -> Element:
    """The root, when it is valid and its numbers are right."""
    text = "".join(reports.write("junit", shown, setting or Setting()))
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    root = ET.fromstring(text.encode())  # noqa: S314 (we wrote it)
    names = []
    for element in root.iter():
        allowed, required, children = ALLOWED[element.tag]
        assert required <= set(element.attrib) <= allowed, element.tag
        assert {child.tag for child in element} <= children, element.tag
        if element.tag == "testcase":
            names.append((element.attrib["classname"], element.attrib["name"]))
    assert len(names) == len(set(names)), "readers drop the second of two cases of one name"
    for counting in (root, *root.findall("testsuite")):
        assert counting.attrib["tests"] == str(len([*counting.iter("testcase")]))
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            if attribute in counting.attrib:
                assert counting.attrib[attribute] == str(len([*counting.iter(tag)]))
    return root


def outcomes(root: Element) -> dict[str, tuple[str, str]]:
    """Name of the case → what became of it, and what it says of that."""
    found = {}
    for case in root.iter("testcase"):
        told = next((child for child in case if child.tag != "system-out"), None)
        found[case.attrib["name"]] = ("passed", "") if told is None else (told.tag, told.attrib["message"])
    return found


def test_what_fails_the_command_fails_its_case() -> None:
    shown = report(finding(), whole(rule="TL105", severity="warning"), whole(rule="TL111", severity="note"))
    root = written(shown)
    assert outcomes(root) == {
        "TL201 tools-ignored": ("failure", "tool definitions never reach the prompt"),
        "TL105 tools-ignored": ("passed", ""),
        "TL111 tools-ignored": ("passed", ""),
    }
    (failure,) = root.iter("failure")
    assert failure.attrib["type"] == "error"
    for part in ("--> m.jinja:3:8", "^^^^^^^^^", "see it: templatelint render", "help: print `tools`"):
        assert part in (failure.text or "")
    (first, second) = root.iter("system-out")
    assert (first.text or "").startswith("warning[TL105]")
    assert (second.text or "").startswith("note[TL111]")
    (suite,) = root.findall("testsuite")
    assert suite.attrib["file"] == "m.jinja"


@pytest.mark.parametrize(("fail_on", "failing"), [("error", 1), ("warning", 2), ("note", 3)])
def test_the_threshold_decides(fail_on: Any, failing: int) -> None:
    shown = report(finding(), whole(severity="warning"), whole(severity="note"))
    assert len([*written(shown, Setting(fail_on=fail_on, least="error")).iter("failure")]) == failing


def test_a_clean_template_passes() -> None:
    two = (TemplateUse("a", "default", "a", ""), TemplateUse("b#tool_use", "tool_use", "b", ""))
    root = written(report(templates=two))
    assert [suite.attrib["name"] for suite in root] == ["a", "b#tool_use"]
    assert [(case.attrib["classname"], case.attrib["name"], len(case)) for case in root.iter("testcase")] == [
        ("a", "no findings", 0),
        ("b#tool_use", "no findings", 0),
    ]


def test_a_rule_that_says_two_things_has_two_cases() -> None:
    root = written(report(finding(message="one"), finding(message="other"), finding(message="other")))
    assert [*outcomes(root)] == [
        "TL201 tools-ignored: one",
        "TL201 tools-ignored: other",
        "TL201 tools-ignored: other (2)",
    ]


def test_what_gave_no_verdict_is_skipped() -> None:
    rows = (
        *ABSENT[:1],
        NotRun("TL503", "m.jinja", "vllm: a"),
        NotRun("TL503", "m.jinja", "sglang: b"),
        NotRun("*", "m.jinja", "c"),
    )
    root = written(report(not_run=rows, suppressed=(Suppressed(finding(), "baseline", ""),)))
    assert outcomes(root) == {
        "no findings": ("passed", ""),
        "TL201 tools-ignored (suppressed)": ("skipped", "suppressed (baseline)"),
        "TL503 not run": ("skipped", "vllm: a"),
        "rules not run": ("skipped", "c"),
        "llama.cpp not run": ("skipped", "not modelled yet"),
    }


def test_a_reference_that_was_not_read_is_an_error() -> None:
    setting = Setting(2, (Unreadable("gone.gguf", "no such file: gone.gguf", "look again"),))
    root = written(report(templates=()), setting)
    assert outcomes(root) == {"read": ("error", "no such file: gone.gguf")}
    (error,) = root.iter("error")
    assert error.text == "no such file: gone.gguf\nhelp: look again"


def test_statistics_are_added() -> None:
    *_, last = written(report(whole(), whole()), Setting(statistics=True))
    assert last.attrib["name"] == "templatelint"
    assert last.findtext("system-out") == "2  TL201  error    tools-ignored\n"


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_breaks_it(text: str) -> None:
    setting = hostile_setting(text)
    root = written(hostile(text), setting)
    assert {case.tag for case in root.iter()} == set(ALLOWED)
    for element in root.iter():
        assert not set(element.text or "") & set("\x1b\u202e\u2028\ufffe"), element.tag
        assert all("\n" not in value for value in element.attrib.values())


def test_the_command_writes_it(folder: Path, cli: InProcess) -> None:
    flags = ("--engine", "transformers", "--output-format", "junit", "--fail-on", "warning", "-o", "out.xml")
    assert cli("lint", "deaf.jinja", "chat_template.jinja", *flags).code == 1
    root = ET.parse(folder / "out.xml").getroot()  # noqa: S314 (we wrote it)
    first, second = root.findall("testsuite")
    assert first.attrib["name"] == "deaf.jinja"
    kinds = {failure.attrib["type"] for failure in first.iter("failure")}
    assert kinds == {"error", "warning"}
    assert second.attrib["failures"] == "0"
