"""Two models on the same engines, or one on two → what works with the first and breaks with the second."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.alignment import CUE, excerpt
from templatelint.differences import Difference, differences
from templatelint.model import NotRun
from templatelint.outcomes import BY_ID, CHAT, GRADES, LOADS, SUBJECTS, Launch, Outcome
from templatelint.predictions import Prediction, Span, Verdict, merged
from templatelint.reading import around, positions
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.inspection import Inspection
    from templatelint.model import Case
    from templatelint.outcomes import Subject
    from templatelint.replay import Replay

# engine → how it is told to render with another template than the model's
OVERRIDE = {
    "llama.cpp": "--chat-template-file FILE",
    "vllm": "--chat-template FILE",
    "sglang": "--chat-template FILE",
    "transformers": "chat_template=TEXT",
    "mlx-lm": "--chat-template TEXT",
}


@dataclass(frozen=True)
class Known:
    """A model under comparison.

    Attributes:
        ref: the reference as typed.
        inspection: what `outcomes.observed` gives.
    """

    ref: str
    inspection: Inspection


@dataclass(frozen=True)
class Launches:
    """How engines run that are told at launch which parsers read replies.

    Attributes:
        calls: engine → the tool-call parser that the user names, for both models.
        relaunched: the second model is served with the parsers that fit it; otherwise with those that fit the first.
    """

    calls: Mapping[str, str]
    relaunched: bool = False


@dataclass(frozen=True)
class Comparison:
    """One model in another's place.

    Attributes:
        pairs: the engine of A and that of B, of each comparison.
        predictions: gravest first; without those of needs that do not count.
        differences: engine of B → what differs besides and loses nothing.
        not_run: engines of which not everything is known, and why.
        needs: what the client relies on.
        judged: how many of the user's own requests were judged; None where none were given.
        failing: how many others A refuses too.
    """

    a: Known
    b: Known
    pairs: tuple[tuple[str, str], ...]
    predictions: tuple[Prediction, ...]
    differences: Mapping[str, tuple[Difference, ...]]
    not_run: tuple[NotRun, ...] = ()
    judged: int | None = None
    failing: int = 0
    needs: frozenset[str] = frozenset(outcomes.JUDGED)

    @property
    def blind(self) -> tuple[NotRun, ...]:
        """The models of which nothing is known on any engine, or by no request, and why; needs untold."""
        if not outcomes.subjects(self.needs):
            return tuple(untold(self.needs))
        if self.judged == 0:
            why = "every request fails with A too" if self.failing else "no request could be judged"
            return (NotRun("messages", self.b.ref, why),)
        found = []
        for at, known in enumerate((self.a, self.b)):
            sides = [_Side(known, pair[at]) for pair in self.pairs]
            if all(side.outcomes(Launch(), frozenset())[LOADS].grade is None for side in sides):
                facts = {side.engine: known.inspection.capabilities[side.engine] for side in sides}
                why = "; ".join(f"{engine}: {one.why}" for engine, one in facts.items() if one.why)
                found.append(NotRun("*", known.ref, why))
        return tuple(found)

    @property
    def paired(self) -> bool:
        """Whether each engine of A is that of B."""
        return all(engine_a == engine_b for engine_a, engine_b in self.pairs)

    @property
    def breaks(self) -> bool:
        """Whether something that is needed works with A and not with B."""
        return any(prediction.verdict == "breaks" for prediction in self.predictions)


def compare(
    a: Known, b: Known, pairs: Sequence[tuple[str, str]], needs: AbstractSet[str], launches: Launches
) -> Comparison:
    """Predict what a client made for A meets with B.

    Args:
        a: what the client was made for.
        b: what takes its place.
        pairs: an engine for A and one for B, each.
        needs: what the client relies on.
        launches: how the engines run.
    """
    found = [
        prediction
        for engine_a, engine_b in pairs
        for prediction in _predicted(_Side(a, engine_a), _Side(b, engine_b), needs, launches)
    ]
    beside = {
        engine_b: differences(a.inspection.views[engine_a], b.inspection.views[engine_b])
        for engine_a, engine_b in pairs
    }
    order = {subject.id: at for at, subject in enumerate(outcomes.subjects(needs))}
    found.sort(key=lambda prediction: order[prediction.subject])
    gaps = (gap for at, side in enumerate((a, b)) for gap in _gaps(side, [pair[at] for pair in pairs]))
    not_run = (*gaps, *untold(needs))
    return Comparison(a, b, tuple(pairs), merged(found), beside, not_run, needs=frozenset(needs))


def untold(needs: AbstractSet[str]) -> Iterator[NotRun]:
    """The needs of which no check tells."""
    return (NotRun("*", need, "no check tells of this need yet") for need in outcomes.untold(needs))


def _told_to_users(a: _Side, b: _Side) -> Iterator[Difference]:
    """What `inspect` would tell otherwise: how to launch, and what clients must observe."""
    flags = [side.known.inspection.flags.get(side.engine) for side in (a, b)]
    launch_a, launch_b = (" ".join(one.arguments) if one is not None else "" for one in flags)
    if launch_a != launch_b:
        yield Difference("launch flags", launch_a or "none", launch_b or "none", "other launch flags fit")
    gone, new = _terms(a, b), _terms(b, a)
    if gone or new:
        yield Difference("contract", gone or "nothing else", new or "nothing else", "clients must observe otherwise")


def _terms(one: _Side, other: _Side) -> str:
    """The clauses of a contract that the other's has not."""
    kept = {term.id for term in other.known.inspection.contract if other.engine in term.engines}
    own = one.known.inspection.contract
    return "; ".join(term.text for term in own if one.engine in term.engines and term.id not in kept)


