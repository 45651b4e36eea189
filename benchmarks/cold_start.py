"""Cold start of `lint`, `inspect`, `diff` and `--help` against the bare import of the library that everybody needs."""

from __future__ import annotations

import sys

from lint_speed import real_templates
from paired import compare, report

_BARE = [sys.executable, "-c", "import jinja2.sandbox"]


def main() -> bool:
    """Compare the commands with the bare import."""
    names = ("templatelint", "import jinja2.sandbox")
    lint = compare([sys.executable, "-m", "templatelint", "lint", *real_templates(1)], _BARE, rounds=9)
    usage = compare([sys.executable, "-m", "templatelint", "--help"], _BARE, rounds=9)
    swap = compare([sys.executable, "-m", "templatelint", "diff", *real_templates(2)], _BARE, rounds=9)
    look = compare([sys.executable, "-m", "templatelint", "inspect", *real_templates(1)], _BARE, rounds=9)
    kept = [
        report("cold start of lint one.jinja", names, lint, 4.5),
        report("cold start of inspect one.jinja", names, look, 5.0),
        report("diff one.jinja two.jinja", names, swap, 12.0),
        report("cold start of --help", names, usage, 1.4),
    ]
    return all(kept)


if __name__ == "__main__":
    sys.exit(not main())
