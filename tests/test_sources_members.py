"""What a model's folder holds beside the file that was named: the one with the template, and what cannot be read."""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from templatelint.errors import TemplatelintError
from templatelint.sources import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no pipes and links like these")

BARE = {"bos_token": "<s>"}
CARRIERS: dict[str, dict[str, Any]] = {
    "jinja": {"chat_template.jinja": "J"},
    "additional": {"additional_chat_templates/rag.jinja": "R"},
    "tokenizer": {"tokenizer_config.json": {"chat_template": "T"}},
    "processor": {"processor_config.json": {"chat_template": "P"}},
    "legacy": {"chat_template.json": {"chat_template": "L"}},
}
COMPANIONS = ("tokenizer_config.json", "processor_config.json", "chat_template.json", "generation_config.json")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, content: Any) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")


# ---------------------------------------------------------------------------------- where the template is


@pytest.mark.parametrize("folder", ["", "model/"])
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("companion", COMPANIONS)
def test_a_companion_knows_the_file_with_the_template(folder: str, carrier: str, companion: str) -> None:
    (name, content), *_ = CARRIERS[carrier].items()
    if name == companion:
        return
    write(folder + companion, BARE)
    write(folder + name, content)
    model = resolve(folder + companion)
    assert (model.templates, model.elsewhere) == ((), folder + name)
    assert [folder + name in note for note in model.notes].count(True) == 1


@pytest.mark.parametrize("companion", COMPANIONS)
@pytest.mark.parametrize("value", [None, [], {}])
def test_a_companion_of_nothing_has_no_other_file(companion: str, value: Any) -> None:
    write(companion, {"chat_template": value})
    write("other.jinja", "a template of something else")
    write("tokenizer_config.json", {"bos_token": "<s>", "chat_template": value})
    assert resolve(companion).elsewhere == ""


def test_a_config_with_a_template_speaks_for_itself() -> None:
    write("tokenizer_config.json", {"chat_template": "T"})
    write("chat_template.jinja", "J")
    assert resolve("tokenizer_config.json").elsewhere == ""


@pytest.mark.parametrize(
    ("filename", "elsewhere"), [("m/tokenizer_config.json", "m/chat_template.jinja"), ("x.json", "")]
)
def test_standard_input_is_a_companion_of_the_files_beside_its_name(
    monkeypatch: pytest.MonkeyPatch, filename: str, elsewhere: str
) -> None:
    write("m/chat_template.jinja", "J")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(json.dumps(BARE).encode())))
    assert resolve("-", stdin_filename=filename).elsewhere == elsewhere


# ------------------------------------------------------------------------------------ what cannot be read


def loop(path: Path) -> None:
    path.symlink_to(path.name)


def dangling(path: Path) -> None:
    path.symlink_to("gone")


UNREADABLE: dict[str, tuple[Callable[[Path], object], str]] = {
    "pipe": (os.mkfifo, "is a pipe, not a file"),
    "folder": (Path.mkdir, "is a directory, not a file"),
    "loop": (loop, ": too many levels of symbolic links"),
    "dangling": (dangling, "is a symbolic link to gone, which does not exist"),
}
DECIDING = (
    "chat_template.jinja",
    "tokenizer_config.json",
    "processor_config.json",
    "chat_template.json",
    "additional_chat_templates/rag.jinja",
)


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("name", DECIDING)
@pytest.mark.parametrize("ref", ["m", "m/special_tokens_map.json"])
def test_a_file_that_decides_and_cannot_be_read_is_an_error(kind: str, name: str, ref: str) -> None:
    make, told = UNREADABLE[kind]
    write("m/special_tokens_map.json", BARE)
    Path("m", name).parent.mkdir(exist_ok=True)
    make(Path("m", name))
    with pytest.raises(TemplatelintError) as raised:
        resolve(ref)
    assert f"m/{name}" in raised.value.message
    assert told in raised.value.message


def test_a_folder_of_templates_that_is_none() -> None:
    write("m/tokenizer_config.json", BARE)
    write("m/additional_chat_templates", "a file")
    with pytest.raises(TemplatelintError, match=r"^m/additional_chat_templates is not a folder$"):
        resolve("m")


@pytest.mark.parametrize("kind", UNREADABLE)
@pytest.mark.parametrize("name", ["special_tokens_map.json", "generation_config.json", "tokenizer.json"])
def test_a_file_that_only_adds_and_cannot_be_read_is_noted(kind: str, name: str) -> None:
    make, told = UNREADABLE[kind]
    write("m/tokenizer_config.json", {"chat_template": "T", "eos_token": "</s>"})
    write("m/generation_config.json", {"eos_token_id": 1})
    Path("m", name).unlink(missing_ok=True)
    make(Path("m", name))
    if name == "generation_config.json":
        assert any(f"m/{name}" in note and told in note for note in resolve("m").notes)
    else:
        assert f"left out: m/{name}" in " ".join(resolve("m").notes)


@pytest.mark.parametrize("kind", UNREADABLE)
def test_what_stands_beside_a_config_with_a_template_is_noted(kind: str) -> None:
    make, told = UNREADABLE[kind]
    write("m/tokenizer_config.json", {"chat_template": "T"})
    make(Path("m/chat_template.jinja"))
    model = resolve("m/tokenizer_config.json")
    assert model.templates[0].source == "T"
    assert any(note.startswith("left out: m/chat_template.jinja") and told in note for note in model.notes)


def test_a_broken_processor_config_is_an_error_where_nothing_else_has_a_template() -> None:
    write("m/tokenizer_config.json", BARE)
    write("m/processor_config.json", "{")
    with pytest.raises(TemplatelintError, match=r"^m/processor_config\.json:1:2: not JSON"):
        resolve("m")


# ------------------------------------------------------------------------------------------ names and refs


@pytest.mark.parametrize("ref", ["m/tokenizer_config.json", "m"])
def test_a_name_that_is_given_twice_is_told(ref: str) -> None:
    entries = [
        {"name": "default", "template": "1"},
        {"name": "rag", "template": "R"},
        {"name": "default", "template": "2"},
    ]
    write("m/tokenizer_config.json", {"chat_template": entries})
    model = resolve(ref)
    assert {template.name: template.source for template in model.templates} == {"default": "2", "rag": "R"}
    assert model.notes == ('m/tokenizer_config.json: 2 templates have the name "default"; the last one counts',)


def test_a_name_without_a_file() -> None:
    with pytest.raises(TemplatelintError, match=r'^no file or folder before "#rag"$'):
        resolve("#rag")
