from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import subprocess
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, NoReturn

import click
import pytest
from gguf_bytes import header, text
from live_server import LiveServer
from program import CHATML, environment, start

import templatelint
from templatelint.cli.group import COMMANDS, Command, group
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from pathlib import Path

    from program import InProcess

COMMON = ("--output-format", "-o", "--output-file", "--color", "-q", "-v", "--config", "--isolated", "--offline")


def command(name: str) -> Command:
    found = group.get_command(click.Context(group), name)
    assert isinstance(found, Command)
    return found


# ------------------------------------------------------------------------------------------------- help


def test_help_imports_nothing_of_weight() -> None:
    code = (
        "import sys\n"
        "from templatelint.cli.main import run\n"
        "code = run(['--help'])\n"
        "print(code, *sorted(name for name in sys.modules), file=sys.stderr)\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], env=environment(), check=True, capture_output=True, text=True)
    code_, *modules = ran.stderr.split()
    assert code_ == "0"
    heavy = {"jinja2", "rich", "tomllib", "json", "gguf", "numpy", "deepdiff", "huggingface_hub", "asyncio"} | {
        "multiprocessing", "importlib.metadata", "difflib", "email", "urllib", "subprocess",
    }  # fmt: skip
    assert not heavy & set(modules)
    ours = [name for name in modules if name.startswith("templatelint")]
    assert ours == [
        "templatelint",
        "templatelint.cli",
        "templatelint.cli.group",
        "templatelint.cli.main",
        "templatelint.cli.output",
        "templatelint.cli.program",
        "templatelint.errors",
    ]


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_the_group_lists_its_commands(cli: InProcess, flag: str) -> None:
    ran = cli(flag)
    assert (ran.code, ran.err) == (0, "")
    for name, said in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(said)}$", ran.out, re.MULTILINE)


@pytest.mark.parametrize("name", [*COMMANDS])
def test_the_help_of_a_command(cli: InProcess, name: str) -> None:
    ran = cli(name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert max(map(len, ran.out.splitlines())) <= 80
    for flag in COMMON:
        assert re.search(rf"(^|[ ,]){re.escape(flag)}[ ,\n]", ran.out), f"{flag} is missing"
    _, _, examples = ran.out.partition("\nExamples:\n")
    lines = examples.rstrip("\n").split("\n")
    assert len(lines) >= 2
    assert all(line.startswith(f"  templatelint {name}") for line in lines)


@pytest.fixture
def samples(folder: Path) -> Path:
    """The files that the examples of the help pages speak of."""
    model = folder / "model"
    model.mkdir()
    shutil.copy(folder / "chat_template.jinja", model)
    config = {"chat_template": (folder / "chat_template.jinja").read_text(encoding="utf-8"), "eos_token": "<|im_end|>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (model / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>"}))
    (folder / "chat.json").write_text('[{"role": "user", "content": "Where is it raining?"}]')
    (folder / "tools.json").write_text('[{"name": "get_rain", "input_schema": {"type": "object", "properties": {}}}]')
    (folder / "output.txt").write_text('<tool_call>\n{"name": "get_rain", "arguments": {}}\n</tool_call>')
    pinned = hashlib.sha256(config["chat_template"].encode()).hexdigest()
    entry = f'ref = "chat_template.jinja"\nname = "default"\nsource = "file"\nsha256 = "{pinned}"\n'
    (folder / "templatelint.lock").write_text(f"version = 1\n\n[[template]]\n{entry}")
    (folder / "model.gguf").write_bytes(header([("tokenizer.chat_template", text(config["chat_template"]))]))
    return folder


EXAMPLES = [
    pytest.param(line, id=line)
    for page in (None, *COMMANDS)
    for line in (
        re.findall(
            r"^  (templatelint .*)$", group.get_help(click.Context(group, **group.context_settings)), re.MULTILINE
        )
        if page is None
        else command(page).examples
    )
]


@pytest.mark.parametrize("line", EXAMPLES)
@pytest.mark.usefixtures("samples")
def test_the_examples_run(cli: InProcess, line: str) -> None:
    with LiveServer(template=CHATML) if " probe " in line else nullcontext() as live:
        program, *arguments = shlex.split(line.replace("http://localhost:8080", live.url) if live else line)
        ran = cli(*arguments)
    assert (program, ran.code) == ("templatelint", 0), ran.err
    assert ran.out or "-o" in arguments


def test_version(cli: InProcess) -> None:
    for flag in ("-V", "--version"):
        assert cli(flag).out == f"templatelint {templatelint.__version__}\n"


def test_without_a_command_the_help_is_the_error(cli: InProcess) -> None:
    ran = cli()
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("Usage: templatelint")


