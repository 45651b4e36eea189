"""Requests → prompts through an engine that really runs on this machine, and which build that was."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.cli.options import Session
    from templatelint.cli.prompts import Asked, Cell
    from templatelint.engines import Engine, RealEngine
    from templatelint.model import Model, Request


@dataclass
class RealPlan:
    """What to ask of each model."""

    asked: Sequence[Asked]
    engine: Engine
    real: RealEngine
    session: Session
    _told: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """Cells a model."""
        return len(self.asked)

    def cells(self, ref: str, model: Model) -> Iterator[Cell]:
        """Ask; the engine has ended before the first cell is given."""
        from templatelint.cli.prompts import Cell
        from templatelint.model import Observation, RenderError

        requests = [self._request(asked) for asked in self.asked]
        chosen = [self.engine.choose(model, request) for request in requests]
        served = [
            row
            for row, (asked, choice) in enumerate(zip(self.asked, chosen, strict=True))
            if not asked.flaw and not isinstance(choice, RenderError)
        ]
        build, observed = "", {}
        if served:
            answers = self.real.answers(model, [requests[row] for row in served])
            build, observed = answers.build, dict(zip(served, answers.observations, strict=True))
            self._tell(build)
        for row, (asked, choice) in enumerate(zip(self.asked, chosen, strict=True)):
            if asked.flaw:
                rejected = Observation(error=RenderError("invalid-request", asked.flaw))
                yield Cell(ref, model, None, asked, self.engine.name, rejected, build)
            elif isinstance(choice, RenderError):
                yield Cell(ref, model, None, asked, self.engine.name, Observation(error=choice), build)
            else:
                yield Cell(ref, model, choice, asked, self.engine.name, observed[row], build)

    def _request(self, asked: Asked) -> Request:
        from templatelint.cases import to_form

        return to_form(asked.request, asked.form or self.engine.client_form) if asked.canonical else asked.request

    def _tell(self, build: str) -> None:
        """In text, once, which build answers; JSON says it with each render."""
        if build and build not in self._told and self.session.output_format in {None, "text"}:
            self._told.add(build)
            self.session.note(build)


def plan(named: Sequence[str], asked: Sequence[Asked], session: Session) -> RealPlan:
    """How to ask the one engine that is named.

    Raises:
        TemplatelintError: none is named, it cannot be asked here, or a conversation is of another day.
    """
    from templatelint import engines
    from templatelint.cases import get

    if not named:
        raise TemplatelintError("--real without --engine", help="name the engine: --engine llama.cpp")
    asking = [(name, engines.get_real(name)) for name in engines.expanded(named)]
    late = next((item.id for item in asked if item.canonical and get(item.id).day), None)
    if late is not None:
        raise TemplatelintError(f"case {late} is of another day, and a real server shows its own clock")
    [(name, real)] = asking
    return RealPlan(asked, engines.get(name), real, session)
