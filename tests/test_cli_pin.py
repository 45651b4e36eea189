from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gguf_bytes import header, text
from hub_server import COMMIT, Repo
from program import CHATML, DEAF, environment

from templatelint.pin import lock

if TYPE_CHECKING:
    from hub_server import HubServer
    from program import InProcess

PIN = ("pin", "--engine", "transformers")
CHECK = ("pin", "--check")
LOCK = Path("templatelint.lock")


@pytest.fixture
def pinned(folder: Path, cli: InProcess) -> Path:
    """A folder with a lock of a template and of a GGUF of two."""
    pairs = [("tokenizer.chat_template", text(CHATML)), ("tokenizer.chat_template.tool_use", text(DEAF))]
    (folder / "m.gguf").write_bytes(header(pairs))
    assert cli(*PIN, "chat_template.jinja", "m.gguf").code == 0
    return folder


def _rules(out: str) -> list[tuple[str, str, str]]:
    return [(row["rule"], row["severity"], row["ref"]) for row in json.loads(out)["findings"]]


# --------------------------------------------------------------------------------------------------- pinning


@pytest.mark.usefixtures("folder")
def test_what_is_pinned_is_listed(cli: InProcess) -> None:
    ran = cli(*PIN, "chat_template.jinja")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("chat_template.jinja: pinned, sha256 ")
    assert ran.out.endswith(", calls: hermes\n")
    body = json.loads(cli(*PIN, "chat_template.jinja", "--output-format", "json").out)
    assert body["version"] == 1
    (row,) = body["pinned"]
    assert (row["state"], row["engines"], row["dialect"]) == ("unchanged", ["transformers"], "hermes")


def test_pinning_again_changes_nothing_but_what_is_named(pinned: Path, cli: InProcess) -> None:
    before = LOCK.read_bytes()
    stamp = LOCK.stat().st_ino
    assert cli(*PIN, "chat_template.jinja", "m.gguf").code == 0
    assert LOCK.read_bytes() == before
    assert LOCK.stat().st_ino == stamp, "it was written all the same"
    (pinned / "chat_template.jinja").write_text(DEAF)
    ran = cli(*PIN, "chat_template.jinja")
    assert ran.out.startswith("chat_template.jinja: pinned anew (was ")
    after = LOCK.read_text()
    assert after != before.decode()
    assert after.split("[[template]]")[2:] == before.decode().split("[[template]]")[2:]


def test_a_picked_template_is_pinned_alone(pinned: Path, cli: InProcess) -> None:
    del pinned
    assert cli(*PIN, "m.gguf#tool_use", "--lock", "one.lock").out.startswith("m.gguf#tool_use: pinned, ")
    assert Path("one.lock").read_text().count("[[template]]") == 1
    ran = cli(*CHECK, "--lock", "one.lock")
    assert (ran.code, ran.out) == (0, "all checks passed: 1 template · not pinned: default\n")
    templates = json.loads(cli(*CHECK, "--lock", "one.lock", "--output-format", "json").out)["templates"]
    assert [row["name"] for row in templates] == ["tool_use"]


def test_a_read_only_lock_is_left(pinned: Path, cli: InProcess) -> None:
    del pinned
    LOCK.chmod(0o444)
    before = LOCK.read_text()
    assert cli(*PIN, "chat_template.jinja").code == 0, "nothing is to be written"
    Path("chat_template.jinja").write_text(DEAF)
    ran = cli(*PIN, "chat_template.jinja")
    assert (ran.code, ran.err) == (2, "error: templatelint.lock: cannot be written: it is read-only\n")
    assert LOCK.read_text() == before


@pytest.mark.skipif(sys.platform == "win32", reason="nothing holds a folder there")
@pytest.mark.usefixtures("folder")
def test_what_others_pin_at_the_same_time_is_kept() -> None:
    names = [f"{number}.jinja" for number in range(4)]
    for name in names:
        Path(name).write_text(f"{{{{ messages[0].content }}}} {name}")
    words = [sys.executable, "-m", "templatelint", *PIN]
    for process in [subprocess.Popen([*words, name], stdout=subprocess.DEVNULL, env=environment()) for name in names]:
        assert process.wait(60) == 0
    assert [entry.ref for entry in lock.read(str(LOCK)).entries] == names
    assert sorted(path.name for path in Path().iterdir() if path.suffix == ".tmp") == []


