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
            if view.renders(f"{case_id}+{form}") or _renders_elsewhere(view, case_id, error, form):
                yield _fault(view, case_id, error, form)
                return
    if view.client_form == "native":  # its callers choose the form; those of servers do not
        yield from _contract(view)


def _renders_elsewhere(view: View, case_id: str, error: RenderError, form: str) -> bool:
    """Whether an engine that passes arguments on as they are has this very error, and a prompt in that form.

    Where this engine makes one shape of every other, it cannot show what the template makes of another.
    """
    given = "native" if form == "wire" else "wire"
    for engine in view.matrix.loads:
        failing, rendering = (view.matrix.cells.get((f"{case_id}+{name}", engine)) for name in (given, form))
        if failing is not None and failing.error == error and rendering is not None and rendering.prompt is not None:
            return True
    return False


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
