"""A request as a template is given it: the variables, and what the engine does to the text that comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from templatelint.model import Observation, RenderError
from templatelint.renderers import RenderFailure

if TYPE_CHECKING:
    from datetime import datetime

    from templatelint.model import Request
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


@dataclass(frozen=True)
class Preparing:
    """A template inside an engine that starts with whatever compiles, prepares each request, and has it rendered.

    Attributes:
        program: the template as compiled.
    """

    program: Program

    @property
    def refusal(self) -> None:
        """None: what compiles is used."""
        return

    def through(self, program: Program) -> Self:
        """The same, its requests prepared as before, but rendered by another program of this template."""
        return replace(self, program=program)

    def render(self, request: Request, now: datetime) -> Observation:
        """What the model is given to complete, or why there is no such text."""
        return rendered(self.program, self.prepare(request, now), now)

    def prepare(self, request: Request, now: datetime) -> Prepared | RenderError:
        """What the template sees, or why the engine rejects the request."""
        raise NotImplementedError
