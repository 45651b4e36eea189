"""A short, seeded run of `benchmarks/fuzz`, and proof that it would notice what must not be."""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from gguf_bytes import header, text, texts

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from fuzz import ggufs, jinja, makers, run, running
from fuzz.case import Case

if TYPE_CHECKING:
    from collections.abc import Callable

SEED = 8
EACH = 3  # cases of each kind
SECONDS = 10.0  # of processor time for a command; it takes under one


@pytest.mark.parametrize("maker", makers.MAKERS, ids=lambda maker: maker.__name__)
def test_nothing_that_must_not_be_comes_of_mutated_inputs(maker: Callable[[Random], Case], tmp_path: Path) -> None:
    cases = [maker(Random(f"{SEED}:{maker.__name__}:{n}")) for n in range(EACH)]  # noqa: S311 (it has to be repeatable)
    ran = [row for number, case in enumerate(cases) for row in running.run(case, tmp_path / str(number), SECONDS)]
    assert len(ran) >= EACH
    assert [(row.command, row.wrong, row.told) for row in ran if row.wrong] == []


def test_a_case_is_the_same_in_every_run() -> None:
    assert [run.case_of(3, index) for index in range(40)] == [run.case_of(3, index) for index in range(40)]
    assert len({run.case_of(3, index).kind for index in range(40)}) >= 5


def test_workers_give_what_one_process_gives() -> None:
    found = run.fuzz(run.Plan(SEED, SECONDS), range(3), jobs=2)
    assert {index for index, _ in found} == {0, 1, 2}
    assert "Faults: 0" in run.report(found, SEED, 1.0)


# -------------------------------------------------------------------------------- what it would notice

COMMAND = ("lint", "t.jinja")
CLEAN = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}a:{% endif %}"
NOTICED = {
    "clean": ((0, b"", ""), "clean, and nobody can read the template"),
    "other-text": ((0, b"x", ""), "prints another text than the file carries"),
    "exit-code": ((120, b"", "e"), "exit code 120"),
    "traceback": ((2, b"", "Traceback (most recent call last):\n"), "a traceback"),
    "internal": ((2, b"", "error: internal: KeyError: 'x'\n"), "a fault of ours: error: internal: KeyError: 'x'"),
    "crashed": ((1, b'"the rule crashed: KeyError"', ""), "a rule crashed"),
    "control": ((2, b"", "error: \x1b[2J\n"), "a control character on stderr"),
    "silent": ((2, b"", ""), "says nothing"),
    "well": ((1, b"findings", ""), ""),
}


@pytest.mark.parametrize(("gave", "wrong"), NOTICED.values(), ids=NOTICED.keys())
def test_what_is_wrong_is_noticed(
    gave: tuple[int, bytes, str], wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unreadable = gave[1] != b"x"
    exact: dict[tuple[str, ...], bytes] = {} if unreadable else {COMMAND: b"y"}
    case = Case("template", {}, [COMMAND], frozenset({COMMAND}) if unreadable else frozenset(), exact)
    monkeypatch.setattr(running, "ran", lambda *_: gave)
    (row,) = running.run(case, tmp_path, SECONDS)
    assert row.wrong == wrong


def test_what_takes_too_long_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def spin(*_: object) -> tuple[int, bytes, str]:
        while True:
            pass

    monkeypatch.setattr(running, "ran", spin)
    (row,) = running.run(Case("template", {}, [COMMAND]), tmp_path, 0.05)
    assert (row.outcome, row.wrong) == ("late", "is not done in 0.3 s")


def test_the_oracles_read_what_is_sound_and_nothing_else() -> None:
    raw = header([("a", texts("x", "y")), (ggufs.TEMPLATE, text("T")), (f"{ggufs.TEMPLATE}.rag", text("R"))])
    assert ggufs.read(raw) == {ggufs.TEMPLATE: b"T", f"{ggufs.TEMPLATE}.rag": b"R"}
    for broken in (raw[:-1], b"GGUX" + raw[4:], raw.replace(b"\x01\0\0\0\0\0\0\0a", b"\xff" * 8 + b"a")):
        with pytest.raises(ggufs.Broken):
            ggufs.read(broken)
    assert jinja.parses(CLEAN)
    assert jinja.parses("{% for m in messages %}{% generation %}{% break %}{% endgeneration %}{% endfor %}")
    assert not jinja.parses("{% for m in messages %}")
