"""What users type, pipe in and have lying about that is odd, empty, huge, half or gone."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gguf_bytes import header, text, u32
from program import CHATML, DEAF, start

from templatelint import config

if TYPE_CHECKING:
    from collections.abc import Callable

    from program import InProcess

LONG = "x" * 10_000
DIGITS = "9" * 10_000
HALF = "{{ messages[-1].content }}\\ud83d"  # as JSON writes it


# ------------------------------------------------------------------------------------------ files of a GGUF


def _shard(number: int) -> bytes:
    template = [("tokenizer.chat_template", text(CHATML))] if number == 0 else []
    return header([("general.architecture", text("llama")), ("split.no", u32(number)), *template])


def test_later_shards_are_left_out_where_the_first_is_named(cli: InProcess, folder: Path) -> None:
    names = [f"m-0000{number + 1}-of-00003.gguf" for number in range(3)]
    for number, name in enumerate(names):
        (folder / name).write_bytes(_shard(number))
    ran = cli("lint", *names, "--engine", "transformers")
    assert ran.code == 0
    assert ran.out.count("later shards of a split left out: the first one has its template") == 1
    ran = cli("lint", *names[1:], "--engine", "transformers")
    assert (ran.code, ran.err.count("carries no template")) == (2, 2)


def test_an_empty_template_is_one_finding(cli: InProcess, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "empty.jinja").write_bytes(b"\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    for ref, path in (("empty.jinja", "empty.jinja"), ("empty.jinja#default", "empty.jinja"), ("-", "<stdin>")):
        ran = cli("lint", ref, "--output-format", "concise", "-q")
        assert (ran.code, ran.out) == (1, f"{path}:1:1: error[TL601] the default template is empty\n")


def test_concise_lines_name_a_named_template(cli: InProcess, folder: Path) -> None:
    templates = [{"name": "default", "template": CHATML}, {"name": "tool_use", "template": "{{ messages"}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": templates}), encoding="utf-8")
    ran = cli(
        "lint", "tokenizer_config.json", "--select", "TL001", "--output-format", "concise", "-q", "--engine", "vllm"
    )
    assert re.fullmatch(r"tokenizer_config.json:1:\d+: \w+\[TL001\] #tool_use: .*\n", ran.out)


# ----------------------------------------------------------------------------------- files for the result


@pytest.mark.parametrize(
    "words",
    [
        ("lint", "chat_template.jinja", "-o", "./chat_template.jinja"),
        ("lint", "tokenizer_config.json", "-o", "tokenizer_config.json"),
        ("lint", "deaf.jinja", "chat_template.jinja#default", "-o", "chat_template.jinja"),
        ("lint", ".", "-o", "chat_template.jinja"),
        ("lint", "chat_template.jinja", "-o", "link"),
        ("render", "chat_template.jinja", "-o", "chat_template.jinja"),
        ("inspect", "chat_template.jinja", "-o", "chat_template.jinja"),
        ("diff", "chat_template.jinja", "deaf.jinja", "-o", "deaf.jinja"),
        ("extract", "tokenizer_config.json", "-o", "tokenizer_config.json"),
    ],
    ids=" ".join,
)
def test_what_is_read_is_not_written_over(cli: InProcess, folder: Path, words: tuple[str, ...]) -> None:
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": CHATML}), encoding="utf-8")
    (folder / "link").symlink_to("chat_template.jinja")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    ran = cli(*words)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: {Path(words[-1])} is read: the result would take its place\nhelp: give -o another file\n"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_commands_that_are_told_name_a_file_that_begins_with_a_dash(cli: InProcess, folder: Path) -> None:
    (folder / "-n.jinja").write_text(DEAF, encoding="utf-8")
    words = ("--engine", "transformers", "--select", "TL201")
    ran = cli("lint", *words, "--", "-n.jinja")
    assert "templatelint render ./-n.jinja --case" in ran.out
    assert "./-n.jinja:" not in ran.out
    deaf = cli("diff", "--engine", "transformers", "chat_template.jinja", "./-n.jinja", "-v")
    assert "render ./-n.jinja" in deaf.out


def test_a_dash_for_the_result_is_stdout(cli: InProcess, folder: Path) -> None:
    assert cli("extract", "chat_template.jinja", "-o", "-").out == CHATML
    assert not (folder / "-").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--ignore", "TL"), "no rule is left"),
        (("--select", "TL201", "--ignore", "tools-ignored"), "no rule is left"),
        (("-o", "./base.json", "--write-baseline", "base.json"), "-o and the baseline are one file: base.json"),
    ],
)
def test_runs_that_could_tell_nothing(cli: InProcess, folder: Path, words: tuple[str, ...], told: str) -> None:
    ran = cli("lint", "deaf.jinja", *words)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert not (folder / "base.json").exists()


@pytest.mark.usefixtures("folder")
def test_checks_have_not_passed_where_what_is_hidden_fails(cli: InProcess) -> None:
    rules = ("--select", "TL201", "--engine", "transformers")
    ran = cli("lint", "deaf.jinja", *rules, "--min-severity", "error", "--fail-on", "warning")
    assert (ran.code, ran.out.partition(" (")[0]) == (1, "nothing shown of 1 template")
    ran = cli("lint", "deaf.jinja", *rules, "--min-severity", "error")
    assert (ran.code, ran.out.partition(" (")[0]) == (0, "all checks passed: 1 template")


# --------------------------------------------------------------------------------------------- settings


def loop(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes and links like these")
@pytest.mark.parametrize("name", [config.OWN_FILE, config.SHARED_FILE])
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (Path.mkdir, " is a directory, not a file"),
        (os.mkfifo, " is a pipe, not a file"),
        (loop, ": too many levels of symbolic links"),
        (lambda path: path.symlink_to("gone"), " is a symbolic link to gone, which does not exist"),
    ],
    ids=["folder", "pipe", "loop", "dangling"],
)
def test_settings_that_are_there_and_cannot_be_read(
    cli: InProcess, folder: Path, name: str, make: Callable[[Path], object], told: str
) -> None:
    make(folder / name)
    ran = cli("lint", "chat_template.jinja")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"error: {name}{told}\nhelp: --isolated reads no settings file\n"
    assert cli("lint", "chat_template.jinja", "--isolated").code == 0


@pytest.mark.skipif(sys.platform == "win32", reason="a working directory cannot be deleted there")
def test_a_working_directory_that_is_gone(cli: InProcess, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = folder / "gone"
    gone.mkdir()
    settings = folder / config.OWN_FILE
    settings.write_text('exclude = ["deaf.jinja"]', encoding="utf-8")
    monkeypatch.chdir(gone)
    gone.rmdir()
    template = str(folder / "chat_template.jinja")
    for command in (["lint", template], ["render", template], ["extract", template], ["rule", "TL201"]):
        assert cli(*command, "--output-format", "json", "-o", str(folder / "out")).code == 0
        assert cli(*command, "--config", str(settings)).code == 0
    ran = cli("lint", "chat_template.jinja", ".", "--config", str(settings))
    assert ran.code == 2
    assert "error: no such file: chat_template.jinja\nhelp: the working directory is gone: give absolute" in ran.err
    assert cli("rule", "TL201", "-o", "out").err == "error: out: cannot be written: no such file or directory\n"


# ------------------------------------------------------------------------------------------ empty and long


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["lint", "deaf.jinja", "--select", ""], "error: --select: a word is empty"),
        (["lint", "deaf.jinja", "--select", "TL2,"], "error: --select: a word is empty"),
        (["lint", "deaf.jinja", "--extend-select", " "], "error: --extend-select: a word is empty"),
        (["lint", "deaf.jinja", "--ignore", ""], "error: --ignore: a word is empty"),
        (["lint", "deaf.jinja", "--needs", ""], 'error: unknown need ""'),
        (["lint", "deaf.jinja", "--engine", ""], 'error: unknown engine ""'),
        (["lint", "deaf.jinja", "--select", "TL9999"], 'error: unknown rule "TL9999"'),
        (["lint", "deaf.jinja", "--ignore", "zzz"], 'error: unknown rule "zzz"'),
        (["rule", ""], 'error: unknown rule ""'),
        (["cases", ""], 'error: unknown case ""'),
        (["lint", "#x"], 'error: no file or folder before "#x"'),
        (["lint", "#"], 'error: no file or folder before "#"'),
        (["lint", "-#a", "-"], "error: stdin is asked for twice"),
        (["render", "-#a", "--messages", "-"], "error: stdin is asked for twice"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_an_empty_or_unknown_word_is_told_with_help(cli: InProcess, arguments: list[str], told: str) -> None:
    ran = cli(*arguments)
    first, cure, *rest = ran.err.splitlines()
    assert (ran.code, ran.out, first, rest) == (2, "", told, [])
    assert cure.startswith("help: ")


@pytest.mark.parametrize(
    "arguments",
    [
        [LONG],
        ["--" + LONG],
        ["lint", "deaf.jinja", "--" + LONG],
        ["lint", "deaf.jinja", f"--{LONG}={LONG}"],
        ["lint", "deaf.jinja", "--engine", LONG],
        ["lint", "deaf.jinja", "--select", LONG],
        ["lint", "deaf.jinja", "--jobs", LONG],
        ["lint", "deaf.jinja", "--jobs", DIGITS],
        ["lint", "deaf.jinja#" + LONG],
        ["lint", "#" + LONG],
        ["lint", "deaf.jinja", "--output-format", LONG],
        ["render", "deaf.jinja", "--case", LONG],
        ["render", "deaf.jinja", "--set", LONG],
        ["render", "deaf.jinja", "--set", f"{LONG}={LONG}"],
        ["render", "deaf.jinja", "--set", f"a={DIGITS}"],
        ["render", "deaf.jinja", "--date", LONG],
        ["render", "deaf.jinja", "--renderer", LONG, "--context", "x"],
        ["extract", "deaf.jinja", "--name", LONG],
        ["extract", "deaf.jinja", LONG],
        ["rule", LONG],
        ["cases", "chat-basic+" + LONG],
    ],
    ids=lambda arguments: " ".join(arguments).replace(LONG, "LONG").replace(DIGITS, "DIGITS"),
)
@pytest.mark.usefixtures("folder")
def test_what_is_repeated_is_clipped(cli: InProcess, arguments: list[str]) -> None:
    ran = cli(*arguments)
    assert ran.code == 2
    assert all(len(line) < 320 for line in ran.err.splitlines())
    assert "x" * 61 not in ran.err
    assert "internal" not in ran.err


def test_a_path_comes_whole_into_a_message_unless_it_is_absurd(cli: InProcess, folder: Path) -> None:
    path = folder / "/".join(["a_folder_with_a_name"] * 12) / "x.jinja"
    assert f"error: no such file: {path}\n" in cli("extract", str(path)).err
    assert max(map(len, cli("extract", LONG).err.splitlines())) < 1_100


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--set", f"a={DIGITS}"], "a number of more than 4,300 digits"),
        (["--set", "a=" + "[" * 100_000], "is nested too deeply"),
        (["--set", "a=b"], "--set a: b is not JSON"),
        (["--messages", "digits.json"], "digits.json holds a number of more than 4,300 digits"),
        (["--tools", "digits.json"], "digits.json holds a number of more than 4,300 digits"),
    ],
)
def test_a_number_that_is_too_long_is_called_so(cli: InProcess, folder: Path, arguments: list[str], told: str) -> None:
    (folder / "digits.json").write_text(f"[{DIGITS}]")
    ran = cli("render", "deaf.jinja", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err.splitlines()[0]


# -------------------------------------------------------------------------------------------- standard input


@pytest.mark.parametrize("before", [True, False])
def test_a_named_template_of_standard_input(before: bool) -> None:
    data = json.dumps({"chat_template": [{"name": "default", "template": "D"}, {"name": "a b", "template": "AB"}]})
    arguments = ["--stdin-filename", "tokenizer_config.json"]
    line = ["extract", "-#a b", *arguments] if before else ["extract", *arguments, "-#a b"]
    ran = start(*line, stdin=data.encode())
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"AB", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="no links like these")
def test_an_output_file_that_is_a_link_to_itself(cli: InProcess, folder: Path) -> None:
    loop(folder / "out")
    assert cli("rule", "TL201", "-o", "out").err == "error: out: cannot be written: too many levels of symbolic links\n"


@pytest.mark.usefixtures("folder")
def test_an_option_may_have_a_value_that_looks_like_one(cli: InProcess) -> None:
    Path("x.jinja").write_text("{{ bos_token }}{{ messages[0].content }}", encoding="utf-8")
    ran = cli("render", "--bos-token", "-#a", "x.jinja")
    assert (ran.code, ran.out[:3]) == (0, "-#a")


# ------------------------------------------------------------------------------------- requests that are none


@pytest.mark.parametrize("listed", [False, True])
def test_a_malformed_body_is_a_failed_cell_of_every_engine(cli: InProcess, folder: Path, listed: bool) -> None:
    good = {"messages": [{"role": "user", "content": "hi"}]}
    bodies = {"a": good, "b": {"messages": [{"content": "hi"}]}, "c": good}
    (folder / "bodies").mkdir()
    for name, body in bodies.items():
        (folder / "bodies" / f"{name}.json").write_text(json.dumps(body))
    (folder / "all.json").write_text(json.dumps([{"id": name, **body} for name, body in bodies.items()]))
    path = "all.json" if listed else "bodies"
    ran = cli("render", "deaf.jinja", "--requests", path, "--engine", "transformers", "--output-format", "json")
    cells = json.loads(ran.out)["renders"]
    assert (ran.code, [(cell["case"], cell["ok"]) for cell in cells]) == (1, [("a", True), ("b", False), ("c", True)])
    place = "all.json: [1]" if listed else os.path.join("bodies", "b.json")  # noqa: PTH118 (a message)
    message = f"{place}: messages[0] has no role"
    assert cells[1]["error"] == {"kind": "invalid-request", "message": message, "line": None, "column": None}
    told = cli("render", "deaf.jinja", "--requests", path)
    assert told.code == 1
    assert f"error invalid-request: {message}\n" in told.out


def test_only_malformed_bodies(cli: InProcess, folder: Path) -> None:
    (folder / "one.json").write_text("{}")
    ran = cli("render", "deaf.jinja", "--requests", "one.json")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == "error: deaf.jinja · one · transformers: invalid-request: one.json has no messages\n"


# --------------------------------------------------------------------------------------------- half a character


@pytest.fixture
def half(folder: Path) -> Path:
    """A model whose template writes half a character."""
    (folder / "m").mkdir()
    (folder / "m" / "tokenizer_config.json").write_text(f'{{"chat_template": "{HALF}"}}')
    return folder


@pytest.mark.parametrize("command", ["render", "extract"])
@pytest.mark.usefixtures("half")
def test_half_a_character_is_never_written_as_bytes(cli: InProcess, command: str) -> None:
    for target in ([], ["-o", "out"]):
        ran = cli(command, "m", *target)
        assert (ran.code, ran.out) == (2, "")
        assert not Path("out").exists() or Path("out").read_bytes() == b""
        first, cure = ran.err.splitlines()
        assert first.endswith("holds \\ud83d, half of a surrogate pair, which UTF-8 cannot carry")
        assert cure == "help: --output-format json spells it as an escape"
    assert "\\ud83d" in cli(command, "m", "--output-format", "json").out


@pytest.mark.usefixtures("half")
def test_other_prompts_are_written_beside_one_with_half_a_character(cli: InProcess) -> None:
    ran = cli("render", "m", "deaf.jinja", "--case", "chat-basic")
    assert ran.code == 2
    assert "── m · chat-basic · transformers\nerror the prompt holds \\ud83d, half of a surrogate pair" in ran.out
    assert "── deaf.jinja · chat-basic · transformers\n<|im_start|>user" in ran.out
    assert DEAF not in ran.out


@pytest.mark.usefixtures("half")
def test_half_a_character_is_shown_to_a_person(cli: InProcess) -> None:
    ran = cli("render", "m", "--show", "tokens")
    assert ran.code == 0
    assert ran.out.endswith("\\ud83d\n")
