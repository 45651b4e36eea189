from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from templatelint import cards, config
from templatelint.errors import TemplatelintError
from templatelint.overrides import Override
from templatelint.suppress.per_file import PerFileIgnore

FULL = """
engine = ["transformers"]
needs = ["tools", "system"]
select = ["TL2", "system-dropped"]
extend-select = ["TL103"]
ignore = ["TL207"]
min-severity = "note"
fail-on = "warning"
jobs = 2
output-format = "concise"
exclude = ["third_party"]
bos-token = "<|begin|>"
eos-token = "<|end|>"
baseline = "ci/accepted.json"

[per-file-ignores]
"legacy/*.jinja" = { rules = ["TL201", "tools-ignored"], reason = "no tools there" }
"vendor" = [{ rules = ["TL8"], reason = "read by hand" }, { rules = ["TL004"], reason = "one engine" }]

[[override]]
file = "ops/qwen.jinja"
model = "models/qwen"
engines = ["vllm", "llama.cpp"]
needs = ["tools"]

[[override]]
file = "ops/*.jinja"
model = "owner/name"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_key(folder: Path) -> None:
    (folder / "templatelint.toml").write_text(FULL)
    assert config.find(folder) == config.Config(
        path=folder / "templatelint.toml",
        engine=("transformers",),
        needs=("tools", "system"),
        select=("TL2", "system-dropped"),
        extend_select=("TL103",),
        ignore=("TL207",),
        min_severity="note",
        fail_on="warning",
        jobs=2,
        output_format="concise",
        exclude=("third_party",),
        bos_token="<|begin|>",  # noqa: S106 (a token of a vocabulary)
        eos_token="<|end|>",  # noqa: S106 (the same)
        baseline="ci/accepted.json",
        per_file_ignores=(
            _ignore(folder, "legacy/*.jinja", "no tools there", ("TL201", "tools-ignored")),
            _ignore(folder, "vendor", "read by hand", ("TL8",)),
            _ignore(folder, "vendor", "one engine", ("TL004",)),
        ),
        override=(
            Override("ops/qwen.jinja", "models/qwen", ("vllm", "llama.cpp"), ("tools",), "templatelint.toml", folder),
            Override("ops/*.jinja", "owner/name", None, None, "templatelint.toml", folder),
        ),
    )


def _ignore(folder: Path, pattern: str, reason: str, words: tuple[str, ...]) -> PerFileIgnore:
    rules = tuple((word, cards.select(word)) for word in words)
    return PerFileIgnore(pattern, rules, reason, "templatelint.toml", folder, FULL)


def test_a_baseline_is_seen_from_the_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "templatelint.toml").write_text('baseline = "ci/b.json"')
    assert config.find(folder).baseline_path == str(Path("ci", "b.json"))
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    assert config.find(folder / "below").baseline_path == str(folder / "ci" / "b.json")
    assert config.Config().baseline_path is None


_IGNORES = 'per-file-ignores of "a"'
_WANTED = "{ rules = ['TL201'], reason = 'r' }"


@pytest.mark.parametrize(
    ("text", "message", "cure"),
    [
        ("per-file-ignores = []", '"per-file-ignores" is a list, not a table', "write [per-file-ignores] and"),
        ('per-file-ignores.a = ["TL201"]', f"{_IGNORES} is a string, not a table", "write [per-file-ignores] and"),
        ("per-file-ignores.a = []", f"{_IGNORES} is a list, not a table", "write [per-file-ignores] and"),
        ("per-file-ignores.a.rules = ['TL201']", f'{_IGNORES} has no "reason"', ""),
        ("per-file-ignores.a = { rules = ['TL201'], reason = ' ' }", f'{_IGNORES} has no "reason"', ""),
        ("per-file-ignores.a = { rules = ['TL201'], reason = ' -… ' }", f'{_IGNORES}: "reason" says nothing', ""),
        ("per-file-ignores.a = { rules = [], reason = 'r' }", f'{_IGNORES} has no "rules"', ""),
        ("per-file-ignores.a = { rules = 'TL201', reason = 'r' }", '"rules" is a string, not a list of strings', ""),
        ("per-file-ignores.a = { rules = ['TL20l'], reason = 'r' }", 'unknown rule "TL20l"', "did you mean TL201?"),
        ("per-file-ignores.a = { rule = ['TL201'] }", f'{_IGNORES}: unknown key "rule"', "did you mean rules?"),
        (f"per-file-ignores.a = [{_WANTED}, 1]", f"{_IGNORES} is a whole number, not a table", ""),
        ("[override]\nfile = 'a'", '"override" is a table, not a list of tables', "write [[override]] with file"),
        ("override = [1]", '"override" is a list with something else than tables, not a list of tables', ""),
        ("[[override]]\nfile = 'a'", 'override 1 has no "model"', ""),
        ("[[override]]\nfile = ''\nmodel = 'm'", 'override 1 has no "file"', ""),
        ("[[override]]\nfile = 'a'\nmodel = 1", '"model" is a whole number, not a path', ""),
        (
            "[[override]]\nfile = 'a'\nmodel = 'm'\n[[override]]\nfiles = 'a'",
            'override 2: unknown key "files"',
            "did you mean file?",
        ),
        (
            "[[override]]\nfile = 'a'\nmodel = 'm'\nengines = ['vlm']",
            '"engines": unknown engine "vlm"',
            "did you mean vllm?",
        ),
        (
            "[[override]]\nfile = 'a'\nmodel = 'm'\nneeds = ['tool']",
            '"needs": unknown need "tool"',
            "did you mean tools",
        ),
        ('baseline = ""', '"baseline" is a string, not a path', ""),
        ("baseline = []", '"baseline" is a list, not a path', ""),
    ],
)
def test_what_is_wrong_in_a_table_is_named_with_it(folder: Path, text: str, message: str, cure: str) -> None:
    (folder / "templatelint.toml").write_text(text)
    with pytest.raises(TemplatelintError) as caught:
        config.find(folder)
    assert caught.value.message.startswith(f"templatelint.toml: {message}")
    assert (caught.value.help or "").startswith(cure)


def test_the_example_fits_the_file(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.templatelint]\nper-file-ignores = 1\n")
    with pytest.raises(TemplatelintError) as caught:
        config.find(folder)
    assert (caught.value.help or "").startswith("write [tool.templatelint.per-file-ignores] and ")


def test_no_file_is_an_empty_config(folder: Path) -> None:
    assert config.find(folder) == config.Config()


@pytest.mark.parametrize(
    ("files", "jobs"),
    [
        pytest.param({"pyproject.toml": "[tool.templatelint]\njobs = 1"}, 1, id="shared file"),
        pytest.param({"templatelint.toml": "jobs = 1", "a/templatelint.toml": "jobs = 2"}, 2, id="the nearest"),
        pytest.param(
            {"templatelint.toml": "jobs = 1", "pyproject.toml": "[tool.templatelint]\njobs = 2"}, 1, id="own file first"
        ),
        pytest.param(
            {"templatelint.toml": "jobs = 1", "a/pyproject.toml": "[tool.ruff]"}, 1, id="a project that does not set it"
        ),
        pytest.param(
            {"templatelint.toml": "jobs = 1", "a/pyproject.toml": 'dependencies = ["templatelint"]'},
            1,
            id="a project that only mentions it",
        ),
        pytest.param(
            {"templatelint.toml": "jobs = 1", "a/pyproject.toml": "not = [toml"}, 1, id="a broken file of others"
        ),
        pytest.param({"templatelint.toml": "jobs = 1", "a/pyproject.toml": "[tool.templatelint]"}, None, id="empty"),
    ],
)
def test_which_file_counts(folder: Path, files: dict[str, str], jobs: int | None) -> None:
    below = folder / "a" / "b"
    below.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    assert config.find(below).jobs == jobs


@pytest.mark.parametrize(
    ("text", "message", "cure"),
    [
        ("selct = []", 'unknown key "selct"', "did you mean select?"),
        (
            "[[tool.templatelint.override]]",
            'unknown key "tool"',
            "leave out tool.templatelint: that prefix is for pyproject",
        ),
        ("fail_on = 'error'", 'unknown key "fail_on"', "did you mean fail-on?"),
        ('needs = ["tool"]', '"needs": unknown need "tool"', "did you mean tools?"),
        ('fail-on = "eror"', '"fail-on": unknown severity "eror"', "did you mean error?"),
        ('output-format = "jsno"', '"output-format": unknown output format "jsno"', "did you mean json?"),
        ('ignore = ["tools-ignord"]', 'unknown rule "tools-ignord"', "did you mean tools-ignored?"),
        ('select = "TL2"', '"select" is a string, not a list of strings', 'write select = ["TL2"]'),
        ("needs = [1]", '"needs" is a list with something else than strings, not a list of strings', ""),
        ('jobs = "2"', '"jobs" is a string, not a whole number above 0', ""),
        ("jobs = 0", '"jobs" is 0, not a whole number above 0', ""),
        ("jobs = true", '"jobs" is a boolean, not a whole number above 0', ""),
        ("bos-token = {}", '"bos-token" is a table, not a string', ""),
        ("fail-on = 1979-05-27", '"fail-on" is a date or time, not a string', ""),
        ("jobs = ", "not TOML: invalid value (at end of document)", ""),
    ],
)
def test_what_is_wrong_is_named_with_the_file(folder: Path, text: str, message: str, cure: str) -> None:
    (folder / "templatelint.toml").write_text(text)
    with pytest.raises(TemplatelintError) as caught:
        config.find(folder)
    assert caught.value.message == f"templatelint.toml: {message}"
    assert (caught.value.help or "").startswith(cure)


def test_an_unknown_engine_names_the_nearest(folder: Path) -> None:
    (folder / "templatelint.toml").write_text('engine = ["transfomers"]')
    with pytest.raises(TemplatelintError, match='"engine": unknown engine "transfomers"') as caught:
        config.find(folder)
    assert (caught.value.help or "").startswith("did you mean transformers?")


def test_a_file_elsewhere_is_named_in_full(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "pyproject.toml").write_text("[tool.templatelint]\nselct = []")
    below = folder / "a"
    below.mkdir()
    monkeypatch.chdir(below)
    with pytest.raises(TemplatelintError) as caught:
        config.find(below)
    assert caught.value.message == f'{folder / "pyproject.toml"}: unknown key "selct"'


@pytest.mark.parametrize("table", ["tool = 1", "[tool]\ntemplatelint = 1"])
def test_a_table_that_is_none(folder: Path, table: str) -> None:
    path = folder / "pyproject.toml"
    path.write_text(table)
    with pytest.raises(
        TemplatelintError, match=r"tool\.templatelint is a whole number|no table \[tool\.templatelint\]"
    ):
        config.load(path)


def test_a_named_file_of_any_name(folder: Path) -> None:
    path = folder / "strict.toml"
    path.write_text("jobs = 3")
    assert config.load(path).jobs == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, ": cannot be read: no such file or directory"),
        (b"a = 1\r\nb = '\xff'", " is not UTF-8: byte 0xff at offset 12 (line 2)"),
        ("a = 1".encode("utf-16"), " is UTF-16 text, TOML is UTF-8"),
        (b"jobs = " + b"9" * 10_000, ": holds a number of more than 4,300 digits"),
        (b"jobs = " + b"[" * 100_000, ": nested too deeply"),
    ],
)
def test_a_named_file_that_cannot_be_read(folder: Path, content: bytes | None, message: str) -> None:
    path = folder / "strict.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(TemplatelintError) as caught:
        config.load(path)
    assert caught.value.message == f"strict.toml{message}"


@pytest.mark.parametrize(
    ("pattern", "path", "excluded"),
    [
        ("third_party", "third_party/x/chat_template.jinja", True),
        ("third_party/", "third_party/chat_template.jinja", True),
        ("vendor/*/old.jinja", "vendor/a/old.jinja", True),
        ("*.j2", "deep/down/a.j2", True),
        ("third_party", "third_party_too/a.jinja", False),
        ("third_party", "a.jinja", False),
        ("./third_party/*", "third_party/a.jinja", True),
        ("third_party/**/a.jinja", "third_party/a.jinja", True),
        ("*", "../elsewhere/a.jinja", False),
    ],
)
def test_excludes_go_by_path_from_the_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, path: str, excluded: bool
) -> None:
    project = folder / "project"
    (project / "sub").mkdir(parents=True)
    (project / "templatelint.toml").write_text(f'exclude = ["{pattern}"]')
    monkeypatch.chdir(project)
    found = config.find(project)
    assert found.excludes(path) is excluded
    assert found.excludes(project / path) is excluded
    monkeypatch.chdir(project / "sub")
    assert found.excludes(f"../{path}") is excluded


def test_nothing_is_excluded_without_a_file() -> None:
    assert not config.Config(exclude=("*",)).excludes("a.jinja")


def test_a_project_without_settings_costs_no_parser(folder: Path) -> None:
    (folder / "pyproject.toml").write_text("[tool.ruff]\nline-length = 110\n")
    code = "import sys, pathlib; from templatelint import config; config.find(pathlib.Path.cwd())"
    check = "; sys.exit('tomllib' in sys.modules)"
    root = Path(config.__file__).parents[1]
    ran = subprocess.run([sys.executable, "-c", code + check], check=False, env={**os.environ, "PYTHONPATH": str(root)})
    assert ran.returncode == 0
