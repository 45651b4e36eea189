"""TL402: reasoning of a tool loop is gone from the prompt while the loop goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._reasoning import (
    HISTORY,
    LOOP,
    SHOWING,
    SHOWING_CALLS,
    VERBATIM,
    asked_for,
    concerned,
    evidence,
    family,
    fields_read,
    given,
    marks,
    preserving,
    reads_parts,
    shown,
    switch_cell,
    switch_cells,
    switches_in,
)
from templatelint.model import Fault
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.view import View

CASES, CALL_CASES = SHOWING, SHOWING_CALLS
_EFFORT = "reasoning_effort"
_BOTH = ["reasoning.1", "reasoning.2"]


def cases_for(source: str) -> Iterator[str]:
    """The loop with thinking on, for templates that have it off unless told."""
    if concerned(source):
        yield from _thinking(source)
        yield from switch_cells(source)


def _thinking(source: str) -> Iterator[str]:
    """The loop with thinking on, by each switch that the template may read."""
    yield from (switch_cell(name, on, LOOP) for name, on, _ in switches_in(source))
    if _EFFORT in source:
        yield f'{LOOP}+{_EFFORT}="high"'


def check(view: View) -> Iterator[Fault]:
    """Follow the reasoning of both turns into the prompt of the third, with thinking on where that takes a switch."""
    source = view.template.source
    if not concerned(source) or view.adapted.get(LOOP, LOOP) not in view.matrix.cases:
        return
    passed = given(view)
    case, prompt = view.case(LOOP), view.prompt(LOOP)
    read = fields_read(view.syntax)
    elsewhere = bool(read or reads_parts(view.syntax)) and not set(read).intersection(passed)
    thinks = elsewhere or marks(view) is not None
    if not passed or not thinks or not has(prompt, case, "call.2.value"):
        return
    if elsewhere and family(view.engine) in VERBATIM:
        return  # who calls the renderer can put it where the template looks
    best = max((shown(view, case_id) for case_id in (LOOP, *_thinking(source))), key=len)
    if best != _BOTH:
        yield _fault(view, best, read, elsewhere=elsewhere)


def _fault(view: View, arrived: Sequence[str], read: Sequence[str], *, elsewhere: bool) -> Fault:
    kept = "" if elsewhere else preserving(view)
    without = "" if arrived or read or elsewhere else "; the template reads no field of reasoning"
    # models that think on demand, and have no place for it in the history, think in plain chat alone
    mild = not (elsewhere or arrived or shown(view, HISTORY)) and asked_for(view)
    off = "; prompts ask for no thoughts here unless a request turns them on" if mild else ""
    which = "" if not arrived else "the last turn of " if _BOTH[0] in arrived else "the earlier turns of "
    return Fault(
        message=f"reasoning of {which}a running tool loop is not in the prompt of its next turn{without}{off}",
        help=f"send `chat_template_kwargs: {{{kept}}}`"
        if kept
        else "print the reasoning of every assistant turn behind the last user message",
        cases=evidence(view, LOOP),
        cause=f"{which or 'all'}{' on demand' if mild else ''}",
        span=view.mention("reasoning_content", "</think>", "messages"),
        impact="informs" if mild else None,
    )
