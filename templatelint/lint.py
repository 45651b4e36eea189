"""Models → plan → observations → pure rules → findings: the pipeline, on one screen."""

from __future__ import annotations

import gc
import hashlib
import os
import sys
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from templatelint import accommodation, call_syntax, cards, cases, checks, disagreement, engines, matrix, reading
from templatelint.model import (
    SEVERITIES,
    Card,
    Effect,
    EngineUse,
    Fault,
    Finding,
    Model,
    NotRun,
    Observation,
    Origin,
    Related,
    RenderError,
    Report,
    Request,
    Severity,
    Template,
    TemplateUse,
)
from templatelint.severity import ALWAYS_ON, Stance, severity
from templatelint.subsumption import Told, unsubsumed
from templatelint.view import NoText, View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.engines import Engine

_Applied: TypeAlias = "tuple[list[Fault], list[str], bool]"
Progress: TypeAlias = "Callable[[int, int], None]"

# Cells that show whether the template has anything to do with tools; they decide whether that need is on.
_CALL_CELLS = call_syntax.FIRST[1:]
_TOOL_CELLS = ("tools-offer", "tools-many", *_CALL_CELLS)
_CALL_MARK = "call.1.value"
_TOOL_MARKS = ("tools.1.description", "tools.1.name", _CALL_MARK)
_TOOLS_IGNORED = "TL201"
_CHAT, _SYSTEM, _TOOLS = "chat", "system", "tools"
_CHAT, _CHAT_CASE, _TOOLS_CASE = "chat", "chat-basic", "tools-offer"
_MISSING, _NO_CHAT = "TL601", "TL007"
# Rules that look at further cells, which are worth observing in few templates.
_DISAGREEMENT, _TRIMMING = "TL004", "TL005"
# Rules that read the source alone: what an engine cannot load they may have to leave unread, too.
_READING = frozenset({"TL801", "TL802", "TL803"})
# Rules whose findings say that nothing works: chat as a whole is lost.
_ALL_LOST = frozenset({"TL001", "TL007", "TL113", "TL805"})
# Rules whose findings say that the same thing is lost: the system message, texts, the turns of a tool's use.
_SAME_LOSS = (
    frozenset({"TL101", "TL102"}),
    frozenset({"TL109", "TL305"}),
    frozenset({"TL202", "TL203", "TL204"}),
)
# Rules about one shape of requests that clients may well never send: developer messages, a tool without a description,
# an empty list of calls, results as lists of parts. The need as a whole works all the same.
_ONE_SHAPE = frozenset({"TL105", "TL210", "TL212", "TL303"})
# What an engine answers that serves a model by code of its own.
_READS_NONE = "unsupported"
# The name under which models carry a template for requests with tools.
_TOOL_USE = "tool_use"
# Engines that load also the templates that they serve nothing with: what fails to load there is told.
# Engines that serve every request with one template.
_ONE_ALONE = frozenset({"sglang", "tgi"})
_LOADS_ALL = frozenset({"llama.cpp", "llama-cpp-python", "ollama"})
# Below this many templates, starting worker processes costs more than it saves.
_WORTH_WORKERS = 16


@dataclass(frozen=True)
class Options:
    """What to judge.

    Attributes:
        engines: engine ids as the user named them, `all` for every one that can be used here; empty means the
            default set.
        needs: what the user listed; None lets the template decide.
        select: ids, id prefixes or names of rules; empty means all.
        jobs: worker processes; 0 means one a core where there is work for them.
        parsers: engine and the tool-call parser that the user launches it with.
        vetting: judge the file as a whole too: the rules that `vet` alone tells of.
    """

    engines: tuple[str, ...] = ()
    needs: tuple[str, ...] | None = None
    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    jobs: int = 0
    parsers: tuple[tuple[str, str], ...] = ()
    vetting: bool = False


@dataclass(frozen=True)
class _Unit:
    """One template to judge; the model as a whole is judged as one that has no name and no text."""

    model: Model
    template: Template

    @property
    def ref(self) -> str:
        """The reference as typed, with `#NAME` where a named template is meant."""
        return self.model.reference(self.template)


@dataclass(frozen=True)
class _Verdict:
    """What one template got.

    Attributes:
        views: engine → its cells, where they are of use to somebody else.
    """

    findings: tuple[Finding, ...]
    not_run: tuple[NotRun, ...]
    views: Mapping[str, View] = field(default_factory=dict)


