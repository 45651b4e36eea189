from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

import forking
import pytest
from hub_server import HubServer
from program import CHATML, DEAF, InProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# No test reaches the network, in this process or in one that it starts: nothing listens on the discard port, and the
# library reads its settings when it is imported.
for _name in [name for name in os.environ if name.startswith(("HF_", "HUGGING"))]:
    del os.environ[_name]
os.environ |= {
    "HF_ENDPOINT": "http://127.0.0.1:9",
    "HF_HOME": f"{tempfile.gettempdir()}/no-hub",
    "NO_PROXY": "127.0.0.1,localhost",
}


def pytest_collection_finish(session: pytest.Session) -> None:
    """A worker, which has collected every test, makes ready for all the children that they start."""
    if hasattr(session.config, "workerinput"):
        forking.settle()


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    """A Hub that this process, and those that it starts, take for the real one; its cache is empty."""
    from huggingface_hub import constants

    with HubServer() as server:
        home = tmp_path / "hf-home"
        monkeypatch.setenv("HF_ENDPOINT", server.endpoint)
        monkeypatch.setenv("HF_HOME", str(home))
        monkeypatch.setattr(constants, "ENDPOINT", server.endpoint)
        url = f"{server.endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url)
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
        monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(home / "token"))
        monkeypatch.setattr(constants, "HF_STORED_TOKENS_PATH", str(home / "stored_tokens"))
        yield server


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
