from __future__ import annotations

import atexit
import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import bounded_work as work
import pytest

from templatelint.bounded import ChildFailed, Limits, Stop, run

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SHORT = Limits(seconds=0.3, wall=30, memory=64 * 1024 * 1024)

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

both = pytest.mark.parametrize("method", ["fork", "spawn"])
Method = Literal["fork", "spawn"]

ITEMS = [
    None,
    True,
    0,
    -1.5,
    1e16,
    12345678901234567890,
    math.inf,
    "",
    "é ☕ 日本 😀\n\r\t\x00\u2028",
    "\ud800 alone, \ud83d\ude00 two halves",
    ["nested", [1, {"a": None}]],
    {"key": {"é\n": [1, 2]}},
    "x" * 3_000_000,
]


@both
def test_items_come_back_as_they_were(method: Method) -> None:
    assert run(work.echo, *ITEMS, method=method) == (ITEMS, None)


@both
def test_no_items(method: Method) -> None:
    assert run(work.echo, method=method) == ([], None)


def test_nan_survives_and_a_tuple_becomes_a_list() -> None:
    items, stop = run(work.echo, math.nan, (1, 2))
    assert math.isnan(items[0])
    assert (items[1], stop) == ([1, 2], None)


@pytest.mark.parametrize(
    ("endless", "limits", "stop"),
    [
        (work.compute_for_ever, SHORT, Stop("timeout", "more than 0.3 s of processor time")),
        (work.sleep_for_ever, Limits(seconds=0.3, wall=0.5), Stop("timeout", "more than 0.5 s")),
        (work.fill_memory, SHORT, Stop("memory", "more than 64 MiB of memory")),
        (work.fill_memory_slowly, SHORT, Stop("memory", "more than 64 MiB of memory")),
        (work.crash, SHORT, Stop("died", "killed by SIGSEGV")),
        (work.leave, SHORT, Stop("died", "ended without an answer, exit status 3")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_forked_child_is_stopped_and_what_came_before_is_kept(
    endless: Callable[[], Iterator[Any]], limits: Limits, stop: Stop
) -> None:
    assert run(endless, limits=limits) == (["before"], stop)


@pytest.mark.parametrize(
    ("endless", "limits", "stop"),
    [
        (work.compute_for_ever, Limits(seconds=0.3, wall=30), Stop("timeout", "more than 0.3 s")),
        (work.sleep_for_ever, Limits(seconds=30, wall=1.5), Stop("timeout", "more than 1.5 s")),
        (work.crash, SHORT, Stop("died", "killed by SIGSEGV")),
        (work.leave, SHORT, Stop("died", "ended without an answer, exit status 3")),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_spawned_child_is_stopped_too(endless: Callable[[], Iterator[Any]], limits: Limits, stop: Stop) -> None:
    assert run(endless, limits=limits, method="spawn") == (["before"], stop)


@both
def test_the_deadline_is_for_each_item(method: Method) -> None:
    assert run(work.many_small_steps, 12, 0.1, limits=Limits(seconds=1.1), method=method) == (list(range(12)), None)


@both
def test_a_fault_of_ours_is_no_result(method: Method) -> None:
    with pytest.raises(ChildFailed, match="LookupError: this is a fault of ours"):
        run(work.fail, method=method)


@both
def test_the_childs_output_is_not_the_users(method: Method, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(work.shout, method=method) == ([""], None)
    assert capfd.readouterr() == ("", "")


def test_nothing_that_the_parent_buffered_is_written_twice(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import atexit, sys\n"
        "import bounded_work\n"
        "from templatelint.bounded import run\n"
        "atexit.register(print, 'leaving')\n"
        "sys.stdout.write('buffered\\n')\n"
        "assert run(bounded_work.echo, 1) == ([1], None)\n"
        "assert run(bounded_work.crash)[1].kind == 'died'\n",
        encoding="utf-8",
    )
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1])]
    result = subprocess.run(
        [sys.executable, str(program)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert (result.stdout, result.stderr) == ("buffered\nleaving\n", "")


def test_exit_handlers_run_once(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    handler = atexit.register(witness.write_text, "ran")
    try:
        run(work.echo, 1)
    finally:
        atexit.unregister(handler)
    assert not witness.exists()


def test_signal_handlers_are_not_inherited() -> None:
    before = signal.signal(signal.SIGUSR1, lambda *_: None)
    try:
        items, stop = run(work.handlers)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert (items, stop) == ([[str(signal.SIG_DFL)] * 4], None)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_the_child_holds_no_end_of_the_parents_pipe() -> None:
    items, stop = run(work.open_descriptors)
    assert stop is None
    (pipe,) = [name for name in items[0] if name.startswith("pipe:") and name not in work.descriptors()]
    assert items[0].count(pipe) == 1  # the end that it writes to
    assert items[0].count(os.devnull) >= 3


@pytest.mark.parametrize(
    ("child_work", "dawdle"),
    [
        ("interrupt_parent_then_sleep", 0),
        ("interrupt_parent_at_once", 0),
        ("interrupt_parent_at_once", 0.3),  # the child is at work before its parent goes on
    ],
)
def test_an_interrupt_kills_the_child_and_goes_on(child_work: str, dawdle: float) -> None:
    # in a process of its own: whoever runs the tests may have threads, which no mask holds interrupts from
    script = f"import bounded_work as work; work.interrupted(work.{child_work}, {dawdle})"
    ran = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "1 killed, gone\n", "")


def test_no_warning_beside_threads() -> None:
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert run(work.echo, 1) == ([1], None)
    finally:
        done.set()
        thread.join()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_many_runs_leave_nothing_behind() -> None:
    before = sorted(work.descriptors())
    for _ in range(20):
        run(work.echo, 1)
    assert sorted(work.descriptors()) == before
    with contextlib.suppress(ChildProcessError):  # there may be a helper of multiprocessing's
        assert os.waitpid(-1, os.WNOHANG) == (0, 0)
