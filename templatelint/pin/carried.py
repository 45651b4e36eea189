"""A model → the templates that a lock pins: Jinja's, and the Go template that Ollama may use in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Origin, Template
from templatelint.sources import ollama_choice

if TYPE_CHECKING:
    from templatelint.model import Model

GO = "TEMPLATE"
"""What an Ollama Modelfile calls its own; no Jinja template of a model is in capitals."""


def carried(model: Model) -> tuple[Template, ...]:
    """The templates, in their order."""
    go = model.metadata.get(ollama_choice.TEMPLATE)
    if model.picked or not isinstance(go, str):
        return model.templates
    return (*model.templates, Template(GO, go, Origin(model.ref, go, locatable=False)))


def template(model: Model, name: str) -> Template | None:
    """The one of that name, if there is one."""
    return next((one for one in carried(model) if one.name == name), None)
