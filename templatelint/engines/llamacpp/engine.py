"""llama.cpp as an engine: which template serves a request; what the template does there is `loaded`'s."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp import BUILD, TOOL_USE
from templatelint.model import ClientForm, RenderError, Template
from templatelint.renderers import RenderFailure

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.loaded import LoadedTemplate
    from templatelint.model import Model, Request, Tokenizer

_PARSED = 8  # templates that `choose` remembers to have parsed


@dataclass(frozen=True)
class LlamaCpp:
    """llama-server with `--jinja`, as it starts by default."""

    name: str = "llama.cpp"
    renderer: str = "llama.cpp"
    version: str = BUILD
    emulated: bool = True
    client_form: ClientForm = "wire"
    always_cues: bool = False

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """`tool_use` for a request with tools where it parses, else `default`; other names are never looked at."""
        if model.picked and model.templates:
            return model.templates[0]
        default, tool_use = model.template("default"), model.template(TOOL_USE)
        if default is None or not default.source or default.source == "chatml":
            default = tool_use
        if default is None:
            return RenderError("invalid-request", _no_template(model))
        if request.tools and tool_use is not None and _parses(tool_use.source):
            return tool_use
        return default

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """See `loaded.load`."""
        from templatelint.engines.llamacpp import loaded

        return loaded.load(template, tokenizer)


def _no_template(model: Model) -> str:
    if not model.templates:
        return "the model has no chat template: llama-server uses its built-in ChatML instead"
    default = model.template("default")
    if default is not None:
        return f"the template {'says chatml' if default.source else 'is empty'}: llama-server uses its built-in ChatML"
    listed = ", ".join(sorted(template.name for template in model.templates))
    return f"none of the named templates is the default one: llama-server uses its built-in ChatML instead of {listed}"


@lru_cache(_PARSED)
def _parses(source: str) -> bool:
    from templatelint.renderers.llamacpp import compile_template

    try:
        compile_template(source)
    except RenderFailure:
        return False
    return True


def engine(name: str) -> LlamaCpp:
    """The engine of that id."""
    return LlamaCpp(name)