@pytest.mark.usefixtures("folder")
def test_nothing_is_written_where_something_cannot_be_pinned(cli: InProcess) -> None:
    assert cli(*PIN, "chat_template.jinja", "gone.jinja").code == 2
    assert not LOCK.exists()
    Path("empty.json").write_text("{}")
    ran = cli(*PIN, "chat_template.jinja", "empty.json")
    assert (ran.code, LOCK.exists()) == (2, False)


@pytest.mark.parametrize("damage", ["version = 7\n", "<<<<<<< a\n", "[[template]]\n", "\0"])
def test_a_damaged_lock_is_not_written_over(folder: Path, cli: InProcess, damage: str) -> None:
    del folder
    LOCK.write_text(damage)
    for ran in (cli(*PIN, "chat_template.jinja"), cli(*CHECK)):
        assert (ran.code, ran.out) == (2, "")
        assert ran.err.startswith("error: templatelint.lock")
        assert LOCK.read_text() == damage


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("pin",), "missing REF..."),
        (("pin", "-"), "standard input cannot be pinned"),
        (("pin", "chat_template.jinja", "--as", "x"), "--as and --fail-on go with --check"),
        (("pin", "chat_template.jinja", "-o", "templatelint.lock"), "-o and the lock are one file"),
        (("pin", "chat_template.jinja", "--lock", "chat_template.jinja"), "chat_template.jinja: "),
        (("pin", "chat_template.jinja", "--lock", "no/such/x.lock"), "no/such/x.lock: cannot be written"),
        (("pin", "chat_template.jinja", "--output-format", "sarif"), "--output-format sarif goes with --check"),
        (("pin", "--check", "--engine", "vllm"), "--engine goes without --check"),
        (("pin", "--check", "--as", "x"), "--as goes with one REF"),
        (("pin", "--check"), "no such file: templatelint.lock"),
        (("pin", "--check", "--lock", "."), ". is a directory"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_cannot_be_asked(cli: InProcess, arguments: tuple[str, ...], says: str) -> None:
    before = Path("chat_template.jinja").read_bytes()
    ran = cli(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err
    assert Path("chat_template.jinja").read_bytes() == before


# -------------------------------------------------------------------------------------------------- checking


def test_what_is_as_pinned_passes(pinned: Path, cli: InProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = cli(*CHECK)
    assert (ran.code, ran.out, ran.err) == (0, "all checks passed: 3 templates\n", "")
    assert cli(*CHECK, "--quiet").out == ""
    (pinned / "below").mkdir()
    monkeypatch.chdir(pinned / "below")
    assert cli(*CHECK, "--lock", "../templatelint.lock").code == 0
    assert cli(*CHECK, "../m.gguf", "--lock", "../templatelint.lock").code == 0


def test_what_changed_is_told_as_lint_tells_it(pinned: Path, cli: InProcess) -> None:
    (pinned / "chat_template.jinja").write_text(DEAF)
    ran = cli(*CHECK)
    assert ran.code == 1
    assert ran.out.startswith("error[TL704] pin-broken: not the template that templatelint.lock pins: system messages")
    assert " --> chat_template.jinja:1:1\n" in ran.out
    assert (
        "help: put the pinned template back, or, where the change is meant: templatelint pin chat_template" in ran.out
    )
    for form in ("concise", "json", "jsonl", "sarif", "github", "junit", "markdown", "html"):
        ran = cli(*CHECK, "--output-format", form)
        assert (ran.code, "TL704" in ran.out) == (1, True), form
    assert _rules(cli(*CHECK, "--output-format", "json").out) == [("TL704", "error", "chat_template.jinja")]
    # the other one is as it was
    assert cli(*CHECK, "m.gguf").code == 0
    assert cli(*PIN, "chat_template.jinja").code == cli(*CHECK).code == 0


def test_what_makes_the_same_prompts_is_a_warning(pinned: Path, cli: InProcess) -> None:
    (pinned / "chat_template.jinja").write_text("{#- mended -#}\n" + CHATML)
    ran = cli(*CHECK, "--output-format", "json")
    assert (ran.code, _rules(ran.out)) == (0, [("TL704", "warning", "chat_template.jinja")])
    assert cli(*CHECK, "--fail-on", "warning").code == 1


def test_a_named_template_of_a_gguf_is_told_by_its_name(pinned: Path, cli: InProcess) -> None:
    pairs = [("tokenizer.chat_template", text(CHATML)), ("tokenizer.chat_template.tool_use", text(CHATML))]
    (pinned / "m.gguf").write_bytes(header(pairs))
    ran = cli(*CHECK, "--output-format", "json")
    assert (ran.code, _rules(ran.out)) == (1, [("TL704", "error", "m.gguf#tool_use")])


def test_what_is_gone_or_not_pinned_is_no_answer(pinned: Path, cli: InProcess) -> None:
    ran = cli(*CHECK, "deaf.jinja")
    assert ran.code == 2
    assert "error: deaf.jinja: not checked: templatelint.lock does not pin deaf.jinja\n" in ran.err
    (pinned / "m.gguf").unlink()
    ran = cli(*CHECK)
    assert ran.code == 2
    assert ran.err.startswith("error: no such file: m.gguf, which templatelint.lock pins\n")
    LOCK.write_text("version = 1\n")
    assert cli(*CHECK).err.startswith("error: templatelint.lock pins nothing\n")


def test_offline_what_is_elsewhere_is_left_out_and_said(pinned: Path, cli: InProcess) -> None:
    del pinned
    digest = "0" * 64
    LOCK.write_text(
        LOCK.read_text() + f'\n[[template]]\nref = "server:http://127.0.0.1:9"\nname = "default"\nsource = "server"\n'
        f'sha256 = "{digest}"\n'
    )
    ran = cli(*CHECK, "--offline", "--output-format", "json")
    assert ran.code == 0
    (row,) = json.loads(ran.out)["not_run"]
    assert (row["rule"], row["ref"]) == ("TL704", "server:http://127.0.0.1:9")
    assert row["why"].startswith("--offline: ")
    assert cli(*CHECK, "server:http://127.0.0.1:9", "--offline").code == 2


# ---------------------------------------------------------------------------------------------- repositories


def test_a_repository_is_pinned_at_its_commit(folder: Path, cli: InProcess, hub: HubServer) -> None:
    del folder
    config = json.dumps({"bos_token": "<s>", "eos_token": "</s>"})
    repo = Repo({"config.json": "{}", "tokenizer_config.json": config, "chat_template.jinja": CHATML})
    hub.repos["owner/name"] = repo
    assert cli(*PIN, "hf:owner/name").code == 0
    (entry,) = lock.read(str(LOCK)).entries
    assert (entry.ref, entry.source, entry.kind) == ("owner/name", "hub", "folder")
    assert (entry.place, entry.revision) == ("chat_template.jinja", COMMIT)
    assert cli(*CHECK).code == cli(*CHECK, "owner/name").code == 0
    # of the cache, what a hook does with it
    assert cli(*CHECK, "--offline").code == 0
    hub.repos["owner/name"] = Repo({**repo.files, "chat_template.jinja": DEAF}, commit="f" * 40)
    ran = cli(*CHECK, "--output-format", "json")
    assert (ran.code, _rules(ran.out)) == (1, [("TL704", "error", "owner/name")])
    # a moved branch is one line of the lock more
    assert cli(*PIN, "owner/name").out.startswith("owner/name: pinned anew (was ")
    assert lock.read(str(LOCK)).entries[0].revision == "f" * 40
