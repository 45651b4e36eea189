"""Override files of the settings: where each is deployed, and what it does otherwise than the template it replaces."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from templatelint import cards, diff, engines, outcomes, sources
from templatelint.errors import TemplatelintError
from templatelint.lint import fingerprint
from templatelint.model import Fault, Finding, NotRun
from templatelint.patterns import Pattern
from templatelint.severity import ALWAYS_ON, Stance, severity
from templatelint.suppress.scope import DRIFT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from templatelint.diff import Comparison
    from templatelint.model import Model, Template

_NAMED = 6  # cases of a difference
_TOOLS = frozenset({"tools"})


@dataclass(frozen=True)
class Override:
    """A file that replaces the chat template of a model.

    Attributes:
        file: pattern of the file, as seen from the folder of the settings.
        model: reference of the model, likewise where it is a path.
        engines: where it is deployed; None for what the settings say of all files.
        needs: what its clients rely on; likewise.
        settings: the file that says so, as the user would name it.
        folder: the folder of that file.
    """

    file: str
    model: str
    engines: tuple[str, ...] | None
    needs: tuple[str, ...] | None
    settings: str
    folder: Path

    @property
    def pattern(self) -> Pattern:
        """The file or files that it is about."""
        return Pattern(self.file, self.folder)

    def means(self, path: str) -> bool:
        """Whether it is about that file."""
        return self.pattern.means(path)

    @property
    def base(self) -> str:
        """The model's reference as it can be typed from here."""
        path = self.model.rpartition("#")[0] or self.model
        for local, picked in ((self.model, ""), (path, self.model.removeprefix(path))):
            there = self.folder / local
            if os.path.lexists(there):
                return _from_here(there) + picked
        return self.model

    @property
    def files(self) -> tuple[str, ...]:
        """The files that it means, in order; one that a plain name means is among them also where it is missing."""
        pattern = self.pattern
        if (plain := pattern.plain) is not None:
            return (_from_here(plain),)
        return tuple(_from_here(path) for path, meant in pattern.looked_at() if meant)


def _from_here(path: str | Path) -> str:
    try:
        return os.path.relpath(path)
    except (OSError, ValueError):  # the working directory is gone; another drive
        return str(path)


def of(path: str, overrides: Sequence[Override]) -> Override | None:
    """The first that is about that file."""
    return next((override for override in overrides if override.means(path)), None)


def base_of(override: Override) -> Model | str:
    """The model whose template is replaced, or why it cannot be read."""
    try:
        return sources.resolve(override.base)
    except TemplatelintError as error:
        return error.message


def as_deployed(model: Model, base: Model, given: AbstractSet[str] = frozenset()) -> Model:
    """The override with the tokens of the model that it is deployed with, but for those `given` by the user."""
    if not model.tokenizer.assumed and not given:
        return model
    own = {name: text for name, text in model.tokenizer.special_tokens.items() if name in given}
    special = {**base.tokenizer.special_tokens, **own}
    return replace(model, tokenizer=replace(base.tokenizer, special_tokens=special))


# --------------------------------------------------------------------------------------------- the comparison


def drift(
    model: Model,
    base: Model,
    asked: Sequence[str],
    needs: Sequence[str] | None,
    parsers: Mapping[str, str],
) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    """What works with the model's own template and no longer with the override, and what else differs.

    Args:
        model: the override, with the tokens of the model.
        base: the model.
        asked: engine ids, as `Options.engines`.
        needs: what its clients rely on; None for what the catalogue takes for granted.
        parsers: engine → the tool-call parser that it is launched with.

    Returns:
        The findings, and why there is no verdict where there is none.
    """
    template = model.templates[0]
    ref = model.reference(template)
    if not base.templates:
        return (), (NotRun(DRIFT, ref, f"{base.ref}: the model carries no chat template"),)
    running = engines.running(asked)
    judged = frozenset(needs or ()) | frozenset(outcomes.JUDGED)
    own, replaced = (diff.Known(one.ref, outcomes.observed(one, running, judged)) for one in (model, base))
    names = [engine.name for engine in running]
    comparison = diff.compare(replaced, own, [(name, name) for name in names], judged, diff.Launches(parsers))
    if comparison.blind:
        return (), tuple(NotRun(DRIFT, ref, f"{row.ref}: {row.why}") for row in comparison.blind)
    on = frozenset(needs) if needs is not None else ALWAYS_ON | _TOOLS
    stance = Stance(on, frozenset(names), named=bool(asked), asked=needs is not None)
    return tuple(_Told(comparison, template, ref, stance).findings()), ()


@dataclass(frozen=True)
class _Told:
    """A comparison, as findings about the override."""

    comparison: Comparison
    template: Template
    ref: str
    stance: Stance

    def findings(self) -> Iterator[Finding]:
        """One for each thing that breaks, then one for all that differs besides."""
        broken = [one for one in self.comparison.predictions if one.verdict == "breaks" and not one.follows]
        for one in broken:
            fault = Fault(
                f"{one.message}; with the template of {one.a} this works",
                one.remedy or f"see both: templatelint diff {one.a} {one.b}",
                need=one.need,
                cause=f"breaks {one.subject}",
            )
            cells = dict.fromkeys((span.case, span.engine) for span in one.evidence if span.ref == one.b)
            yield self._finding(fault, tuple(cells))
        told = {(span.case, span.engine) for one in broken for span in one.evidence}
        if others := tuple(cell for cell in self._differing() if cell not in told):
            yield self._finding(self._differs(others, besides=bool(broken)), others)

    def _differs(self, cells: Iterable[tuple[str, str]], *, besides: bool) -> Fault:
        a, b = self.comparison.a.ref, self.comparison.b.ref
        case_ids = list(dict.fromkeys(case_id for case_id, _ in cells))
        more = f" and {len(case_ids) - _NAMED} more" if len(case_ids) > _NAMED else ""
        worse = (one.message for one in self.comparison.predictions if one.verdict == "degrades" and not one.follows)
        also = "also " if besides else ""
        facts = [
            f"prompts {also}differ from those of the template of {a}: {', '.join(case_ids[:_NAMED])}{more}",
            *dict.fromkeys(worse),
        ]
        cure = f"see whether each difference is meant: templatelint diff {a} {b} --prompts"
        return Fault("; ".join(facts), cure, cause="differs", impact="informs")

    def _differing(self) -> Iterator[tuple[str, str]]:
        """The cells of which the two make different prompts, or only one makes a prompt."""
        for engine, base in self.comparison.a.inspection.views.items():
            others = self.comparison.b.inspection.views[engine].matrix.cells
            for cell, observation in base.matrix.cells.items():
                # a form that only one of them demanded has nothing to be held against
                if cell[1] == engine and cell in others and others[cell].prompt != observation.prompt:
                    yield cell

    def _finding(self, fault: Fault, cells: tuple[tuple[str, str], ...]) -> Finding:
        card = cards.get(DRIFT)
        need = fault.need or card.need
        hit = tuple(dict.fromkeys(engine for _, engine in cells))
        at = self.template.origin.place(0)
        return Finding(
            rule=card.id,
            name=card.name,
            severity=severity(fault.impact or card.impact, need, frozenset(hit), self.stance),
            message=fault.message,
            help=fault.help,
            ref=self.ref,
            template=self.template.name,
            place=at,
            end=at,
            engines=hit,
            needs=(need,),
            evidence=cells,
            fingerprint=fingerprint(card.id, self.template.name, fault.cause),
        )
