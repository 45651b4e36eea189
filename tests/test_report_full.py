from __future__ import annotations

import re
from typing import Any

import pytest
from reports_by_hand import ABSENT, TRANSFORMERS, VLLM, finding, report, whole

from templatelint import report as reports
from templatelint.model import NotRun, Place, Related, Suppressed
from templatelint.report import Remark, Setting, Unreadable
from templatelint.report.terminal import Paint, width


def written(*findings: Any, setting: Setting | None = None, **changes: Any) -> str:
    return "".join(reports.write("full", report(*findings, **changes), setting or Setting()))


def test_a_page() -> None:
    evidence = tuple(
        (case, engine) for engine in ("transformers", "vllm") for case in ("tools-offer", "tools-many", "tool-call")
    )
    shown = written(
        finding(
            engines=("transformers", "vllm"),
            evidence=evidence,
            related=(
                Related("the tools are read here", Place("m.jinja", 9, 2), Place("m.jinja", 9, 7), 9),
                Related("and here", Place("m.json", 1, 700), Place("m.json", 1, 707), 12),
            ),
        ),
        engines=(TRANSFORMERS, VLLM),
        not_run=ABSENT,
    )
    assert shown == (
        """\
error[TL201] tools-ignored: tool definitions never reach the prompt
  --> m.jinja:3:8
  |
3 | {%- if xml_tools %}{{ tools | tojson }}{% endif %}
  |        ^^^^^^^^^
  = the tools are read here: m.jinja:9:2
  = and here: m.json:1:700 (template, line 12)
  = on transformers, vllm · needs: tools
  = cases: tools-offer, tools-many, tool-call
  = see it: templatelint render m.jinja --case tools-offer --engine transformers
help: print `tools` where the system text stands

1 error · engines: transformers 5.24.0, vllm 0.33.0 · not run: llama.cpp, sglang (not modelled yet)
"""
    )


def test_a_page_about_the_whole_has_no_source_line() -> None:
    shown = written(whole(evidence=(), needs=()))
    assert shown.splitlines()[:4] == [
        "error[TL201] tools-ignored: tool definitions never reach the prompt",
        " --> m.jinja:1:1",
        " = on transformers",
        "help: print `tools` where the system text stands",
    ]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"place": Place("m/tokenizer_config.json", 1, 310)}, "m/tokenizer_config.json:1:310 (template, line 3)"),
        ({"ref": "m#tool_use", "template": "tool_use"}, 'm.jinja:3:8 (template "tool_use")'),
        (
            {"ref": "m#tool_use", "template": "tool_use", "place": Place("c.json", 1, 310)},
            'c.json:1:310 (template "tool_use", line 3)',
        ),
        ({"place": Place("a\n\x1b[2Jb.jinja", 3, 8)}, "a\\n\\x1b[2Jb.jinja:3:8"),
    ],
)
def test_the_place_is_that_of_the_real_file(changes: dict[str, Any], where: str) -> None:
    assert written(finding(**changes)).splitlines()[1] == f"  --> {where}"


def test_cases_are_grouped_by_the_engines_that_show_them() -> None:
    one = (("a", "transformers"), ("b", "transformers"))
    other = tuple((case, "vllm") for case in "abcdef")
    shown = written(finding(evidence=one + other))
    assert "= cases: a, b (transformers)\n" in shown
    assert "= cases: a, b, c, d and 2 more (vllm)\n" in shown


def test_the_command_to_see_it_can_be_pasted() -> None:
    odd = finding(ref="my models/a.jinja#tool_use", evidence=(("tool-call+wire", "vllm"),))
    setting = Setting(replay=("--bos-token", "<|begin|>"))
    expected = (
        "see it: templatelint render 'my models/a.jinja#tool_use' --case tool-call+wire --engine vllm"
        " --bos-token '<|begin|>'\n"
    )
    assert expected in written(odd, setting=setting)


