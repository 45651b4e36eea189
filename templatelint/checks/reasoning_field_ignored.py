"""TL401: the template reads none of the fields in which an engine gives it reasoning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._reasoning import (
    HISTORY,
    LOOP,
    SHOWING,
    SHOWING_CALLS,
    VERBATIM,
    closed,
    concerned,
    evidence,
    family,
    fields_read,
    given,
    marks,
    reads_parts,
    shown,
    switch_cells,
)
from templatelint.checks._words import listed
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.view import View

_INLINE = "reasoning-inline"
_TAGS = "<think>"  # what the content of that case has
CASES, CALL_CASES = SHOWING, SHOWING_CALLS


def cases_for(source: str) -> tuple[str, ...]:
    """What else a template of that text is tried with."""
    return (_INLINE, *switch_cells(source)) if concerned(source) else ()


def check(view: View) -> Iterator[Fault]:
    """Where no reasoning arrives, look for the fields that the template reads; leaving it out alone is no fault."""
    if not concerned(view.template.source):
        return
    passed = given(view)
    view.prompt(HISTORY)
    read = fields_read(view.syntax)
    if not passed or shown(view, HISTORY) or shown(view, LOOP) or set(read).intersection(passed):
        return
    if read or reads_parts(view.syntax):
        yield _other_name(view, read)
    elif (found := marks(view)) is not None and found.start == _TAGS and shown(view, _INLINE) and not _never(view):
        yield Fault(
            message="no field of reasoning is read: what a client sends back in `reasoning_content` never reaches"
            f" the prompt, what stands between {found.start} and {found.end} in the content does",
            help="put reasoning back into the content before sending the history, or print"
            " `message.reasoning_content` between the tags",
            cases=evidence(view, HISTORY, _INLINE),
            cause="none",
            span=view.mention(found.start, "content"),
            impact="degrades",
            total=False,
        )


def _never(view: View) -> bool:
    """Whether the model does not think at all: prompts close thoughts, and nothing opens them."""
    usual = view.prompt("chat-basic")
    cells = switch_cells(view.template.source)
    return closed(view) and all(not view.renders(case_id) or view.prompt(case_id) == usual for case_id in cells)


def _other_name(view: View, read: Sequence[str]) -> Fault:
    """The template looks elsewhere; who calls a renderer directly may well put it there."""
    where = listed(f"`{name}`" for name in read) or "parts of the content of type `thinking`"
    named = next(iter(read), "")
    span = view.mention(*(quoted.format(named or "thinking") for quoted in (".{}", "['{}'", '["{}"', "('{}'", "'{}'")))
    if family(view.engine) in VERBATIM:
        return Fault(
            message=f"reasoning is read from {where} alone",
            help=f"send it as {where}, not as `reasoning_content`",
            cases=evidence(view, HISTORY),
            cause=f"verbatim {where}",
            span=span,
            impact="informs",
            total=False,
        )
    also = f"; vLLM gives it as `{named}` too" if named == "reasoning" else ""
    instead = f"`message.{named}` is not there" if named else "there is no such part"
    return Fault(
        message=f"reasoning that a client sends back never reaches the prompt: the template reads it from {where},"
        " and is given `reasoning_content`",
        help=f"print `message.reasoning_content` where {instead}: no flag or request renames it{also}",
        cases=evidence(view, HISTORY),
        cause=where,
        span=span,
        total=False,
    )
