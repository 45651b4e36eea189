"""What becomes of one thing that a client may rely on: grade, word, clause, and the cell that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from templatelint.errors import clip
from templatelint.outcomes.subjects import BY_ID
from templatelint.reading import has
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.capabilities import Capabilities
    from templatelint.view import View

Grade: TypeAlias = Literal["works", "degraded", "broken"]
GRADES: tuple[Grade, ...] = ("broken", "degraded", "works")
WORDS = 160  # characters of what a template says


@dataclass(frozen=True, slots=True)
class Outcome:
    """What becomes of one thing.

    Attributes:
        grade: it `works`, is `degraded` or `broken`; None where that is not known, or it does not apply.
        word: the same as a word of `Capabilities`, or a name.
        says: the same as a clause.
        case: the id of the cell that shows it; empty where none does.
        form: what else tells two outcomes of one word apart.
        cure: what can be done about it, where the subject does not say it.
    """

    grade: Grade | None
    word: str = ""
    says: str = ""
    case: str = ""
    form: str = ""
    cure: str = ""


UNKNOWN = Outcome(None)

# word of a capability → grade and clause
_MEANINGS: Mapping[str, tuple[Grade | None, str]] = {
    "honoured": ("works", "have a turn of their own"),
    "merged": ("works", "are merged into a user turn"),
    "kept": ("works", "are kept"),
    "moved": ("works", "are moved"),
    "shown": ("works", "reach the model"),
    "fine": ("works", "are taken"),
    "last-turn": ("works", "are kept in the running tool loop"),
    "with system only": ("degraded", "reach the model only beside a system message"),
    "some": ("degraded", "do not all reach the model"),
    "partly": ("broken", "lose their name or their arguments"),
    "first only": ("broken", "are lost but for the first"),
    "replaces": ("broken", "replace the first one"),
    "dropped": ("broken", "never reach the model"),
    "lost": ("broken", "are lost"),
    "refused": ("broken", "are refused"),
    "raises": ("broken", "make the template raise"),
    "printed": ("broken", "are printed as data"),
    "word": ("broken", "are printed with the word None"),
    "double-encoded": ("broken", "are printed as quoted JSON strings"),
    "python": ("broken", "are printed as Python writes them"),
    "need a name": ("broken", "are refused without the function's name"),
    "rejected": (None, "are rejected by the engine"),
    "over budget": (None, "take more than they may"),
}
# clauses that read better for one subject
_OF_ONE: Mapping[tuple[str, str], tuple[Grade | None, str]] = {
    ("text-with-calls", "dropped"): ("degraded", "never reach the model"),
    ("content-parts", "first only"): ("broken", "are cut after the first part"),
    ("content-parts-elsewhere", "first only"): ("broken", "are cut after the first part"),
    ("text-with-calls", "printed"): ("degraded", "are printed as data"),
    ("tool-results-parts", "first only"): ("degraded", "are cut after the first part"),
    ("reasoning", "kept"): ("works", "are kept in every turn"),
}


def of_fact(subject: str, facts: Capabilities, fact: str = "") -> Outcome:
    """What the capability of a subject, or another one, says of it."""
    fact = fact or BY_ID[subject].fact
    word = getattr(facts, fact)
    return UNKNOWN if word is None else worded(subject, word, facts.errors.get(fact, ""))


def worded(subject: str, word: str, said: str = "") -> Outcome:
    """The outcome that a word stands for, with what the template or the engine says where it refuses."""
    grade, clause = _OF_ONE.get((subject, word), _MEANINGS[word])
    if grade == "broken" and said:
        clause = f"{clause}: {clip(said, WORDS)}"
    return Outcome(grade, word, clause)


def whole_case(view: View, subject: str, case_id: str, marks: Sequence[str]) -> Outcome:
    """Whether all of these texts of a case are in its prompt."""
    try:
        error = view.raised(case_id)
    except NoText:
        return UNKNOWN
    if error is not None:
        return worded(subject, "refused", error.message)
    if not view.renders(case_id):
        return UNKNOWN
    prompt, case = view.prompt(case_id), view.case(case_id)
    return worded(subject, "kept" if all(has(prompt, case, mark) for mark in marks) else "dropped")
