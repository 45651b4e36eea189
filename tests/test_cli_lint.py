from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from program import CHATML, DEAF, start
from reports_by_hand import finding, report

from templatelint.model import NotRun, Suppressed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from program import InProcess

    from templatelint.lint import Options
    from templatelint.model import Model


def rules(ran_out: str) -> set[str]:
    return {found["rule"] for found in json.loads(ran_out)["findings"]}


# ----------------------------------------------------------------------------------------- the real pipeline


def test_a_clean_template(folder: Path) -> None:
    del folder
    ran = start("lint", "chat_template.jinja")
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout.startswith(b"all checks passed: 1 template")
    assert b"engines: transformers 5." in ran.stdout
    quiet = start("lint", "-q", "chat_template.jinja")
    assert (quiet.returncode, quiet.stdout, quiet.stderr) == (0, b"", b"")


def test_a_template_with_errors(cli: InProcess, folder: Path) -> None:
    del folder
    ran = cli("lint", "deaf.jinja", "--needs", "tools,system", "--engine", "transformers")
    assert (ran.code, ran.err) == (1, "")
    assert re.search(r"^error\[TL101\] system-dropped: ", ran.out, re.MULTILINE)
    assert re.search(r"^error\[TL201\] tools-ignored: ", ran.out, re.MULTILINE)
    assert re.search(r"^ +--> deaf\.jinja:\d+:\d+$", ran.out, re.MULTILINE)


def test_the_printed_command_shows_the_finding_again(cli: InProcess, folder: Path) -> None:
    del folder
    ran = cli("lint", "deaf.jinja", "--needs", "tools,system")
    commands = re.findall(r"see it: templatelint (render .*)", ran.out)
    assert commands
    for command in commands:
        shown = cli(*command.split())
        assert (shown.code, "<|im_start|>" in shown.out) == (0, True)


def test_a_template_that_does_not_load_points_at_the_place(cli: InProcess, folder: Path) -> None:
    del folder
    ran = cli("lint", "broken.jinja", "--output-format", "concise", "-q")
    assert ran.code == 1
    assert re.fullmatch(r"broken\.jinja:1:\d+: error\[TL001\] .*\n", ran.out)


def test_places_are_those_of_the_json_file(cli: InProcess, folder: Path) -> None:
    (folder / "m").mkdir()
    content = json.dumps({"eos_token": "<|im_end|>", "chat_template": DEAF}, indent=2)
    (folder / "m" / "tokenizer_config.json").write_text(content)
    ran = cli("lint", "m/tokenizer_config.json", "--needs", "system", "--select", "TL101")
    places = [tuple(map(int, place)) for place in re.findall(r"tokenizer_config\.json:(\d+):(\d+)", ran.out)]
    assert places
    assert all(line == 3 and column > len('  "chat_template": "') for line, column in places)


def test_from_stdin(folder: Path) -> None:
    del folder
    ran = start("lint", "-", "--output-format", "json", stdin=DEAF.encode())
    body = json.loads(ran.stdout)
    assert {found["ref"] for found in body["findings"]} == {"-"}
    named = start("lint", "-", "--stdin-filename", "x/chat_template.jinja", "--output-format=json", stdin=DEAF.encode())
    assert {found["path"] for found in json.loads(named.stdout)["findings"]} == {"x/chat_template.jinja"}


def test_selection(cli: InProcess, folder: Path) -> None:
    (folder / "templatelint.toml").write_text('needs = ["tools", "system"]\nselect = ["TL1"]\nignore = ["TL101"]')
    every = cli("lint", "deaf.jinja", "--isolated", "--needs", "tools,system", "--output-format", "json")
    assert {"TL101", "TL201"} <= rules(every.out)

    def selected(*flags: str) -> set[str]:
        return rules(cli("lint", "deaf.jinja", "--output-format", "json", *flags).out) & {"TL101", "TL201"}

    assert selected() == set()
    assert selected("--extend-select", "tools-ignored") == {"TL201"}
    assert selected("--extend-select", "TL101") == {"TL101"}
    assert selected("--extend-select", "TL101", "--ignore", "system-dropped") == set()
    assert selected("--select", "TL1,TL2") == {"TL101", "TL201"}
    assert selected("--select", "TL1", "--select", "TL2", "--ignore", "TL2") == {"TL101"}


