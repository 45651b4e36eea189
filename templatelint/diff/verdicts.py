"""Two sides → a prediction for each thing that is otherwise with B."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.diff import cures
from templatelint.diff.sides import Launches, Side, started
from templatelint.diff.spans import spans
from templatelint.outcomes import BY_ID, CHAT, GRADES, LOADS, SUBJECTS, Outcome
from templatelint.predictions import Prediction, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from templatelint.outcomes import Subject


def predicted(a: Side, b: Side, needs: AbstractSet[str], launches: Launches) -> Iterator[Prediction]:
    """What a client made for the one side meets with the other, in the order of what it relies on."""
    started_a = started(a, launches)
    # another engine has parsers of its own
    anew = launches.relaunched or a.engine != b.engine
    started_b = started(b, launches) if anew else started_a
    before, after = a.outcomes(started_a, needs), b.outcomes(started_b, needs)
    if a.engine in launches.calls:
        before = _trusted(before)
    relied = outcomes.subjects(needs)
    verdicts = {
        subject.id: _verdict(subject, before[subject.id], after[subject.id]) for subject in (*SUBJECTS, *relied)
    }
    told = {subject.id: verdicts[subject.id] for subject in relied}
    for subject in relied:
        verdict = verdicts[subject.id]
        if verdict is None:
            continue
        was, is_now = before[subject.id], after[subject.id]
        if verdict == "changes" and was.word == is_now.word:
            is_now = replace(is_now, word=f"{is_now.word} (another form)", says=f"{is_now.says}, in another form")
        cure, flags = cures.cure(subject, verdict, b, started_b)
        if after[LOADS].grade == "broken":
            cure, flags = "serve it with another template", cures.override(b.engine)
        cure = is_now.cure or cures.possible(subject, cure, after)
        yield Prediction(
            a=a.known.ref,
            b=b.known.ref,
            need=subject.need,
            subject=subject.id,
            verdict=verdict,
            before=was.word,
            after=is_now.word,
            engines=(b.engine,),
            message=f"{(BY_ID[LOADS] if after[LOADS].grade == 'broken' else subject).name} {is_now.says}",
            help=cure,
            launch=flags,
            evidence=spans(a, b, subject, was, is_now),
            follows=_larger(subject, verdict, told),
        )


def _trusted(told: Mapping[str, Outcome]) -> Mapping[str, Outcome]:
    """Where no prompt shows how a model writes calls, the parser that its user names reads them."""
    silent = told["reply-calls"].grade is None and told["tools"].grade in {"works", "degraded"}
    return {**told, "reply-calls": Outcome("works", "read", "are read back")} if silent else told


def _verdict(subject: Subject, before: Outcome, after: Outcome) -> Verdict | None:
    if before.grade is None or after.grade is None:
        return None
    was, is_now = GRADES.index(before.grade), GRADES.index(after.grade)
    if was < is_now:
        return "improves"
    if was > is_now:
        return "breaks" if after.grade == "broken" and not subject.mildly else "degrades"
    same = (before.word, before.form) == (after.word, after.form)
    return "changes" if after.grade == "works" and not same else None


def _larger(subject: Subject, verdict: Verdict, told: Mapping[str, Verdict | None]) -> str:
    """The larger loss that brings this one with it, of those that are told themselves."""
    if subject.id == LOADS:
        return ""
    within = (LOADS, *(() if subject.id == CHAT else (CHAT,)), *subject.within)
    return next((larger for larger in within if told.get(larger) in _BRINGS[verdict]), "")


# verdict → those of a larger subject that it may follow from
_BRINGS: Mapping[Verdict, tuple[Verdict, ...]] = {
    "breaks": ("breaks", "degrades"),
    "degrades": ("breaks", "degrades"),
    "changes": ("breaks", "degrades", "changes"),
    "improves": ("improves",),
}
