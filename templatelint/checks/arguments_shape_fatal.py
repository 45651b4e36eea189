"""TL204: arguments in the shape that the engine hands over crash the render."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_SHAPES = ("tool-call-empty", "tool-call-text")
CASES = (*_SHAPES, *(f"{case_id}+wire" for case_id in _SHAPES), *(f"{case_id}+native" for case_id in _SHAPES))


def check(view: View) -> Iterator[Fault]:
    """Compare mappings and JSON strings as arguments, everything else being equal."""
    for case_id in _SHAPES:
        error = view.raised(case_id)
        if error is None:
            continue
        for form, handed in (("wire", "a mapping"), ("native", "a JSON string")):
            if view.renders(f"{case_id}+{form}"):
                needed = "a JSON string" if form == "wire" else "a mapping"
                yield Fault(
                    message=f"tool-call arguments given as {handed} make the template raise; "
                    f"it takes {needed}: {error.message}",
                    help="accept both: `arguments if arguments is string else arguments | tojson`",
                    cases=(case_id,),
                    cause=form,
                    span=view.span_of(error),
                )
                return
