"""Template × cases × engines → observations: each cell rendered once, in a bounded child."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from time import monotonic, process_time
from typing import TYPE_CHECKING, Any

from templatelint import bounded
from templatelint.cases import FIXED_NOW, clock, get, to_form
from templatelint.engines.read_back import ReadBack, ReadsBack, SplitsThoughts
from templatelint.errors import TemplatelintError
from templatelint.model import ErrorKind, Observation, RenderError, Request
from templatelint.syntax import TemplateSyntax, parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from templatelint.engines import Engine, Loaded
    from templatelint.model import Case, Model, Template, Tokenizer

    Further = Callable[[Mapping[str, Observation]], Iterable[str]]
    Chosen = Callable[[str, str], bool]

_PATIENCE = 0.2  # seconds; a real template renders a case in a thousandth of that
_BUDGET = 8_000_000  # characters; all cases of the longest real template are a tenth of that
# the names through which engines tell a template the time
_CLOCK = ("strftime_now", "date_string", "datetime")
_DONE = True  # no item is: they are lists or None
# members of an item with a fact of the engine's own, and of one with a reply; one with an observation has three
_FACT, _REPLY = 1, 2
_STOPPED: Mapping[str, ErrorKind] = {"timeout": "timeout", "memory": "too-large", "died": "too-large"}


@dataclass(frozen=True)
class Matrix:
    """What was observed of one template.

    Attributes:
        cases: id → case, for every planned cell.
        loads: engine → None, or why it does not load the template.
        cells: (case id, engine) → observation, for every cell that was tried.
        skipped: (case id, engine) → why a planned cell was not tried. A cell that the engine serves with
            another template of the model is in neither.
        replies: (case id, engine) → what the engine's own parser makes of the calls that the template prints, where
            it has one that a template selects.
        splits: engine → whether it takes thoughts out of replies, of those that find out from the template.
    """

    cases: Mapping[str, Case]
    loads: Mapping[str, RenderError | None]
    cells: Mapping[tuple[str, str], Observation]
    skipped: Mapping[tuple[str, str], str] = field(default_factory=dict)
    replies: Mapping[tuple[str, str], ReadBack] = field(default_factory=dict)
    splits: Mapping[str, bool] = field(default_factory=dict)

    def of(self, engine: str) -> Mapping[str, Observation]:
        """Case id → observation, for every cell of an engine that was tried."""
        return {case_id: cell for (case_id, name), cell in self.cells.items() if name == engine}

    def extended(self, other: Matrix) -> Matrix:
        """This matrix with further cells of the same template."""
        return Matrix(
            {**self.cases, **other.cases},
            self.loads,
            {**self.cells, **other.cells},
            {**self.skipped, **other.skipped},
            {**self.replies, **other.replies},
            {**self.splits, **other.splits},
        )


@dataclass(frozen=True)
class _Job:
    """One render: which request, at what time of the template's clock."""

    request: Request
    now: datetime


def observe(  # noqa: PLR0913 (what is observed, and how much of it)
    model: Model,
    template: Template,
    engines: Sequence[Engine],
    cases: Sequence[Case],
    beside: Sequence[tuple[Engine, Sequence[Case]]] = (),
    *,
    seconds: float = math.inf,
    further: Further | None = None,
    read_back: Chosen | None = None,
) -> Matrix:
    """Render the cases that each engine would serve with this template.

    Cases that come to the same request are rendered once: in the client form that an engine is fed anyway, or on
    another day where the template does not ask for the time.

    Args:
        model: whose template it is.
        template: the template.
        engines: who renders all of the cases.
        cases: what is rendered.
        beside: further engines, each with cases of its own.
        seconds: processor time after which an engine renders no more of them.
        further: what an engine is to render next, given its cells so far: asked, where the cells come about, until it
            names none that is new.
        read_back: whether the engine's own parser is to read the calls of a cell back, where it can, given the case's
            id and the prompt.
    """
    plan = [*((engine, cases) for engine in engines), *beside]
    routes = _routed(model, template, plan)
    cells, skipped = dict(routes.refused), dict(routes.unknown)
    with suppress(TemplateSyntax):
        parse(template.source)  # once, here: the children inherit the tree, and the rules ask for it later
    extent = _Extent(
        _BUDGET, seconds, further=further and partial(_further, model, template, further), read_back=read_back
    )
    outcome = _run(template, model.tokenizer, [engine for engine, _ in plan], routes.jobs, extent)
    for (case_id, name), same in routes.stands_for.items():
        answer = outcome.observations[name][same]
        if isinstance(answer, Observation):
            cells[case_id, name] = answer
        else:
            skipped[case_id, name] = answer
    known = {case.id: case for _, asked in plan for case in asked}
    for name, answers in outcome.observations.items():
        for case_id in answers.keys() - routes.jobs[name].keys():  # those asked for on the way
            known[case_id] = get(case_id)
            if isinstance(answer := answers[case_id], Observation):
                cells[case_id, name] = answer
    replies = {(case_id, name): reply for name, own in outcome.replies.items() for case_id, reply in own.items()}
    replies |= {
        (case_id, name): outcome.replies[name][same]
        for (case_id, name), same in routes.stands_for.items()
        if same in outcome.replies.get(name, ())
    }
    return Matrix(known, outcome.loads, cells, skipped, replies, outcome.splits)