@dataclass(frozen=True)
class Vetted:
    """What `lint` tells of one model, and what that was read off.

    Attributes:
        views: engine → its cells, of each template in its order.
        needs: those that are on.
    """

    model: Model
    report: Report
    views: tuple[Mapping[str, View], ...]
    needs: frozenset[str]


def lint(models: Sequence[Model], options: Options, progress: Progress | None = None) -> Report:
    """Judge every template of the models; the report holds all severities.

    Args:
        models: what the references resolved to.
        options: what to judge.
        progress: told how many templates are done, and of how many, after each.
    """
    running = engines.running(options.engines)
    if len(models) > 1:
        engines.preload(running)
    units = [_Unit(model, template) for model in models for template in model.templates]
    verdicts = []
    for verdict in _judge_all(units, options):
        verdicts.append(verdict)
        if progress is not None:
            progress(len(verdicts), len(units))
    return _report(models, units, verdicts, options)


def vet(model: Model, options: Options, further: Callable[[Template], Sequence[str]]) -> Vetted:
    """Judge one model as a whole, and keep the cells.

    Args:
        model: what a reference resolved to.
        options: what to judge, vetting or not.
        further: ids of cases to render besides, for whoever reads the cells of that template.
    """
    options = replace(options, vetting=True)
    units = [_Unit(model, template) for template in model.templates]
    verdicts = [_judge(unit, options, further(unit.template)) for unit in units]
    shows_tools = any(_shows_tools(next(iter(verdict.views.values())).matrix) for verdict in verdicts)
    report = _report([model], units, verdicts, options, shows_tools=shows_tools)
    needs = _needs(options, shows_tools=shows_tools)
    return Vetted(model, report, tuple(verdict.views for verdict in verdicts), frozenset(needs))


def _report(
    models: Sequence[Model],
    units: Sequence[_Unit],
    verdicts: Sequence[_Verdict],
    options: Options,
    *,
    shows_tools: bool = False,
) -> Report:
    running = engines.running(options.engines)
    judged = [_judge_model(model, options, _stance(options, running, shows_tools=shows_tools)) for model in models]
    whole = [finding for findings, _ in judged for finding in findings]
    missing = {finding.ref for finding in whole if finding.rule == _MISSING}
    return Report(
        engines=tuple(EngineUse(e.name, e.renderer, e.version, e.emulated) for e in running),
        templates=tuple(
            TemplateUse(unit.ref, unit.template.name, unit.template.origin.path, unit.template.sha256) for unit in units
        ),
        findings=(
            *whole,
            *(
                finding
                for verdict in verdicts
                for finding in verdict.findings
                if finding.rule != _NO_CHAT or finding.ref not in missing  # empty: that it is no template goes without
            ),
        ),
        not_run=(
            *(NotRun("*", "*", f"{name}: {why_not}") for name, why_not in engines.absent(options.engines).items()),
            *_bypassing(models, running),
            *(gap for _, gaps in judged for gap in gaps),
            *(gap for verdict in verdicts for gap in verdict.not_run),
        ),
    )


def _bypassing(models: Sequence[Model], running: Sequence[Engine]) -> Iterator[NotRun]:
    """The engines that serve a model without its template."""
    basic = cases.get("chat-basic").request
    for model in models:
        choices = [(engine.name, engine.choose(model, basic)) for engine in running]
        refused = [
            (name, choice.message)
            for name, choice in choices
            if isinstance(choice, RenderError) and choice.kind == _READS_NONE
        ]
        for name, why in refused:
            yield NotRun("*", model.ref, f"{name}: {why}", no_answer=len(refused) == len(running))


def _judge_all(units: Sequence[_Unit], options: Options) -> Iterator[_Verdict]:
    jobs = options.jobs or os.cpu_count() or 1
    if jobs == 1 or (not options.jobs and len(units) < _WORTH_WORKERS):
        yield from (_judge(unit, options) for unit in units)
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    # A fork inherits what is imported; elsewhere than on Linux, system libraries may not survive one.
    context = get_context("fork" if sys.platform == "linux" else "spawn")
    # what is there at the start stays: collecting it again and again would cost a twentieth of the time
    with ProcessPoolExecutor(min(jobs, len(units) or 1), context, initializer=gc.freeze) as workers:
        yield from workers.map(partial(_judge, options=options), units)


