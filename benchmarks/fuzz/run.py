"""Seeds → cases → outcomes by the thousand, in worker processes; a report: counts, the slowest, each fault's number."""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import sys
import time
from collections import Counter
from dataclasses import dataclass, replace
from multiprocessing.connection import wait
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any

from fuzz import makers, running

if TYPE_CHECKING:
    from collections.abc import Sequence
    from multiprocessing.connection import Connection

    from fuzz.case import Case

_SLOWEST = 10
_SHOWN = 40  # faults told
_RECYCLED = 400  # cases after which a worker is replaced: memory that its caches hold is given back
_COMMANDS = 30  # times a command's seconds that a case may take on the wall
_GRACE = 30.0  # seconds beyond its alarm after which a worker that does not come back is ended


def case_of(seed: int, index: int) -> Case:
    """The case of that number: the same in every run."""
    return makers.make(random.Random(f"{seed}:{index}"))  # noqa: S311 (repeatable is what it has to be)


@dataclass(frozen=True)
class Plan:
    """What is asked for.

    Attributes:
        seconds: processor time that a command may take.
        quick: run only the first command line of each case, which reads and does little else.
        deadline: of the monotonic clock; after it no case is begun.
    """

    seed: int
    seconds: float = 10.0
    quick: bool = False
    deadline: float | None = None

    def runs_of(self, index: int, folder: Path) -> list[running.Ran]:
        """What the command lines of the case of that number gave."""
        case = case_of(self.seed, index)
        if self.quick:
            case = replace(case, commands=case.commands[:1])
        return list(running.run(case, folder / str(index), self.seconds))


def _work(pipe: Connection, plan: Plan, folder: Path) -> None:
    _isolate(folder)
    parent = os.getppid()
    while os.getppid() == parent:  # the pipe's other end is open in our siblings too, and says nothing of its death
        if pipe.poll(1.0):
            pipe.send(plan.runs_of(pipe.recv(), folder))


