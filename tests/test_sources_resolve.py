from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gguf_bytes import header, text

from templatelint.errors import TemplatelintError
from templatelint.sources import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAMED = {"chat_template": [{"name": "default", "template": "D"}, {"name": "tool_use", "template": "TU"}]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one file of each kind."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "qwen.jinja").write_text("{{ messages }}\n", "utf-8")
    (tmp_path / "odd#name.jinja").write_text("odd", "utf-8")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(NAMED), "utf-8")
    (tmp_path / "model.gguf").write_bytes(header([("tokenizer.chat_template", text("G"))]))
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "llama3.jinja").write_text("L", "utf-8")
    return tmp_path


# reference -> kind, name and source of the templates, picked
TAKEN = {
    "qwen.jinja": ("file", {"default": "{{ messages }}\n"}, False),
    "./qwen.jinja": ("file", {"default": "{{ messages }}\n"}, False),
    "qwen.jinja#default": ("file", {"default": "{{ messages }}\n"}, True),
    "odd#name.jinja": ("file", {"default": "odd"}, False),
    "odd#name.jinja#default": ("file", {"default": "odd"}, True),
    "tokenizer_config.json": ("config", {"default": "D", "tool_use": "TU"}, False),
    "tokenizer_config.json#tool_use": ("config", {"tool_use": "TU"}, True),
    ".#tool_use": ("folder", {"tool_use": "TU"}, True),
    "model.gguf": ("gguf", {"default": "G"}, False),
    "templates/llama3.jinja": ("file", {"default": "L"}, False),
}


@pytest.mark.parametrize(("ref", "expected"), TAKEN.items(), ids=TAKEN)
def test_reference(ref: str, expected: tuple[str, dict[str, str], bool], here: Path) -> None:
    assert here.is_dir()
    model = resolve(ref)
    assert (model.kind, {template.name: template.source for template in model.templates}, model.picked) == expected
    assert model.ref == ref.removesuffix("#default").removesuffix("#tool_use")


# reference -> message, part of the help
NOT_THERE = {
    "": ("the reference is empty", None),
    "qwem.jinja": ("no such file: qwem.jinja", "did you mean qwen.jinja?"),
    "templates/lama3.jinja": ("no such file: templates/lama3.jinja", "did you mean templates/llama3.jinja?"),
    "template/llama3.jinja": ("no such file: template/llama3.jinja", "there is no folder template"),
    "zzz": ("no such file: zzz", None),
    "templates/zzz": ("no such file: templates/zzz", None),
    "qwem.jinja#default": ("no such file: qwem.jinja", "did you mean qwen.jinja?"),
    "a\0b": ("no such file: a\0b", None),
    "tokenizer_config.json#tool-use": (
        'no template "tool-use" in tokenizer_config.json',
        "did you mean tokenizer_config.json#tool_use? it has default, tool_use",
    ),
    "tokenizer_config.json#": ('no template "" in tokenizer_config.json', "it has default, tool_use"),
    "model.gguf#rag": ('no template "rag" in model.gguf', "it has default"),
    # nothing listens where the tests look for the Hub
    "Qwen/Qwen3-4B": ("there is no file or folder Qwen/Qwen3-4B, and no answer from the Hub: 127.0.0.1", "HF_ENDPOINT"),
    "Qwen/Qwen3-4B@main": ("there is no file or folder Qwen/Qwen3-4B, and no answer", "HF_ENDPOINT"),
    "Qwen/Qwen3-4B-GGUF:Q4_K_M": ("there is no file or folder Qwen/Qwen3-4B-GGUF, and no answer", "HF_ENDPOINT"),
    "Qwen/Qwen3-4B#tool_use": ("there is no file or folder Qwen/Qwen3-4B, and no answer", "HF_ENDPOINT"),
    "hf:Qwen/Qwen3-4B/tokenizer_config.json": ("Qwen/Qwen3-4B: no answer from the Hub", "HF_ENDPOINT"),
    "http://127.0.0.1:9/x.jinja": ("127.0.0.1 refuses the connection", "is the server running"),
}


