from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gguf_bytes import header, text
from program import environment, start

if TYPE_CHECKING:
    from program import InProcess

NAMED = {"default": "a {{ b }}\r\n", "tool_use": "c\x1b[2J\u202e", "rag": "d\n"}


def config(folder: Path, templates: dict[str, str]) -> str:
    rows = [{"name": name, "template": source} for name, source in templates.items()]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": rows, "bos_token": "<s>"}))
    return "tokenizer_config.json"


def test_the_template_comes_out_byte_for_byte(folder: Path) -> None:
    source = b"\xef\xbb\xbf{{ messages }}\r\n\x1b[31m \xf0\x9f\x98\x80\n\n"
    (folder / "a.jinja").write_bytes(source)
    ran = start("extract", "a.jinja")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, source, b"")


def test_from_a_gguf_into_a_file(cli: InProcess, folder: Path) -> None:
    (folder / "m.gguf").write_bytes(header([("tokenizer.chat_template", text("{{ messages }}\n"))]))
    assert cli("extract", "m.gguf", "-o", "out.jinja").code == 0
    assert (folder / "out.jinja").read_bytes() == b"{{ messages }}\n"


def test_the_default_of_several_with_a_word_on_the_others(cli: InProcess, folder: Path) -> None:
    ref = config(folder, NAMED)
    ran = cli("extract", ref)
    assert (ran.code, ran.out) == (0, NAMED["default"])
    assert ran.err == "note: tokenizer_config.json also carries tool_use, rag (--name NAME or --all)\n"
    assert cli("extract", ref, "-q").err == ""


def test_an_empty_one_is_none(cli: InProcess, folder: Path) -> None:
    (folder / "m.gguf").write_bytes(header([("tokenizer.chat_template", text(""))]))
    ran = cli("extract", "m.gguf", "-o", "out.jinja")
    assert (ran.code, ran.out, ran.err) == (1, "", "m.gguf: carries an empty chat template\n")
    assert not Path("out.jinja").exists()


@pytest.mark.parametrize("arguments", [["--name", "tool_use"], []])
def test_a_named_one(cli: InProcess, folder: Path, arguments: list[str]) -> None:
    ref = config(folder, NAMED) + ("" if arguments else "#tool_use")
    ran = cli("extract", ref, *arguments)
    assert (ran.code, ran.out, ran.err) == (0, NAMED["tool_use"], "")


@pytest.mark.parametrize(
    ("templates", "arguments", "error"),
    [
        (NAMED, ["--name", "tool_us"], 'tokenizer_config.json: unknown template "tool_us"'),
        (NAMED, ["--name", "rag", "--all"], "--name and --all exclude each other"),
        ({"a": "1", "b": "2"}, [], "tokenizer_config.json: carries a, b, none of them the default"),
    ],
)
def test_a_name_that_does_not_fit(
    cli: InProcess, folder: Path, templates: dict[str, str], arguments: list[str], error: str
) -> None:
    ran = cli("extract", config(folder, templates), *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.splitlines()[0] == f"error: {error}"


def test_an_only_template_needs_no_name(cli: InProcess, folder: Path) -> None:
    assert cli("extract", config(folder, {"chat": "x"})).out == "x"


def test_all_to_stdout(cli: InProcess, folder: Path) -> None:
    ran = cli("extract", config(folder, NAMED), "--all")
    assert ran.out == "── default\na {{ b }}\r\n── tool_use\nc\x1b[2J\u202e\n── rag\nd\n"


def test_all_into_a_folder(cli: InProcess, folder: Path) -> None:
    ran = cli("extract", config(folder, NAMED), "--all", "-o", "new/out")
    assert (ran.code, ran.out) == (0, "")
    found = {path.name: path.read_bytes().decode() for path in (folder / "new" / "out").iterdir()}
    assert found == {f"{name}.jinja": source for name, source in NAMED.items()}


def test_no_name_leads_out_of_the_folder(cli: InProcess, folder: Path) -> None:
    names = ["../../escape", "/etc/passwd", "..", ".hidden", "a/b", "a\\b", "nul\x00", "co:lon", "日本", "\ud800"]
    below = folder / "x" / "y"
    ran = cli("extract", config(folder, dict.fromkeys(names, "t")), "--all", "-o", str(below))
    assert ran.code == 0, ran.err
    written = sorted(os.listdir(below))  # noqa: PTH208 (names are what is compared)
    assert len(written) == len(names)
    assert not any(name.startswith(".") or "/" in name or "\\" in name or ":" in name for name in written)
    assert [path.name for path in (folder / "x").iterdir()] == ["y"]


def test_names_that_a_file_system_may_not_tell_apart(cli: InProcess, folder: Path) -> None:
    ran = cli("extract", config(folder, {"A": "1", "a": "2"}), "--all", "-o", "out")
    assert (ran.code, (folder / "out").exists()) == (2, False)
    assert ran.err.startswith("error: names that differ in case only: A, a\n")


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json(cli: InProcess, folder: Path, form: str) -> None:
    ran = cli("extract", config(folder, NAMED), "--all", "--output-format", form)
    rows = json.loads(ran.out)["templates"] if form == "json" else [json.loads(line) for line in ran.out.splitlines()]
    assert [row["ref"] for row in rows] == [
        "tokenizer_config.json",
        "tokenizer_config.json#tool_use",
        "tokenizer_config.json#rag",
    ]
    source = NAMED["default"].encode()
    assert rows[0] == {
        "ref": "tokenizer_config.json",
        "name": "default",
        "path": "tokenizer_config.json",
        "sha256": hashlib.sha256(source).hexdigest(),
        "bytes": len(source),
        "source": NAMED["default"],
        "tokens": {"bos_token": "<s>"},
        "tokens_assumed": False,
    }


@pytest.mark.parametrize(
    ("form", "out"), [("text", ""), ("jsonl", ""), ("json", '{"version": 1, "templates": [\n]}\n')]
)
def test_a_model_without_a_template(cli: InProcess, folder: Path, form: str, out: str) -> None:
    (folder / "tokenizer_config.json").write_text("{}")
    ran = cli("extract", "tokenizer_config.json", "--output-format", form)
    assert (ran.code, ran.out) == (1, out)
    assert ran.err == "tokenizer_config.json: carries no chat template\n"


def test_from_stdin(folder: Path) -> None:
    del folder
    content = json.dumps({"chat_template": "{{ x }}"}).encode()
    ran = start("extract", "-", "--stdin-filename", "tokenizer_config.json", stdin=content)
    assert (ran.returncode, ran.stdout) == (0, b"{{ x }}")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["extract", "evil.jinja"], b"a\\x1b[2Jb\\u202e\r\n"),
        (["render", "evil.jinja"], b"a\\x1b[2Jb\\u202e\r\n"),
        (["extract", "evil.jinja", "--output-format", "jsonl"], b'"source": "a\\u001b[2Jb\\u202e"'),
    ],
)
def test_a_terminal_is_not_steered(arguments: list[str], shown: bytes) -> None:
    import pty

    Path("evil.jinja").write_text("a\x1b[2Jb\u202e")
    ours, theirs = pty.openpty()
    ran = subprocess.run(
        [sys.executable, "-m", "templatelint", *arguments, "--color=never"],
        env=environment(),
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    seen = os.read(ours, 10_000)
    os.close(ours)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert shown in seen
    assert b"\x1b" not in seen
