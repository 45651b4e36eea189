"""Every budget in one run: `python benchmarks`; exit 1 where one is exceeded."""

from __future__ import annotations

import sys

import cold_start
import gguf_extract
import lint_speed
import probing
import vetting


def main() -> None:
    """Run all comparisons, also after one has failed."""
    kept = [part.main() for part in (cold_start, lint_speed, gguf_extract, vetting, probing)]
    sys.exit(not all(kept))


if __name__ == "__main__":
    main()
