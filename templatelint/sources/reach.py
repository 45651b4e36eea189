"""How far a reference may be followed, and what is read of a model besides its templates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Reach:
    """What a command asks of the sources.

    Attributes:
        offline: nothing is fetched, not even what a cache could only confirm.
        typed: the user typed the reference: a secret of his may go to the host that it names.
        vetting: the vocabulary, the tensors and the model's other templates are read too.
        progress: told how many bytes of a remote file have come, as they come, and 0 when no more will.
        hurry: seconds that the Hub may take to say what a repository has; None for as long as anything may take.
    """

    offline: bool = False
    typed: bool = False
    vetting: bool = False
    progress: Callable[[int], None] | None = None
    hurry: float | None = None
