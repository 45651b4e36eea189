from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from contextlib import suppress
from errno import ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gguf
import pytest
from gguf_bytes import ARRAY, Tensor, Value, described, header, number, padded, text, texts, u32
from program import CHATML, DEAF, environment

from templatelint.cases import get
from templatelint.embed import copying, embed
from templatelint.engines.llamacpp.loaded import Ends
from templatelint.engines.llamacpp.tiny_gguf import write
from templatelint.errors import TemplatelintError
from templatelint.sources import resolve
from templatelint.sources.gguf_header import read_header
from templatelint.sources.opening import LocalFile
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Sequence

    from program import InProcess

PLAIN = """\
{% for m in messages %}{{ m.role }}: {{ m.content }}
{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"""
UNPARSED = "{% if %}"
KEY = "tokenizer.chat_template"
PAIRS: list[tuple[str | bytes, Value]] = [
    ("general.architecture", text("llama")),
    ("general.name", text("Ü")),
    ("x.floats", Value(ARRAY, [number(6, 0.5)] * 3)),
    (KEY, text(PLAIN)),
    ("tokenizer.ggml.tokens", texts("a", "b", "<s>")),
    ("tokenizer.ggml.bos_token_id", u32(2)),
]
TENSORS = (Tensor("a.weight", (32, 3), 0, 0), Tensor("b.weight", (7,), 0, 384))
DATA = bytes(range(256)) * 2


def model(pairs: Sequence[tuple[str | bytes, Value]] = PAIRS, alignment: int = 32, **how: Any) -> bytes:
    return padded(described(header(pairs, **how), TENSORS), alignment) + DATA[: 384 + 28]


def without(key: str) -> list[tuple[str | bytes, Value]]:
    return [pair for pair in PAIRS if pair[0] != key]


def fields(path: Path) -> dict[str, list[bytes]]:
    """Key → its bytes, as the gguf package finds them."""
    reader = gguf.GGUFReader(path)
    named = (field for name, field in reader.fields.items() if not name.startswith("GGUF."))
    return {field.name: [bytes(part) for part in field.parts] for field in named}


def tensors(path: Path) -> list[tuple[Any, ...]]:
    reader = gguf.GGUFReader(path)
    return [(t.name, t.tensor_type, tuple(t.shape), t.data.tobytes()) for t in reader.tensors]


FORMS = {
    "replaced": (model(), "default", DEAF),
    "longer-by-one": (model(), "default", PLAIN + "."),
    "shorter": (model(), "default", "."),
    "same": (model(), "default", PLAIN),
    "wide": (model(), "default", PLAIN + "‘é’ 🙂\r\n"),
    "appended": (model(without(KEY)), "default", PLAIN),
    "named": (model(), "tool_use", CHATML),
    "big-endian": (model(order=">"), "default", DEAF),
    "alignment-64": (model([*PAIRS, ("general.alignment", u32(64))], 64), "default", DEAF),
    "alignment-8": (model([*PAIRS, ("general.alignment", u32(8))], 8), "tool_use", DEAF),
}


@pytest.mark.parametrize(("raw", "name", "template"), FORMS.values(), ids=FORMS.keys())
def test_all_but_the_template_is_as_it_was(raw: bytes, name: str, template: str, tmp_path: Path) -> None:
    old, new = tmp_path / "old.gguf", tmp_path / "new.gguf"
    old.write_bytes(raw)
    written = embed(str(old), name, template, new)
    assert old.read_bytes() == raw
    assert written.size == new.stat().st_size
    found = resolve(str(new), reach=Reach(vetting=True)).template(name)
    assert found is not None
    assert (found.source, resolve(str(new), reach=Reach(vetting=True)).damage) == (template, ())
    key = KEY if name == "default" else f"{KEY}.{name}"
    before, after = fields(old), fields(new)
    assert bytes(gguf.GGUFReader(new).fields[key].contents(), "utf-8") == template.encode()
    assert {k: v for k, v in before.items() if k != key} == {k: v for k, v in after.items() if k != key}
    assert list(after) == (list(before) if key in before else [*before, key])
    assert tensors(old) == tensors(new)