# ------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("arguments", "error", "cure"),
    [
        ("lnit a", 'unknown command "lnit"', "did you mean lint?"),
        ("check a", 'unknown command "check"', "did you mean lint?"),
        ("--verison", "unknown option --verison", "did you mean --version?"),
        ("lint a --selct TL1", "unknown option --selct", "did you mean --select?"),
        ("lint a --zzz", "unknown option --zzz", "see templatelint lint --help"),
        ("lint", "missing REF...", "see templatelint lint --help"),
        ("extract", "missing REF", "see templatelint extract --help"),
        ("extract a b", "got unexpected extra argument (b)", "see templatelint extract --help"),
        ("lint a --jobs", "option '--jobs' requires an argument", "see templatelint lint --help"),
        ("lint a --jobs 0", "--jobs 0: not a whole number above 0", ""),
        ("lint a --jobs two", "--jobs two: not a whole number above 0", ""),
        ("lint a --output-format jsno", 'unknown output format "jsno"', "did you mean json?"),
        ("render a --output-format full", 'unknown output format "full"', "known: text, json, jsonl"),
        ("lint a --color alway", 'unknown colour choice "alway"', "did you mean always?"),
        ("lint a --engine transfomers", 'unknown engine "transfomers"', "did you mean transformers?"),
        ("lint a --needs tool", 'unknown need "tool"', "did you mean tools?"),
        ("lint a --select tools-ignord", 'unknown rule "tools-ignord"', "did you mean tools-ignored?"),
        ("lint a --ignore tool-ignored", 'unknown rule "tool-ignored"', "did you mean tools-ignored?"),
        ("lint a --fail-on eror", 'unknown severity "eror"', "did you mean error?"),
        ("render a --show token", 'unknown thing to show "token"', "did you mean tokens?"),
        ("render a --case chat-basik", 'unknown case "chat-basik"', "did you mean chat-basic?"),
        ("rule tools-ignord", 'unknown rule "tools-ignord"', "did you mean tools-ignored?"),
        ("rule TL201 --all", "a rule and --all exclude each other", ""),
        ("cases chat-basik", 'unknown case "chat-basik"', "did you mean chat-basic?"),
        ("lint a --config gone.toml", "gone.toml: cannot be read: no such file or directory", ""),
        ("rule --config gone.toml", "gone.toml: cannot be read: no such file or directory", ""),
        ("lint deaf.jinga", "no such file: deaf.jinga", "did you mean deaf.jinja?"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_mistake_is_one_clear_line(cli: InProcess, arguments: str, error: str, cure: str) -> None:
    ran = cli(*arguments.split())
    first, *rest = ran.err.splitlines()
    assert (ran.code, ran.out) == (2, "")
    assert first == f"error: {error}"
    assert (rest[0].removeprefix("help: ") if rest else "").startswith(cure)
    assert len(rest) <= 1


# --------------------------------------------------------------------------------- what ends a run otherwise


def raising(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def raise_it(*_: object, **__: object) -> NoReturn:
        raise error

    monkeypatch.setattr("templatelint.cards.all_cards", raise_it)


@pytest.mark.parametrize(
    ("error", "code", "told"),
    [
        (TemplatelintError("a\x1b[2Jb", help="c\u202ed"), 2, "error: a\\x1b[2Jb\nhelp: c\\u202ed\n"),
        (KeyboardInterrupt(), 130, ""),
        (click.Abort(), 130, ""),
        (BrokenPipeError(32, "Broken pipe"), 2, ""),
        (OSError(28, "No space left on device"), 2, "error: no space left on device\n"),
        (PermissionError(13, "Permission denied", "a.jinja"), 2, "error: a.jinja: permission denied\n"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_how_a_run_ends(
    cli: InProcess, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, told: str
) -> None:
    raising(monkeypatch, error)
    ran = cli("rule")
    assert (ran.code, ran.out, ran.err) == (code, "", told)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (KeyError("x"), "KeyError: 'x'"),
        (RecursionError(), "RecursionError"),
        (ValueError("a\n\x1bb"), "ValueError: a \\x1bb"),
    ],
    ids=["KeyError", "RecursionError", "ValueError"],
)
@pytest.mark.parametrize("verbose", [False, True])
@pytest.mark.usefixtures("folder")
def test_a_bug_of_ours_is_one_line_too(
    cli: InProcess, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str, verbose: bool
) -> None:
    raising(monkeypatch, error)
    ran = cli("rule", "-v") if verbose else cli("rule")
    *trace, line, cure = ran.err.splitlines()
    assert (ran.code, line) == (2, f"error: internal: {told}")
    assert cure.startswith("help: report it")
    assert ("Traceback (most recent call last):" in trace) is verbose
    assert "\x1b" not in ran.err


def test_a_traceback_by_environment(cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    raising(monkeypatch, KeyError("x"))
    monkeypatch.setenv("TEMPLATELINT_TRACEBACK", "1")
    assert cli("rule").err.startswith("Traceback")


@pytest.mark.parametrize("choice", ["always", "never"])
def test_the_colour_of_an_error_is_as_asked(cli: InProcess, choice: str) -> None:
    ran = cli("lint", "--zzz", "--color", choice)
    assert ("\x1b[1;31merror:" in ran.err) is (choice == "always")


def test_a_reader_who_leaves_early_is_no_error() -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "templatelint", "rule", "--all"],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 2


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="/dev/full is Linux's")
def test_a_full_disk_is_said() -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 (a device)
        ran = subprocess.run(
            [sys.executable, "-m", "templatelint", "rule", "--all"],
            env=environment(),
            check=False,
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert (ran.returncode, ran.stderr) == (2, b"error: cannot write to standard output: no space left on device\n")


def test_the_program_itself() -> None:
    clean, mistake = start("rule", "TL201"), start("rule", "tools-ignord")
    assert (clean.returncode, clean.stderr) == (0, b"")
    assert clean.stdout.startswith(b"# tools-ignored (TL201)\n")
    assert (mistake.returncode, mistake.stdout) == (2, b"")
