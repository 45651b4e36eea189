"""A view → its cells as answers: a prompt, an error of the engine's or the template's own, or nothing known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from templatelint.reading import has
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterable

    from templatelint.model import Case, Observation, RenderError
    from templatelint.view import View

Word: TypeAlias = str | None


@dataclass(frozen=True, slots=True)
class Cells:
    """One engine's cells.

    Attributes:
        errors: fact → what was said where a cell decided it by failing.
    """

    view: View
    errors: dict[str, str] = field(default_factory=dict)

    def case(self, case_id: str) -> Case:
        """The case, in the variant in which this template can be judged."""
        return self.view.case(case_id)

    def prompt(self, case_id: str) -> str | None:
        """The prompt, None where there is none."""
        return self.view.prompt(case_id) if self.view.renders(case_id) else None

    def error(self, case_id: str) -> RenderError | None:
        """Why there is none, where the template or the engine says so; None also where nothing is known."""
        try:
            return self.view.raised(case_id)
        except NoText:
            return None

    def plain(self, case_id: str) -> Observation | None:
        """The cell of the case as it is, whatever the template demands; None where it was not tried."""
        try:
            return self.view.plain(case_id)
        except NoText:
            return None

    def told(self, fact: str, word: str, case_ids: str | Iterable[str]) -> str:
        """The word, and what the first of the cases that fails says, kept as the reason for it."""
        for case_id in [case_ids] if isinstance(case_ids, str) else case_ids:
            if (error := self.error(case_id)) is not None:
                self.errors.setdefault(fact, error.message)
                break
        return word

    def has(self, case_id: str, mark: str) -> bool:
        """Whether the cell has a prompt and the marked text is in it."""
        prompt = self.prompt(case_id)
        return prompt is not None and has(prompt, self.case(case_id), mark)
