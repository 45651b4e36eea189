"""An engine whose prompts go through the Jinja of transformers: its preparation without its renderer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from templatelint.engines.stand_in import StandIn
from templatelint.model import RenderError
from templatelint.renderers import RenderFailure

if TYPE_CHECKING:
    from templatelint.engines import Loaded
    from templatelint.model import Template, Tokenizer
    from templatelint.renderers.variations import Variation


@dataclass(frozen=True)
class Reference(StandIn):
    """One engine through transformers' Jinja, or through a variation of that.

    Attributes:
        variation: what renders them.
        loaded: template name → what the engine made of it, for all references to this engine that share the dict.
    """

    variation: Variation
    loaded: dict[str, Loaded | RenderError] = field(default_factory=dict, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Its cells bear this; no engine has such an id."""
        return named(self.engine.name, self.variation)

    @property
    def renderer(self) -> str:
        """The id of the renderer that it goes through."""
        return "jinja2"

    def load(self, template: Template, tokenizer: Tokenizer) -> Loaded | RenderError:
        """The engine's preparation and the other program, or why either has none."""
        loaded = self.loaded.get(template.name)
        if loaded is None:
            loaded = self.loaded[template.name] = self.engine.load(template, tokenizer)
        if isinstance(loaded, RenderError) or (self.engine.renderer == self.renderer and not self.variation.clause):
            return loaded  # that is the reference already
        try:
            return loaded.through(self.variation.program(template.source))
        except RenderFailure as failure:
            return failure.record


def named(engine: str, variation: Variation) -> str:
    """The name under which the cells of an engine in that variation stand."""
    return f"{engine} through jinja2" + (f" that {variation.clause}" if variation.clause else "")
