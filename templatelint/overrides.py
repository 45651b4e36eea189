"""Override files of the settings: where each is deployed, and what it does otherwise than the template it replaces."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from templatelint import cards, diff, engines, outcomes, sources
from templatelint.errors import TemplatelintError
from templatelint.lint import fingerprint
from templatelint.model import SEVERITIES, Fault, Finding, NotRun
from templatelint.patterns import Pattern
from templatelint.severity import ALWAYS_ON, Stance, severity
from templatelint.sources.reach import Reach
from templatelint.suppress.scope import DRIFT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    from templatelint.diff import Comparison
    from templatelint.model import Impact, Model, Template

_NAMED = 6  # cases of a difference
# cases of which a template that was mended makes the same prompts as before
_PLAIN_CHAT = frozenset({"chat-basic", "chat-system", "chat-turns", "chat-turns-system"})
_TOOLS = frozenset({"tools"})
_TOKENS = {"bos_token": "--bos-token", "eos_token": "--eos-token"}


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


def base_of(override: Override, reach: Reach = Reach()) -> Model | str:  # noqa: B008 (frozen)
    """The model whose template is replaced, or why it cannot be read."""
    if override.base.partition("#")[0] == "-":
        return "standard input is no model that settings can name"
    try:
        # settings are a file, which others may have written
        return sources.resolve(override.base, reach=replace(reach, typed=False))
    except TemplatelintError as error:
        return error.message


def as_deployed(model: Model, base: Model, given: AbstractSet[str] = frozenset()) -> Model:
    """The override with the tokens of the model that it is deployed with, but for those `given` by the user."""
    if not model.tokenizer.assumed and not given:
        return model
    own = {name: text for name, text in model.tokenizer.special_tokens.items() if name in given}
    special = {**base.tokenizer.special_tokens, **own}
    return replace(model, tokenizer=replace(base.tokenizer, special_tokens=special))


def replay(model: Model, deployed: Model) -> tuple[str, ...]:
    """The flags with which a file that is read alone has the tokens of its model, as far as it prints them."""
    alone, own = model.tokenizer.special_tokens, deployed.tokenizer.special_tokens
    printed = {name for name in _TOKENS if any(name in template.source for template in model.templates)}
    return tuple(
        word
        for name, flag in _TOKENS.items()
        if name in printed and alone.get(name, "") != own.get(name, "")
        for word in (flag, own.get(name, ""))
    )


# --------------------------------------------------------------------------------------------- the comparison


@dataclass(frozen=True)
class Deployed:
    """An override where it runs.

    Attributes:
        model: the override, with the tokens of the model.
        base: the model.
        asked: engine ids, as `Options.engines`.
        needs: what its clients rely on; None for what the catalogue takes for granted.
        parsers: engine and the tool-call parser that it is launched with.
        flags: what gives it the same tokens where it is read alone.
        informs: the two may differ, as a model that was trained further may from the one that it was made of.
        copy: it is to do what the other does: prompts of plain chat that differ are a loss.
        relaunched: it is launched with the parsers that fit it, rather than with those that fit the model.
    """

    model: Model
    base: Model
    asked: tuple[str, ...] = ()
    needs: tuple[str, ...] | None = None
    parsers: tuple[tuple[str, str], ...] = ()
    flags: tuple[str, ...] = ()
    informs: bool = False
    copy: bool = False
    relaunched: bool = False


def drift(deployed: Deployed, known: Sequence[Finding] = ()) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    """What works with the model's own template and no longer with the override, and what else differs.

    Args:
        deployed: what is compared.
        known: what other rules find in the override: what they tell is not told again.

    Returns:
        The findings, and why there is no verdict where there is none.
    """
    model, base, asked, needs = deployed.model, deployed.base, deployed.asked, deployed.needs
    template = model.templates[0]
    ref = model.reference(template)
    if not base.templates:
        return (), (NotRun(DRIFT, ref, f"{base.ref}: the model carries no chat template"),)
    running = engines.running(asked)
    judged = frozenset(needs or ()) | frozenset(outcomes.JUDGED)
    own, replaced = (diff.Known(one.ref, outcomes.observed(one, running, judged)) for one in (model, base))
    names = [engine.name for engine in running]
    launches = diff.Launches(dict(deployed.parsers), relaunched=deployed.relaunched)
    comparison = diff.compare(replaced, own, [(name, name) for name in names], judged, launches)
    if comparison.blind:
        return (), tuple(NotRun(DRIFT, ref, f"{row.ref}: {row.why}") for row in comparison.blind)
    on = frozenset(needs) if needs is not None else ALWAYS_ON | _TOOLS
    stance = Stance(on, frozenset(names), named=bool(asked), asked=needs is not None)
    told = tuple(finding for finding in known if finding.ref == ref)
    flags = (*(("--engine", ",".join(asked)) if asked else ()), *deployed.flags)
    impact: Impact | None = "informs" if deployed.informs else None
    return tuple(_Told(comparison, template, ref, stance, told, flags, impact, copy=deployed.copy).findings()), ()


@dataclass(frozen=True)
class _Told:
    """A comparison, as findings about the override.

    Attributes:
        known: what other rules find in it.
        flags: what a command needs to show the same.
        impact: of all that breaks; None for the rule's.
        copy: see `Deployed`.
    """

    comparison: Comparison
    template: Template
    ref: str
    stance: Stance
    known: tuple[Finding, ...]
    flags: tuple[str, ...]
    impact: Impact | None = None
    copy: bool = False

    def findings(self) -> Iterator[Finding]:
        """One for each thing that breaks and is not told otherwise, then one for all that differs besides."""
        broken = [one for one in self.comparison.predictions if one.verdict == "breaks" and not one.follows]
        rules: dict[str, None] = {}
        told = []
        for one in broken:
            fault = Fault(
                f"{one.message}; with the template of {one.a} this works",
                one.remedy or f"see both: {self._command()}",
                need=one.need,
                cause=f"breaks {one.subject}",
                impact=self.impact,
            )
            cells = dict.fromkeys((span.case, span.engine) for span in one.evidence if span.ref == one.b)
            finding = self._finding(fault, tuple(cells))
            if telling := self._telling(finding):
                rules.update(dict.fromkeys(telling))
            else:
                told.append(finding)
        yield from told
        shown = {(span.case, span.engine) for one in broken for span in one.evidence}
        others = tuple(cell for cell in self.comparison.differing_cells if cell not in shown)
        if others or rules:
            fault = self._differs(others, rules, besides=bool(told))
            yield self._finding(fault, others or tuple(shown))

    def _telling(self, finding: Finding) -> list[str]:
        """The other rules that tell the same loss, and weigh it no less; empty where they do not tell all of it."""
        grave = SEVERITIES.index(finding.severity)
        same = [
            one for one in self.known if set(one.needs) & set(finding.needs) and SEVERITIES.index(one.severity) <= grave
        ]
        cells = {cell for one in same for cell in one.evidence}
        return [
            one.rule for one in same if cells.issuperset(finding.evidence) and set(one.evidence) & set(finding.evidence)
        ]

    def _differs(self, cells: Iterable[tuple[str, str]], rules: Iterable[str], *, besides: bool) -> Fault:
        a = self.comparison.a.ref
        case_ids = list(dict.fromkeys(case_id for case_id, _ in cells))
        more = f" and {len(case_ids) - _NAMED} more" if len(case_ids) > _NAMED else ""
        told = [one for one in self.comparison.predictions if not one.follows]
        worse = (one.message for one in told if one.verdict == "degrades")
        better = dict.fromkeys(one.message for one in told if one.verdict == "improves")
        also = "also " if besides else ""
        facts = []
        if case_ids:
            named = f"{', '.join(case_ids[:_NAMED])}{more}"
            facts.append(f"prompts {also}differ from those of the template of {a}: {named}")
        if lost := ", ".join(sorted(rules)):
            facts.append(f"what {lost} find here works with the template of {a}")
        facts += dict.fromkeys(worse)
        if better:
            facts.append(f"better here: {', '.join(better)}")
        cure = f"see whether each difference is meant: {self._command('--prompts')}"
        plain = self.copy and not _PLAIN_CHAT.isdisjoint(case_ids)
        return Fault("; ".join(facts), cure, cause="differs", impact="degrades" if plain else "informs")

    def _command(self, *more: str) -> str:
        from shlex import join

        return join(["templatelint", "diff", self.comparison.a.ref, self.comparison.b.ref, *self.flags, *more])

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