def with_traffic(comparison: Comparison, replay: Replay, needs: AbstractSet[str], *, tools: bool) -> Comparison:
    """The comparison by the user's own requests, and of the canonical ones by what no request shows: the replies.

    Args:
        comparison: by the canonical cases.
        replay: the user's own requests, judged.
        needs: what the client relies on; a request that B refuses concerns any of it.
        tools: some of the requests offer tools, so that replies may call them.
    """
    unshown = _NOT_IN_REQUESTS | (_CALLS if tools else frozenset())
    unshown |= frozenset() if replay.switching == replay.judged else _UNSAID
    kept = [one for one in comparison.predictions if one.subject in unshown]
    own = [one for one in replay.predictions if one.need in needs or one.evidence[-1].failed]
    return replace(
        comparison,
        predictions=merged((*own, *kept)),
        not_run=(*comparison.not_run, *replay.not_run),
        judged=replay.judged,
        failing=replay.failing,
    )


# what becomes of replies, and of templates that answer nothing
_NOT_IN_REQUESTS = frozenset({LOADS, "answers", "reply-thoughts"})
_CALLS = frozenset({"reply-calls", "reply-parallel-calls", "call-dialect"})
# what holds for requests that say nothing of it
_UNSAID = frozenset({"thinking-default"})


def _gaps(known: Known, engines: Iterable[str]) -> Iterator[NotRun]:
    """Where cells have no answer, what they would tell is not told."""
    for engine in engines:
        facts = known.inspection.capabilities[engine]
        if facts.why and facts.loads is not False:
            yield NotRun("*", known.ref, f"{engine}: {facts.why}")


@dataclass(frozen=True)
class _Side:
    known: Known
    engine: str

    @property
    def fitting(self) -> Launch:
        """The parsers that fit this model here."""
        return outcomes.launch(self.known.inspection, self.engine)

    def outcomes(self, started: Launch, needs: AbstractSet[str]) -> Mapping[str, Outcome]:
        """What becomes of each subject with these parsers."""
        return outcomes.of(self.known.inspection, self.engine, started, needs)


def _predicted(a: _Side, b: _Side, needs: AbstractSet[str], launches: Launches) -> Iterator[Prediction]:
    started_a = _started(a, launches)
    # another engine has parsers of its own
    anew = launches.relaunched or a.engine != b.engine
    started_b = _started(b, launches) if anew else started_a
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
        cure, flags = _cure(subject, verdict, b, started_b)
        if after[LOADS].grade == "broken":
            cure, flags = "serve it with another template", _override(b.engine)
        cure = is_now.cure or _possible(subject, cure, after)
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
            evidence=_spans(a, b, subject, was, is_now),
            follows=_larger(subject, verdict, told),
        )


def _started(side: _Side, launches: Launches) -> Launch:
    named = launches.calls.get(side.engine)
    return side.fitting._replace(calls=named) if named else side.fitting


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


def _cure(subject: Subject, verdict: Verdict, b: _Side, started: Launch) -> tuple[str, tuple[tuple[str, str], ...]]:
    """What the user can do, and the flags of the engine that it takes."""
    if verdict == "improves" or (verdict == "changes" and subject.id not in _TOLD_OF):
        return "", ()
    if subject.id not in READ_BY_PARSERS:
        return subject.cure, _override(b.engine) if subject.template else ()
    return _cure_of_parsers(subject, b, started)


def _override(engine: str) -> tuple[tuple[str, str], ...]:
    """The flag with which an engine is given another template."""
    return ((engine, OVERRIDE[engine]),) if engine in OVERRIDE else ()