@pytest.fixture
def no_minijinja(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("templatelint.renderers.minijinja.missing", lambda: "minijinja is not installed")


@pytest.mark.usefixtures("folder", "no_minijinja")
def test_an_engine_that_cannot_run_here_gives_no_answer_when_named(cli: InProcess) -> None:
    ran = cli("lint", "chat_template.jinja", "--engine", "mistral.rs")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: engine mistral.rs cannot be used here: minijinja is not installed\n")
    assert "pip install" in ran.err


@pytest.mark.usefixtures("folder", "no_minijinja")
def test_all_engines_are_those_that_run_here(cli: InProcess) -> None:
    body = json.loads(cli("lint", "chat_template.jinja", "--engine", "all", "--output-format", "json").out)
    ready = [
        row["name"] for row in json.loads(cli("engines", "--output-format", "json").out)["engines"] if row["available"]
    ]
    assert [engine["name"] for engine in body["engines"]] == ready
    assert "mistral.rs" not in ready
    assert {"rule": "*", "ref": "*", "why": "mistral.rs: minijinja is not installed"} in body["not_run"]
    assert body["exit_code"] in {0, 1}


# ------------------------------------------------------------------------------- flags, with a pipeline by hand


class Pipeline:
    """Stands in for `lint`: notes what it was asked, and answers with a report made by hand."""

    def __init__(self) -> None:
        self.answer = report()
        self.models: list[str] = []
        self.options: Options | None = None

    def __call__(self, models: Sequence[Model], options: Options, progress: object = None) -> Any:
        assert progress is None  # stderr is no terminal here
        self.models = [model.ref for model in models]
        self.options = options
        return self.answer


@pytest.fixture
def pipeline(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Pipeline:
    del folder
    made = Pipeline()
    monkeypatch.setattr("templatelint.lint.lint", made)
    return made


@pytest.mark.parametrize(
    ("severities", "flags", "code"),
    [
        ("", "", 0),
        ("error", "", 1),
        ("warning note", "", 0),
        ("warning", "--fail-on warning", 1),
        ("note", "--fail-on warning", 0),
        ("note", "--fail-on note", 1),
        ("error", "--exit-zero", 0),
        ("error", "--min-severity error", 1),
        ("warning", "--min-severity error --fail-on warning", 1),
        ("error", "--statistics", 1),
    ],
)
def test_the_exit_code(cli: InProcess, pipeline: Pipeline, severities: str, flags: str, code: int) -> None:
    pipeline.answer = report(*[finding(severity=severity) for severity in severities.split()])
    for form in ("full", "concise", "json", "jsonl"):
        ran = cli("lint", "chat_template.jinja", *flags.split(), "--output-format", form)
        assert ran.code == code
        if form == "json":
            assert json.loads(ran.out)["exit_code"] == code


def test_suppressed_findings_do_not_count(cli: InProcess, pipeline: Pipeline) -> None:
    pipeline.answer = report(suppressed=(Suppressed(finding(), "baseline", ""),))
    assert cli("lint", "chat_template.jinja").code == 0


def test_a_rule_that_crashed_is_no_answer(cli: InProcess, pipeline: Pipeline) -> None:
    pipeline.answer = report(not_run=(NotRun("TL101", "chat_template.jinja", "vllm: the rule crashed: it did", True),))
    ran = cli("lint", "chat_template.jinja", "--exit-zero")
    assert ran.code == 2
    assert ran.err.startswith("error: chat_template.jinja: not judged by TL101: vllm: the rule crashed: it did\n")


def test_a_template_that_no_engine_in_question_reads_is_no_answer(cli: InProcess, folder: Path) -> None:
    (folder / "config.json").write_text('{"model_type": "gpt_oss"}', "utf-8")
    ran = cli("lint", str(folder), "--engine", "vllm")
    assert ran.code == 2
    assert "not judged: vllm: vLLM writes the prompts of this model with openai_harmony" in ran.err
    assert cli("lint", str(folder), "--engine", "vllm,sglang").code == 0


@pytest.mark.parametrize("flags", [[], ["--exit-zero"]])
@pytest.mark.parametrize("severity", ["error", "note"])
def test_an_unreadable_reference_outweighs_findings(
    cli: InProcess, pipeline: Pipeline, severity: str, flags: list[str]
) -> None:
    pipeline.answer = report(finding(severity=severity))
    ran = cli("lint", "gone.jinja", "chat_template.jinja", "--output-format", "json", *flags)
    assert ran.code == 2
    assert ran.err.startswith("error: no such file: gone.jinja\n")
    assert pipeline.models == ["chat_template.jinja"]
    body = json.loads(ran.out)
    assert (body["exit_code"], [row["ref"] for row in body["unreadable"]]) == (2, ["gone.jinja"])


def test_when_nothing_can_be_read_the_errors_are_all(cli: InProcess, pipeline: Pipeline) -> None:
    pipeline.answer = report(templates=())
    ran = cli("lint", "gone.jinja", "also-gone.jinja")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.count("error: ") == 2


@pytest.mark.parametrize(
    "again", [["chat_template.jinja"], ["./chat_template.jinja"], ["link.jinja"], ["chat_template.jinja", "deaf.jinja"]]
)
def test_a_reference_is_judged_once(cli: InProcess, pipeline: Pipeline, again: list[str]) -> None:
    Path("link.jinja").symlink_to("chat_template.jinja")
    cli("lint", "chat_template.jinja", *again)
    assert pipeline.models == ["chat_template.jinja", *again[1:]]


def test_named_templates_of_one_file_are_two_references(cli: InProcess, pipeline: Pipeline) -> None:
    named = [{"name": name, "template": CHATML} for name in ("default", "tool_use")]
    Path("m").mkdir()
    Path("m/tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    cli("lint", "m#default", "m#tool_use", "m/#tool_use", "m")
    assert pipeline.models == ["m", "m", "m"]


@pytest.mark.parametrize(
    ("settings", "flags", "expected"),
    [
        ("", "", {"engines": (), "needs": None, "select": (), "ignore": (), "jobs": 0}),
        (
            'engine = ["transformers"]\nneeds = ["chat"]\njobs = 3',
            "",
            {"engines": ("transformers",), "needs": ("chat",), "jobs": 3},
        ),
        (
            'needs = ["chat"]\njobs = 3',
            "--needs tools,agent --needs system --jobs 2",
            {"needs": ("tools", "agent", "system"), "jobs": 2},
        ),
        ("", "--engine transformers,transformers --engine transformers", {"engines": ("transformers",)}),
        ('engine = ["all"]', "--engine transformers", {"engines": ("transformers",)}),
    ],
)
def test_flags_win_over_settings(
    cli: InProcess, pipeline: Pipeline, settings: str, flags: str, expected: dict[str, Any]
) -> None:
    Path("templatelint.toml").write_text(settings)
    assert cli("lint", "chat_template.jinja", *flags.split()).code == 0
    assert {name: getattr(pipeline.options, name) for name in expected} == expected


@pytest.mark.parametrize(
    ("settings", "flags", "expected"),
    [
        ('fail-on = "warning"', "", (1, "warning[TL201]")),
        ('fail-on = "warning"', "--fail-on error", (0, "warning[TL201]")),
        ('output-format = "concise"', "", (0, "m.jinja:3:8:")),
        ('output-format = "concise"', "--output-format full", (0, "warning[TL201]")),
        ('output-format = "concise"', "--isolated", (0, "warning[TL201]")),
    ],
)
def test_settings_for_the_result(
    cli: InProcess, pipeline: Pipeline, settings: str, flags: str, expected: tuple[int, str]
) -> None:
    Path("templatelint.toml").write_text(settings)
    pipeline.answer = report(finding(severity="warning"))
    ran = cli("lint", "chat_template.jinja", *flags.split())
    assert (ran.code, ran.out.split()[0]) == expected


@pytest.mark.parametrize(
    ("settings", "flags", "shown"),
    [
        ("", "", ["error", "warning"]),
        ("", "-v", ["error", "warning", "note"]),
        ("", "--min-severity note", ["error", "warning", "note"]),
        ("", "--min-severity error", ["error"]),
        ("", "--min-severity error -v", ["error"]),
        ("", "--fail-on note", ["error", "warning", "note"]),
        ('min-severity = "note"', "", ["error", "warning", "note"]),
        ('min-severity = "note"', "--min-severity error", ["error"]),
        ('fail-on = "note"', "", ["error", "warning", "note"]),
    ],
)
def test_what_people_are_shown(cli: InProcess, pipeline: Pipeline, settings: str, flags: str, shown: list[str]) -> None:
    Path("templatelint.toml").write_text(settings)
    severities = ("error", "warning", "note")
    pipeline.answer = report(*[finding(severity=severity) for severity in severities])
    ran = cli("lint", "chat_template.jinja", *flags.split())
    assert re.findall(r"^(\w+)\[TL201\]", ran.out, re.MULTILINE) == shown
    body = json.loads(cli("lint", "chat_template.jinja", *flags.split(), "--output-format", "json").out)
    assert body["summary"] == dict.fromkeys(severities, 1)


def test_settings_exclude_files(cli: InProcess, pipeline: Pipeline) -> None:
    Path("templatelint.toml").write_text('exclude = ["deaf*", "vendor"]')
    Path("vendor").mkdir()
    Path("vendor/a.jinja").write_text(CHATML)
    cli("lint", "chat_template.jinja", "deaf.jinja", "vendor/a.jinja")
    assert pipeline.models == ["chat_template.jinja"]
    ran = cli("lint", "deaf.jinja")
    assert ran.code == 0
    assert re.fullmatch(r"note: nothing to judge: .*templatelint\.toml excludes every reference\n", ran.err)
    assert start("lint", "-", "--stdin-filename", "vendor/b.jinja", "-q", stdin=b"{% broken").returncode == 0


def test_assumed_tokens_are_part_of_the_result(cli: InProcess, pipeline: Pipeline) -> None:
    del pipeline
    Path("b.jinja").write_text("{{ bos_token }}")
    ran = cli("lint", "b.jinja", "chat_template.jinja")
    assert ran.out.endswith(" · BOS <s> assumed (--bos-token)\n")
    body = json.loads(cli("lint", "b.jinja", "--output-format", "json").out)
    assert body["remarks"] == [{"ref": "b.jinja", "message": "BOS <s> assumed (--bos-token)"}]
    assert "assumed" not in cli("lint", "b.jinja", "--bos-token", "[B]").out


def test_the_command_to_see_a_finding_repeats_the_tokens(cli: InProcess, pipeline: Pipeline) -> None:
    pipeline.answer = report(finding())
    ran = cli("lint", "chat_template.jinja", "--eos-token", "<|e nd|>")
    assert (
        "see it: templatelint render m.jinja --case tools-offer --engine transformers --eos-token '<|e nd|>'\n"
        in ran.out
    )


# ------------------------------------------------------------------------------------------ what is accepted

_IGNORED = "{#- templatelint: ignore[TL101, TL201] our gateway -#}\n{%- for" + DEAF.removeprefix("{% for")
_ACCEPTING = "[per-file-ignores]\n'deaf*' = { rules = ['TL101', 'TL201'], reason = 'our gateway' }"
_BREAKING = ("lint", "deaf.jinja", "--needs", "tools,system", "--engine", "transformers")


@pytest.mark.parametrize(
    ("template", "settings", "kind"), [(_IGNORED, "", "comment"), (DEAF, _ACCEPTING, "per-file"), (DEAF, "", "")]
)
def test_findings_that_are_accepted_are_counted_and_decide_nothing(
    cli: InProcess, folder: Path, template: str, settings: str, kind: str
) -> None:
    (folder / "deaf.jinja").write_text(template)
    (folder / "templatelint.toml").write_text(settings)
    ran = cli(*_BREAKING)
    assert (ran.code, " · 2 suppressed" in ran.out) == ((0, True) if kind else (1, False))
    body = json.loads(cli(*_BREAKING, "--output-format", "json").out)
    told = [(row["rule"], row["suppression"]["kind"], row["suppression"]["reason"]) for row in body["suppressed"]]
    assert sorted(told) == ([(rule, kind, "our gateway") for rule in ("TL101", "TL201")] if kind else [])
    assert body["summary"]["error"] == (0 if kind else 2)


@pytest.mark.parametrize(
    ("flags", "code"),
    [
        ("", 0),
        ("--fail-on warning", 1),
        ("--fail-on warning --exit-zero", 0),
        ("--fail-on warning --ignore TL010", 0),
        ("--fail-on warning --ignore TL101", 0),
        ("--fail-on warning --select TL010,TL001,TL101,TL102,TL113", 1),
        # on one engine of four, nothing can be said of what it is for
        ("--fail-on warning --engine vllm", 0),
    ],
)
def test_a_suppression_without_need_is_a_finding_as_others(cli: InProcess, folder: Path, flags: str, code: int) -> None:
    unneeded = "{#- templatelint: ignore[TL101] our gateway -#}\n" + CHATML
    (folder / "chat_template.jinja").write_text(unneeded)
    assert cli("lint", "chat_template.jinja", *flags.split()).code == code


def test_json_files_are_not_believed(cli: InProcess, folder: Path) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": _IGNORED}))
    flags = ("--engine", "transformers", "--needs", "tools,system", "--output-format", "json")
    body = json.loads(cli("lint", "tokenizer_config.json", *flags).out)
    assert body["suppressed"] == []
    assert {("TL101", "error"), ("TL011", "note")} <= {(row["rule"], row["severity"]) for row in body["findings"]}
