"""`python benchmarks/fuzz --count 20000 --seed 1`: see `run`."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

if __name__ == "__main__":
    from fuzz.run import main

    sys.exit(main(sys.argv[1:]))
