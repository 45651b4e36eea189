"""Models → `templatelint.lock`, and a lock held against what is there now: is the template in force the one pinned?"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from templatelint.model import Finding, Model, NotRun
    from templatelint.pin.lock import Lock

LOCK = "templatelint.lock"


def check(
    model: Model, lock: Path | Lock, *, as_ref: str | None = None
) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    """Hold a model, or what a running server has in force, against its entries of a lock.

    Args:
        model: what a reference resolved to.
        lock: the file, or what was read of it.
        as_ref: the pinned reference that a server is to be held against; None to find it.

    Returns:
        Findings of TL704, and why there is no verdict where there is none (`no_answer`).

    Raises:
        TemplatelintError: the lock cannot be read, or is none; the model is one that nobody finds again.
    """
    from templatelint.model import NotRun
    from templatelint.pin import checking
    from templatelint.pin import lock as locks

    known = lock if isinstance(lock, locks.Lock) else locks.read(str(lock))
    one = checking.held(model, known, as_ref)
    if isinstance(one, str):
        return (), (NotRun(checking.RULE, model.ref, one, no_answer=True),)
    return checking.verdict(one)
