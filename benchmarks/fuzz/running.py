"""A case → what each of its command lines gave, and what of that must not be."""

from __future__ import annotations

import io
import os
import resource
import shutil
import signal
import sys
import traceback
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType

    from fuzz.case import Case

_EXITS = (0, 1, 2)
_WALL = 6  # seconds on the wall for one of processor time, after which a command is ended: it may be waiting
_PROOF = 2  # times what a command may take otherwise: a cure is rendered on every engine before it is kept
_KEPT = 2000  # characters of what was written, in a report


@dataclass(frozen=True)
class Ran:
    """What one command line gave.

    Attributes:
        wrong: what must not be, in a clause; empty where all is well.
        seconds: of processor time, children's too: the wall's says more about what else the machine is at.
    """

    kind: str
    command: tuple[str, ...]
    outcome: str
    wrong: str
    seconds: float
    told: str = ""


class Late(BaseException):
    """A command takes longer than it may."""


def run(case: Case, folder: Path, seconds: float) -> Iterator[Ran]:
    """Run each command line of a case, in a fresh folder of its own."""
    for number, command in enumerate(case.commands):
        place = folder / str(number)
        place.mkdir(parents=True)
        try:
            yield _one(case, command, place, seconds)
        finally:
            shutil.rmtree(place, ignore_errors=True)


def write(case: Case, folder: Path) -> None:
    """Put the files of a case into a folder."""
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def _one(case: Case, command: tuple[str, ...], folder: Path, seconds: float) -> Ran:
    start = _spent()
    if "--fix" in command:
        seconds *= _PROOF
    try:
        with _alarm(_WALL * seconds):
            code, out, err = ran(case, command, folder)
    except Late:
        return Ran(case.kind, command, "late", f"is not done in {_WALL * seconds:g} s", _spent() - start)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 (nothing may come out)
        told = traceback.format_exc()[-_KEPT:]
        return Ran(case.kind, command, "raised", f"{type(error).__name__} came out", _spent() - start, told)
    spent = _spent() - start
    wrong = _wrong(case, command, code, out, err)
    if not wrong and spent > seconds:
        wrong = f"takes {spent:.1f} s of processor time"
    return Ran(case.kind, command, f"exit {code}", wrong, spent, err[-_KEPT:] if wrong else "")


def _spent() -> float:
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def _wrong(case: Case, command: tuple[str, ...], code: int, out: bytes, err: str) -> str:
    internal = next((line for line in err.splitlines() if "internal: " in line), "")
    checks = (
        (code not in _EXITS, f"exit code {code}"),
        (internal, f"a fault of ours: {internal}"),
        ("Traceback (most recent call last)" in err, "a traceback"),
        ("the rule crashed" in err or b"the rule crashed" in out, "a rule crashed"),
        (any(char < " " and char not in "\n\t" for char in err), "a control character on stderr"),
        (code == 0 and command in case.refused, "clean, and nobody can read the template"),
        (code == 0 and out != case.exact.get(command, out), "prints another text than the file carries"),
        (code != 0 and not err and not out, "says nothing"),
    )
    return next((says for holds, says in checks if holds), "")


def ran(case: Case, command: Sequence[str], folder: Path) -> tuple[int, bytes, str]:
    """Exit code, stdout and stderr of a command line in a folder that holds the case's files."""
    from templatelint.cli.main import run as program

    write(case, folder)
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.TextIOWrapper(io.BytesIO(), "utf-8")
    before = sys.stdout, sys.stderr, sys.stdin, Path.cwd(), dict(os.environ)
    os.environ.update({name: value.replace("{folder}", str(folder)) for name, value in case.environment.items()})
    os.chdir(folder)
    sys.stdout, sys.stderr, sys.stdin = out, err, io.TextIOWrapper(io.BytesIO(), "utf-8")
    try:
        code = program([*command, "--isolated", "--offline"])
    finally:
        sys.stdout, sys.stderr, sys.stdin = before[:3]
        os.chdir(before[3])
        os.environ.clear()
        os.environ.update(before[4])
    return code, _bytes(out), _bytes(err).decode("utf-8", "replace")


def _bytes(stream: io.TextIOWrapper) -> bytes:
    stream.flush()
    stream.seek(0)
    return bytes(stream.buffer.read())


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        del number, frame
        raise Late

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
