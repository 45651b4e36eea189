"""What a cure is: the rule it is bound to, the edits it proposes, and the cells that it may change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.fix.code import Code, Edit
    from templatelint.fix.proof import Change
    from templatelint.model import Finding

Proposals: TypeAlias = "Iterator[Sequence[Edit]]"
Propose: TypeAlias = "Callable[[Finding, Code], Proposals]"


@dataclass(frozen=True)
class Cure:
    """A mechanical cure.

    Attributes:
        kind: what it does, for people.
        rules: ids of the rules whose findings it may cure.
        propose: edits that may cure a finding, the smallest first; each is proved before it is made. Where an edit
            makes the template fail at another place, it is asked again for that place.
        allows: whether a cell outside the finding's evidence may change so: it shows the same fault.
        safe: False where what it changes was a decision of the author's.
        steps: how many edits may be needed, one where each raises.
        exact: the finding's evidence too may change only so, since it is about other engines than those that show it.
    """

    kind: str
    rules: tuple[str, ...]
    propose: Propose
    allows: Callable[[Change], bool]
    safe: bool = True
    steps: int = 1
    exact: bool = False
