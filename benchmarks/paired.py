"""Two commands, run in turn as whole processes → the median ratio of their wall times, and peak memory."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Run:
    """One finished process: wall seconds and peak resident memory in MiB."""

    seconds: float
    peak_mib: float


@dataclass(frozen=True)
class Comparison:
    """Medians of both sides, and the median of the ratios pair by pair (steadier when the machine's speed drifts)."""

    ours: Run
    theirs: Run
    ratio: float


def run(command: Sequence[str]) -> Run:
    """Run a command to its end; what it prints is thrown away."""
    # An editable install has no bytecode where this variable keeps Python from writing it; an installed one always has.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 1}:  # 1: the tools compared report findings
        raise SystemExit(f"{command[0]} ended with {process.returncode}: {' '.join(command[:6])} …")
    return Run(seconds, usage.ru_maxrss / 1024)


def compare(ours: Sequence[str], theirs: Sequence[str], *, rounds: int) -> Comparison:
    """Run both once to warm the file caches, then `rounds` times in turn."""
    run(ours), run(theirs)
    pairs = [(run(ours), run(theirs)) for _ in range(rounds)]
    return Comparison(
        ours=_median([mine for mine, _ in pairs]),
        theirs=_median([other for _, other in pairs]),
        ratio=statistics.median(mine.seconds / other.seconds for mine, other in pairs),
    )


def report(title: str, names: tuple[str, str], result: Comparison, budget: float) -> bool:
    """Print one comparison; whether it keeps its budget (the largest ratio allowed)."""
    kept = result.ratio <= budget
    print(f"{title}: {result.ratio:.2f} × {names[1]} (budget {budget:g} ×) {'ok' if kept else 'OVER BUDGET'}")
    for name, side in zip(names, (result.ours, result.theirs), strict=True):
        print(f"    {name:<40} {side.seconds:8.3f} s  {side.peak_mib:7.1f} MiB")
    return kept


def _median(runs: Sequence[Run]) -> Run:
    return Run(statistics.median(r.seconds for r in runs), statistics.median(r.peak_mib for r in runs))
