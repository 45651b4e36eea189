"""A model → may it be deployed? Findings of every kind, verdicts by need and engine, and how to launch it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from templatelint import cases, checks, engines, inspection, lint
from templatelint.model import NotRun, RenderError, Report
from templatelint.vet.launching import Launch, launches
from templatelint.vet.mending import cures
from templatelint.vet.verdicts import Ground, Verdict, verdicts
from templatelint.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from templatelint.engines import Engine
    from templatelint.inspection import Inspection
    from templatelint.model import Finding, Model

_BASIC, _TOOLS = "chat-basic", "tools-offer"
_READS_NONE = "unsupported"
_ALL = "*"
_AUTO = "auto"


@dataclass(frozen=True)
class Beside:
    """What a model is judged by besides its own files.

    Attributes:
        against: the model whose template an override file replaces; its tokens are in the model already.
        replay: flags with which the file has these tokens where it is read alone.
        lock: the lock file that has to hold; None for none.
        upstream: what the model's template is held against: a reference, `auto` or `none`.
        offline: nothing may be fetched.
    """

    against: Model | None = None
    replay: tuple[str, ...] = ()
    lock: Path | None = None
    upstream: str = "auto"
    offline: bool = False


@dataclass(frozen=True)
class Vetted:
    """The answer.

    Attributes:
        report: what was found, and what was not run; what is accepted is set apart.
        verdicts: one a need and engine: needs that are on first, then those told for information.
        launches: engine → how it is started, but for those on which all is broken that was asked for.
        cures: commands that may mend what is broken, with what each does.
    """

    model: Model
    report: Report
    verdicts: tuple[Verdict, ...]
    launches: Mapping[str, Launch] = field(default_factory=dict)
    cures: tuple[tuple[str, str], ...] = ()


def vet(
    model: Model,
    options: lint.Options,
    beside: Beside = Beside(),
    accept: Callable[[Report], Report] = lambda report: report,
) -> Vetted:
    """Judge one model as a whole.

    Args:
        model: what a reference resolved to, `vetting`.
        options: what to judge.
        beside: what it is judged by besides.
        accept: sets apart what the user accepts: that breaks nothing.
    """
    judged = lint.vet(model, options, lambda template: inspection.cases_of([template.source]))
    running = engines.running(options.engines)
    known = inspection.read(model, running, {engine.name: _view(engine, model, judged.views) for engine in running})
    report = judged.report
    rules = lint.chosen(options)
    for found, gaps in _further(model, known, beside, options, report.findings):
        report = replace(
            report,
            findings=(*report.findings, *(one for one in found if one.rule in rules)),
            not_run=(*report.not_run, *(row for row in gaps if row.rule in rules | {_ALL})),
        )
    if beside.replay:
        report = replace(report, findings=tuple(replace(found, replay=beside.replay) for found in report.findings))
    report = accept(report)
    ground = Ground(
        engines=[engine.name for engine in running],
        findings=report.findings,
        views=judged.views,
        rules=lint.selected(replace(options, vetting=True)),
        crashed=[row for row in report.not_run if row.no_answer and row.rule != _ALL],
        unsettled=_unsettled(judged.views, options),
        bypassing=_bypassing(model, running),
        needs=judged.needs,
        thinks=any(syntax.reasoning is not None for syntax in known.syntax.values()),
        accepted=[row.finding for row in report.suppressed],
    )
    told = verdicts(ground)
    lines = launches(known, beside.against, _made_of(beside.against or model))
    serving = {one.engine for one in told if one.asked and one.verdict != "broken"}
    return Vetted(
        model,
        report,
        told,
        {engine: lines[engine] for engine in lines if engine in serving},
        tuple(cures(model, report.findings, told)),
    )


def _further(
    model: Model, known: Inspection, beside: Beside, options: lint.Options, found: Sequence[Finding]
) -> Iterator[tuple[Sequence[Finding], Sequence[NotRun]]]:
    """What other judges than the rules of templates say."""
    if model.launch is not None and model.launch.engine in known.views:
        from templatelint import audit

        yield audit.findings(model, known, options.needs)
    elif model.launch is not None:
        why = f"the server is {model.launch.engine}, which was not asked for: how it was started is not judged"
        yield (), (NotRun(_ALL, model.ref, why),)
    if beside.lock is not None:
        from templatelint import pin

        yield pin.check(model, beside.lock)
    if beside.upstream == _AUTO and beside.against is not None:
        yield _overriding(model, beside.against, options, found)
    elif beside.upstream != "none":
        from templatelint import provenance
        from templatelint.sources.reach import Reach

        reach = Reach(beside.offline, typed=beside.upstream != _AUTO)
        yield provenance.upstream(model, beside.upstream, reach, options, found)


def _overriding(
    model: Model, against: Model, options: lint.Options, found: Sequence[Finding]
) -> tuple[Sequence[Finding], Sequence[NotRun]]:
    """What works with the template that the file replaces, and no longer with it."""
    from templatelint import overrides
    from templatelint.suppress.scope import DRIFT

    if not model.templates or not against.templates or DRIFT not in lint.chosen(options):
        return (), ()
    asked = (options.engines, options.needs, options.parsers)
    return overrides.drift(overrides.Deployed(model, against, *asked, relaunched=True), found)


def _made_of(model: Model) -> str:
    """The repository of which a GGUF is a copy in another form, as far as it says."""
    if model.kind != "gguf":
        return ""
    from templatelint.provenance.claims import claimed

    claim = claimed(model)
    return "" if isinstance(claim, str) or not claim.copy else claim.ref.removeprefix("hf:")


def _unsettled(views: Sequence[Mapping[str, View]], options: lint.Options) -> Mapping[str, str]:
    """The engines of which a rule cannot say what carries all chat there, and why."""
    rules = [checks.load(card.name) for card in lint.selected(replace(options, vetting=True))]
    asked = [rule.unsettled for rule in rules if hasattr(rule, "unsettled")]
    told: dict[str, str] = {}
    for ask in asked:
        for engine, view in (pair for one in views for pair in one.items()):
            if engine not in told and view.load_error is None and (why := ask(view)):
                told[engine] = why
    return told


def _bypassing(model: Model, running: Sequence[Engine]) -> Mapping[str, RenderError]:
    """The engines that serve the model without its template."""
    basic = cases.get(_BASIC).request
    choices = {engine.name: engine.choose(model, basic) for engine in running}
    return {
        name: choice
        for name, choice in choices.items()
        if isinstance(choice, RenderError) and choice.kind == _READS_NONE
    }


def _view(engine: Engine, model: Model, views: Sequence[Mapping[str, View]]) -> View:
    """An engine's cells of all templates of the model as one view: each case is served by one of them."""
    own = [one[engine.name] for one in views]
    template = inspection.serving_chat(model, engine)
    if not own:
        from templatelint.matrix import Matrix

        skipped = {(_BASIC, engine.name): "the model carries no template"}
        planned = {case_id: cases.get(case_id) for case_id in inspection.cases_of([])}
        return View.of(engine, model, template, Matrix(planned, {}, {}, skipped), {})
    if len(own) == 1:
        return own[0]
    whole, adapted = replace(own[0].matrix, loads={}), dict(own[0].adapted)
    asked = [cases.get(case_id).request for case_id in (_BASIC, _TOOLS)]
    chosen = [engine.choose(model, request) for request in asked]
    for view in own:
        # one that does not load, and that it serves nothing with, keeps the engine from nothing
        loads = view.matrix.loads if view.template in chosen else {}
        loads = {name: whole.loads.get(name) or error for name, error in loads.items()}
        whole = replace(whole.extended(view.matrix), loads={**whole.loads, **loads})
        adapted |= {
            plain: variant for plain, variant in view.adapted.items() if (variant, engine.name) in view.matrix.cells
        }
    return View.of(engine, model, template, whole, adapted, parser=own[0].parser, asked=own[0].asked)


__all__ = ("Beside", "Launch", "Verdict", "Vetted", "vet")