def _judge(unit: _Unit, options: Options, further_cases: Sequence[str] = ()) -> _Verdict:
    running = engines.running(options.engines)
    reported = selected(options)
    evaluated = _with_subsumers(reported, selected(replace(options, ignore=())))
    told, judged = {card.id for card in reported}, {card.id for card in evaluated}
    plan = tuple(dict.fromkeys((*_plan(evaluated), *_source_plan(evaluated, unit.template.source), *further_cases)))
    wanted = [cases.get(case_id) for case_id in plan]
    beside = disagreement.untrimmed(unit.template, running) if _TRIMMING in judged else []
    whole = (*plan, *_call_plan(evaluated))
    further = partial(_further, plan, whole)
    back = partial(call_syntax.shows_call_of, _read_back(evaluated))
    observed = matrix.observe(unit.model, unit.template, running, wanted, beside, further=further, read_back=back)
    faults: list[tuple[Card, str, Fault]] = []
    views: dict[str, View] = {}
    not_run: list[NotRun] = []
    parsers = dict(options.parsers)
    use = _Use.of(unit, running)
    if _DISAGREEMENT in told and all(engine.renderer != disagreement.REFERENCE for engine in running):
        alone = "nothing to compare with: name an engine that renders with Jinja2 beside, as transformers"
        not_run.append(NotRun(_DISAGREEMENT, unit.ref, alone))
    for engine in running:
        adapted: Mapping[str, str] = {}
        if demands := accommodation.demands(observed.of(engine.name)):
            adapted = accommodation.adapted(whole, demands)
        if observed.loads.get(engine.name) is None and _DISAGREEMENT in judged:
            doubtful = disagreement.doubtful(observed, engine, running)
            if doubtful:
                observed = disagreement.examined(observed, unit.model, unit.template, engine, doubtful)
        parser, asked = parsers.get(engine.name, ""), frozenset(options.needs or ())
        view = View.of(engine, unit.model, unit.template, observed, adapted, parser=parser, asked=asked)
        views[engine.name] = view
        for card, (found, gaps, crashed) in _applied(evaluated, told, view) if use.matters(view) else ():
            faults += [(card, engine.name, use.placed(card, engine.name, fault)) for fault in found]
            unread = card.id in _READING and view.load_error is not None  # that hostile code was not looked for
            if card.id in told and (view.load_error is None or crashed or unread):
                not_run += [NotRun(card.id, unit.ref, f"{engine.name}: {gap}", crashed) for gap in gaps]
        if view.load_error is not None and use.matters(view):
            not_run.append(NotRun("*", unit.ref, f"{engine.name}: does not load the template"))
    for_tools = unit.model.template(_TOOL_USE) is not None
    stance = _stance(
        options,
        [engine for engine in running if engine.name in use.judging],
        shows_tools=for_tools or _shows_tools(observed),
    )
    kept = [row for row in unsubsumed(faults, views) if row.card.id in told]
    findings = [_merged(unit, group, kept, stance) for group in _alike(kept)]
    findings.sort(key=lambda found: (SEVERITIES.index(found.severity), found.place.line, found.rule))
    return _Verdict(tuple(findings), tuple(not_run), views if options.vetting else {})


# ------------------------------------------------------------------------------------------- the rules


@lru_cache(maxsize=2)  # with and without what is ignored
def selected(options: Options) -> tuple[Card, ...]:
    """The cards that the options select, among those that have a check."""
    wanted = chosen(options)
    commands = {"lint", "vet"} if options.vetting else {"lint"}
    return tuple(
        card
        for card in cards.all_cards().values()
        if card.name in checks.names() and card.id in wanted and card.command in commands
    )


def chosen(options: Options) -> frozenset[str]:
    """The ids of the rules that the options select."""
    wanted = {rule for word in options.select or ("TL",) for rule in cards.select(word)}
    wanted |= {rule for word in options.extend_select for rule in cards.select(word)}
    return frozenset(wanted.difference(rule for word in options.ignore for rule in cards.select(word)))


@lru_cache(maxsize=1)
def _with_subsumers(reported: tuple[Card, ...], asked: tuple[Card, ...]) -> tuple[Card, ...]:
    """The cards to report and those that could make one of their findings redundant.

    A finding is hidden only behind one that was asked for: what `ignore` silences still stands for what follows from
    it, what `select` leaves out does not.
    """
    wanted = {card.id for card in reported} | {rule for card in reported for rule in card.subsumed_by}
    return tuple(card for card in asked if card.id in wanted)


