from __future__ import annotations

import io

import pytest

from templatelint.report.terminal import ColorChoice, Paint, columns, visible, visible_block, wants_color, width


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("a\nb\tc\rd", "a\\nb\\tc\\rd"),
        ("\x00\x07\x7f\x85\x9b", "\\x00\\x07\\x7f\\x85\\x9b"),
        ("\u202e\u2066\u200e\u061c", "\\u202e\\u2066\\u200e\\u061c"),
        ("zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"),
        ("line\u2028break", "line\\u2028break"),
        ("half\ud800", "half\\ud800"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("日本 é ü 😀", "日本 é ü 😀"),
        ("a\\x1bb", "a\\x1bb"),
    ],
)
def test_what_steers_a_terminal_is_spelt_out(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_a_block_keeps_its_lines() -> None:
    assert visible_block("a\n\tb\r\n\x1b") == "a\n\tb\\r\n\\x1b"


@pytest.mark.parametrize(("text", "taken"), [("abc", 3), ("日本", 4), ("e\u0301", 1), ("｜", 2), ("é", 1)])
def test_width_is_in_columns(text: str, taken: int) -> None:
    assert width(text) == taken


def test_paint() -> None:
    assert Paint(on=True)("x", "red") == "\x1b[1;31mx\x1b[0m"
    assert Paint(on=False)("x", "red") == "x"
    assert Paint(on=True)("", "red") == ""


@pytest.mark.parametrize(
    ("stream", "choice", "environment", "colored"),
    [
        (Terminal(), "auto", {}, True),
        (Terminal(), "never", {"FORCE_COLOR": "1"}, False),
        (Terminal(), "auto", {"NO_COLOR": "1"}, False),
        (Terminal(), "auto", {"NO_COLOR": ""}, True),
        (Terminal(), "always", {"NO_COLOR": "1"}, True),
        (Terminal(), "auto", {"TERM": "dumb"}, False),
        (io.StringIO(), "auto", {}, False),
        (io.StringIO(), "auto", {"FORCE_COLOR": "1"}, True),
        (io.StringIO(), "auto", {"FORCE_COLOR": "0"}, False),
        (io.StringIO(), "auto", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
        (io.StringIO(), "always", {}, True),
        (None, "auto", {}, False),
        (None, "always", {}, True),
    ],
)
def test_colour_follows_flag_then_environment_then_stream(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO | None,
    choice: ColorChoice,
    environment: dict[str, str],
    colored: bool,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert wants_color(stream, choice) is colored


@pytest.mark.parametrize(
    ("stream", "typed", "used"), [(Terminal(), "132", 132), (Terminal(), "10", 40), (io.StringIO(), "132", 80)]
)
def test_columns(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, typed: str, used: int) -> None:
    monkeypatch.setenv("COLUMNS", typed)
    assert columns(stream) == used
