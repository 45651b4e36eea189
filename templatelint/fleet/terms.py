"""Contracts of several models → the one that a client of all of them observes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.contract import Term

# term → the need of a client that it matters to; the others matter to all
NEED_OF = {
    **dict.fromkeys(("no-system", "system-lost", "no-system-with-tools", "system-merged"), "system"),
    **dict.fromkeys(("chat-only", "no-tools", "tools-lost", "tools-with-system", "tools-some"), "tools"),
    **dict.fromkeys(("no-calls", "calls-lost", "calls-partly", "no-results", "results-lost"), "tools"),
    **dict.fromkeys(("arguments-mapping", "arguments-string", "ids-nine", "ids-name", "result-name"), "tools"),
    **dict.fromkeys(("content-not-null", "content-present", "calls-alone", "results-string"), "tools"),
    "one-call": "parallel-tools",
    **dict.fromkeys(("one-system", "tools-again", "alternate", "answer-after-tool", "user-first"), "agent"),
    **dict.fromkeys(("some-user", "no-developer"), "agent"),
    "content-string": "multimodal",
    **dict.fromkeys(("reasoning-field-reasoning", "reasoning-field-thinking", "thought-opened"), "reasoning"),
}
_OPPOSED = (
    ("content-parts", "content-string"),
    ("arguments-mapping", "arguments-string"),
    ("ids-nine", "ids-name"),
    ("reasoning-field-reasoning", "reasoning-field-thinking"),
)


@dataclass(frozen=True, slots=True)
class Party:
    """A model whose contract has a term.

    Attributes:
        engines: those on which it has.
        everywhere: those are all on which anything is known.
    """

    model: int
    engines: tuple[str, ...]
    everywhere: bool


@dataclass(frozen=True, slots=True)
class SharedTerm:
    """A clause of the contract of a client of all.

    Attributes:
        parties: the models that it comes from.
        opposed: the ids of terms of other models that a client cannot observe together with it on one engine.
    """

    id: str
    text: str
    parties: tuple[Party, ...]
    opposed: tuple[str, ...] = ()


def shared(contracts: Sequence[Sequence[Term]], needs: AbstractSet[str]) -> tuple[SharedTerm, ...]:
    """The terms of all contracts that matter to these needs, each once, those of the first contracts first.

    Args:
        contracts: of each model.
        needs: what the client relies on.
    """
    groups: dict[tuple[str, str], list[Party]] = {}
    for model, contract in enumerate(contracts):
        for term in contract:
            if NEED_OF.get(term.id, "") in {"", *needs}:
                groups.setdefault((term.id, term.text), []).append(Party(model, term.engines, term.everywhere))
    engines = {(name, model.model): {*model.engines} for (name, _), group in groups.items() for model in group}
    return tuple(
        SharedTerm(name, text, tuple(group), tuple(other for other in _against(name) if _meet(name, other, engines)))
        for (name, text), group in groups.items()
    )


def _against(name: str) -> tuple[str, ...]:
    return tuple(other for pair in _OPPOSED if name in pair for other in pair if other != name)


def _meet(name: str, other: str, engines: Mapping[tuple[str, int], AbstractSet[str]]) -> bool:
    """Whether both hold on one engine."""
    own = {engine for (term, _), on in engines.items() if term == name for engine in on}
    return any(term == other and own & on for (term, _), on in engines.items())
