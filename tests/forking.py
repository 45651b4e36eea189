"""A process with much in it → one that is quick to fork, as tests do thousands of times."""

from __future__ import annotations

import ctypes
import gc
import sys
from pathlib import Path

_HUGE = 2 << 20  # bytes of a huge page on x86-64 and on most of ARM
_COLLAPSE = 25  # MADV_COLLAPSE of Linux 6.1


def settle() -> None:
    """Take what is there for permanent.

    A fork copies the table of a process's pages, and its end takes that apart again: with all tests collected, that is
    most of what a short child costs. With huge pages, the table has one entry where it had 512. Where there are none,
    nothing happens.
    """
    gc.collect()
    gc.freeze()
    if sys.platform == "linux":
        for line in Path("/proc/self/maps").read_text(encoding="utf-8").splitlines():
            addresses, rights, _, _, _, *name = line.split(maxsplit=5)
            if rights == "rw-p" and name in ([], ["[heap]"]):
                first, end = (int(address, 16) for address in addresses.split("-"))
                _collapse(first, end)


def _collapse(first: int, end: int) -> None:
    """One at a time: what cannot be collapsed, as what is mostly empty, leaves the others alone."""
    advise = ctypes.CDLL(None).madvise
    for page in range(-(-first // _HUGE) * _HUGE, end - _HUGE + 1, _HUGE):
        advise(ctypes.c_void_p(page), ctypes.c_size_t(_HUGE), _COLLAPSE)
