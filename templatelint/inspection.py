"""A model → its cells on each engine, as the engine would serve it → facts and contract: the pipeline of `inspect`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from templatelint import accommodation, bounded, call_syntax, capabilities, cases, engines, matrix
from templatelint.capabilities.replying import replying
from templatelint.contract import contract
from templatelint.engines.read_back import ReadsBack
from templatelint.model import EngineUse, NotRun, Origin, RenderError, Template
from templatelint.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from templatelint.call_syntax import CallSyntax
    from templatelint.capabilities import Capabilities
    from templatelint.contract import Term
    from templatelint.dialects.serving.flags import Flags
    from templatelint.engines import Engine
    from templatelint.model import Model, Tokenizer

_CHAT, _TOOLS, _CALL = "chat-basic", "tools-offer", "tool-call-empty"
# what becomes of a template's own call where a parser does not read it back
UNREAD = {
    "wrong_args": "their arguments come back otherwise",
    "wrong_calls": "others come back",
    "as_content": "they stay in the text or are lost",
    "parse_error": "the request fails",
}
# a call, and the same as templates demand it that refuse the plain form
_ASKED = (_CALL, *(probe for probe in accommodation.PROBES if probe.startswith(_CALL)), "tool-result-named")
_UNTRIED = frozenset({"render_error", "prefix_error", "not_rendered"})
_SECONDS = 1.0  # of processor time, for all cases on one engine; the longest real templates take a fifth of it
_PROBING = "llama.cpp"  # the renderer whose engines probe a template when they load it
# engines that encode a prompt as the tokenizer would any text, at least where it does not start with BOS; the others
# encode what a template gives as it is
_MAY_ADD_BOS = frozenset({"llama.cpp", "ollama", "lmstudio", "mistral.rs"})


@dataclass(frozen=True, slots=True)
class Serving:
    """Which templates an engine takes for plain chat and for requests with tools, by name; None for none.

    Attributes:
        refused: why the engine refuses plain chat for want of a template; empty where it does not.
    """

    chat: str | None
    tools: str | None
    refused: str = ""


@dataclass(frozen=True, slots=True)
class OwnFacts:
    """What an engine finds out itself when it loads a template.

    Attributes:
        caps: its own capability map, under its own names.
        adds_bos: whether it puts BOS before the prompt; None where the files do not say.
        parser: what it reads replies with: a handler's name, or `auto-parser`; empty where it has none of its own.
        read_back: how the template's own call fares there, in a word of `read_back.Status`; empty where nobody asked.
    """

    caps: Mapping[str, bool]
    adds_bos: bool | None
    parser: str = ""
    read_back: str = ""


@dataclass(frozen=True)
class Inspection:
    """What is known of one model.

    Attributes:
        serving: engine → the templates that it uses.
        capabilities: engine → its facts.
        own: engine → its own facts, of those that have some.
        contract: what a client must observe.
        syntax: engine → how its prompts write tool calls.
        flags: engine → how it is to be launched so that it reads calls and thoughts; of those with something to say.
        elsewhere: an engine that was not asked → the calls that it shows, where none that was asked shows any.
        views: engine → its cells, adapted to what the template demands: what all of this was read off.
    """

    model: Model
    serving: Mapping[str, Serving]
    capabilities: Mapping[str, Capabilities]
    own: Mapping[str, OwnFacts]
    contract: tuple[Term, ...]
    syntax: Mapping[str, CallSyntax]
    flags: Mapping[str, Flags]
    elsewhere: Mapping[str, CallSyntax]
    views: Mapping[str, View] = field(repr=False)


def not_run(names: Sequence[str] = ()) -> tuple[NotRun, ...]:
    """The engines that `all` stands for and that cannot run here, with the reasons."""
    return tuple(NotRun("*", name, why_not) for name, why_not in engines.absent(names).items())


def uses(asked: Sequence[Engine]) -> tuple[EngineUse, ...]:
    """The engines as they take part in a run."""
    return tuple(EngineUse(engine.name, engine.renderer, engine.version, engine.emulated) for engine in asked)


def inspect(
    model: Model, asked: Sequence[Engine], further: Iterable[str] = (), read_back: matrix.Chosen | None = None
) -> Inspection:
    """Observe the model as each engine would serve it, and read the facts off.

    Args:
        model: the model.
        asked: the engines.
        further: ids of cases to render besides, for whoever reads the views.
        read_back: of which cells engines are to read the calls back, given the case's id and the prompt.
    """
    plan = tuple(dict.fromkeys((*cases_of(template.source for template in model.templates), *further)))
    observed = _observed(model, asked, plan, read_back)
    own = _own_facts(model, asked, observed)
    views: dict[str, View] = {}
    for engine in asked:
        adapted: Mapping[str, str] = {}
        bounded_out = _out_of_budget(observed, engine)
        if not bounded_out and accommodation.suspicious(observed.of(engine.name)):
            observed = _observed_too(observed, model, engine, accommodation.PROBES)
            adapted = accommodation.adapted(plan, accommodation.demands(observed.of(engine.name)))
            observed = _observed_too(observed, model, engine, adapted.values(), read_back)
        view = View.of(engine, model, serving_chat(model, engine), observed, adapted)
        if not bounded_out and (carried := capabilities.adapted(view)):
            observed = _observed_too(observed, model, engine, carried.values(), read_back)
            view = replace(view, matrix=observed, adapted={**adapted, **carried})
        views[engine.name] = view
    return read(model, asked, views, own)


def cases_of(sources: Iterable[str]) -> tuple[str, ...]:
    """Ids of the cases that `read` looks at, of templates with these sources."""
    return tuple(dict.fromkeys((*capabilities.plan(sources), *call_syntax.CASES)))


def read(
    model: Model, asked: Sequence[Engine], views: Mapping[str, View], own: Mapping[str, OwnFacts] | None = None
) -> Inspection:
    """Read the facts off cells that are there.

    Args:
        model: the model.
        asked: the engines.
        views: engine → its cells, those of `cases_of` among them, of all templates of the model.
        own: what engines found out themselves.
    """
    own = own or {}
    found = {engine.name: capabilities.read(views[engine.name], adds_bos=_adds_bos(engine, own)) for engine in asked}
    syntax = {engine.name: call_syntax.read_back(views[engine.name]) for engine in asked}
    elsewhere = _elsewhere(model, syntax)
    return Inspection(
        model,
        {engine.name: _serving(model, engine) for engine in asked},
        found,
        own,
        contract(found),
        syntax,
        _flags(views, syntax, found, own, elsewhere),
        elsewhere,
        views,
    )


def serving_chat(model: Model, engine: Engine) -> Template:
    """The template with which the engine serves plain chat; one without a name and text where it has none."""
    return _of(engine.choose(model, cases.get(_CHAT).request)) or _none(model)


def _elsewhere(model: Model, syntax: Mapping[str, CallSyntax]) -> Mapping[str, CallSyntax]:
    """The calls as an older release shows them that passes more of a message on: a model writes them all the same."""
    told = syntax.values()
    if call_syntax.OLDER in syntax or any(found.rendered or found.budget for found in told):
        return {}
    if not call_syntax.speaks_of_calls(model):
        return {}
    found = call_syntax.of_model(model, (call_syntax.OLDER,))
    return {call_syntax.OLDER: found} if found.dialect is not None else {}


def _flags(
    views: Mapping[str, View],
    syntax: Mapping[str, CallSyntax],
    found: Mapping[str, Capabilities],
    own: Mapping[str, OwnFacts],
    elsewhere: Mapping[str, CallSyntax],
) -> Mapping[str, Flags]:
    """How to launch each engine; those of which nothing is known are left out."""
    from templatelint.dialects.serving.flags import Known, flags
    from templatelint.dialects.serving.parsers import LAUNCHED

    told = {}
    witnesses = (*syntax.values(), *elsewhere.values())
    told_by = next((seen for seen in witnesses if seen.dialect is not None), None)
    for engine, shown in syntax.items():
        # one that is told its parsers needs them whatever it writes prompts with
        unloaded = engine in LAUNCHED and found[engine].loads is None
        spoken = told_by if told_by is not None and unloaded else shown
        parser = own[engine].parser if engine in own else ""
        switches = found[engine].thinking_switch
        switch = None if switches is None else next(iter(switches), "")
        unread = UNREAD.get(own[engine].read_back, "") if engine in own else ""
        # a model writes calls as it learned to, whichever engine shows them to it
        calling = told_by if told_by is not None and found[engine].loads and not spoken.rendered else spoken
        source = "\n".join(template.source for template in views[engine].model.templates)
        told_nothing = replying(found[engine], spoken.reasoning, views[engine])
        known = Known(calling.calls, source, switch, unread, told_nothing, _has(views[engine].model))
        advice = flags(engine, calling.dialect, spoken.reasoning, parser, known)
        if advice is not None and (advice.text or advice.lost):
            told[engine] = advice
    return told


def _has(model: Model) -> Callable[[str], bool] | None:
    """Whether a text is a token of the model; None where its tokens were not read."""
    tokens = model.tokenizer.vocabulary
    return None if tokens is None else lambda text: tokens.token(text) is not None


def _of(choice: Template | RenderError) -> Template | None:
    return choice if isinstance(choice, Template) else None


def _none(model: Model) -> Template:
    return Template("", "", Origin(model.ref, ""))


def _serving(model: Model, engine: Engine) -> Serving:
    chosen = engine.choose(model, cases.get(_CHAT).request)
    refused = chosen.message if isinstance(chosen, RenderError) and chosen.kind != "unsupported" else ""
    chat, tools = _of(chosen), _of(engine.choose(model, cases.get(_TOOLS).request))
    return Serving(chat.name if chat else None, tools.name if tools else None, refused)


# ------------------------------------------------------------------------------------------------ the cells


def _observed(
    model: Model, asked: Sequence[Engine], case_ids: Iterable[str], read_back: matrix.Chosen | None = None
) -> matrix.Matrix:
    """Each case rendered by the template that the engine chooses for it."""
    wanted = [cases.get(case_id) for case_id in case_ids]
    users: dict[str, dict[str, Engine]] = {}  # template → the engines that choose it for some case
    skipped: dict[tuple[str, str], str] = {}
    for engine in asked:
        for case in wanted:
            choice = engine.choose(model, cases.to_form(case.request, case.form or engine.client_form))
            if isinstance(choice, RenderError):
                skipped[case.id, engine.name] = choice.message
            else:
                users.setdefault(choice.name, {})[engine.name] = engine
    whole = matrix.Matrix({case.id: case for case in wanted}, {}, {}, skipped)
    loads: dict[str, RenderError | None] = {}
    for template in model.templates:
        if template.name not in users:
            continue
        served = list(users[template.name].values())
        part = matrix.observe(model, template, served, wanted, seconds=_SECONDS, read_back=read_back)
        whole = whole.extended(part)
        for name, error in part.loads.items():
            if loads.get(name) is None:
                loads[name] = _named(error, template, model)
    return replace(whole, loads=loads)


def _out_of_budget(observed: matrix.Matrix, engine: Engine) -> bool:
    """Whether a cell ran out of it, so that further ones would cost as much."""
    return any(_stopped(cell.error) for (_, name), cell in observed.cells.items() if name == engine.name)


def _stopped(error: RenderError | None) -> bool:
    return error is not None and error.out_of_budget


def _named(error: RenderError | None, template: Template, model: Model) -> RenderError | None:
    """The error with the template's name, where the model has others."""
    if error is None or len(model.templates) == 1:
        return error
    return RenderError(error.kind, f"template {template.name}: {error.message}", error.line, error.column)


