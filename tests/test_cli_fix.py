from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from gguf_bytes import header, text

from templatelint import cases, engines, fix
from templatelint.fix import proof
from templatelint.fix.cures import for_rule

if TYPE_CHECKING:
    from program import InProcess

    from templatelint.fix.cure import Cure
    from templatelint.model import Model

SOURCE = (Path(__file__).parent / "data" / "fixes" / "TL301-null-content.jinja").read_text("utf-8")
FIXED = SOURCE.replace("+ m.content }}\n{%- for call", "+ (m.content or '') }}\n{%- for call")
FLAGS = ("--engine", "transformers", "--select", "TL301")


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Enough of the proof for tests of what becomes of its result."""
    some = [cases.get(case_id) for case_id in ("chat-basic", "tool-call", "tool-call-empty", "tool-loop")]
    monkeypatch.setattr(proof, "_wanted", lambda: some)
    monkeypatch.setattr(proof, "_usable", lambda: (engines.get("transformers"),))


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.jinja"
    path.write_text(SOURCE, "utf-8")
    path.chmod(0o640)
    return path


def test_a_diff_is_shown_and_nothing_written(cli: InProcess, path: Path) -> None:
    ran = cli("lint", "t.jinja", "--diff", *FLAGS)
    lines = ran.out.splitlines()
    assert (ran.code, lines[:2]) == (1, ["--- t.jinja", "+++ t.jinja"])
    assert [line[:1] for line in lines[3:]] == [" ", " ", " ", "-", "+", " ", " ", " "]
    assert ran.err == "t.jinja:\n    1 × TL301 (content that may be missing is guarded)\nWould fix 1 finding\n"
    assert path.read_text("utf-8") == SOURCE


def test_a_fix_is_written_and_what_remains_is_told(cli: InProcess, path: Path) -> None:
    link = path.with_name("link.jinja")
    link.symlink_to(path.name)
    ran = cli("lint", "link.jinja", "--fix", "--output-format", "json", *FLAGS)
    assert (ran.code, json.loads(ran.out)["findings"]) == (0, [])
    assert ran.err == "link.jinja:\n    1 × TL301 (content that may be missing is guarded)\nFixed 1 finding\n"
    assert (path.read_text("utf-8"), path.stat().st_mode & 0o777) == (FIXED, 0o640)
    assert link.is_symlink()
    again = cli("lint", "t.jinja", "--diff", *FLAGS)
    assert (again.code, again.out, again.err) == (0, "", "")


def test_newlines_are_kept(cli: InProcess, path: Path) -> None:
    path.write_bytes(SOURCE.replace("\n", "\r\n").encode())
    assert cli("lint", "t.jinja", "--fix", *FLAGS).code == 0
    assert path.read_bytes() == FIXED.replace("\n", "\r\n").encode()


def test_in_a_json_file_only_the_template_changes(cli: InProcess, path: Path) -> None:
    config = path.with_name("tokenizer_config.json")
    config.write_text(json.dumps({"chat_template": SOURCE, "x": [1, 2]}, indent=3), "utf-8")
    assert cli("lint", config.name, "--fix", *FLAGS).code == 0
    changed = config.read_text("utf-8")
    assert changed == json.dumps({"chat_template": FIXED, "x": [1, 2]}, indent=3)


def test_what_is_accepted_is_left(cli: InProcess, path: Path) -> None:
    accepted = "{# templatelint: ignore[TL301] our clients send texts #}\n" + SOURCE
    path.write_text(accepted, "utf-8")
    assert cli("lint", "t.jinja", "--diff", *FLAGS).code == 0


def test_what_cannot_be_written_to_is_shown_only(cli: InProcess, path: Path) -> None:
    path.with_name("m.gguf").write_bytes(header([("tokenizer.chat_template", text(SOURCE))]))
    ran = cli("lint", "m.gguf", "--fix", "--engine", "transformers", "--select", "TL301", "--output-format", "json")
    assert [found["rule"] for found in json.loads(ran.out)["findings"]] == ["TL301"]
    assert ran.err == "note: m.gguf: not fixed: a GGUF is not written to in place; --diff shows what would change\n"
    shown = cli("lint", "m.gguf", "--diff", *FLAGS)
    assert (shown.code, shown.out.splitlines()[0]) == (1, "--- m.gguf")


def test_standard_input_is_printed_fixed(cli: InProcess, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(path.read_bytes())))
    ran = cli("lint", "-", "--fix", *FLAGS)
    assert (ran.code, ran.out, ran.err.splitlines()[0]) == (0, FIXED, "<stdin>:")


def test_unsafe_fixes_alone_are_a_mistake(cli: InProcess, path: Path) -> None:
    del path
    ran = cli("lint", "t.jinja", "--unsafe-fixes")
    assert (ran.code, ran.out) == (2, "")
    assert "--unsafe-fixes goes with --fix or --diff" in ran.err


def test_findings_below_what_is_shown_are_left(cli: InProcess, path: Path) -> None:
    ran = cli("lint", "t.jinja", "--diff", "--min-severity", "error", "--engine", "all", "--select", "TL301")
    assert (ran.code, ran.out) == (0, "")
    del path


def test_a_file_that_is_read_only_is_left(cli: InProcess, path: Path) -> None:
    path.chmod(0o444)
    ran = cli("lint", "t.jinja", "--fix", *FLAGS)
    assert path.read_text("utf-8") == SOURCE
    assert ran.err == "note: t.jinja: not fixed: it is read-only; --diff shows what would change\n"


def test_a_hard_link_stays_one(cli: InProcess, path: Path) -> None:
    other = path.with_name("other.jinja")
    other.hardlink_to(path)
    assert cli("lint", "t.jinja", "--fix", *FLAGS).code == 0
    assert other.samefile(path)
    assert other.read_text("utf-8") == FIXED


def test_exit_zero_holds_for_a_diff(cli: InProcess, path: Path) -> None:
    del path
    ran = cli("lint", "t.jinja", "--fix", "--diff", "--exit-zero", *FLAGS)
    assert (ran.code, ran.out.splitlines()[0]) == (0, "--- t.jinja")


def test_an_interrupt_leaves_what_was_written_and_told(
    cli: InProcess, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = path.with_name("u.jinja")
    other.write_text(SOURCE, "utf-8")
    whole = fix.fix

    def interrupted(model: Model, *given: Any, **named: Any) -> fix.Outcome:
        if model.ref == "u.jinja":
            raise KeyboardInterrupt
        return whole(model, *given, **named)

    monkeypatch.setattr(fix, "fix", interrupted)
    ran = cli("lint", "t.jinja", "u.jinja", "--fix", *FLAGS)
    assert (path.read_text("utf-8"), other.read_text("utf-8")) == (FIXED, SOURCE)
    assert ran.err.startswith("t.jinja:\n    1 × TL301 ")
    assert ran.code not in (0, 1)


@pytest.mark.parametrize(
    ("flags", "told"),
    [
        ((), "1 finding has a cure that did not pass the proof; -v says why\n"),
        (("-v",), "not fixed: t.jinja: TL301: it would change "),
    ],
)
def test_a_cure_that_is_refused_is_told(
    cli: InProcess, path: Path, monkeypatch: pytest.MonkeyPatch, flags: tuple[str, ...], told: str
) -> None:
    def strict(rule: str) -> tuple[Cure, ...]:
        return tuple(replace(cure, allows=lambda _: False, exact=True) for cure in for_rule(rule))

    monkeypatch.setattr(fix, "for_rule", strict)
    ran = cli("lint", "t.jinja", "--fix", *flags, *FLAGS)
    assert path.read_text("utf-8") == SOURCE
    assert ran.err.startswith(told)
