"""Models → `templatelint.lock`, and a lock held against what is there now: is the template in force the one pinned?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from templatelint.model import Finding, Model, NotRun

LOCK = "templatelint.lock"


def check(model: Model, lock: Path, *, as_ref: str | None = None) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    """Hold a model, or what a running server has in force, against its entries of a lock.

    Args:
        model: what a reference resolved to.
        lock: the file.
        as_ref: the pinned reference that a server is to be held against; None to find it.

    Returns:
        Findings of TL704, and why there is no verdict where there is none (`no_answer`).

    Raises:
        TemplatelintError: the lock cannot be read, or is none.
    """
    del model, lock, as_ref
    return (), ()
