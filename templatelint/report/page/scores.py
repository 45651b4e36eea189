"""What a client may rely on of a model, and what becomes of it with another → cells of a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from templatelint.outcomes import Grade, Outcome, Subject
    from templatelint.predictions import Prediction

Kind: TypeAlias = Literal["breaks", "degrades", "changes", "improves", "works", "partly", "broken", "unknown"]

# kind → the sign before its word, and the word; no kind is told by its colour alone
SIGNS: Mapping[Kind, str] = {
    "breaks": "✗",
    "degrades": "↓",
    "changes": "≠",
    "improves": "↑",
    "works": "✓",
    "partly": "◐",
    "broken": "–",
    "unknown": "?",
}
WORDS: Mapping[Kind, str] = {
    "breaks": "breaks",
    "degrades": "degrades",
    "changes": "changes",
    "improves": "improves",
    "works": "works",
    "partly": "partly",
    "broken": "no",
    "unknown": "unknown",
}
# what the columns stand for
NEEDS: Mapping[str, str] = {
    "chat": "plain turns",
    "system": "a system message",
    "tools": "calls and results",
    "parallel-tools": "two calls a turn",
    "reasoning": "thoughts",
    "multimodal": "content as parts",
    "agent": "long histories",
    "prefix-cache": "a stable prefix",
    "training": "masks and cuts",
}
_KINDS: Mapping[Grade | None, Kind] = {"works": "works", "degraded": "partly", "broken": "broken", None: "unknown"}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of a matrix.

    Attributes:
        kind: what it says.
        text: its words, where the kind has more to say than its own.
        target: the id of what shows it; empty where nothing does.
        where: what it is about, for those who do not see the table around it.
    """

    kind: Kind
    text: str = ""
    target: str = ""
    where: str = ""

    @property
    def sign(self) -> str:
        """The sign before the words."""
        return SIGNS[self.kind]

    @property
    def word(self) -> str:
        """The kind's own word."""
        return WORDS[self.kind]


def kind_of(grade: Grade | None) -> Kind:
    """What a cell says of a thing alone."""
    return _KINDS[grade]


def need_kind(need: str, subjects: Iterable[Subject], outcomes: Mapping[str, Outcome]) -> Kind:
    """What becomes of a need: all of it works, some, or nothing; what larger things fail counts as failing."""
    kinds = {
        _effective(subject, outcomes)
        for subject in subjects
        if subject.need == need and not subject.mildly and outcomes[subject.id].grade is not None
    }
    if not kinds:
        return "unknown"
    return kinds.pop() if len(kinds) == 1 else "partly"


def _effective(subject: Subject, outcomes: Mapping[str, Outcome]) -> Kind:
    lost = any(outcomes[larger].grade == "broken" for larger in subject.within)
    return "broken" if lost else kind_of(outcomes[subject.id].grade)


def gravest(predictions: Sequence[Prediction], need: str, engine: str) -> int | None:
    """The number of the prediction that says the worst of a need on an engine; one that follows from none first."""
    found = [at for at, one in enumerate(predictions) if one.need == need and engine in one.engines]
    if not found:
        return None
    worst = predictions[found[0]].verdict
    return min((at for at in found if predictions[at].verdict == worst), key=lambda at: (bool(predictions[at].follows), at))