def _observed_too(
    observed: matrix.Matrix,
    model: Model,
    engine: Engine,
    case_ids: Iterable[str],
    read_back: matrix.Chosen | None = None,
) -> matrix.Matrix:
    further = [case_id for case_id in dict.fromkeys(case_ids) if (case_id, engine.name) not in observed.cells]
    return observed.extended(_observed(model, [engine], further, read_back)) if further else observed


# ------------------------------------------------------------------------------- what an engine finds out itself


@runtime_checkable
class _Probes(Protocol):
    """A loaded template of an engine that probes it, as llama.cpp's server does."""

    @property
    def capabilities(self) -> Any: ...

    @property
    def ends(self) -> Any: ...


def _own_facts(model: Model, asked: Sequence[Engine], observed: matrix.Matrix) -> Mapping[str, OwnFacts]:
    """Ask the engines that have facts of their own, those that load the template for plain chat."""
    work = {}
    for engine in asked:
        template = _of(engine.choose(model, cases.get(_CHAT).request))
        loaded = engine.name in observed.loads and not _stopped(observed.loads[engine.name])
        if engine.renderer == _PROBING and template is not None and loaded:
            work[engine.name] = partial(_probed, engine, template, model.tokenizer)
    answers = bounded.run_all(list(work.values())) if work else []
    found = {}
    for name, (items, _) in zip(work, answers, strict=True):
        if items:
            caps, adds_bos, *parser = items[0]
            loads = observed.loads[name] is None  # one that does not load it reads no replies of it
            found[name] = OwnFacts(caps, adds_bos if _tells_bos(model.tokenizer) else None, *(parser if loads else ()))
    return found


