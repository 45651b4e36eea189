"""Template and variables → prompt, through a renderer alone: no engine prepares or finishes anything."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from templatelint import bounded
from templatelint.errors import TemplatelintError
from templatelint.model import Observation, RenderError
from templatelint.nearest import unknown
from templatelint.renderers import RenderFailure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from templatelint.model import Template

# renderer → the module that has it
_RENDERERS: Mapping[str, str] = {
    "jinja2": "templatelint.renderers.jinja2",
    "llama.cpp": "templatelint.renderers.llamacpp",
    "minijinja": "templatelint.renderers.minijinja",
    "hf-jinja": "templatelint.renderers.hf_jinja",
}


def check(name: str) -> None:
    """Raise unless there is a renderer of that name, and on this machine what it needs."""
    if name not in _RENDERERS:
        raise unknown("renderer", name, _RENDERERS)
    module = import_module(_RENDERERS[name])
    lack = module.missing() if hasattr(module, "missing") else None
    if lack is not None:
        raise TemplatelintError(f"renderer {name} cannot run here: {lack}", help=module.INSTALL)


def render(name: str, template: Template, variables: Mapping[str, Any], now: datetime) -> Observation:
    """What that renderer makes of the template with these variables, in a bounded child.

    Raises:
        TemplatelintError: what the renderer runs on does not work any more.
    """
    items, stop = bounded.run(_render, _RENDERERS[name], template.source, variables, now)
    if stop is not None:
        return Observation(error=RenderError("timeout" if stop.kind == "timeout" else "too-large", stop.message))
    prompt, error, *lost = items[0]
    if lost:
        raise TemplatelintError(f"renderer {name} cannot go on: {lost[0]}")
    return Observation(prompt, None if error is None else RenderError(*error))


def _render(module: str, source: str, variables: Mapping[str, Any], now: datetime) -> Iterator[Any]:
    """In the child: one item, the prompt and the error, and what does not work any more where there is neither."""
    try:
        yield [import_module(module).compile_template(source).render(variables, now), None]
    except RenderFailure as failure:
        record = failure.record
        yield [None, [record.kind, record.message, record.line, record.column]]
    except TemplatelintError as lost:
        yield [None, None, lost.message]
