"""`probe` of a real llama-server with a scripted model: how long a run of the core takes, and one of all checks."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reference import real_templates
from scripted_server import model_of, running

from templatelint import scripted

_TEMPLATE = "Qwen-Qwen2.5-7B-Instruct.jinja"
_BUDGETS = {"core": 15.0, "all": 30.0}  # seconds
_BROKEN = 1  # the exit code that this build deserves


def main() -> bool:
    """Run each three times; whether the median keeps its budget and the verdicts are the same ones."""
    gguf = scripted.write(model_of(real_templates()[_TEMPLATE]))
    with running(gguf) as url:
        kept = [_kept(url, suite, budget) for suite, budget in _BUDGETS.items()]  # both, also after one has failed
    return all(kept)


def _kept(url: str, suite: str, budget: float) -> bool:
    seconds, answers = [], set()
    for _ in range(3):
        start = time.perf_counter()
        command = [sys.executable, "-m", "templatelint", "probe", url, "--suite", suite, "--output-format", "concise"]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        seconds.append(time.perf_counter() - start)
        answers.add((done.returncode, _verdicts(done.stdout)))
    median = sorted(seconds)[1]
    kept = median < budget and len(answers) == 1 and {code for code, _ in answers} == {_BROKEN}
    told = done.stdout.splitlines()[-1]
    print(f"probe --suite {suite}: {median:.1f} s (budget {budget:g} s), three runs: {told}, {len(answers)} outcome(s)")
    print(f"    {'ok' if kept else 'OVER BUDGET, OR NOT THE SAME TWICE'}")
    return kept


def _verdicts(text: str) -> str:
    """Verdict and id of each line, without its message."""
    return " ".join(line.split()[1] for line in text.splitlines() if "[TL" in line)


if __name__ == "__main__":
    sys.exit(not main())
