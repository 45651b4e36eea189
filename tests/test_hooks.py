from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]  # ships no types

ROOT = Path(__file__).parents[1]
HOOKS: dict[str, dict[str, Any]] = {
    hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
}
PACKAGED = ("templatelint", "rules", "corpus", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
NO_NETWORK = re.compile(
    r"NewConnectionError|name resolution|Max retries exceeded|ReadTimeout|ConnectTimeout|Network is unreachable"
)
GOOD = (ROOT / "corpus" / "templates" / "chatml-tools" / "chat_template.jinja").read_text(encoding="utf-8")
BAD = "{% for message in messages %}{{ message.content }"


# ------------------------------------------------------------------------------------------ which files


@pytest.mark.parametrize(
    ("hook", "path", "matches"),
    [
        ("templatelint", "chat_template.jinja", True),
        ("templatelint", "models/qwen/chat_template.jinja", True),
        ("templatelint", "chat_template_tool_use.jinja", True),
        ("templatelint", "chat-template.jinja2", True),
        ("templatelint", "examples/tool_chat_template_hermes.jinja", True),
        ("templatelint", "chat_templates/qwen.jinja", True),
        ("templatelint", "chat_template/qwen.j2", True),
        ("templatelint", "ops/chat-templates/prod/qwen.jinja2", True),
        ("templatelint", "model/additional_chat_templates/rag.jinja", True),
        ("templatelint", "templates/chat/default.j2", True),
        ("templatelint", "template/chat/a/b.jinja", True),
        ("templatelint", "tokenizer_config.json", True),
        ("templatelint", "model/chat_template.json", True),
        ("templatelint", "model/processor_config.json", True),
        # what the settings name as overrides is judged again when they change
        ("templatelint", "templatelint.toml", True),
        ("templatelint", "pyproject.toml", True),
        ("templatelint", "packages/a/pyproject.toml", False),
        ("templatelint", "my-templatelint.toml", False),
        ("templatelint", "templates/index.jinja", False),
        ("templatelint", "app/templates/email/welcome.j2", False),
        ("templatelint", "templates/chatter/a.j2", False),
        ("templatelint", "mychat_templates_old/a.jinja", False),
        ("templatelint", "chat_template.jinja.bak", False),
        ("templatelint", "chat_template.py", False),
        ("templatelint", "chat_template.md", False),
        ("templatelint", "config.json", False),
        ("templatelint", "my_tokenizer_config.json", False),
        ("templatelint", "tokenizer_config.json5", False),
        ("templatelint", "tokenizer_config.json/readme.md", False),
        ("templatelint", "model.gguf", False),
        ("templatelint-gguf", "model.gguf", True),
        ("templatelint-gguf", "models/model-00001-of-00002.gguf", True),
        ("templatelint-gguf", "model.gguf.part", False),
        ("templatelint-gguf", "gguf/readme.md", False),
        ("templatelint-pin", "templatelint.lock", True),
        ("templatelint-pin", "ops/templatelint.lock", True),
        # whatever the lock pins, its file has one of these endings
        ("templatelint-pin", "ops/qwen.jinja", True),
        ("templatelint-pin", "models/model.gguf", True),
        ("templatelint-pin", "model/tokenizer_config.json", True),
        ("templatelint-pin", "uv.lock", False),
        ("templatelint-pin", "templatelint.toml", False),
    ],
)
def test_which_files_a_hook_takes(hook: str, path: str, matches: bool) -> None:
    # as pre-commit does it
    assert bool(re.search(HOOKS[hook]["files"], path)) is matches


def test_the_hooks_are_ours() -> None:
    assert list(HOOKS) == ["templatelint", "templatelint-gguf", "templatelint-pin"]
    assert {hook["entry"].split()[0] for hook in HOOKS.values()} == {"templatelint"}


# --------------------------------------------------------------------------------------- the real program


@dataclass(frozen=True)
class Project:
    """A repository whose pre-commit runs our hooks."""

    folder: Path
    environment: dict[str, str]

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, check=False, capture_output=True, text=True
        )

    def pre_commit(self, hook: str, *files: str, verbose: bool = False) -> subprocess.CompletedProcess[str]:
        flags = ["--verbose"] if verbose else []
        return self.run(sys.executable, "-m", "pre_commit", "run", hook, "--color=never", *flags, "--files", *files)

    def write(self, name: str, content: str | bytes) -> str:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        assert self.run("git", "add", name).returncode == 0
        return name


def repository(folder: Path, environment: dict[str, str]) -> Project:
    folder.mkdir(parents=True, exist_ok=True)
    project = Project(folder, environment)
    assert project.run("git", "init", "--quiet").returncode == 0
    return project


