"""The entry point: arguments → exit code; imports nothing until it can tell an interrupt from a failure."""

from __future__ import annotations

import sys

from templatelint.cli import INTERRUPTED

TYPE_CHECKING = False  # not from typing: an interrupt while that is imported would be a traceback
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn


def main() -> NoReturn:
    """The program."""
    try:
        _prepare_process()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    sys.exit(run())


def run(argv: Sequence[str] | None = None) -> int:
    """Run one command line and give its exit code; raises nothing."""
    try:
        from templatelint.cli import program

        return program.run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return INTERRUPTED


def _prepare_process() -> None:
    import gc
    import os

    # Start-up makes tens of thousands of objects that all live on; the default threshold walks them over and over.
    gc.set_threshold(50_000)
    # A standard stream that was closed leaves its number to the next file or pipe, which then gets what a child
    # or a library writes to the stream.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:  # noqa: PLR2004 (stderr)
        os.set_inheritable(descriptor, True)
    os.close(descriptor)
