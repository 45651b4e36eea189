"""How programs set minijinja up, and what the release that they use does otherwise than the one installed here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Release: TypeAlias = tuple[int, int]
Json: TypeAlias = Literal["python", "spaced", "builtin"]


@dataclass(frozen=True, slots=True)
class Setup:
    """One way to set minijinja up.

    Attributes:
        release: major and minor number of the minijinja that is modelled.
        json: what `tojson` is: `python` takes and writes what that of transformers does, `spaced` writes the same but
            takes `indent` alone, `builtin` is minijinja's own, compact and escaped for HTML.
        trims: `trim_blocks` and `lstrip_blocks` are on.
        loop_controls: `break` and `continue` are statements.
        ordered: maps keep the order in which they were written.
        generation: `{% generation %}` is a statement without effect.
    """

    release: Release
    json: Json
    trims: bool = True
    loop_controls: bool = True
    ordered: bool = True
    generation: bool = False

    @property
    def python_names(self) -> bool:
        """Whether true, false, none and containers print as Python writes them."""
        return self.release >= (2, 22)


# The installed release, set up to match transformers.
REFERENCE = Setup((3, 1), "python", generation=True)