def commit(project: Project) -> str:
    assert project.run("git", "add", "--all").returncode == 0
    assert project.run("git", "commit", "--quiet", "--no-verify", "--message", "all").returncode == 0
    return project.run("git", "rev-parse", "HEAD").stdout.strip()


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A project that uses this very working tree as its hook repository; the environment is built once."""
    folder = tmp_path_factory.mktemp("hooks")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PYTHON"))} | {
        "PRE_COMMIT_HOME": str(folder / "cache"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PIP_COMPILE": "0",  # most of what it installs is never imported here
        **{f"GIT_{who}_{what}": f"{who}@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
    }
    ours = repository(folder / "templatelint", environment)
    for name in PACKAGED:
        source, target = ROOT / name, ours.folder / name
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    revision = commit(ours)
    users = repository(folder / "project", environment)
    settings = {"repos": [{"repo": str(ours.folder), "rev": revision, "hooks": [{"id": hook} for hook in HOOKS]}]}
    (users.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    commit(users)
    built = users.run(sys.executable, "-m", "pre_commit", "install-hooks")
    if built.returncode != 0 and NO_NETWORK.search(built.stdout):
        pytest.skip("pre-commit cannot install the hook's dependencies: the package index is out of reach")
    assert built.returncode == 0, built.stdout
    return users


def test_a_good_file_passes_in_silence(project: Project) -> None:
    good = project.write("chat_template.jinja", GOOD)
    ran = project.pre_commit("templatelint", good, verbose=True)
    assert ran.returncode == 0, ran.stdout
    lines = ran.stdout.splitlines()
    assert re.fullmatch(r"templatelint\.+Passed", lines[0])
    assert all(line.startswith("- ") for line in lines[1:]), "only what pre-commit itself says"


def test_a_bad_file_fails_and_is_explained(project: Project) -> None:
    good, bad = project.write("chat_template.jinja", GOOD), project.write("chat_templates/bad.jinja", BAD)
    ran = project.pre_commit("templatelint", good, bad)
    assert ran.returncode == 1
    assert re.search(r"^error\[TL001\] template-does-not-load: ", ran.stdout, re.MULTILINE)
    assert "--> chat_templates/bad.jinja:1:" in ran.stdout
    assert "exit code: 1" in ran.stdout
    assert "--> chat_template.jinja" not in ran.stdout


def test_a_config_whose_template_is_a_file_of_its_own_passes(project: Project) -> None:
    template = project.write("split/chat_template.jinja", GOOD)
    companions = [
        project.write("split/tokenizer_config.json", '{"bos_token": "<s>"}'),
        project.write("split/processor_config.json", "{}"),
    ]
    for files in ([template, *companions], companions):
        ran = project.pre_commit("templatelint", *files)
        assert ran.returncode == 0, ran.stdout


def test_a_config_without_a_template_anywhere_fails(project: Project) -> None:
    lone = project.write("lone/tokenizer_config.json", '{"bos_token": "<s>"}')
    ran = project.pre_commit("templatelint", lone)
    assert ran.returncode == 1
    assert re.search(r"^error\[TL601\] template-missing: ", ran.stdout, re.MULTILINE)


def test_settings_that_name_overrides_have_them_judged(project: Project) -> None:
    override = project.write("ops/qwen.jinja", BAD)
    entry = f'[[override]]\nfile = "{override}"\nmodel = "owner/name"\nengines = ["transformers"]\n'
    settings = project.write("templatelint.toml", entry)
    try:
        ran = project.pre_commit("templatelint", settings)
        assert ran.returncode == 1
        assert "--> ops/qwen.jinja:1:" in ran.stdout
        project.write(override, GOOD)
        # the model is out of reach, as it is where the hook may fetch nothing
        ran = project.pre_commit("templatelint", settings)
        assert ran.returncode == 0, ran.stdout
        settings = project.write("templatelint.toml", 'fail-on = "error"\n')
        ran = project.pre_commit("templatelint", settings, verbose=True)
        assert ran.returncode == 0, ran.stdout
        assert all(line.startswith("- ") for line in ran.stdout.splitlines()[1:])
    finally:
        (project.folder / "templatelint.toml").unlink()


def test_other_files_are_let_alone(project: Project) -> None:
    other = project.write("templates/index.jinja", BAD)
    ran = project.pre_commit("templatelint", other)
    assert ran.returncode == 0
    assert "(no files to check)Skipped" in ran.stdout


def test_a_broken_gguf_fails_and_a_pointer_to_one_is_let_alone(project: Project) -> None:
    broken = project.write("models/broken.gguf", b"GGUF\x03\x00\x00\x00\xff\xff")
    pointer = project.write("models/pointer.gguf", "version https://git-lfs.github.com/spec/v1\n")
    ran = project.pre_commit("templatelint-gguf", broken, pointer)
    assert ran.returncode == 1
    assert "exit code: 2" in ran.stdout
    assert re.search(r"^error: .*broken\.gguf", ran.stdout, re.MULTILINE)
    assert "pointer.gguf" not in ran.stdout


def test_a_template_that_is_not_the_pinned_one_fails(project: Project) -> None:
    pinned = project.write("pinned/chat_template.jinja", GOOD)
    digest = hashlib.sha256(GOOD.encode()).hexdigest()
    entry = f'ref = "{pinned}"\nname = "default"\nsource = "file"\nsha256 = "{digest}"\n'
    # nobody waits for a server that is not there
    server = f'ref = "server:http://127.0.0.1:9"\nname = "default"\nsource = "server"\nsha256 = "{digest}"\n'
    lock = project.write("templatelint.lock", f"version = 1\n\n[[template]]\n{entry}\n[[template]]\n{server}")
    try:
        ran = project.pre_commit("templatelint-pin", lock, pinned, verbose=True)
        assert ran.returncode == 0, ran.stdout
        assert all(line.startswith("- ") for line in ran.stdout.splitlines()[1:])
        project.write(pinned, GOOD.replace("<|im_end|>", ""))
        ran = project.pre_commit("templatelint-pin", pinned)
        assert ran.returncode == 1
        assert re.search(r"^error\[TL704\] pin-broken: not the template that", ran.stdout, re.MULTILINE)
    finally:
        (project.folder / "templatelint.lock").unlink()