@dataclass(frozen=True)
class _Routes:
    """What becomes of the planned cells.

    Attributes:
        jobs: engine → what it renders, by case id.
        stands_for: (case id, engine) → the id under which the same request is rendered.
        refused: (case id, engine) → the engine's refusal to choose a template for the request.
        unknown: (case id, engine) → why nobody knows what the engine would do.
    """

    jobs: Mapping[str, Mapping[str, _Job]]
    stands_for: Mapping[tuple[str, str], str]
    refused: Mapping[tuple[str, str], Observation]
    unknown: Mapping[tuple[str, str], str]


def _routed(model: Model, template: Template, plan: Sequence[tuple[Engine, Sequence[Case]]]) -> _Routes:
    timeless = not any(name in template.source for name in _CLOCK)
    jobs: dict[str, dict[str, _Job]] = {}
    stands_for: dict[tuple[str, str], str] = {}
    refused: dict[tuple[str, str], Observation] = {}
    unknown: dict[tuple[str, str], str] = {}
    for engine, asked in plan:
        own = jobs.setdefault(engine.name, {})
        for case in asked:
            job = _job(case, engine)
            chosen = engine.choose(model, job.request)
            if isinstance(chosen, RenderError) and _serves_chat(engine, model, template):
                if chosen.kind == "unsupported":  # the engine is not judged by it
                    unknown[case.id, engine.name] = chosen.message
                else:
                    refused[case.id, engine.name] = Observation(error=chosen)
            if chosen is template or chosen == template:
                stands_for[case.id, engine.name] = same = _plain_id(case, engine, timeless=timeless)
                own.setdefault(same, job)
    return _Routes(jobs, stands_for, refused, unknown)


def _further(
    model: Model, template: Template, further: Further, engine: Engine, rendered: Mapping[str, Observation]
) -> dict[str, _Job]:
    """What is to be rendered next, of what the engine would serve with this template."""
    wanted = {case_id: _job(get(case_id), engine) for case_id in further(rendered) if case_id not in rendered}
    return {case_id: job for case_id, job in wanted.items() if engine.choose(model, job.request) == template}


def _serves_chat(engine: Engine, model: Model, template: Template) -> bool:
    """Whether this is the template of which users would say that the engine refuses their request with it."""
    return engine.choose(model, Request([{"role": "user", "content": ""}])) == template


def _plain_id(case: Case, engine: Engine, *, timeless: bool) -> str:
    """The id without the variants that change nothing here."""
    idle = {engine.client_form, *(("tomorrow",) if timeless else ())}
    stem, *variants = case.id.split("+")
    return "+".join([stem, *(variant for variant in variants if variant not in idle)])


def observe_requests(
    model: Model,
    engine: Engine,
    requests: Sequence[Request],
    now: datetime = FIXED_NOW,
) -> list[tuple[Template | None, Observation]]:
    """Render requests as they are, each through the template that the engine chooses for it.

    Raises:
        TemplatelintError: what the engine runs on does not work any more.
    """
    chosen = [engine.choose(model, request) for request in requests]
    results: list[tuple[Template | None, Observation]] = [
        (None, Observation(error=choice)) if isinstance(choice, RenderError) else (choice, Observation())
        for choice in chosen
    ]
    for template in model.templates:
        rows = [row for row, choice in enumerate(chosen) if choice == template]
        if not rows:
            continue
        jobs = {engine.name: {str(row): _Job(requests[row], now) for row in rows}}
        outcome = _run(template, model.tokenizer, [engine], jobs, _Extent(refused=True))
        if engine.name in outcome.lost:
            raise TemplatelintError(f"engine {engine.name} cannot go on: {outcome.lost[engine.name]}")
        for row in rows:
            observed = outcome.observations[engine.name][str(row)]
            results[row] = (template, _as_observation(observed, outcome.loads.get(engine.name)))
    return results


