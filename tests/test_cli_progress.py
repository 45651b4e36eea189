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
