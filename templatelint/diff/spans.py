"""Two sides and a subject → the stretches of their prompts that show it."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

from templatelint.alignment import CUE, excerpt
from templatelint.diff.cures import READ_BY_PARSERS
from templatelint.predictions import Span
from templatelint.reading import around, positions
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.diff.sides import Side
    from templatelint.model import Case
    from templatelint.outcomes import Outcome, Subject


def spans(a: Side, b: Side, subject: Subject, was: Outcome, is_now: Outcome) -> tuple[Span, Span]:
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


def _cell(side: Side, own: Outcome, case_id: str) -> str:
    """The id of the side's cell of that case, in the variant in which its template is judged."""
    view = side.known.inspection.views[side.engine]
    stem, *variants = case_id.split("+")
    sent = "+".join((stem, *(variant for variant in variants if _SENT in variant)))
    if sent != stem and sent in view.matrix.cases:
        return view.case(sent).id
    if own.case.split("+")[0] == stem or stem not in view.matrix.cases:
        return own.case or stem
    return view.case(stem).id


def _span(side: Side, marks: Sequence[str], case_id: str) -> Span:
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