def _adds_bos(engine: Engine, own: Mapping[str, OwnFacts]) -> bool | None:
    """Whether the engine puts BOS before its prompts; None where that depends on what we do not know."""
    if engine.name in own:
        return own[engine.name].adds_bos
    return None if engine.name in _MAY_ADD_BOS else False


def _tells_bos(tokenizer: Tokenizer) -> bool:
    """Whether the files decide if BOS is added: by saying so, or by the kind of vocabulary of a GGUF."""
    return tokenizer.add_bos is not None or "tokenizer.ggml.model" in tokenizer.facts


def _probed(engine: Engine, template: Template, tokenizer: Tokenizer) -> Iterator[Any]:
    """In a child: what `OwnFacts` has, in its order; nothing where the engine does not load the template."""
    loaded = engine.load(template, tokenizer)
    if not isinstance(loaded, _Probes):
        return
    facts = loaded.capabilities.as_props(), loaded.ends.add_bos
    if not isinstance(loaded, ReadsBack):
        yield facts
        return
    handler = getattr(loaded, "handler", None)
    status = ""
    for case_id in _ASKED:
        reply = loaded.read_back(cases.to_form(cases.get(case_id).request, engine.client_form), cases.FIXED_NOW)
        status = reply.status if reply else ""
        if status not in _UNTRIED:
            break
    yield *facts, handler.name if handler else "auto-parser", status
