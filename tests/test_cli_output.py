from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from templatelint.cli import output
from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from program import InProcess

TEXT = "a\r\nb\x1b\ufeff 日本"
BYTES = b"a\r\nb\x1b\xef\xbb\xbf \xe6\x97\xa5\xe6\x9c\xac"


def failing() -> Iterator[str]:
    yield "half"
    raise RuntimeError("no more")


def test_a_file_holds_exactly_the_text(tmp_path: Path) -> None:
    path = tmp_path / "out"
    output.to_file(path, [TEXT[:3], TEXT[3:]])
    assert path.read_bytes() == BYTES
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208 (names are what is compared)


def test_stdout_gets_exactly_the_text(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    output.to_stdout([TEXT])
    assert capfdbinary.readouterr().out == BYTES


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("before")
    with pytest.raises(RuntimeError):
        output.to_file(path, failing())
    assert path.read_text() == "before"
    assert os.listdir(tmp_path) == ["out"]  # noqa: PTH208 (names are what is compared)


def test_half_a_character_is_not_written(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("before")
    for write in (lambda pieces: output.to_file(path, pieces), output.to_stdout):
        with pytest.raises(TemplatelintError, match=r"^the text holds \\ud800, half of a surrogate pair"):
            write(["whole", "a\ud800"])
    assert path.read_text() == "before"


@pytest.mark.skipif(sys.platform == "win32", reason="no modes and links like these")
def test_mode_and_link_of_a_file_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_text("before")
    real.chmod(0o640)
    link.symlink_to(real)
    output.to_file(link, ["after"])
    assert real.read_text() == "after"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert link.is_symlink()


@pytest.mark.skipif(sys.platform == "win32", reason="no /dev")
def test_a_device_is_written_to() -> None:
    output.to_file(Path(os.devnull), ["text"])
    assert not Path(os.devnull).is_file()


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no /dev/fd")
def test_what_the_shell_has_opened_is_written_to_as_it_is(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    try:
        output.to_file(Path(f"/dev/fd/{writing}"), ["to a ", "pipe"])
        assert os.read(reading, 100) == b"to a pipe"
    finally:
        os.close(reading)
        os.close(writing)
    log = tmp_path / "log"
    log.write_text("before, ")
    with log.open("a") as stream:  # `-o /dev/stdout >>log`
        output.to_file(Path(f"/dev/fd/{stream.fileno()}"), ["after"])
    assert log.read_text() == "before, after"


@pytest.mark.skipif(sys.platform == "win32", reason="no such pipes")
def test_a_pipe_behind_a_link_is_written_to(tmp_path: Path) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        output.to_file(link, ["text"])
        assert os.read(reading, 100) == b"text"
    finally:
        os.close(reading)


@pytest.mark.parametrize(
    ("name", "reason"),
    [("", "is a folder, not a file"), ("gone/out", "cannot be written: no such file or directory")],
)
def test_a_file_that_cannot_be_written(tmp_path: Path, name: str, reason: str) -> None:
    path = tmp_path / name
    with pytest.raises(TemplatelintError) as caught:
        output.to_file(path, ["text"])
    assert caught.value.message == f"{path}: {reason}"


def test_json_has_a_line_for_each_object() -> None:
    objects: list[dict[str, Any]] = [{"a": 1}, {"b": "\u202e"}]
    assert "".join(output.as_json(objects, "rows", lines=True)) == '{"a": 1}\n{"b": "\\u202e"}\n'
    assert "".join(output.as_json(objects, "rows", lines=False)) == (
        '{"version": 1, "rows": [\n{"a": 1},\n{"b": "\\u202e"}\n]}\n'
    )
    assert "".join(output.as_json([], "rows", lines=False)) == '{"version": 1, "rows": [\n]}\n'


@pytest.mark.parametrize("command", [["rule", "TL201"], ["lint", "deaf.jinja"], ["render", "deaf.jinja"], ["engines"]])
@pytest.mark.parametrize("extra", [[], ["--output-format", "json"]])
def test_every_command_writes_the_same_to_a_file(
    cli: InProcess, folder: Path, command: list[str], extra: list[str]
) -> None:
    printed = cli(*command, *extra)
    written = cli(*command, *extra, "-o", "out")
    assert written.out == ""
    assert (folder / "out").read_bytes().decode() == printed.out != ""
    assert written.code == printed.code


@pytest.mark.parametrize("color", ["auto", "always"])
def test_a_file_is_coloured_only_when_asked(cli: InProcess, folder: Path, color: str) -> None:
    cli("lint", "deaf.jinja", "-o", "out", "--color", color)
    assert ("\x1b[" in (folder / "out").read_text()) is (color == "always")
