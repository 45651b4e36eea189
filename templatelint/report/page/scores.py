"""What a client may rely on of a model, and what becomes of it with another → cells of a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from templatelint.outcomes import BY_ID, LOADS
from templatelint.predictions import VERDICTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from templatelint.outcomes import Grade, Outcome, Subject
    from templatelint.predictions import Prediction

Kind: TypeAlias = Literal["breaks", "degrades", "changes", "improves", "works", "partly", "broken", "unknown"]

# what a kind is called; the style sheet puts a sign before it, so that none is told by its colour alone
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
    def word(self) -> str:
        """The kind's own word."""
        return WORDS[self.kind]


def kind_of(grade: Grade | None) -> Kind:
    """What a cell says of a thing alone."""
    return _KINDS[grade]


def need_kind(need: str, subjects: Iterable[Subject], outcomes: Mapping[str, Outcome]) -> Kind:
    """What becomes of a need: all of it works, some, or nothing; what is within a thing that fails fails with it."""
    kinds = {
        _effective(subject, outcomes)
        for subject in subjects
        if subject.need == need and not subject.mildly and outcomes[subject.id].grade is not None
    }
    if not kinds:
        return "unknown"
    return kinds.pop() if len(kinds) == 1 else "partly"


def _effective(subject: Subject, outcomes: Mapping[str, Outcome]) -> Kind:
    larger = (one for one in subject.within if BY_ID[one].need == subject.need)
    lost = any(outcomes[one].grade == "broken" for one in larger)
    return "broken" if lost else kind_of(outcomes[subject.id].grade)


def gravest(predictions: Sequence[Prediction], need: str) -> int | None:
    """The number of the one that says the worst of a need; of several the first that follows from none."""
    order = [
        (VERDICTS.index(one.verdict), bool(one.follows), at) for at, one in enumerate(predictions) if one.need == need
    ]
    return min(order)[-1] if order else None


def name(subject: Subject) -> str:
    """What a row on the subject is called."""
    return _NAMES.get(subject.id) or subject.name.strip(", :")


# what reads well before a clause only
_NAMES = {LOADS: "the whole template", "call-dialect": "dialect of tool calls", "thinking-default": "thinking unasked"}
