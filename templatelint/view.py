"""One template on one engine, as its cells show it: what a check is given."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from templatelint import passages
from templatelint.syntax import Syntax, TemplateSyntax, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from collections.abc import Set as AbstractSet

    from templatelint.engines import Engine
    from templatelint.engines.read_back import ReadBack
    from templatelint.matrix import Matrix
    from templatelint.model import Case, ClientForm, Model, Observation, RenderError, Template

_WORD = re.compile(r"\w+")


class NoText(Exception):
    """A cell has no text to give."""

    def __init__(self, case_id: str, why: str, *, served: bool = True) -> None:
        super().__init__(f"{case_id}: {why}")
        self.case_id = case_id
        self.why = why
        self.served = served


@dataclass(frozen=True)
class View:
    """What a check may look at.

    Attributes:
        engine: the engine's id.
        renderer: the id of its Jinja implementation.
        client_form: the form in which it is fed requests.
        adapted: case id → the variant of it in which this template can be judged; cases are looked up by the plain id.
        parser: the tool-call parser that the user launches the engine with; empty where none was named.
        asked: the needs that the user named.
        always_cued: the engine asks for the generation prompt whatever a request says; `+nogen` shows nothing there.
        missed: cells without text that a check passed over; the pipeline reports them.
        memo: what one check found out and another may use.
    """

    engine: str
    renderer: str
    client_form: ClientForm
    model: Model
    template: Template
    matrix: Matrix = field(repr=False)
    adapted: Mapping[str, str] = field(default_factory=dict, repr=False)
    always_cued: bool = False
    parser: str = ""
    asked: AbstractSet[str] = frozenset()
    missed: list[NoText] = field(default_factory=list, repr=False)
    memo: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    @staticmethod
    def of(  # noqa: PLR0913 (what an engine, a template and a user have to do with it)
        engine: Engine,
        model: Model,
        template: Template,
        matrix: Matrix,
        adapted: Mapping[str, str],
        *,
        parser: str = "",
        asked: AbstractSet[str] = frozenset(),
    ) -> View:
        """What that engine's cells show; see the class for the rest."""
        return View(
            engine.name,
            engine.renderer,
            engine.client_form,
            model,
            template,
            matrix,
            adapted,
            always_cued=engine.always_cues,
            parser=parser,
            asked=asked,
        )

    # ------------------------------------------------------------------------------------- the cells

    @property
    def load_error(self) -> RenderError | None:
        """Why the engine does not load the template."""
        return self.matrix.loads.get(self.engine)

    def case(self, case_id: str) -> Case:
        """The case of a planned cell."""
        return self.matrix.cases[self.adapted.get(case_id, case_id)]

    def ids(self, *case_ids: str) -> tuple[str, ...]:
        """The ids of the cells that are looked at in the name of these: what shows a fault when it is rendered."""
        return tuple(self.adapted.get(case_id, case_id) for case_id in case_ids)

    def observation(self, case_id: str) -> Observation:
        """The cell as observed; raises NoText where it was not tried."""
        return self.plain(self.adapted.get(case_id, case_id))

    def plain(self, case_id: str) -> Observation:
        """The cell of the case as it is, whatever the template demands; raises NoText where it was not tried."""
        cell = (case_id, self.engine)
        if cell in self.matrix.cells:
            return self.matrix.cells[cell]
        if cell in self.matrix.skipped:
            raise NoText(case_id, self.matrix.skipped[cell])
        raise NoText(case_id, "served by another template of this model", served=False)

    def prompt(self, case_id: str) -> str:
        """The cell's prompt; raises NoText where it has none."""
        observation = self.observation(case_id)
        if observation.prompt is None:
            error = observation.error
            raise NoText(case_id, error.message if error else "no prompt")
        return observation.prompt

    def reply(self, case_id: str) -> ReadBack | None:
        """What the engine's own parser makes of the calls of the cell; None where it was not asked or has none."""
        return self.matrix.replies.get((self.adapted.get(case_id, case_id), self.engine))

    def error(self, case_id: str) -> RenderError | None:
        """The cell's error, None where it rendered; raises NoText where it was not tried."""
        return self.observation(case_id).error

    def raised(self, case_id: str) -> RenderError | None:
        """The cell's error where it is the template's or the engine's own, not our bounds'."""
        error = self.error(case_id)
        return None if error is None or error.out_of_budget else error

    def tried(self, case_id: str) -> bool:
        """Whether the cell was tried, and not served by another template of the model."""
        return (self.adapted.get(case_id, case_id), self.engine) in self.matrix.cells

    def renders(self, case_id: str) -> bool:
        """Whether the cell was tried and gave a prompt."""
        cell = self.matrix.cells.get((self.adapted.get(case_id, case_id), self.engine))
        return cell is not None and cell.prompt is not None

    def rendered(self, *case_ids: str) -> Iterator[tuple[Case, str]]:
        """The cells that have a prompt; the others are noted as missed."""
        for case_id in case_ids:
            try:
                yield self.case(case_id), self.prompt(case_id)
            except NoText as missing:
                self.missed.append(missing)

    def failures(self) -> Iterator[tuple[Case, RenderError]]:
        """Every cell of this engine that gave an error, adapted where the template demands it."""
        for (case_id, engine), observation in self.matrix.cells.items():
            replaced = self.adapted.get(case_id, case_id) != case_id
            if engine == self.engine and observation.error is not None and not replaced:
                yield self.matrix.cases[case_id], observation.error

    # ---------------------------------------------------------------------------------- the template

    @property
    def syntax(self) -> Syntax:
        """The template's syntax tree; raises NoText where it does not parse."""
        try:
            return parse(self.template.source)
        except TemplateSyntax as error:
            raise NoText("the template", f"does not parse: {error}") from error

    def span_of(self, error: RenderError) -> tuple[int, int] | None:
        """Offsets of the construct that an error points at: from its column, else its whole line."""
        if error.line is None:
            return None
        lines = self.template.lines
        if error.line > lines.count:
            return None
        start = lines.start(error.line)
        text = lines.excerpt(start)
        if error.column is None:
            return start + len(text) - len(text.lstrip()), start + len(text.rstrip())
        word = _WORD.match(text, error.column - 1)
        at = start + error.column - 1
        return at, at + (len(word[0]) if word else 1)

    def mention(self, *texts: str) -> tuple[int, int] | None:
        """Offsets of the first of the texts that stands in the source: where a reader would begin to look.

        In a tag rather than in text outside of tags, and never in a comment.
        """
        found = (passages.mention(self.template.source, text) for text in texts if text)
        return next((span for span in found if span is not None), None)

    @property
    def written(self) -> str:
        """The template's source without its comments, which say nothing of what it does; offsets are the source's."""
        return passages.without_comments(self.template.source)
