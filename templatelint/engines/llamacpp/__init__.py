"""llama.cpp's server: requests → prompts, with all that it does to a template before it renders."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from templatelint.engines.llamacpp.engine import LlamaCpp


def engine(name: str) -> LlamaCpp:
    """The engine of that id, its facts read."""
    from templatelint.engines.llamacpp import facts
    from templatelint.engines.llamacpp.engine import LlamaCpp

    return LlamaCpp(name, version=facts.load().build)
