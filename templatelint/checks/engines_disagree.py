"""TL004: the same case gives another prompt on an engine because of the engine's Jinja, not of its preparation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import disagreement
from templatelint.disagreement import cause, prompt
from templatelint.engines.reference import named
from templatelint.model import Fault
from templatelint.reading import around, common
from templatelint.renderers.constructs import differing
from templatelint.renderers.variations import Variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = disagreement.COMPARED


def check(view: View) -> Iterator[Fault]:
    """Group the cases whose prompt the reference renderer changes by what brings it back, then read the tree."""
    if view.renderer == disagreement.REFERENCE:
        return
    causes: dict[str, list[str]] = {}
    for case_id in CASES:
        own = prompt(view.matrix, case_id, view.engine)
        reference = prompt(view.matrix, case_id, named(view.engine, Variation()))
        if own is not None and reference is not None and own != reference:
            found = cause(view.matrix, case_id, view.engine, view.renderer)
            causes.setdefault(found.clause if found else "", []).append(case_id)
    others = list(differing(view.renderer, view.syntax))
    if others and causes.get("") is not None:
        causes[others[0].effect] = causes.pop("")
    for clause, case_ids in causes.items():
        own = view.plain(case_ids[0]).prompt or ""
        reference = prompt(view.matrix, case_ids[0], named(view.engine, Variation())) or ""
        at = common(own, reference)
        reason = f"its Jinja {clause}" if clause else "its Jinja renders something differently"
        yield Fault(
            message=(
                f"{view.engine} makes another prompt of the same request, since {reason}: "
                f"{around(own, at)!r} where Jinja2 gives {around(reference, at)!r}"
            ),
            help="write that place so that every Jinja renders it alike; `templatelint render` shows the prompts",
            cases=tuple(case_ids),
            cause=f"{view.renderer}: {clause}",
        )
    for other in others:
        if other.effect not in causes:
            yield Fault(
                message=f"{view.renderer} {other.effect}, which no case shows",
                help="write that place so that every Jinja renders it alike",
                cause=f"{view.renderer}: {other.effect}",
                span=other.span,
                impact="informs",
            )