@pytest.mark.parametrize(("ref", "expected"), NOT_THERE.items(), ids=map(repr, NOT_THERE))
def test_nothing_there(ref: str, expected: tuple[str, str | None], here: Path) -> None:
    assert here.is_dir()
    with pytest.raises(TemplatelintError) as caught:
        resolve(ref)
    assert expected[0] in caught.value.message
    assert expected[1] in caught.value.help if expected[1] and caught.value.help else expected[1] is None


@pytest.mark.usefixtures("here")
def test_existing_path_before_repository() -> None:
    Path("Qwen").mkdir()
    Path("Qwen/Qwen3-4B").write_text("{{ x }}", "utf-8")
    model = resolve("Qwen/Qwen3-4B")
    assert model.kind == "file"
    assert model.notes == ("taken: the file here; the repository of that name is hf:Qwen/Qwen3-4B",)
    with pytest.raises(TemplatelintError, match=r"^no such file: Qwen/Qwen3-8B$") as caught:
        resolve("Qwen/Qwen3-8B")
    assert caught.value.help == "did you mean Qwen/Qwen3-4B? the repository of that name is hf:Qwen/Qwen3-8B"


# ------------------------------------------------------------------------------- BOS and EOS

TOKENS = [
    (None, None, {"bos_token": "<s>", "eos_token": "</s>"}, True),
    ("<bos>", None, {"bos_token": "<bos>", "eos_token": "</s>"}, True),
    (None, "<eos>", {"bos_token": "<s>", "eos_token": "<eos>"}, True),
    ("<bos>", "<eos>", {"bos_token": "<bos>", "eos_token": "<eos>"}, False),
    ("", None, {"eos_token": "</s>"}, True),
    ("", "", {}, False),
]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("bos", "eos", "tokens", "assumed"), TOKENS)
def test_tokens_of_a_bare_file(bos: str | None, eos: str | None, tokens: dict[str, str], assumed: bool) -> None:
    tokenizer = resolve("qwen.jinja", bos_token=bos, eos_token=eos).tokenizer
    assert (dict(tokenizer.special_tokens), tokenizer.assumed) == (tokens, assumed)


@pytest.mark.usefixtures("here")
def test_tokens_of_a_tokenizer_stay() -> None:
    bos = "<bos>"
    model = resolve("tokenizer_config.json", bos_token=bos)
    assert dict(model.tokenizer.special_tokens) == {}
    assert model.notes == ("--bos-token not applied: the model's own files say which tokens it has",)


# ------------------------------------------------------------------------------- unreadable files

TEXTS = {
    "utf-16-le": ("a{{ b }}".encode("utf-16"), "is UTF-16 text, a template is UTF-8"),
    "utf-16-be": (b"\xfe\xff\0a", "is UTF-16 text, a template is UTF-8"),
    "zero-byte": (b"abc\0", "is binary (a zero byte at offset 3), a template is UTF-8 text"),
    "latin-1": ("é\n{{ 'ü' }}".encode("latin-1"), "is not UTF-8: byte 0xe9 at offset 0 (line 1)"),
    "latin-1-below": (b"ok\nok\n\xff", "is not UTF-8: byte 0xff at offset 6 (line 3)"),
    "cut-character": ("{{ '€' }}".encode()[:6], "is not UTF-8: byte 0xe2 at offset 4 (line 1)"),
    "lfs-pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "is a Git LFS pointer"),
    "too-large": (b"x" * ((1 << 20) + 1), "has 1,048,577 bytes, more than the 1,048,576 a template may have"),
}