@lru_cache(maxsize=1)
def _plan(selected: tuple[Card, ...]) -> tuple[str, ...]:
    """The ids of the union of what the rules look at, each cell once."""
    wanted = dict.fromkeys(case_id for card in selected for case_id in checks.load(card.name).CASES)
    return tuple(wanted | dict.fromkeys((*_TOOL_CELLS, *accommodation.FIRST)))


def _source_plan(selected: tuple[Card, ...], source: str) -> Iterator[str]:
    """The ids of what the rules look at besides, of a template with that text."""
    for card in selected:
        if (cases_for := getattr(checks.load(card.name), "cases_for", None)) is not None:
            yield from cases_for(source)


@lru_cache(maxsize=1)
def _call_plan(selected: tuple[Card, ...]) -> tuple[str, ...]:
    """The ids of what the rules look at besides, where calls reach the prompt."""
    wanted = {case_id for card in selected for case_id in getattr(checks.load(card.name), "CALL_CASES", ())}
    return tuple(sorted(wanted.difference(_plan(selected))))


def _further(plan: Sequence[str], whole: Sequence[str], cells: Mapping[str, Observation]) -> Iterable[str]:
    """What an engine is to render next, given its cells by case id."""
    variants = accommodation.further(plan, cells)
    if variants == accommodation.PROBES or not any(_shows_call(case_id, cell) for case_id, cell in cells.items()):
        return variants
    return accommodation.adapted(whole, accommodation.demands(cells)).values()


def _shows_call(case_id: str, cell: Observation) -> bool:
    if case_id.partition("+")[0] not in _CALL_CELLS or cell.prompt is None:
        return False
    return reading.has(cell.prompt, cases.get(case_id), _CALL_MARK)


@lru_cache(maxsize=1)
def _read_back(selected: tuple[Card, ...]) -> frozenset[str]:
    """The ids of the cases of which engines are to read the calls back."""
    return frozenset(case_id for card in selected for case_id in getattr(checks.load(card.name), "READ_BACK", ()))


def _applied(evaluated: Sequence[Card], told: AbstractSet[str], view: View) -> Iterator[tuple[Card, _Applied]]:
    """What each rule gives; of those that are not told themselves, only those behind which something told may hide."""
    made: dict[str, _Applied] = {}
    hidden: set[str] = set()
    waiting = list(evaluated)
    while wanted := [card for card in waiting if card.id in told or card.id in hidden]:
        waiting = [card for card in waiting if card not in wanted]
        for card in wanted:
            made[card.id] = _apply(card, view)
            if made[card.id][0]:
                hidden.update(card.subsumed_by)
    yield from ((card, made[card.id]) for card in evaluated if card.id in made)


def _apply(card: Card, view: View) -> _Applied:
    """The faults of one rule on one engine, the cells that it could not judge, and whether it crashed."""
    view.missed.clear()
    found: list[Fault] = []
    try:
        found.extend(checks.load(card.name).check(view))
    except NoText as missing:
        view.missed.append(missing)
    except Exception as error:  # noqa: BLE001 (a crashed rule is a gap in the answer, not the end of it)
        return [], [f"the rule crashed: {type(error).__name__}: {error}"], True
    return found, _gaps(view.missed), False


def _gaps(missed: Iterable[NoText]) -> list[str]:
    """The reasons, each with the cells that it holds for."""
    cells: dict[str, dict[str, None]] = {}
    for missing in missed:
        if missing.served:
            cells.setdefault(missing.why, {})[missing.case_id] = None
    return [f"{why} ({', '.join(case_ids)})" if any(case_ids) else why for why, case_ids in cells.items()]


def _alike(faults: Iterable[Told]) -> Iterable[list[Told]]:
    """One cause, one finding: the faults of a rule that have the same cause, on all engines."""
    groups: dict[tuple[str, str], list[Told]] = {}
    for row in faults:
        groups.setdefault((row.card.id, row.fault.cause), []).append(row)
    return groups.values()


# ---------------------------------------------------------------------------------------- the findings


