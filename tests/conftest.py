from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from program import CHATML, DEAF, InProcess

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> InProcess:
    """Runs command lines in this process."""
    return InProcess(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with a clean template, one that drops most of what it gets, and one that is no template."""
    (tmp_path / "chat_template.jinja").write_text(CHATML, encoding="utf-8")
    (tmp_path / "deaf.jinja").write_text(DEAF, encoding="utf-8")
    (tmp_path / "broken.jinja").write_text("{% for message in messages %}{{ message.content }", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("NO_COLOR", "FORCE_COLOR", "TEMPLATELINT_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path
