"""A request as a template is given it: the variables, and what the engine does to the text that comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from templatelint.model import Observation, RenderError
from templatelint.renderers import RenderFailure

if TYPE_CHECKING:
    from datetime import datetime

    from templatelint.renderers import Program

Finish: TypeAlias = Callable[[str], "str | RenderError"]


def _unchanged(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Prepared:
    """What stands before and after the renderer.

    Attributes:
        variables: what the template sees.
        finish: the rendered text → the prompt, or why there is none after all.
    """

    variables: Mapping[str, Any]
    finish: Finish = _unchanged


def rendered(program: Program, prepared: Prepared | RenderError, now: datetime) -> Observation:
    """The cell that a program of any renderer gives for what an engine prepared."""
    if isinstance(prepared, RenderError):
        return Observation(error=prepared)
    try:
        text = program.render(prepared.variables, now)
    except RenderFailure as failure:
        return Observation(error=failure.record)
    prompt = prepared.finish(text)
    return Observation(error=prompt) if isinstance(prompt, RenderError) else Observation(prompt)
