"""The program, in this process or as a user starts it, for the tests of the command line."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from templatelint.cli.main import run

if TYPE_CHECKING:
    import pytest

ROOT = Path(__file__).parents[1]
CHATML = (ROOT / "corpus" / "templates" / "chatml-tools" / "chat_template.jinja").read_text(encoding="utf-8")
# drops the system message, and whatever has to do with tools
DEAF = """\
{% for message in messages if message.role in ('user', 'assistant') %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


@dataclass(frozen=True)
class Ran:
    """What a run gave."""

    code: int
    out: str
    err: str


class InProcess:
    """Runs command lines in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ran:
        self._capsys.readouterr()
        code = run(arguments)
        out, err = self._capsys.readouterr()
        return Ran(code, out, err)


def environment(**changes: str) -> dict[str, str]:
    """This process's environment, with our package importable and nothing that turns colour on."""
    kept = {name: value for name, value in os.environ.items() if name not in {"FORCE_COLOR", "NO_COLOR"}}
    return {**kept, "PYTHONPATH": str(ROOT), **changes}


def start(*arguments: str, stdin: bytes = b"", **changes: str) -> subprocess.CompletedProcess[bytes]:
    """Run a command line as a user would: a process of its own, bytes in and out."""
    return subprocess.run(
        [sys.executable, "-m", "templatelint", *arguments],
        input=stdin,
        env=environment(**changes),
        check=False,
        capture_output=True,
    )