def _as_observation(observed: Observation | str, load_error: RenderError | None) -> Observation:
    if isinstance(observed, Observation):
        return observed
    return Observation(error=load_error or RenderError("timeout", observed))


def _job(case: Case, engine: Engine) -> _Job:
    form = case.form or engine.client_form
    known = _jobs.get((case.id, form))
    if known is None or known[0] is not case:
        known = _jobs[case.id, form] = case, _Job(to_form(case.request, form), clock(case))
    return known[1]


# Most templates are asked the same: (case id, client form) → the case, and what becomes of it.
_jobs: dict[tuple[str, str], tuple[Case, _Job]] = {}


@dataclass(frozen=True)
class _Extent:
    """How far a run goes.

    Attributes:
        characters: of all prompts together.
        seconds: processor time of an engine for all of them.
        refused: render also in an engine that would not start with the template.
        further: an engine, and what it has rendered → what else it is to render, by case id.
        read_back: whether the engine is to read back the calls of a job, given its key and the prompt.
    """

    characters: float = math.inf
    seconds: float = math.inf
    refused: bool = False
    further: Callable[[Engine, Mapping[str, Observation]], Mapping[str, _Job]] | None = None
    read_back: Chosen | None = None


@dataclass(frozen=True)
class _Outcome:
    """What a run gave.

    Attributes:
        loads: engine → None, or why it does not load the template.
        observations: engine → what each job gave, by its key, or why it was not tried; and those of further jobs.
        lost: engine → what it runs on that does not work any more, as a clause; its further jobs were not tried.
        replies: engine → what its parser made of the calls of jobs, by their keys.
        splits: engine → whether it takes thoughts out of replies; see `Matrix`.
    """

    loads: Mapping[str, RenderError | None]
    observations: Mapping[str, Mapping[str, Observation | str]]
    lost: Mapping[str, str]
    replies: Mapping[str, Mapping[str, ReadBack]]
    splits: Mapping[str, bool]


def _run(
    template: Template,
    tokenizer: Tokenizer,
    engines: Sequence[Engine],
    jobs: Mapping[str, Mapping[str, _Job]],
    extent: _Extent,
) -> _Outcome:
    """Load the template in each engine and render its jobs."""
    answers = _answers(partial(_render_all, template, tokenizer, jobs, extent), engines)
    loads: dict[str, RenderError | None] = {}
    observations: dict[str, Mapping[str, Observation | str]] = {}
    gone: dict[str, str] = {}
    replies: dict[str, Mapping[str, ReadBack]] = {}
    splits: dict[str, bool] = {}
    for engine in engines:
        items, stop = answers[engine.name]
        if items and isinstance(items[-1], str):
            gone[engine.name] = items.pop()
        pending = None if stop is None else RenderError(_STOPPED[stop.kind], stop.message)
        if items:
            loads[engine.name] = _error(items[0])
        else:  # the child, or what the engine runs on, ended while it was loading the template
            loads[engine.name], pending = pending, None
        answered = [item for item in items[1:] if len(item) > _REPLY]
        splits.update((engine.name, item[0]) for item in items[1:] if len(item) == _FACT)
        replies[engine.name] = {item[0]: ReadBack.of(item[1]) for item in items[1:] if len(item) == _REPLY}
        found: dict[str, Observation | str] = {key: _observation(plain) for key, *plain in answered}
        refused = loads[engine.name] is not None and not _renders_refused(loads[engine.name], extent)
        lost = f"not tried: an earlier cell {'ran out of budget' if stop is None else f'ended with: {stop.message}'}"
        lost = f"{engine.name} does not load the template" if refused else gone.get(engine.name, lost)
        for key in jobs[engine.name]:
            if key in found:
                continue
            found[key], pending = (lost, None) if refused or pending is None else (Observation(error=pending), None)
        observations[engine.name] = found
    return _Outcome(loads, observations, gone, replies, splits)


