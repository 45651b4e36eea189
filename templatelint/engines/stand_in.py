"""An engine that is asked beside its own program: as it is, but for what prints its prompts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from templatelint.engines import Engine
    from templatelint.model import ClientForm, Model, RenderError, Request, Template


@dataclass(frozen=True)
class StandIn:
    """What it takes over of an engine.

    Attributes:
        engine: what prepares requests.
    """

    engine: Engine

    @property
    def renderer(self) -> str:
        """The engine's."""
        return self.engine.renderer

    @property
    def version(self) -> str:
        """The engine's."""
        return self.engine.version

    @property
    def emulated(self) -> bool:
        """It is no engine of anyone's."""
        return True

    @property
    def client_form(self) -> ClientForm:
        """The engine's."""
        return self.engine.client_form

    @property
    def always_cues(self) -> bool:
        """The engine's."""
        return self.engine.always_cues

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """As the engine does."""
        return self.engine.choose(model, request)
