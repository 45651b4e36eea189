"""TL204: arguments in the shape that the engine hands over crash the render."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._calls import other_form
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Impact, RenderError
    from templatelint.view import View

_SHAPES = ("tool-call-empty", "tool-call-text", "tool-call-first")
_BOTH = "`arguments if arguments is string else arguments | tojson`"
CASES = (*_SHAPES, *(f"{case_id}+wire" for case_id in _SHAPES), *(f"{case_id}+native" for case_id in _SHAPES))


def check(view: View) -> Iterator[Fault]:
    """Compare mappings and JSON strings as arguments, everything else being equal."""
    for case_id in _SHAPES:
        error = view.raised(case_id)
        if error is None:
            continue
        for form in ("wire", "native"):
            if view.renders(f"{case_id}+{form}"):
                yield _fault(view, case_id, error, form)
                return
    if view.client_form == "native":  # its callers choose the form; those of servers do not
        yield from _contract(view)


def _contract(view: View) -> Iterator[Fault]:
    """The form that the engine passes on as it is, and that the template does not take."""
    for case_id in _SHAPES:
        other = other_form(view, case_id)
        error = view.raised(other)
        if error is not None and view.renders(case_id):
            yield _fault(view, other, error, "native", "informs")
            return


def _fault(view: View, case_id: str, error: RenderError, form: str, impact: Impact | None = None) -> Fault:
    """What is to be said where the other form, the one named, renders."""
    handed, needed = ("a mapping", "a JSON string") if form == "wire" else ("a JSON string", "a mapping")
    return Fault(
        message=f"tool-call arguments given as {handed} make the template raise; it takes {needed}: {error.message}",
        help=f"accept both: {_BOTH}"
        if form == "wire"
        else f"send a mapping: Jinja cannot decode a string; or, where the template writes JSON, accept both: {_BOTH}",
        cases=(case_id,),
        cause=f"{form} {impact or ''}".rstrip(),
        span=view.span_of(error),
        impact=impact,
    )
