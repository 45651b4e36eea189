from __future__ import annotations

import re
from html import unescape
from typing import TYPE_CHECKING

import pytest
from markdown_it import MarkdownIt
from reports_by_hand import ABSENT, HOSTILE, finding, hostile, hostile_setting, report, whole

from templatelint import report as reports
from templatelint.model import NotRun, Place, Related, Report, Suppressed, TemplateUse
from templatelint.report import Remark, Setting, Unreadable

if TYPE_CHECKING:
    from pathlib import Path

    from program import InProcess

LIMIT = 65_536  # characters of a comment on GitHub


def written(shown: Report, setting: Setting | None = None) -> str:
    text = "".join(reports.write("markdown", shown, setting or Setting()))
    assert len(text) < LIMIT
    return text


def rendered(text: str) -> str:
    """As GitHub would show it: tables, bare links, HTML let through."""
    return str(MarkdownIt("gfm-like", {"linkify": False}).render(text))


def test_counts_then_findings() -> None:
    second = (Related("read here", Place("m.jinja", 9, 2), Place("m.jinja", 9, 7), 9),)
    shown = report(
        whole(severity="note", message="a note"),
        finding(related=second),
        not_run=(*ABSENT[:1], NotRun("TL503", "m.jinja", "vllm: no prompt")),
        suppressed=(Suppressed(finding(), "comment", "meant so"),),
    )
    assert written(shown, Setting(remarks=(Remark("m.jinja", "BOS <s> assumed"),))) == (
        """\
### templatelint: 1 error, 1 note in 1 template

| template | errors | warnings | notes |
|---|--:|--:|--:|
| <code>m.jinja</code> | 1 |  | 1 |

- **error** TL201 tools-ignored: tool definitions never reach the prompt<br>
  `m.jinja:3:8` · on transformers<br>
  read here: `m.jinja:9:2`<br>
  help: print <code>tools</code> where the system text stands<br>
  see it: `templatelint render m.jinja --case tools-offer --engine transformers`

<details><summary>1 note</summary>

- **note** TL201 tools-ignored: a note<br>
  `m.jinja:1:1` · on transformers<br>
  help: print <code>tools</code> where the system text stands<br>
  see it: `templatelint render m.jinja --case tools-offer --engine transformers`

</details>

engines: transformers 5.24.0 · 1 suppressed · BOS &#60;s&#62; assumed

<details><summary>2 gaps: checks and engines that did not run</summary>

- llama.cpp: not modelled yet
- TL503 on m.jinja: vllm: no prompt

</details>
"""
    )


def test_a_clean_run_is_short() -> None:
    assert written(report()) == "### templatelint: no findings in 1 template\n\nengines: transformers 5.24.0\n"
    assert written(report(templates=())).startswith("### templatelint: no template checked\n")


def test_quiet_is_the_findings_alone() -> None:
    shown = written(report(finding(), whole(severity="note")), Setting(quiet=True))
    assert [line[:9] for line in shown.splitlines() if line[:1] not in {" ", ""}] == ["- **error"]


@pytest.mark.parametrize(
    ("least", "above", "below"),
    [
        ("error", ["error"], ["warning", "note"]),
        ("warning", ["error", "warning"], ["note"]),
        ("note", ["error", "warning", "note"], []),
    ],
)
def test_what_is_less_severe_is_folded(least: str, above: list[str], below: list[str]) -> None:
    findings = [whole(severity=severity) for severity in ("note", "warning", "error")]
    top, _, folded = written(report(*findings), Setting(least=least)).partition("<details>")  # type: ignore[arg-type]
    assert re.findall(r"^- \*\*(\w+)", top, re.MULTILINE) == above
    assert re.findall(r"^- \*\*(\w+)", folded, re.MULTILINE) == below


def test_statistics_stand_in_for_findings() -> None:
    shown = written(report(whole(), whole(), whole(severity="note")), Setting(statistics=True))
    assert "| 2 | TL201 | error | tools-ignored |\n" in shown
    assert "note | tools-ignored" not in shown
    assert "- **error**" not in shown


def test_what_was_not_read_is_told() -> None:
    setting = Setting(2, (Unreadable("gone", "no such file: gone", "look again"),))
    assert "- **not read**: no such file: gone (look again)\n" in written(report(), setting)


def test_hundreds_of_templates_find_room() -> None:
    uses = tuple(TemplateUse(f"m{number}.jinja", "default", "m", "") for number in range(800))
    findings = [
        finding(ref=use.ref, severity="error" if number % 2 else "note") for number, use in enumerate(uses[:700])
    ]
    shown = written(report(*findings, templates=uses))
    assert "### templatelint: 350 errors, 350 notes in 800 templates\n" in shown
    assert "| 675 more | 325 |  | 350 |\n" in shown
    assert "| 100 templates without findings | | | |\n" in shown
    told = re.search(r"^- … and (\d+) more: there is no room here$", shown, re.MULTILINE)
    assert told is not None
    assert len(re.findall(r"^- \*\*error", shown, re.MULTILINE)) + int(told[1]) == 350
    assert "<summary>350 notes</summary>" in shown


def test_whatever_there_is_much_of_finds_room() -> None:
    text = "|" * 700
    setting = Setting(
        2,
        tuple(Unreadable(text, text, text) for _ in range(99)),
        tuple(Remark(text, f"{number}{text}") for number in range(99)),
    )
    findings = [finding(ref=f"{number}{text}", message=text, help=text) for number in range(99)]
    gaps = tuple(NotRun("TL503", f"{number}", text) for number in range(99))
    shown = written(report(*findings, not_run=gaps), setting)
    assert shown.count("there is no room here") == 3
    assert "91 more remarks" in shown


OURS = re.compile(
    r"</?(?:h3|table|thead|tbody|tr|th|td|p|ul|li|strong|code|br|details|summary)(?: style=\"[^\"]*\")? ?/?>"
)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_no_text_breaks_it(text: str) -> None:
    shown = written(hostile(text), hostile_setting(text))
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066\ud800-\udfff]", shown)
    html = rendered(shown)
    assert not re.search(r"<[a-z/!]", OURS.sub("", html)), "a text from elsewhere is no markup"
    rows = re.findall(r"<tr>.*?</tr>", html, re.DOTALL)
    assert {len(re.findall("<t[dh]", row)) for row in rows} == {4}
    plain = unescape(re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL))
    assert not re.search(r"@\w|#\d|GH-\d|www\.|://", plain), "it calls nobody, and links to nothing"


@pytest.mark.parametrize("text", [text for text in HOSTILE.values() if text.strip()])
def test_a_command_can_be_copied(text: str) -> None:
    from shlex import join

    from templatelint.report.terminal import visible

    html = rendered(written(report(finding(ref=text[:300])), Setting(quiet=True)))
    command = re.search(r"see it: <code>(.*?)</code>", html, re.DOTALL)
    assert command is not None
    meant = join(["templatelint", "render", text[:300], "--case", "tools-offer", "--engine", "transformers"])
    assert unescape(command[1]) == visible(meant)


def test_the_command_writes_it(folder: Path, cli: InProcess) -> None:
    flags = ("--engine", "transformers", "--output-format", "markdown", "-o", "out.md")
    assert cli("lint", "deaf.jinja", *flags).code == 1
    assert (folder / "out.md").read_text("utf-8").startswith("### templatelint: ")