def source_lines(shown: str) -> tuple[str, str]:
    lines = shown.splitlines()
    return lines[3], lines[4]


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize(
    ("before", "marked", "after"),
    [
        pytest.param("x" * 300, "{{ messages }}", "y" * 300, id="middle"),
        pytest.param("", "{{ messages }}", "y" * 300, id="start"),
        pytest.param("x" * 300, "{{ messages }}", "", id="end"),
        pytest.param("日本" * 99, "{{ messages }}", "日本" * 99, id="wide"),
        pytest.param("\t" * 50, "{{ messages }}", "\t" * 50, id="tabs"),
        pytest.param("x" * 99, "m" * 500, "y" * 99, id="long mark"),
        pytest.param("\x1b" * 99, "{{\u202e}}", "\x9b" * 99, id="hostile"),
    ],
)
def test_a_long_line_is_cut_around_the_caret(before: str, marked: str, after: str, columns: int) -> None:
    long = finding(excerpt=before + marked + after, excerpt_column=len(before) + 1, span=(500, 500 + len(marked)))
    source, caret = source_lines(written(long, setting=Setting(columns=columns)))
    assert width(source) <= columns
    assert width(caret) <= columns
    assert "…" in source
    start = caret.index("^")
    under = "".join(column * width(column) for column in source)[start : start + caret.count("^")]
    if len(marked) < 20:
        assert under in {marked, "{{\\u202e}}"}
    else:
        assert under.startswith("mmm")


@pytest.mark.parametrize(
    ("excerpt", "column", "length", "caret"),
    [
        ("{{ a }}", 4, 1, "  |    ^"),
        ("\t{{ a }}", 5, 1, "  |        ^"),
        ("日{{ a }}", 5, 1, "  |      ^"),
        ("{% if a %}", 1, 60, "  | ^^^^^^^^^^"),
        ("{{ a", 5, 1, "  |     ^"),
    ],
)
def test_the_caret_stands_under_the_construct(excerpt: str, column: int, length: int, caret: str) -> None:
    placed = finding(excerpt=excerpt, excerpt_column=column, span=(90, 90 + length))
    assert source_lines(written(placed))[1] == caret


HOSTILE = "\x1b]0;owned\x07\u202e\u200b\ud800\r\nnext"


@pytest.mark.parametrize(
    "field", ["message", "help", "ref", "name", "template", "excerpt", "related", "path", "engines", "evidence"]
)
@pytest.mark.parametrize("form", ["full", "concise"])
def test_nothing_that_steers_a_terminal_gets_out(form: str, field: str) -> None:
    values: dict[str, Any] = {
        "related": (Related(HOSTILE, Place(HOSTILE, 9, 2), Place(HOSTILE, 9, 7), 9),),
        "engines": (HOSTILE,),
        "evidence": ((HOSTILE, HOSTILE),),
    }
    changes = {"place": Place(HOSTILE, 1, 1)} if field == "path" else {field: values.get(field, HOSTILE)}
    setting = Setting(
        unreadable=(Unreadable(HOSTILE, HOSTILE),), remarks=(Remark(HOSTILE, HOSTILE),), verbose=True, least="note"
    )
    hostile = report(finding(**changes), not_run=(NotRun("TL503", HOSTILE, HOSTILE), NotRun("*", "*", HOSTILE)))
    shown = "".join(reports.write(form, hostile, setting))
    assert not re.search(r"[^\n -~·…]", shown), "only ASCII, newlines and what we write ourselves"
    assert not re.search(r"^next", shown, re.MULTILINE)


@pytest.mark.parametrize(
    ("least", "seen", "hidden"),
    [
        ("error", ["TL101"], "(1 warning, 1 note hidden; --min-severity note shows them)"),
        ("warning", ["TL101", "TL201"], "(1 note hidden; -v shows it)"),
        ("note", ["TL101", "TL201", "TL103"], ""),
    ],
)
@pytest.mark.parametrize("form", ["full", "concise"])
def test_what_is_hidden_is_counted(form: str, least: Any, seen: list[str], hidden: str) -> None:
    mixed = report(
        finding(rule="TL101"), finding(rule="TL201", severity="warning"), finding(rule="TL103", severity="note")
    )
    shown = "".join(reports.write(form, mixed, Setting(least=least)))
    assert re.findall(r"(?:error|warning|note)\[(\w+)\]", shown) == seen
    assert ("hidden" in shown) is bool(hidden)
    assert hidden in shown