class _Use(NamedTuple):
    """Which engines serve anything with a template: the others do not speak against a fault of it.

    Attributes:
        chatting: those that serve plain chat with it.
        serving: those, and those that serve requests with tools.
        judging: those whose users may get to it.
    """

    chatting: frozenset[str]
    serving: frozenset[str]
    judging: frozenset[str]

    @staticmethod
    def of(unit: _Unit, running: Sequence[Engine]) -> _Use:
        """As the engines choose among the templates of the model."""
        every = frozenset(engine.name for engine in running)
        if len(unit.model.templates) == 1:
            return _Use(every, every, every)
        chatting, offering = (_choosing(unit, running, case_id) for case_id in (_CHAT_CASE, _TOOLS_CASE))
        serving = chatting | offering
        # one that none of them chooses, some serve where a request names it
        return _Use(chatting, serving, serving or every - _ONE_ALONE)

    def matters(self, view: View) -> bool:
        """Whether what the template does there harms anybody."""
        return view.engine in self.judging or (view.load_error is not None and view.engine in _LOADS_ALL)

    def placed(self, card: Card, engine: str, fault: Fault) -> Fault:
        """What a template that serves requests with tools alone does to chat, it does to tools."""
        of_chat = (fault.need or card.need) == _CHAT
        return replace(fault, need=_TOOLS) if of_chat and engine in self.serving - self.chatting else fault


def _choosing(unit: _Unit, running: Sequence[Engine], case_id: str) -> frozenset[str]:
    request = cases.get(case_id).request
    return frozenset(engine.name for engine in running if engine.choose(unit.model, request) == unit.template)


def _stance(options: Options, running: Sequence[Engine], *, shows_tools: bool) -> Stance:
    named = bool(options.engines) and "all" not in options.engines
    needs = _needs(options, shows_tools=shows_tools)
    return Stance(needs, {engine.name for engine in running}, named, options.needs is not None)


def _needs(options: Options, *, shows_tools: bool) -> AbstractSet[str]:
    """The needs that are on."""
    if options.needs is not None:
        return frozenset(options.needs)
    return ALWAYS_ON | {_TOOLS} if shows_tools else ALWAYS_ON


def _shows_tools(observed: matrix.Matrix) -> bool:
    """Whether any cell shows tools or calls, or fails with tools where the same engine renders plain chat."""
    chatting = {engine for (case_id, engine), cell in observed.cells.items() if case_id == "chat-basic" and cell.prompt}
    for (case_id, engine), cell in observed.cells.items():
        case = observed.cases[case_id]
        if case_id.split("+")[0] not in _TOOL_CELLS:
            continue
        if cell.prompt is None and case_id == "tools-offer" and engine in chatting:
            return True
        if any(mark in case.marks and reading.has(cell.prompt or "", case, mark) for mark in _TOOL_MARKS):
            return True
    return False


def _merged(unit: _Unit, group: Sequence[Told], faults: Sequence[Told], stance: Stance) -> Finding:
    """What is told of a group: as it is where it weighs most, with each engine's own cells."""
    card = group[0].card
    cells: dict[str, tuple[str, ...]] = {}
    alike: dict[tuple[str | None, str | None], tuple[Fault, set[str]]] = {}
    for row in group:
        cells.setdefault(row.engine, row.fault.cases)
        alike.setdefault((row.fault.impact, row.fault.need), (row.fault, set()))[1].add(row.engine)
    weighed = [
        (_weight(card, fault, hit | _lost_anyway(faults, card, fault), stance), fault) for fault, hit in alike.values()
    ]
    weight, told = min(weighed, key=lambda row: SEVERITIES.index(row[0]))
    hit = alike[told.impact, told.need][1]
    shown = {name: cells[name] for name in sorted(cells, key=lambda name: name not in hit)}
    return replace(_finding(unit, card, told, shown, weight), effects=tuple(dict.fromkeys(_effects(group))))


def _effects(group: Iterable[Told]) -> Iterator[Effect]:
    for row in group:
        for card, fault in ((row.card, row.fault), *row.implied):
            partial = card.id in _ONE_SHAPE or (fault.partial and card.id == _TOOLS_IGNORED)
            need = _befallen(fault.need or card.need, fault.cases)
            yield Effect(row.engine, need, fault.impact or card.impact, partial)


def _befallen(need: str, case_ids: Sequence[str]) -> str:
    """The need that a fault is about: what shows beside tools or system messages alone leaves plain chat as it is."""
    if need != _CHAT or not case_ids:
        return need
    requests = [cases.get(case_id).request for case_id in case_ids]
    if all(map(_has_tools, requests)):
        return _TOOLS
    return _SYSTEM if all(_has_tools(one) or _has_system(one) for one in requests) else need