def _isolate(folder: Path) -> None:
    """Nothing is fetched, and nothing of the user's is read."""
    os.environ |= {"HF_HOME": str(folder / "hf"), "HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "1"}
    os.environ |= {"OLLAMA_MODELS": str(folder / "none"), "HOME": str(folder), "TEMPLATELINT_TRACEBACK": "1"}


def fuzz(plan: Plan, indexes: Sequence[int], jobs: int) -> list[tuple[int, running.Ran]]:
    """Run the cases of those numbers."""
    folder = Path(mkdtemp(prefix="templatelint-fuzz-"))
    try:
        pool = _Pool(plan, folder)
        pool.run(indexes, jobs)
        return pool.found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Pool:
    """Processes that each run one case at a time; one that dies or hangs is replaced, and its case is told."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.found: list[tuple[int, running.Ran]] = []
        self._plan, self._folder = plan, folder
        self._busy: dict[Any, _Worker] = {}

    def run(self, indexes: Sequence[int], jobs: int) -> None:
        """Run the cases of those numbers, the first ones first."""
        waiting = list(reversed(indexes))
        while waiting or self._busy:
            if self._plan.deadline is not None and time.monotonic() > self._plan.deadline:
                waiting.clear()
            while waiting and len(self._busy) < jobs:
                self._give(self._start(), waiting.pop())
            for pipe in wait(list(self._busy), timeout=1.0):
                worker = self._busy.pop(pipe)
                if self._taken(worker) and worker.cases < _RECYCLED and waiting:
                    self._give(worker, waiting.pop())
                else:
                    worker.end()
            for pipe, worker in list(self._busy.items()):
                if time.monotonic() - worker.since > _COMMANDS * self._plan.seconds + _GRACE:
                    del self._busy[pipe]
                    worker.end()
                    self._tell(worker.index, "hangs", "hangs where no signal reaches it")
            if sys.stderr.isatty():
                print(f"\r{len(indexes) - len(waiting):,} of {len(indexes):,} ", end="", file=sys.stderr)

    def _start(self) -> _Worker:
        context = multiprocessing.get_context("fork")
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(theirs, self._plan, self._folder))
        process.start()
        theirs.close()
        return _Worker(process, ours)

    def _give(self, worker: _Worker, index: int) -> None:
        worker.pipe.send(index)
        worker.index, worker.since, worker.cases = index, time.monotonic(), worker.cases + 1
        self._busy[worker.pipe] = worker

    def _taken(self, worker: _Worker) -> bool:
        try:
            runs = worker.pipe.recv()
        except (EOFError, ConnectionError):
            worker.process.join()
            self._tell(worker.index, "died", f"the process died ({worker.process.exitcode})")
            return False
        self.found += [(worker.index, run) for run in runs]
        for run in runs:
            if run.wrong:  # a long run tells at once
                print(f"case {worker.index}: {run.wrong} ({' '.join(run.command)})", file=sys.stderr, flush=True)
        return True

    def _tell(self, index: int, outcome: str, wrong: str) -> None:
        self.found.append((index, running.Ran("?", (), outcome, wrong, 0.0)))


@dataclass
class _Worker:
    """A process, and what it is at."""

    process: multiprocessing.process.BaseProcess
    pipe: Connection
    index: int = 0
    since: float = 0.0
    cases: int = 0

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def main(arguments: Sequence[str]) -> int:
    """Run, report, and give 1 where anything is wrong."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--seconds", type=float, default=10.0, help="processor time that a command may take")
    parser.add_argument("--minutes", type=float, help="begin no further case after that time")
    parser.add_argument("--quick", action="store_true", help="only the first command line of each case")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--write", type=Path, metavar="FOLDER", help="write the files of case FIRST and stop")
    options = parser.parse_args(arguments)
    if options.write is not None:
        case = case_of(options.seed, options.first)
        running.write(case, options.write)
        for command in case.commands:
            print("templatelint", *command)
        return 0
    begun = time.monotonic()
    indexes = range(options.first, options.first + options.count)
    deadline = None if options.minutes is None else begun + 60 * options.minutes
    found = fuzz(Plan(options.seed, options.seconds, options.quick, deadline), indexes, options.jobs)
    print(report(found, options.seed, time.monotonic() - begun))
    return int(any(run.wrong for _, run in found))


def report(found: Sequence[tuple[int, running.Ran]], seed: int, seconds: float) -> str:
    """The tables, in Markdown."""
    count = len({index for index, _ in found})
    lines = [f"{count:,} inputs (seed {seed}), {len(found):,} command lines, {seconds:,.0f} s", ""]
    outcomes = sorted({run.outcome for _, run in found})
    table = Counter((run.kind, run.outcome) for _, run in found)
    lines += ["| input | " + " | ".join(outcomes) + " |", "|---" * (len(outcomes) + 1) + "|"]
    for kind in sorted({run.kind for _, run in found}):
        lines.append(f"| {kind} | " + " | ".join(f"{table[kind, outcome]:,}" for outcome in outcomes) + " |")
    commands = Counter((run.command[0] if run.command else "?", run.outcome) for _, run in found)
    lines += ["", "| command | " + " | ".join(outcomes) + " |", "|---" * (len(outcomes) + 1) + "|"]
    for command in sorted({name for name, _ in commands}):
        lines.append(f"| {command} | " + " | ".join(f"{commands[command, outcome]:,}" for outcome in outcomes) + " |")
    lines += ["", "Slowest:"]
    slowest = sorted(found, key=lambda row: -row[1].seconds)[:_SLOWEST]
    lines += [f"- {run.seconds:.1f} s: case {index}, {' '.join(run.command)}" for index, run in slowest]
    wrong = [(index, run) for index, run in found if run.wrong]
    lines += ["", f"Faults: {len(wrong)}"]
    for index, run in wrong[:_SHOWN]:
        lines.append(f"- case {index}: {run.wrong} ({run.kind}; {' '.join(run.command)})")
        lines += [f"      {line}" for line in run.told.splitlines()[-12:]]
    return "\n".join(lines)