def test_the_first_version_of_the_format_has_short_lengths(tmp_path: Path) -> None:
    (tmp_path / "old.gguf").write_bytes(padded(header(PAIRS, version=1)))
    embed(str(tmp_path / "old.gguf"), "default", DEAF, tmp_path / "new.gguf")
    assert (tmp_path / "new.gguf").read_bytes() == padded(
        header([(key, text(DEAF)) if key == KEY else (key, value) for key, value in PAIRS], version=1)
    )[: len(padded(header(PAIRS, version=1))) + len(DEAF) - len(PLAIN)]


def test_a_vocabulary_needs_no_padding(tmp_path: Path) -> None:
    (tmp_path / "old.gguf").write_bytes(header(PAIRS))
    embed(str(tmp_path / "old.gguf"), "default", DEAF, tmp_path / "new.gguf")
    pairs = [(key, text(DEAF)) if key == KEY else (key, value) for key, value in PAIRS]
    assert (tmp_path / "new.gguf").read_bytes() == header(pairs)


def test_what_llama_cpp_answers_is_of_the_embedded_template(tmp_path: Path) -> None:
    from templatelint.engines.llamacpp import real, server

    pytest.importorskip("xllamacpp")
    (tmp_path / "old.gguf").write_bytes(write({"default": PLAIN}, Ends()))
    embed(str(tmp_path / "old.gguf"), "default", DEAF, tmp_path / "new.gguf")
    engine = real.real()
    raw = (tmp_path / "new.gguf").read_bytes()
    with server.serving(engine._command, raw, server.Bounds(20.0, 5.0)) as running:  # noqa: SLF001 (how it is started)
        assert running.ask("GET", "/props").body["chat_template"] == DEAF
        prompt = running.ask("POST", "/apply-template", real.body(get("chat-basic").request)).body["prompt"]
    assert prompt.startswith("<|im_start|>user\n")


# -------------------------------------------------------------------------------------- how it is written


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.gguf"
    path.write_bytes(model())
    path.chmod(0o640)
    return path


def test_permission_bits_are_kept_and_no_neighbour_is_left(old: Path) -> None:
    embed(str(old), "default", DEAF, old.with_name("new.gguf"))
    embed(str(old), "default", DEAF, old)
    assert [stat.S_IMODE(path.stat().st_mode) for path in sorted(old.parent.iterdir())] == [0o640, 0o640]
    assert old.read_bytes() == old.with_name("new.gguf").read_bytes()