def _has_tools(request: Request) -> bool:
    used = any(message.get("tool_calls") or message.get("role") == "tool" for message in request.messages)
    return used or bool(request.tools)


def _has_system(request: Request) -> bool:
    return any(message.get("role") == _SYSTEM for message in request.messages)


def _lost_anyway(faults: Sequence[Told], card: Card, fault: Fault) -> frozenset[str]:
    """Engines on which the same thing is lost for another reason: they do not speak against the fault."""
    family = next((rules for rules in _SAME_LOSS if card.id in rules), frozenset({card.id}))
    need = fault.need or card.need
    return frozenset(
        engine
        for other, engine, found, _ in faults
        if (found.impact or other.impact) == "breaks"
        and (other.id in _ALL_LOST or (other.id in family and (found.need or other.need) == need))
    )


def _weight(card: Card, fault: Fault, hit: AbstractSet[str], stance: Stance) -> Severity:
    need = fault.need or card.need
    if card.id == _TOOLS_IGNORED and need not in stance.needs and not stance.asked:
        return "warning"  # the one exception: a template in which nothing about tools is ever shown
    return severity(fault.impact or card.impact, need, hit, stance)


def _finding(unit: _Unit, card: Card, fault: Fault, cells: Mapping[str, tuple[str, ...]], weight: Severity) -> Finding:
    """What is told of a fault; the cells are the cases by engine that show it."""
    template = unit.template
    start, end = fault.span or (0, 0)
    line, column = template.lines.line_of(start) if fault.span else (0, 0)
    return Finding(
        rule=card.id,
        name=card.name,
        severity=weight,
        message=fault.message,
        help=fault.help,
        ref=unit.ref,
        template=template.name,
        place=template.origin.place(start),
        end=template.origin.place(end),
        engines=tuple(cells),
        needs=(fault.need or card.need,),
        evidence=tuple((case_id, engine) for engine, shown in cells.items() for case_id in shown),
        fingerprint=fingerprint(card.id, template.name, fault.cause),
        span=fault.span,
        excerpt=template.lines.excerpt(start) if fault.span else "",
        excerpt_line=line,
        excerpt_column=column,
        related=tuple(_related(template, span, message) for span, message in fault.related),
        locatable=template.origin.locatable,
    )


def _related(template: Template, span: tuple[int, int], message: str) -> Related:
    start, end = span
    return Related(message, template.origin.place(start), template.origin.place(end), template.lines.line_of(start)[0])


def _judge_model(model: Model, options: Options, stance: Stance) -> tuple[list[Finding], list[NotRun]]:
    """What is to be said of the model as a whole: of a missing template on the engines that find none, else on all."""
    running = engines.running(options.engines)
    basic = cases.get("chat-basic").request
    choices = {engine.name: engine.choose(model, basic) for engine in running}
    refusals = {name: refusal for name, choice in choices.items() if (refusal := _refusal(choice))}
    named = model.templates[0] if model.templates else None
    path = named.origin.path if named else "<stdin>" if model.ref == "-" else model.ref
    whole = _Unit(model, Template(named.name if named and model.picked else "", "", Origin(path, "")))
    findings: list[Finding] = []
    gaps: list[NotRun] = []
    for card in selected(options):
        try:
            faults = [*checks.load_model_check(card.name)(model, refusals)]
        except Exception as error:  # noqa: BLE001 (as above)
            why = f"the rule crashed: {type(error).__name__}: {error}"
            gaps.append(NotRun(card.id, whole.ref, why, no_answer=True))
            continue
        for fault in faults:
            about = refusals if card.id == _MISSING else choices
            on = about if fault.engines is None else [name for name in about if name in fault.engines]
            effects = tuple(Effect(name, fault.need or card.need, fault.impact or card.impact) for name in on)
            weight = _weight(card, fault, frozenset(on), stance)
            found = _finding(whole, card, fault, dict.fromkeys(on, fault.cases), weight)
            findings.append(replace(found, effects=effects))
    return findings, gaps


def _refusal(choice: Template | RenderError) -> RenderError | None:
    """Why plain chat has no template; an empty one is none, and an engine that reads none is not to be judged by it."""
    if isinstance(choice, RenderError):
        return None if choice.kind == _READS_NONE else choice
    return None if choice.source.strip() else RenderError("refused", "the template is empty")


def fingerprint(*parts: str) -> str:
    """What stays the same of a finding over edits elsewhere: of its rule, the template's name and the cause."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
