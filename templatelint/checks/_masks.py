"""Conversations → what of their prompts transformers takes for the assistant's, by the `generation` blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from templatelint import cases, engines, matrix
from templatelint.engines.stand_in import StandIn
from templatelint.engines.transformers import LoadedTemplate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime
    from typing import Any

    from templatelint.engines import Loaded
    from templatelint.model import Model, RenderError, Template, Tokenizer
    from templatelint.renderers.jinja2 import Compiled, Span

_SEPARATOR = "\0"  # before the spans; no template writes it


class Masked(NamedTuple):
    """A prompt and the spans of it that count as the assistant's."""

    prompt: str
    spans: Sequence[Span]


def masked(model: Model, template: Template, engine: str, case_ids: Iterable[str]) -> Mapping[str, Masked]:
    """Case id → its prompt with the spans, for those of the cases that render; in a bounded child, as all cells."""
    marking = _Marking(engines.get(engine))
    observed = matrix.observe(model, template, [marking], [cases.get(case_id) for case_id in case_ids])
    return {
        case_id: _read(cell.prompt) for case_id, cell in observed.of(marking.name).items() if cell.prompt is not None
    }


def _read(text: str) -> Masked:
    prompt, _, spans = text.rpartition(_SEPARATOR)
    numbers = [*map(int, spans.split())]
    return Masked(prompt, [*zip(numbers[::2], numbers[1::2], strict=True)])


@dataclass(frozen=True)
class _Spans:
    """The template, whose text the spans follow."""

    compiled: Compiled

    def render(self, variables: Mapping[str, Any], now: datetime | None = None) -> str:
        """The text, and the numbers of all spans behind it."""
        text, spans = self.compiled.render_with_spans(variables, now)
        return f"{text}{_SEPARATOR}{' '.join(str(number) for span in spans for number in span)}"


class _Marking(StandIn):
    """A release of transformers whose prompts carry the spans."""

    @property
    def name(self) -> str:
        """Its cells bear this; no engine has such an id."""
        return f"{self.engine.name} with spans"

    def load(self, template: Template, tokenizer: Tokenizer) -> Loaded | RenderError:
        """The engine's preparation, and the template with its spans."""
        loaded = self.engine.load(template, tokenizer)
        return loaded.through(_Spans(loaded.compiled)) if isinstance(loaded, LoadedTemplate) else loaded