def _cure_of_parsers(subject: Subject, b: _Side, started: Launch) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The flags that mend it; where none do, what the client has to do, and without which parser."""
    fitting = b.fitting
    if fitting != started and b.outcomes(fitting, frozenset())[subject.id].grade == "works":
        known = b.known.inspection.flags.get(b.engine)
        own = known.arguments if known is not None else ()
        if own:
            return "launch with the parsers that fit", ((b.engine, " ".join(own)),)
        return "launch without these parsers", ((b.engine, " ".join(_words(started))),)
    if subject.id in _OF_CALLS:
        return _calls_by_hand(subject, b, started)
    return _without(Launch(thoughts=started.thoughts), subject.cure, b)


def _calls_by_hand(subject: Subject, b: _Side, started: Launch) -> tuple[str, tuple[tuple[str, str], ...]]:
    """How a client gets at calls that no parser reads; where one call is read, two of them are asked for in turn."""
    if subject.id != _ONE_CALL and b.outcomes(started, frozenset())[_ONE_CALL].grade == "works":
        return subject.cure, ()
    own = BY_ID[_ONE_CALL].cure
    if b.engine in _WANTS_PARSER:
        return f'{own}, of requests with `tool_choice: "none"`: no parser gets them back', ()
    return _without(Launch(calls=started.calls), f"{own}: no parser gets them back", b)


def _without(runs: Launch, cure: str, b: _Side) -> tuple[str, tuple[tuple[str, str], ...]]:
    """The cure; where parsers run that are in its way, without them."""
    if not any(runs):
        return cure, ()
    return f"launch without this parser and {cure}", ((b.engine, " ".join(_words(runs))),)


def _possible(subject: Subject, cure: str, after: Mapping[str, Outcome]) -> str:
    """The cure, or another where B does not do what it takes."""
    takes, instead = _TAKES.get(subject.id, ("", ""))
    return instead if cure and takes and after[takes].grade == "broken" else cure


# subject → what its cure takes of a model, and the cure where that is lost
_AT_THE_START = "put the text at the start of the first user message"
_TAKES = {
    "developer": ("system", _AT_THE_START),
    "later-system": ("consecutive-users", "add them to the first system message, or to the user message behind"),
    "tools-again": ("tool-calls", "tell of calls and results in user and assistant messages"),
    "system-with-tools": ("system", _AT_THE_START),
}
# what the parsers decide that an engine is launched with
READ_BY_PARSERS = frozenset({"reply-calls", "reply-parallel-calls", "answers", "reply-thoughts"})
_ONE_CALL = "reply-calls"
_OF_CALLS = frozenset({_ONE_CALL, "reply-parallel-calls"})
# engines that answer requests with tools only with a parser of calls, unless these forbid calls: then none runs
_WANTS_PARSER = frozenset({"vllm"})
# of which a client has to know although nothing is lost
_TOLD_OF = frozenset({"call-dialect", "thinking-default"})


def _words(started: Launch) -> Iterator[str]:
    if started.calls:
        yield f"--tool-call-parser {started.calls}"
    if started.thoughts:
        yield f"--reasoning-parser {started.thoughts}"


def _spans(a: _Side, b: _Side, subject: Subject, was: Outcome, is_now: Outcome) -> tuple[Span, Span]:
    """What both prompts show of the subject: in the case in which it fares worse, or one that tells them apart."""
    # a switch that is sent shows more than none
    cases = (was.case if _SENT in was.case else "", is_now.case, was.case, subject.case, *subject.cases)
    ids = list(dict.fromkeys(filter(None, cases)))
    wider = () if subject.id in READ_BY_PARSERS else ((*subject.marks, CUE), ())
    both = []
    for marks, case_id in product((subject.marks, *wider), ids):
        span_a, span_b = (_span(side, marks, _cell(side, own, case_id)) for side, own in ((a, was), (b, is_now)))
        both.append((span_a, span_b))
        if (span_a.text, span_a.failed) != (span_b.text, span_b.failed):
            return span_a, span_b
    return both[0]


_SENT = "="  # in the id of a case with a template variable


def _cell(side: _Side, own: Outcome, case_id: str) -> str:
    """The id of the side's cell of that case, in the variant in which its template is judged."""
    view = side.known.inspection.views[side.engine]
    stem, *variants = case_id.split("+")
    sent = "+".join((stem, *(variant for variant in variants if _SENT in variant)))
    if sent != stem and sent in view.matrix.cases:
        return view.case(sent).id
    if own.case.split("+")[0] == stem or stem not in view.matrix.cases:
        return own.case or stem
    return view.case(stem).id


def _span(side: _Side, marks: Sequence[str], case_id: str) -> Span:
    """What the prompt of a cell shows of the subject."""
    view = side.known.inspection.views[side.engine]
    if view.load_error is not None:
        return Span(side.known.ref, side.engine, case_id, view.load_error.message, failed=True)
    try:
        observation = view.plain(case_id)
    except NoText as missing:
        return Span(side.known.ref, side.engine, case_id, missing.why, failed=True)
    if observation.prompt is None:
        said = observation.error.message if observation.error else ""
        return Span(side.known.ref, side.engine, case_id, said, failed=True)
    case = view.matrix.cases[case_id]
    return Span(side.known.ref, side.engine, case_id, _excerpt(observation.prompt, case, marks))


def _excerpt(prompt: str, case: Case, marks: Sequence[str]) -> str:
    """The stretch that shows the texts; inside tool definitions and calls, which are long, what stands round one."""
    for mark in marks:
        offered = mark.startswith("tools.")
        if mark in case.marks and (offered or mark.count(".") > _INSIDE):
            places = positions(prompt, case.marks[mark])
            if places:  # what a call holds has been defined before
                return around(prompt, places[0 if offered else -1], 60, 60)
    return excerpt(prompt, case, marks)


_INSIDE = 2  # full stops in the mark of a member of a call that is not its first
