"""What is known of a model on an engine → what becomes of each thing that a client may rely on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from templatelint import call_syntax, checks, inspection
from templatelint.errors import clip
from templatelint.outcomes import calls, messages, thoughts
from templatelint.outcomes.outcome import GRADES, UNKNOWN, WORDS, Grade, Outcome, of_fact
from templatelint.outcomes.subjects import (
    BY_ID,
    CHAT,
    JUDGED,
    LOADS,
    SUBJECTS,
    Subject,
    of_rule,
    rules,
    subjects,
)
from templatelint.reading import has
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.engines import Engine
    from templatelint.inspection import Inspection
    from templatelint.model import Card, Model
    from templatelint.view import View

__all__ = (
    "BY_ID",
    "CHAT",
    "GRADES",
    "JUDGED",
    "LOADS",
    "SUBJECTS",
    "UNKNOWN",
    "Grade",
    "Launch",
    "Outcome",
    "Subject",
    "arguments",
    "launch",
    "loads",
    "needs_of",
    "observed",
    "of",
    "subjects",
)


class Launch(NamedTuple):
    """With which parsers an engine is started that is told them; empty where it is started with none."""

    calls: str = ""
    thoughts: str = ""


def observed(model: Model, asked: Sequence[Engine], needs: AbstractSet[str] = frozenset(JUDGED)) -> Inspection:
    """What is known of a model, with the cells that outcomes need beside those of `inspect`."""
    read_back = partial(call_syntax.shows_call_of, call_syntax.ROUND_TRIPS)
    ruled = (case_id for card in rules(needs) for case_id in checks.load(card.name).CASES)
    return inspection.inspect(model, asked, (*calls.CASES, *thoughts.CASES, *ruled), read_back)


def arguments(known: Inspection, engine: str) -> tuple[str, ...]:
    """The launch flags that fit the model, as a shell's words; none where the engine takes none."""
    flags = known.flags.get(engine)
    return () if flags is None else flags.arguments


def launch(known: Inspection, engine: str) -> Launch:
    """The parsers that fit the model on an engine that is told them at launch."""
    named = dict(pairwise(arguments(known, engine)))
    return Launch(named.get("--tool-call-parser", ""), named.get("--reasoning-parser", ""))


def of(known: Inspection, engine: str, started: Launch, needs: AbstractSet[str] = frozenset()) -> Mapping[str, Outcome]:
    """What becomes of each subject, by its id.

    Args:
        known: what `observed` gives.
        engine: the id of an engine that was asked.
        started: the parsers with which it runs.
        needs: those of them that rules tell of are told too.
    """
    facts, view = known.capabilities[engine], known.views[engine]
    loaded = loads(known, engine)
    ruled = rules(needs)
    if loaded.grade != "works":
        return {subject.id: loaded for subject in (*SUBJECTS, *map(of_rule, ruled))}
    told = {
        LOADS: loaded,
        **messages.told(view, facts),
        **calls.told(known, engine, started.calls),
        **thoughts.told(known, engine, started.thoughts),
    }
    if refused := known.serving[engine].refused:
        told[CHAT] = Outcome("broken", "refused", f"are refused: {clip(refused, WORDS)}")
    placed = {
        subject.id: _placed(subject, told[subject.id] if subject.id in told else of_fact(subject.id, facts), view)
        for subject in SUBJECTS
    }
    for subject_id in _FALLING:
        placed[subject_id] = _fallen(BY_ID[subject_id], placed)
    return {**placed, **{card.name: _by_rule(card, view) for card in ruled}}


# What is not asked of a template that loses what it builds on, and is lost all the same.
_FALLING = ("later-system", "consecutive-users", "consecutive-assistants", "user-after-tool")


def _fallen(subject: Subject, told: Mapping[str, Outcome]) -> Outcome:
    """The outcome; where there is none, that of the nearest larger subject that is lost."""
    own = told[subject.id]
    if own.grade is not None:
        return own
    return next((told[larger] for larger in reversed(subject.within) if told[larger].grade == "broken"), own)


def _placed(subject: Subject, outcome: Outcome, view: View) -> Outcome:
    """The outcome with the cell that shows it, in the variant in which the template is judged."""
    if outcome.case or outcome.grade is None:
        return outcome
    cells = [case_id for case_id in (subject.case, *subject.cases) if case_id in view.matrix.cases]
    if outcome.grade == "broken" and len(cells) > 1:
        cells.sort(key=lambda case_id: _whole(subject, view, case_id))
    return replace(outcome, case=view.case(cells[0]).id) if cells else outcome


def _whole(subject: Subject, view: View, case_id: str) -> int:
    """0 where the cell has no prompt, 1 where a text of it is missing, 2 where nothing is."""
    if not view.renders(case_id):
        return 0
    case, prompt = view.case(case_id), view.prompt(case_id)
    return 2 if all(has(prompt, case, mark) for mark in subject.marks if mark in case.marks) else 1


def _by_rule(card: Card, view: View) -> Outcome:
    """What the first of a rule's faults says; one that informs is no loss."""
    try:
        faults = [*checks.load(card.name).check(replace(view, asked=frozenset({card.need})))]
    except NoText:
        return UNKNOWN
    for fault in faults:
        impact = fault.impact or card.impact
        # what befalls tool calls and results is told of these
        elsewhere = card.need == CHAT and any("tool" in case_id for case_id in fault.cases[:1])
        if impact != "informs" and not elsewhere:
            grade: Grade = "broken" if impact == "breaks" else "degraded"
            case_id = fault.cases[0] if fault.cases else ""
            return Outcome(grade, card.name, fault.message, case_id, cure=fault.help)
    return Outcome("works", "fine", "finds nothing")


def loads(known: Inspection, engine: str) -> Outcome:
    """Whether the template answers anything at all; one that has no end does not."""
    facts, error = known.capabilities[engine], known.views[engine].load_error
    said = facts.errors.get(CHAT, "")
    found = UNKNOWN if facts.loads is None else Outcome("works", "loads", "loads")
    if error is not None and error.out_of_budget:
        found = _endless(error.message)
    elif (refused := known.serving[engine].refused) and known.serving[engine].tools is None:
        found = Outcome("broken", "missing", f"is missing: {clip(refused, WORDS)}")
    elif facts.loads is False:
        found = Outcome("broken", "does not load", f"does not load: {clip(facts.why, WORDS)}")
    elif facts.prompts is False and facts.chat == "over budget":
        found = _endless(said)
    elif facts.prompts is False:
        found = Outcome("broken", "refuses", f"refuses every request: {clip(said, WORDS)}")
    return found


def _endless(said: str) -> Outcome:
    return Outcome("broken", "over budget", f"takes more than it may on every request: {clip(said, WORDS)}")


def needs_of(outcomes: Mapping[str, Outcome]) -> Mapping[str, Grade | None]:
    """What becomes of each need: the worst of its subjects, those apart that clients hardly rely on."""
    return {need: _worst(_told(need, outcomes)) for need in JUDGED}


def _told(need: str, outcomes: Mapping[str, Outcome]) -> Iterator[Grade | None]:
    for subject in SUBJECTS:
        if subject.need == need and not subject.mildly:
            yield outcomes[subject.id].grade


def _worst(grades: Iterable[Grade | None]) -> Grade | None:
    known = {grade for grade in grades if grade is not None}
    return next((grade for grade in GRADES if grade in known), None)