def _answers(
    render_all: Callable[[Sequence[Engine]], Iterator[Any]], engines: Sequence[Engine]
) -> dict[str, tuple[list[Any], bounded.Stop | None]]:
    """Engine → its items, and why its child was stopped before it had answered all.

    Engines of one renderer share a child, and there what the renderer compiled. Those that a stop keeps from their
    turn get another.
    """
    families: dict[str, list[Engine]] = {}
    for engine in engines:
        families.setdefault(engine.renderer, []).append(engine)
    answers: dict[str, tuple[list[Any], bounded.Stop | None]] = {}
    waiting = list(families.values())
    while waiting:
        results = bounded.run_all([partial(render_all, family) for family in waiting])
        held_up = []
        for family, (items, stop) in zip(waiting, results, strict=True):
            for at, engine in enumerate(family):
                own = [item for index, item in items if index == at]
                if own and own[-1] is _DONE:
                    answers[engine.name] = own[:-1], None
                    continue
                answers[engine.name] = own, stop
                if family[at + 1 :]:
                    held_up.append(family[at + 1 :])
                break
        waiting = held_up
    return answers


def _renders_refused(error: RenderError | None, extent: _Extent) -> bool:
    return extent.refused and error is not None and error.kind == "no-start"


def _render_all(
    template: Template,
    tokenizer: Tokenizer,
    jobs: Mapping[str, Mapping[str, _Job]],
    extent: _Extent,
    engines: Sequence[Engine],
) -> Iterator[Any]:
    """In the child: (engine's index, item) for each item of each engine in turn, then (index, done).

    Where what an engine runs on does not work any more, its last item is a text that says so.
    """
    for index, engine in enumerate(engines):
        try:
            for item in _render_in(engine, template, tokenizer, jobs[engine.name], extent):
                yield index, item
        except TemplatelintError as error:  # nothing is wrong with the template, nor with what the engine makes of it
            yield index, error.message
        yield index, _DONE


def _render_in(
    engine: Engine, template: Template, tokenizer: Tokenizer, jobs: Mapping[str, _Job], extent: _Extent
) -> Iterator[Any]:
    """One item for loading, one for what the engine found out, then one for each job, its key first, and each reply.

    After a cell that took long only to run out of its budget the others are not tried: they would do the same. Nor are
    they once all prompts together hold more text than they may, or took more time.
    """
    loaded = engine.load(template, tokenizer)
    if isinstance(loaded, RenderError):
        yield _plain_error(loaded)
        return
    yield _plain_error(loaded.refusal)
    if loaded.refusal is not None and not extent.refused:
        return
    yield from _found_out(loaded)
    left, end = extent.characters, process_time() + extent.seconds
    rendered: dict[str, Observation] = {}
    known = dict(jobs)
    waiting = dict(jobs)
    while waiting:
        for key, job in waiting.items():
            if process_time() > end:
                message = f"the cases together take more than {extent.seconds:g} s of processor time"
                yield [key, None, ["timeout", message, None, None]]
                return
            started = monotonic()  # a renderer may be at work in a process of its own
            rendered[key] = observation = loaded.render(job.request, job.now)
            left -= len(observation.prompt or "")
            if left < 0:
                message = f"the cases together render to more than {extent.characters:,} characters"
                yield [key, None, ["too-large", message, None, None]]
                return
            yield [key, observation.prompt, _plain_error(observation.error)]
            failed = observation.error is not None and observation.error.out_of_budget
            if failed and monotonic() - started > _PATIENCE:
                return
        waiting = {} if extent.further is None else dict(extent.further(engine, rendered))
        known |= waiting
    for key, job in known.items():
        prompt = rendered[key].prompt
        if prompt is not None and extent.read_back is not None and extent.read_back(key, prompt):
            yield from _read_back(loaded, key, job)


def _found_out(loaded: Loaded) -> Iterator[Any]:
    """The item for what the engine found out from the template."""
    if isinstance(loaded, SplitsThoughts):
        yield [loaded.supports_thinking]


def _read_back(loaded: Loaded, key: str, job: _Job) -> Iterator[Any]:
    """The item for the calls of a job, where the engine reads some."""
    reply = loaded.read_back(job.request, job.now) if isinstance(loaded, ReadsBack) else None
    if reply is not None:
        yield [key, reply]


def _plain_error(error: RenderError | None) -> list[Any] | None:
    return None if error is None else [error.kind, error.message, error.line, error.column]


def _error(plain: Sequence[Any] | None) -> RenderError | None:
    return None if plain is None else RenderError(*plain)


def _observation(plain: Sequence[Any]) -> Observation:
    return Observation(plain[0], _error(plain[1]))