@pytest.mark.parametrize("failure", [OSError(ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_what_ends_the_copy_leaves_everything_as_it_was(
    old: Path, failure: BaseException, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise failure

    before = old.read_bytes()
    monkeypatch.setattr(copying, "_some", fail)
    expected = TemplatelintError if isinstance(failure, OSError) else KeyboardInterrupt
    with pytest.raises(expected) as raised:
        embed(str(old), "default", DEAF, old)
    if isinstance(raised.value, TemplatelintError):
        assert raised.value.message == f"{old}: the disk is full, nothing was written"
    assert old.read_bytes() == before
    assert list(old.parent.iterdir()) == [old]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="files without a name are Linux's")
def test_what_kills_us_leaves_nothing(old: Path) -> None:
    program = """
import os, signal, sys
from pathlib import Path
from templatelint.embed import copying, embed
copying._some = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
embed(sys.argv[1], "default", "x", Path(sys.argv[1]))
"""
    before = old.read_bytes()
    ended = subprocess.run([sys.executable, "-c", program, old], env=environment(), check=False)
    assert ended.returncode == -9
    assert list(old.parent.iterdir()) == [old]
    assert old.read_bytes() == before


def test_a_file_system_without_nameless_files_does_too(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copying, "_DESCRIPTORS", Path("nowhere"))
    embed(str(old), "default", DEAF, old)
    assert templates(old) == {"default": DEAF}
    assert list(old.parent.iterdir()) == [old]


def test_a_disk_without_room_is_told_before(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 10}))
    with pytest.raises(TemplatelintError, match=r"new\.gguf needs [\d,]+ bytes, and there are 10 left in "):
        embed(str(old), "default", DEAF, old.with_name("new.gguf"))
    assert list(old.parent.iterdir()) == [old]


def test_bytes_are_copied_also_where_the_system_does_not_copy_by_itself(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed(str(old), "default", DEAF, old.with_name("new.gguf"))

    def fail(*_: object) -> int:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.copy_file_range", fail, raising=False)
    embed(str(old), "default", DEAF, old.with_name("other.gguf"))
    assert old.with_name("new.gguf").read_bytes() == old.with_name("other.gguf").read_bytes()


@pytest.mark.skipif(sys.platform != "linux", reason="holes are asked for as Linux has them")
def test_holes_stay_holes(tmp_path: Path) -> None:
    path, new = tmp_path / "old.gguf", tmp_path / "new.gguf"
    huge = Tensor("a.weight", (5 << 28,), 0, 0)
    path.write_bytes(padded(described(header(PAIRS), [huge])))
    os.truncate(path, path.stat().st_size + (5 << 30) - 5)
    with path.open("ab") as stream:
        stream.write(b"tail!")
    if path.stat().st_blocks > 1 << 12:
        pytest.skip("the file system has no holes")
    embed(str(path), "default", DEAF, new)
    assert new.stat().st_blocks < 1 << 12
    assert resolve(str(new), reach=Reach(vetting=True)).damage == ()
    with new.open("rb") as stream:
        stream.seek(-8, os.SEEK_END)
        assert stream.read() == b"\0\0\0tail!"


def test_a_file_that_changes_under_us_is_not_kept(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = copying._some  # noqa: SLF001 (what the copy waits in)

    def change(source: int, target: int, count: int) -> int:
        with suppress(FileNotFoundError):
            os.utime(old, ns=(1, 1))
        return copy(source, target, count)

    monkeypatch.setattr(copying, "_some", change)
    with pytest.raises(TemplatelintError, match="was changed while it was read: nothing was written"):
        embed(str(old), "default", DEAF, old.with_name("new.gguf"))
    assert list(old.parent.iterdir()) == [old]


def test_what_cannot_be_followed_is_not_copied(tmp_path: Path) -> None:
    path = tmp_path / "old.gguf"
    path.write_bytes(described(header(PAIRS), TENSORS)[:-3])
    with pytest.raises(TemplatelintError, match=r"ends at byte .* within the description of tensor 2 of 2"):
        embed(str(path), "default", DEAF, tmp_path / "new.gguf")


# ------------------------------------------------------------------------------------------ the command


@pytest.fixture
def files(folder: Path) -> Path:
    (folder / "old.gguf").write_bytes(write({"default": PLAIN}, Ends()))
    (folder / "new.jinja").write_text(DEAF, encoding="utf-8", newline="")
    (folder / "bad.jinja").write_text(UNPARSED, encoding="utf-8")
    return folder


def templates(path: Path) -> dict[str, str]:
    with path.open("rb", buffering=0) as handle:
        return dict(read_header(LocalFile(handle, path.stat().st_size), str(path), ()).templates)


def test_extract_gives_what_was_embedded(files: Path, cli: InProcess) -> None:
    ran = cli("embed", "old.gguf", "--template", "new.jinja", "-o", "new.gguf")
    old, new = (resolve(name).templates[0].sha256[:12] for name in ("old.gguf", "new.gguf"))
    size = f"{Path('new.gguf').stat().st_size:,}"
    assert (ran.code, ran.out) == (0, f"wrote new.gguf: chat template {old} → {new} ({size} bytes)\n")
    assert cli("extract", "new.gguf").out == DEAF
    assert templates(files / "old.gguf") == {"default": PLAIN}


def test_errors_on_llama_cpp_are_told_in_a_line(files: Path, cli: InProcess) -> None:
    (files / "new.jinja").write_text(CHATML.replace("<|im_start|>", "<|turn|>"), encoding="utf-8")
    ran = cli("embed", "old.gguf", "--template", "new.jinja", "-o", "new.gguf")
    assert ran.code == 0
    assert ran.err == "note: errors on llama.cpp (TL602), which this tells: templatelint vet new.gguf\n"


def test_in_place_and_as_json(files: Path, cli: InProcess) -> None:
    ran = cli(
        "embed", "old.gguf", "--template", "new.jinja", "--in-place", "--name", "tool_use", "--output-format=json"
    )
    (row,) = json.loads(ran.out)["embedded"]
    assert (ran.code, row["path"], row["name"], row["before"]) == (0, "old.gguf", "tool_use", None)
    assert templates(files / "old.gguf") == {"default": PLAIN, "tool_use": DEAF}


@pytest.mark.parametrize("source", [UNPARSED, "", " \n"], ids=["unparsed", "empty", "blank"])
def test_what_llama_cpp_does_not_load_is_refused_unless_forced(source: str, files: Path, cli: InProcess) -> None:
    (files / "bad.jinja").write_text(source, encoding="utf-8")
    ran = cli("embed", "old.gguf", "--template", "bad.jinja", "-o", "new.gguf")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith("error: nothing was written: ")
    assert not Path("new.gguf").exists()
    ran = cli("embed", "old.gguf", "--template", "bad.jinja", "-o", "new.gguf", "--force")
    assert ran.code == 0
    assert templates(files / "new.gguf") == {"default": source}


def test_a_damaged_file_is_copied_only_when_forced(files: Path, cli: InProcess) -> None:
    (files / "old.gguf").write_bytes((files / "old.gguf").read_bytes()[:-100])
    ran = cli("embed", "old.gguf", "--template", "new.jinja", "-o", "new.gguf")
    assert ran.code == 2
    assert ran.err.startswith("error: old.gguf: tensor data ends at byte ")
    assert cli("embed", "old.gguf", "--template", "new.jinja", "-o", "new.gguf", "--force").code == 0


REFUSED = {
    "neither": ((), "give either -o NEW.gguf or --in-place"),
    "both": (("-o", "x.gguf", "--in-place"), "give either -o NEW.gguf or --in-place"),
    "itself": (("-o", "old.gguf"), "old.gguf is old.gguf itself"),
    "hard-link": (("-o", "hard.gguf"), "hard.gguf is old.gguf itself"),
    "symbolic-link": (("-o", "soft.gguf"), "soft.gguf is old.gguf itself"),
    "template": (("-o", "new.jinja"), "new.jinja is the file that the template is taken from"),
    "folder": (("-o", "."), ".: is a folder, not a file"),
    "device": (("-o", "/dev/null"), "/dev/null is no regular file"),
    "no-folder": (("-o", "nowhere/x.gguf"), "nowhere/x.gguf: there is no folder "),
    "name": (("-o", "x.gguf", "--name", "a\nb"), "--name takes up to 64 printable characters"),
    "blank-name": (("-o", "x.gguf", "--name", " "), "--name takes up to 64 printable characters"),
}


@pytest.mark.parametrize(("words", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_where_it_is_not_written_to(words: tuple[str, ...], message: str, files: Path, cli: InProcess) -> None:
    Path("hard.gguf").hardlink_to("old.gguf")
    Path("soft.gguf").symlink_to("old.gguf")
    before = {path: path.read_bytes() for path in files.iterdir()}
    ran = cli("embed", "old.gguf", "--template", "new.jinja", *words)
    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
    assert {path: path.read_bytes() for path in files.iterdir()} == before


@pytest.mark.parametrize(
    ("file", "message"),
    [("new.jinja", "new.jinja is no GGUF"), ("-", "no such file: -"), ("owner/name", "no such file: owner/name")],
)
def test_only_a_gguf_of_this_machine_is_copied(file: str, message: str, files: Path, cli: InProcess) -> None:
    assert (files / "old.gguf").exists()
    ran = cli("embed", file, "--template", "new.jinja", "-o", "x.gguf")
    assert (ran.code, ran.err.splitlines()[0]) == (2, f"error: {message}")


def test_a_link_keeps_its_place_and_the_hubs_cache_its_files(files: Path, cli: InProcess) -> None:
    Path("soft.gguf").symlink_to("old.gguf")
    assert cli("embed", "soft.gguf", "--template", "new.jinja", "--in-place").code == 0
    assert Path("soft.gguf").is_symlink()
    assert templates(files / "old.gguf") == {"default": DEAF}
    Path("blobs").mkdir()
    Path("old.gguf").rename("blobs/0123")
    Path("cached.gguf").symlink_to("blobs/0123")
    ran = cli("embed", "cached.gguf", "--template", "new.jinja", "--in-place")
    assert (ran.code, ran.err.splitlines()[0]) == (
        2,
        "error: cached.gguf is in the Hub's cache, where files are called by their hash",
    )


def test_the_first_file_of_a_split_keeps_its_ending(files: Path, cli: InProcess) -> None:
    raw = Path("old.gguf").read_bytes()
    Path("m-00001-of-00002.gguf").write_bytes(raw)
    ran = cli("embed", "m-00001-of-00002.gguf", "--template", "new.jinja", "-o", "new.gguf")
    assert ran.code == 2
    assert "has to be called so" in ran.err
    (files / "other").mkdir()
    ran = cli("embed", "m-00001-of-00002.gguf", "--template", "new.jinja", "-o", "other/n-00001-of-00002.gguf")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "note: the other files of the split have to stand beside it")


def test_a_read_only_file_is_left(files: Path, cli: InProcess) -> None:
    before = (files / "old.gguf").read_bytes()
    (files / "old.gguf").chmod(0o444)
    ran = cli("embed", "old.gguf", "--template", "new.jinja", "--in-place")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: old.gguf is read-only\nhelp: ")
    assert (files / "old.gguf").read_bytes() == before


def test_what_is_no_longer_the_same_is_said(files: Path, cli: InProcess) -> None:
    (files / "other.gguf").hardlink_to(files / "old.gguf")
    ran = cli("embed", "old.gguf", "--template", "new.jinja", "--in-place", "--name", "tool-use")
    assert ran.code == 0
    assert "note: old.gguf had 2 names (hard links): the others keep the file as it was" in ran.err
    assert "note: llama.cpp takes no template called tool-use: it reads default and tool_use" in ran.err


def test_a_version_that_is_read_no_more_is_to_be_converted(files: Path, cli: InProcess) -> None:
    (files / "old.gguf").write_bytes(padded(header(PAIRS, version=1)))
    ran = cli("embed", "old.gguf", "--template", "new.jinja", "-o", "new.gguf")
    assert (ran.code, "help: convert the model again, or copy it" in ran.err) == (2, True)


def test_a_missing_option_is_called_by_its_flag(cli: InProcess) -> None:
    assert cli("embed", "old.gguf", "-o", "new.gguf").err.startswith("error: missing --template\n")


def test_a_copy_tells_how_far_it_is(tmp_path: Path) -> None:
    (tmp_path / "old.gguf").write_bytes(model())
    told: list[tuple[int, int]] = []
    written = embed(str(tmp_path / "old.gguf"), "default", DEAF, tmp_path / "new.gguf", lambda *at: told.append(at))
    assert told[-1] == (written.size, written.size)


def test_which_template_of_several_is_taken(files: Path, cli: InProcess) -> None:
    several = [{"name": "default", "template": PLAIN + "d"}, {"name": "tool_use", "template": PLAIN + "t"}]
    Path("tokenizer_config.json").write_text(json.dumps({"chat_template": several}), encoding="utf-8")
    for words, expected in (
        (("tokenizer_config.json",), {"default": PLAIN + "d"}),
        (("tokenizer_config.json#tool_use",), {"default": PLAIN + "t"}),
        (("tokenizer_config.json", "--name", "tool_use"), {"default": PLAIN, "tool_use": PLAIN + "t"}),
    ):
        assert cli("embed", "old.gguf", "-o", "new.gguf", "--template", *words).code == 0
        assert templates(files / "new.gguf") == expected
