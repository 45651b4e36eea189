"""Prompts on which engines disagree → the same requests rendered again, to tell what the difference comes from.

An engine may prepare a request in its own way; what it prepared, rendered by transformers' Jinja, shows what its own
renderer adds to that. Then each respect in which that renderer is known to differ is tried: the one that makes the
reference say the same is the cause.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import cases, engines, matrix
from templatelint.engines.reference import Reference, named
from templatelint.renderers.variations import Variation, known, pairs
from templatelint.trimming import trimmed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from templatelint.engines import Engine, Loaded
    from templatelint.matrix import Matrix
    from templatelint.model import Case, Model, RenderError, Template

REFERENCE = "jinja2"
"""The renderer against which the others are held."""

COMPARED = (
    "chat-turns-system",
    "tools-offer-system",
    "tool-call-empty",
    "tool-arguments-types",
)
TRIMMED = Variation()
UNTRIMMED = Variation("leaves the newlines and indentation of block tags in", trims=False)
TRIM_CASES = ("chat-basic", "tools-offer-system")


def doubtful(observed: Matrix, engine: Engine, running: Iterable[Engine]) -> tuple[str, ...]:
    """The cases for which this engine has a prompt that no engine with the reference renderer has."""
    others = [other.name for other in running if other.renderer == REFERENCE]
    if engine.renderer == REFERENCE:
        return ()
    return tuple(case_id for case_id in COMPARED if _alone(observed, case_id, engine.name, others))


def _alone(observed: Matrix, case_id: str, engine: str, others: Sequence[str]) -> bool:
    own = prompt(observed, case_id, engine)
    theirs = {prompt(observed, case_id, other) for other in others} - {None}
    return own is not None and bool(theirs) and own not in theirs


def prompt(observed: Matrix, case_id: str, engine: str) -> str | None:
    """The prompt of a cell; None where it has none."""
    cell = observed.cells.get((case_id, engine))
    return None if cell is None else cell.prompt


def examined(observed: Matrix, model: Model, template: Template, engine: Engine, case_ids: Sequence[str]) -> Matrix:
    """With the cells of the engine through the reference, and through its variations where that differs."""
    observed = _through(observed, _references(engine, [Variation()]), case_ids, model, template)
    reference = named(engine.name, Variation())
    unexplained = [
        case_id
        for case_id in case_ids
        if prompt(observed, case_id, reference) not in {None, prompt(observed, case_id, engine.name)}
    ]
    for variations in (known(engine.renderer), pairs(engine.renderer)):
        if unexplained:
            observed = _through(observed, _references(engine, variations), unexplained, model, template)
            unexplained = [
                case_id for case_id in unexplained if cause(observed, case_id, engine.name, engine.renderer) is None
            ]
    return observed


def cause(observed: Matrix, case_id: str, engine: str, renderer: str) -> Variation | None:
    """What makes the reference give the engine's prompt; None where nothing known does."""
    own = prompt(observed, case_id, engine)
    for variation in (*known(renderer), *pairs(renderer)):
        if own is not None and prompt(observed, case_id, named(engine, variation)) == own:
            return variation
    return None


def untrimmed(template: Template, running: Iterable[Engine]) -> list[tuple[Engine, Sequence[Case]]]:
    """What to render, with and without `trim_blocks` and `lstrip_blocks`, where only that tells if they matter."""
    place = trimmed(template.source)
    if place is None or place.always or not any(engine.renderer == REFERENCE for engine in running):
        return []
    wanted = [cases.get(case_id) for case_id in TRIM_CASES]
    return [(reference, wanted) for reference in _references(engines.get("transformers"), (TRIMMED, UNTRIMMED))]


def trim_cell(variation: Variation) -> str:
    """The name under which those cells stand."""
    return named("transformers", variation)


def _references(engine: Engine, variations: Iterable[Variation]) -> list[Reference]:
    loaded: dict[str, Loaded | RenderError] = {}
    return [Reference(engine, variation, loaded) for variation in variations]


def _through(
    observed: Matrix, references: Sequence[Reference], case_ids: Iterable[str], model: Model, template: Template
) -> Matrix:
    return observed.extended(matrix.observe(model, template, references, [cases.get(case_id) for case_id in case_ids]))
