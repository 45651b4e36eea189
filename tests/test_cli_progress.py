from __future__ import annotations

import io
import sys

import pytest

from templatelint.cli import progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("terminal", "quiet", "seen"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_a_bar_is_for_people_at_a_terminal(
    terminal: bool, quiet: bool, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal() if terminal else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_QUICK", -1.0)
    monkeypatch.setenv("TERM", "xterm")
    with progress.bar("linting", quiet=quiet) as advance:
        if advance is not None:
            advance(1, 3)
            advance(2, 3)
    assert ("linting" in stream.getvalue()) == seen


def test_quick_work_shows_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.bar("linting", quiet=False) as advance:
        assert advance is not None
        advance(1, 2)
    assert not stream.getvalue()


@pytest.mark.parametrize(("quick", "seen"), [(-1.0, True), (60.0, False)])
def test_bytes_of_a_remote_file_show_once_it_takes_its_time(
    quick: float, seen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "_QUICK", quick)
    monkeypatch.setenv("TERM", "xterm")
    advance = progress.fetching(quiet=False)
    assert advance is not None
    for came in (1 << 20, 2 << 20, 0, 1 << 20, 0, 0):
        advance(came)
    assert ("fetching" in stream.getvalue()) == seen


@pytest.mark.parametrize("quiet", [True, False])
def test_bytes_of_a_remote_file_are_for_people_at_a_terminal(quiet: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal() if quiet else io.StringIO())
    assert progress.fetching(quiet=quiet) is None
