"""Requests → prompts as vLLM's OpenAI server gives them, started without options but for a tool parser."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from templatelint.engines import transformers
from templatelint.engines.vllm import variables
from templatelint.engines.vllm.bypassed import bypass
from templatelint.model import ClientForm, RenderError, Request, Template

if TYPE_CHECKING:
    from templatelint.engines.vllm.loaded import LoadedTemplate
    from templatelint.model import Model, Tokenizer

_OF_THE_PROCESSOR = ("processor_config.json", "chat_template.json")


@dataclass(frozen=True)
class Vllm:
    """`vllm serve`, which renders with the tokenizer of the transformers that it pins."""

    name: str = "vllm"
    renderer: str = "jinja2"
    version: str = "0.33.0"
    emulated: bool = False
    client_form: ClientForm = "wire"
    always_cues: bool = False

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """As transformers does, unless vLLM reads no template of the model, or has none for tools."""
        if (bypassed := bypass(model)) is not None:
            return bypassed
        tools = request.tools
        if variables.is_given(asked := request.variables.get("tools")):
            request, tools = replace(request, tools=asked), asked
        chosen = transformers.choose_named(model, request)
        if tools is None or model.kind != "folder" or isinstance(chosen, RenderError):
            return chosen
        carrier = PurePath(chosen.origin.path).name
        if carrier in _OF_THE_PROCESSOR:
            return RenderError(
                "invalid-request",
                f"vLLM takes the tokenizer's template for a request with tools, and there is only one in {carrier}",
            )
        return chosen

    def load(self, template: Template, tokenizer: Tokenizer) -> LoadedTemplate | RenderError:
        """See `loaded.load`."""
        from templatelint.engines.vllm import loaded

        return loaded.load(template, tokenizer)


def engine(name: str) -> Vllm:
    """The engine of that id."""
    return Vllm(name)