@pytest.mark.parametrize("form", ["full", "concise"])
@pytest.mark.parametrize(
    ("setting", "changes", "said"),
    [
        pytest.param(Setting(), {}, "all checks passed: 1 template · engines: transformers 5.24.0\n", id="clean"),
        pytest.param(Setting(quiet=True), {}, "", id="quiet"),
        pytest.param(Setting(quiet=True), {"not_run": ABSENT}, "", id="quiet, engines absent"),
        pytest.param(
            Setting(unreadable=(Unreadable("a", "b"),)),
            {},
            "no findings in 1 template · 1 reference not read · engines: transformers 5.24.0\n",
            id="not all was read",
        ),
        pytest.param(
            Setting(), {"templates": ()}, "no template checked · engines: transformers 5.24.0\n", id="nothing"
        ),
        pytest.param(
            Setting(),
            {"suppressed": (Suppressed(finding(), "baseline", ""),)},
            "all checks passed: 1 template · 1 suppressed · engines: transformers 5.24.0\n",
            id="suppressed",
        ),
        pytest.param(
            Setting(
                remarks=(Remark("a", "BOS <s> assumed (--bos-token)"), Remark("b", "BOS <s> assumed (--bos-token)"))
            ),
            {},
            "all checks passed: 1 template · engines: transformers 5.24.0 · BOS <s> assumed (--bos-token)\n",
            id="remarks once",
        ),
        pytest.param(
            Setting(),
            {"not_run": (NotRun("TL503", "m.jinja", "transformers: raised"), NotRun("TL101", "m.jinja", "x: y"))},
            "no findings in 1 template · engines: transformers 5.24.0 · 2 checks not run (-v lists)\n",
            id="not run",
        ),
        pytest.param(
            Setting(verbose=True),
            {
                "not_run": (
                    NotRun("TL503", "m.jinja", "transformers: raised (tool-call)"),
                    NotRun("TL006", "m.jinja", "transformers: too large"),
                    ABSENT[0],
                    NotRun("TL109", "m.jinja", "transformers: raised (tool-loop, tool-call)"),
                    NotRun("TL109", "n.jinja", "transformers: raised (tool-loop)"),
                    NotRun("TL006", "m.jinja", "vllm: raised (tool-loop)"),
                    NotRun("*", "m.jinja", "vllm: does not load the template"),
                )
            },
            "not run: TL503, TL109 on m.jinja: transformers: raised (tool-call, tool-loop)\n"
            "not run: TL006 on m.jinja: transformers: too large\n"
            "not run: llama.cpp: not modelled yet\n"
            "not run: TL109 on n.jinja: transformers: raised (tool-loop)\n"
            "not run: TL006 on m.jinja: vllm: raised (tool-loop)\n"
            "not run: m.jinja: vllm: does not load the template\n"
            "no findings in 1 template · engines: transformers 5.24.0 · not run: llama.cpp (not modelled yet)"
            " · 6 checks not run\n",
            id="not run, verbose",
        ),
    ],
)
def test_the_last_line(form: str, setting: Setting, changes: dict[str, Any], said: str) -> None:
    assert "".join(reports.write(form, report(**changes), setting)) == said


def test_quiet_leaves_the_findings() -> None:
    assert written(finding(), setting=Setting(quiet=True)).rstrip().endswith("where the system text stands")


@pytest.mark.parametrize("form", ["full", "concise"])
def test_statistics_count_by_rule_and_severity(form: str) -> None:
    mixed = report(
        finding(rule="TL101", name="system-dropped"),
        *[finding(severity="warning")] * 12,
        finding(severity="error"),
        finding(rule="TL103", severity="note"),
    )
    shown = "".join(reports.write(form, mixed, Setting(statistics=True)))
    assert shown.splitlines()[:3] == [
        "12  TL201  warning  tools-ignored",
        " 1  TL101  error    system-dropped",
        " 1  TL201  error    tools-ignored",
    ]
    assert shown.splitlines()[3].startswith("2 errors, 12 warnings (1 note hidden")


@pytest.mark.parametrize("form", ["full", "concise"])
def test_colour_adds_nothing_but_colour(form: str) -> None:
    mixed = report(finding(), whole(severity="warning"), not_run=ABSENT)
    plain = "".join(reports.write(form, mixed, Setting()))
    colored = "".join(reports.write(form, mixed, Setting(paint=Paint(on=True))))
    assert "\x1b[1;31m" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_concise_is_what_editors_parse() -> None:
    odd = whole(severity="warning", place=Place("my models/a.jinja", 12, 1), message="two\nlines")
    shown = "".join(reports.write("concise", report(finding(), odd), Setting(quiet=True)))
    assert shown == (
        "m.jinja:3:8: error[TL201] tool definitions never reach the prompt\n"
        "my models/a.jinja:12:1: warning[TL201] two\\nlines\n"
    )