@pytest.mark.parametrize(("raw", "message"), TEXTS.values(), ids=TEXTS)
def test_no_template_text(raw: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jinja"
    path.write_bytes(raw)
    with pytest.raises(TemplatelintError) as caught:
        resolve(str(path))
    assert caught.value.message.startswith(f"{path} {message}")


KEPT = {
    "empty": b"",
    "byte-order-mark": b"\xef\xbb\xbf{{ x }}",
    "crlf": b"a\r\nb\rc\n",
    "largest": b"x" * (1 << 20),
    "any-ending": "€ {{ '\U0001f600' }}".encode(),
}


@pytest.mark.parametrize("raw", KEPT.values(), ids=KEPT)
def test_text_is_kept_byte_for_byte(raw: bytes, tmp_path: Path) -> None:
    path = tmp_path / "template.txt"
    path.write_bytes(raw)
    (template,) = resolve(str(path)).templates
    assert template.source.encode() == raw
    assert template.origin.text == template.source
    assert (template.origin.path, template.origin.start, template.origin.escaped) == (str(path), 0, False)


def fifo(path: Path) -> Path:
    os.mkfifo(path)
    return path


def unix_socket(path: Path) -> Path:
    with socket.socket(socket.AF_UNIX) as end:
        end.bind(os.path.relpath(path))
    return path


def directory_as_gguf(path: Path) -> Path:
    path.mkdir()
    return path


def dangling(path: Path) -> Path:
    path.symlink_to("nowhere.jinja")
    return path


def loop(path: Path) -> Path:
    path.symlink_to(path)
    return path


def below_a_file(path: Path) -> Path:
    path.touch()
    return path / "y"


NO_FILES: dict[str, tuple[Callable[[Path], Path], str, str]] = {
    "pipe": (fifo, "x.jinja", "is a pipe, not a file"),
    "pipe-json": (fifo, "tokenizer_config.json", "is a pipe, not a file"),
    "pipe-gguf": (fifo, "x.gguf", "is a pipe, not a file"),
    "socket": (unix_socket, "x.jinja", "is a socket, not a file"),
    "device": (lambda _: Path("/dev/zero"), "-", "is a device, not a file"),
    "null": (lambda _: Path("/dev/null"), "-", "is a device, not a file"),
    "directory": (directory_as_gguf, "x.gguf", "is no model folder"),
    "link-to-nothing": (dangling, "x.jinja", "is a symbolic link to nowhere.jinja, which does not exist"),
    "link-to-itself": (loop, "x.jinja", ": too many levels of symbolic links"),
    "name-too-long": (lambda path: path, "x" * 300, ": file name too long"),
    "file-as-folder": (below_a_file, "x.jinja", "no such file"),
}


@pytest.mark.skipif(sys.platform == "win32", reason="pipes, sockets and devices as paths are POSIX")
@pytest.mark.parametrize(("make", "name", "message"), NO_FILES.values(), ids=NO_FILES)
def test_no_regular_file(
    make: Callable[[Path], Path], name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = make(tmp_path / name)
    with pytest.raises(TemplatelintError) as caught:
        resolve(str(path))
    assert message in caught.value.message
    assert str(path) in caught.value.message


@pytest.fixture
def locked(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "locked"
    folder.mkdir()
    (folder / "x.jinja").write_text("x", "utf-8")
    (folder / "x.jinja").chmod(0)
    yield folder
    folder.chmod(0o700)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_not_permitted(locked: Path) -> None:
    with pytest.raises(TemplatelintError, match=r": permission denied$"):
        resolve(str(locked / "x.jinja"))
    locked.chmod(0)
    for path in (locked, locked / "x.jinja"):
        with pytest.raises(TemplatelintError, match=r": permission denied$"):
            resolve(str(path))


def test_a_template_loads_nothing_it_does_not_need(tmp_path: Path) -> None:
    path = tmp_path / "x.jinja"
    path.write_text("x", "utf-8")
    code = (
        "import sys; from templatelint.sources import resolve; resolve(sys.argv[1]); "
        "print({'json', 'gguf', 'numpy', 'difflib', 'struct', 'rich', 'jinja2'} & set(sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "set()"
