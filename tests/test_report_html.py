from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pages
import pytest
from reports_by_hand import ABSENT, HOSTILE, LINE, finding, hostile, hostile_setting, report, whole

from templatelint import cards
from templatelint import report as reports
from templatelint.model import NotRun, Place, Related, Report, Suppressed, TemplateUse
from templatelint.report import Remark, Setting, Unreadable

if TYPE_CHECKING:
    from pathlib import Path

    from program import InProcess

MEGABYTE = 1_000_000
# all that a page consists of: whatever else is in it came from a template
TAGS = re.compile(
    "html|head|meta|title|link|style|body|header|main|footer|section|script|div|p|span|h[1-4]|a|b|i|small|strong|code|pre|"
    "mark|table|caption|thead|tbody|tr|th|td|ul|li|dl|dt|dd|details|summary|fieldset|legend|label|input|select|option|br"
)
ATTRIBUTES = re.compile(
    "lang|charset|http-equiv|content|name|rel|href|class|id|tabindex|role|scope|open|hidden|type|checked|value|"
    "data-(rule|only)|aria-(label|labelledby|hidden)"
)


def written(shown: Report, setting: Setting | None = None) -> pages.Element:
    """The page, when it is well-formed, made of our own elements only, and its links lead somewhere."""
    text = "".join(reports.write("html", shown, setting or Setting()))
    return pages.sound(text, TAGS, ATTRIBUTES, "#findings")


def test_a_finding_is_there_whole() -> None:
    second = (Related("read `here`", Place("m.jinja", 9, 2), Place("m.jinja", 9, 7), 9),)
    html = written(report(finding(related=second)))
    (one,) = html.find("details", class_="error")
    assert one.attributes["data-rule"] == "TL201"
    assert "open" in one.attributes
    (source,) = one.find("pre", class_="source")
    assert source.text == f"3 | {LINE}\n  |        ^^^^^^^^^"
    (marked,) = source.find("mark")
    assert marked.text == LINE[7:16]
    for text in (
        "tool definitions never reach the prompt",
        "m.jinja:3:8",
        "read here: m.jinja:9:2",
        "on transformers · needs: tools",
        "cases: tools-offer",
        "print tools where the system text stands",
        "templatelint render m.jinja --case tools-offer --engine transformers",
    ):
        assert text in one.text
    assert [link.attributes["href"] for link in one.find("a")] == ["#rule-TL201"]


def test_the_page_of_the_rule_is_folded_in() -> None:
    html = written(report(finding()))
    (body,) = [one for one in html.all if one.attributes.get("id") == "rule-TL201"]
    assert [one.text for one in body.find("h3")] == re.findall("^## (.*)$", cards.get("TL201").prose, re.MULTILINE)
    assert cards.get("TL201").title in body.text
    assert len(body.find("pre")) == cards.get("TL201").prose.count("```jinja")


def test_findings_stand_by_template() -> None:
    uses = tuple(TemplateUse(ref, "default", ref, "") for ref in ("models/a.jinja", "models/b.jinja", "models/c.jinja"))
    shown = report(
        finding(ref="models/b.jinja"),
        finding(ref="models/b.jinja", severity="note"),
        finding(ref="models/a.jinja", severity="warning"),
        templates=uses,
    )
    html = written(shown)
    (h1,) = html.find("h1")
    assert h1.text == "3 templates"
    (verdict,) = html.find("p", class_="verdict")
    assert verdict.text.split() == ["1", "error", "1", "warning", "1", "note"]
    sections = [one for one in html.find("section", class_="model") if one.attributes["id"].startswith("t")]
    assert [section.find("h2")[0].text for section in sections] == ["b", "a"]
    assert [len(section.find("details", class_="one")) for section in sections] == [2, 1]
    (table,) = html.find("table")
    assert [[cell.text for cell in row.find("td")] for row in table.find("tr")[1:]] == [["1", "", "1"], ["", "1", ""]]
    (rest,) = [one for one in html.find("section") if one.attributes.get("id") == "rest"]
    assert "models/c.jinja" in rest.text


@pytest.mark.parametrize(("least", "checked"), [("error", {"show-error"}), ("warning", {"show-error", "show-warning"})])
def test_what_is_shown_at_first_is_as_asked(least: str, checked: set[str]) -> None:
    html = written(report(finding(), whole(severity="note")), Setting(least=least))  # type: ignore[arg-type]
    boxes = html.find("input")
    assert [box.attributes["id"] for box in boxes] == ["show-error", "show-warning", "show-note"]
    assert {box.attributes["id"] for box in boxes if "checked" in box.attributes} == checked
    assert len(html.find("details", class_="one")) == 3, "two findings and a rule, whatever is shown of them"


def test_the_rest_is_told() -> None:
    rows = (*ABSENT[:1], NotRun("TL503", "m.jinja", "vllm: no prompt"))
    setting = Setting(2, (Unreadable("gone", "no such file: gone", "look again"),), (Remark("m.jinja", "BOS assumed"),))
    html = written(report(not_run=rows, suppressed=(Suppressed(finding(), "baseline", "old"),)), setting)
    for text in (
        "no such file: gone (look again)",
        "TL201 at m.jinja:3:8: tool definitions never reach the prompt (baseline: old)",
        "TL503 on m.jinja: vllm: no prompt",
        "BOS assumed",
        "llama.cpp (not modelled yet)",
    ):
        assert text in html.text
    assert not html.find("p", class_="fine"), "not everything was read"


def test_a_clean_run() -> None:
    html = written(report())
    assert [one.text for one in html.find("p", class_="fine")] == ["All checks passed."]
    assert html.find("h1")[0].text == "m"
    assert not html.find("fieldset")


def test_statistics_stand_in_for_findings() -> None:
    html = written(report(finding(), finding()), Setting(statistics=True))
    assert [one.attributes["id"] for one in html.find("section")] == ["rules"]
    assert "2 errors" in html.find("section")[0].text


def test_hundreds_of_templates_find_room() -> None:
    uses = tuple(TemplateUse(f"m{number}.jinja", "default", "m", "") for number in range(800))
    severities = ("note", "note", "note", "warning", "error", "note", "note")
    findings = [finding(ref=use.ref, severity=severity) for use in uses for severity in severities]
    text = "".join(reports.write("html", report(*findings, templates=uses), Setting()))
    assert len(text) < 4 * MEGABYTE
    html = pages.read(text)
    wholes = [one for one in html.find("details", class_="one") if "data-rule" in one.attributes]
    assert {one.attributes["class"] for one in wholes} == {"one error"}, "the most severe are there whole"
    assert len(wholes) == 800
    lines = html.find("div", class_="line")
    more = sum(int(one.text.split()[0]) for one in html.find("p", class_="more"))
    assert len(wholes) + len(lines) + more == len(findings)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_breaks_it(text: str) -> None:
    html = written(hostile(text), hostile_setting(text))
    assert [len(html.find("details", class_=severity)) for severity in ("error", "warning", "note")] == [1, 1, 1]


def test_the_command_writes_it(folder: Path, cli: InProcess) -> None:
    flags = ("--engine", "transformers", "--output-format", "html", "-o", "out.html")
    assert cli("lint", "deaf.jinja", *flags).code == 1
    html = pages.read((folder / "out.html").read_text("utf-8"))
    assert html.find("h1")[0].text == "deaf"
    assert html.find("details", class_="error")
