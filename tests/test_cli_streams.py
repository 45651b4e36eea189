"""Standard streams that are closed or full, and interrupts before the command line is read."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from program import ROOT, environment

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a POSIX shell and /dev/full")

SHORT = ROOT / "corpus" / "templates" / "chatml-tools" / "chat_template.jinja"
COMMANDS = ("--help", "--version", "lint --help", "rule TL201", "cases", "engines", "extract SHORT", "render SHORT")
CLOSED, FULL = "it is closed", "no space left on device"


def shell(line: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run a command line of ours in a shell that redirects as it says."""
    line = line.replace("SHORT", str(SHORT))
    return subprocess.run(
        ["sh", "-c", f'exec "{sys.executable}" -m templatelint {line}'],
        env=environment(),
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
    )


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("redirected", "told"), [(">&-", CLOSED), (">/dev/full", FULL)])
def test_a_result_that_cannot_be_written(command: str, redirected: str, told: str) -> None:
    ran = shell(f"{command} {redirected}")
    assert (ran.returncode, ran.stderr) == (2, f"error: cannot write to standard output: {told}\n")


@pytest.mark.parametrize("command", ["rule TL201", "extract SHORT", "extract nothing", "bogus", "", "--bogus"])
@pytest.mark.parametrize("redirected", [">&- 2>&-", ">/dev/full 2>/dev/full", "<&- >&- 2>&-"])
def test_nothing_can_be_written(command: str, redirected: str) -> None:
    ran = shell(f"{command} {redirected}")
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", "")


@pytest.mark.parametrize("redirected", ["2>&-", "2>/dev/full"])
def test_a_message_that_cannot_be_written(redirected: str) -> None:
    assert shell(f"extract nothing {redirected}").returncode == 2
    assert shell(f"render SHORT {redirected}").returncode == 0, "nothing had to be said"


def test_a_note_that_cannot_be_written_is_a_failure(tmp_path: Path) -> None:
    (tmp_path / "x.jinja").write_text("{{ bos_token }}{{ messages }}", encoding="utf-8")
    assert shell("render x.jinja 2>/dev/full", tmp_path).returncode == 2
    assert shell("render x.jinja -q 2>/dev/full", tmp_path).returncode == 0


def test_findings_that_cannot_be_written_are_no_findings(tmp_path: Path) -> None:
    (tmp_path / "x.jinja").write_text("{% for", encoding="utf-8")
    line = "lint x.jinja --engine transformers"
    assert shell(line, tmp_path).returncode == 1
    for redirected in (">&-", ">/dev/full"):
        assert shell(f"{line} {redirected}", tmp_path).returncode == 2


def test_closed_streams_do_not_reach_the_work(tmp_path: Path) -> None:
    (tmp_path / "x.jinja").write_text("{{ messages[0].content }}", encoding="utf-8")
    ran = shell("render x.jinja -o out <&- >&- 2>&-", tmp_path)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert (tmp_path / "out").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("module", "command"),
    [("click", ("--help",)), ("click", ("lint", str(SHORT))), ("jinja2", ("lint", str(SHORT)))],
)
def test_an_interrupt_during_an_import_is_silent(tmp_path: Path, module: str, command: tuple[str, ...]) -> None:
    (tmp_path / f"{module}.py").write_text("raise KeyboardInterrupt", encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "templatelint", *command],
        env=environment(PYTHONPATH=os.pathsep.join((str(tmp_path), str(ROOT)))),
        check=False,
        capture_output=True,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, b"", b"")


def test_the_console_script_imports_nothing_that_takes_time() -> None:
    code = "import sys; before = {*sys.modules}; import templatelint.cli.main; print(*sorted({*sys.modules} - before))"
    ran = subprocess.run([sys.executable, "-c", code], env=environment(), check=True, capture_output=True, text=True)
    assert ran.stdout.split() == ["__future__", "templatelint", "templatelint.cli", "templatelint.cli.main"]
