from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from program import ROOT, environment
from reports_by_hand import HOSTILE, hostile, hostile_setting

from templatelint.report import FORMATS, write

if TYPE_CHECKING:
    from pathlib import Path

    from program import InProcess

FLAGS = ("--engine", "transformers", "--select", "TL101")


@pytest.mark.parametrize("form", FORMATS)
def test_the_exit_code_is_the_same(folder: Path, cli: InProcess, form: str) -> None:
    flags = (*FLAGS, "--output-format", form, "-o", "out")
    assert cli("lint", "deaf.jinja", *flags).code == 1
    assert cli("lint", "deaf.jinja", *flags, "--exit-zero").code == 0
    assert cli("lint", "deaf.jinja", *flags, "--needs", "chat").code == 0
    assert "TL101" in (folder / "out").read_text("utf-8") or form in {"full", "concise"}, "machines are told all"
    ran = cli("lint", "deaf.jinja", "gone.jinja", *flags, "-q", "--statistics")
    assert (ran.code, ran.out) == (2, "")
    assert (folder / "out").read_text("utf-8")


@pytest.mark.parametrize("form", [form for form in FORMATS if form not in {"full", "concise"}])
def test_where_nothing_was_read_a_machine_is_told_so(folder: Path, cli: InProcess, form: str) -> None:
    assert cli("lint", "gone.jinja", "--output-format", form, "-o", "out").code == 2
    assert "gone.jinja" in (folder / "out").read_text("utf-8")


@pytest.mark.parametrize("form", FORMATS)
def test_settings_name_it(folder: Path, cli: InProcess, form: str) -> None:
    (folder / "templatelint.toml").write_text(f'output-format = "{form}"\n', "utf-8")
    typed = cli("lint", "deaf.jinja", *FLAGS, "--isolated", "--output-format", form)
    assert cli("lint", "deaf.jinja", *FLAGS) == typed


@pytest.mark.parametrize("form", FORMATS)
def test_every_text_can_be_encoded(form: str) -> None:
    for text in HOSTILE.values():
        shown = "".join(write(form, hostile(text), hostile_setting(text)))
        assert shown.encode()
        assert "\x1b" not in shown
        assert "\u202e" not in shown


def test_formats_cost_nothing_until_they_are_asked_for() -> None:
    code = "import sys, templatelint.cli.lint; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment(), capture_output=True, check=True)
    loaded = set(ran.stdout.decode().split())
    assert "templatelint.report" in loaded
    assert not loaded & {"json", "xml", "jinja2", "markupsafe", *FORMATS.values()}
