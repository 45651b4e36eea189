"""What came of several models behind one endpoint → which clauses some of them keep and others break."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.probe import Probed


@dataclass(frozen=True)
class Apart:
    """A check that models behind one server end differently: a fault of the model's template, not of the server.

    Attributes:
        failing: ids of the models that break the clause.
        passing: ids of those that keep it.
    """

    id: str
    name: str
    failing: tuple[str, ...]
    passing: tuple[str, ...]


def apart(probed: Sequence[Probed]) -> Iterator[Apart]:
    """The clauses that some of the models break and others keep, in the order of their numbers."""
    found: dict[str, tuple[str, list[str], list[str]]] = {}
    for one in probed:
        for result in one.results:
            _, failing, passing = found.setdefault(result.id, (result.name, [], []))
            if result.verdict.word == "fail":
                failing.append(one.model)
            elif result.verdict.word in {"pass", "warn"}:
                passing.append(one.model)
    for check, (name, failing, passing) in sorted(found.items()):
        if failing and passing:
            yield Apart(check, name, tuple(failing), tuple(passing))
