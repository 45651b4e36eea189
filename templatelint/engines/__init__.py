"""Inference engines as their users know them: names → what prepares requests, picks templates and renders."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from templatelint.model import ClientForm, Model, Observation, RenderError, Request, Template, Tokenizer
    from templatelint.renderers import Program

DEFAULT_ENGINES = ("transformers", "llama.cpp", "vllm", "sglang")


class Loaded(Protocol):
    """A template inside an engine.

    Attributes:
        refusal: why the engine will not start with the template although it parses; each request is still answered
            by what it would give. None where the engine starts.
    """

    @property
    def refusal(self) -> RenderError | None:
        """See the class."""
        ...

    def render(self, request: Request, now: datetime) -> Observation:
        """The prompt that the engine makes of the request at that time, or why it makes none."""
        ...

    def through(self, program: Program) -> Loaded:
        """The same engine, its requests prepared as before, but rendered by another program of this template."""
        ...


class Engine(Protocol):
    """One inference engine, stateless."""

    @property
    def name(self) -> str:
        """The id that users type."""
        ...

    @property
    def renderer(self) -> str:
        """The id of its Jinja implementation."""
        ...

    @property
    def version(self) -> str:
        """The engine's version that is modelled."""
        ...

    @property
    def emulated(self) -> bool:
        """Whether the renderer is a model of the engine's own rather than that code itself."""
        ...

    @property
    def client_form(self) -> ClientForm:
        """The form in which its clients pass requests."""
        ...

    def choose(self, model: Model, request: Request) -> Template | RenderError:
        """The template of the model that serves the request, or why there is none."""
        ...

    def load(self, template: Template, tokenizer: Tokenizer) -> Loaded | RenderError:
        """The template ready to render, or why the engine does not load it."""
        ...


@dataclass(frozen=True, slots=True)
class Answers:
    """What one model's requests gave in an engine that really ran.

    Attributes:
        build: what answered, for people; empty where nothing of it was learnt.
        observations: one for each request.
        capabilities: what the engine says that the template supports; None where it did not start.
    """

    build: str
    observations: Sequence[Observation]
    capabilities: Mapping[str, bool] | None = None


class RealEngine(Protocol):
    """An engine of this machine itself, not our model of it."""

    def answers(self, model: Model, requests: Sequence[Request]) -> Answers:
        """What it gives for the requests; it has ended when this returns.

        Raises:
            TemplatelintError: it cannot be asked.
        """
        ...


@dataclass(frozen=True, slots=True)
class EngineEntry:
    """What is known of an engine without importing its module.

    Attributes:
        name: the id that users type.
        renderer: the id of its Jinja implementation.
        module: the module that models it, with a function `engine(name)`; None where none does yet.
        modelled: the version that is modelled, or that the facts at hand are of.
        install: what makes it available here.
        why_not: why it cannot be used; empty where it can.
        real: the module that asks the engine itself, with functions `found()`, `real()` and how to INSTALL it; None
            where none does yet.
    """

    name: str
    renderer: str
    module: str | None
    modelled: str
    install: str
    why_not: str
    real: str | None = None


_BUILT_IN = "nothing to install: part of templatelint"
_NOT_MODELLED = "not modelled in this version of templatelint"


def _built_in(name: str, renderer: str, module: str, modelled: str, real: str | None = None) -> EngineEntry:
    real = None if real is None else f"templatelint.engines.{real}"
    return EngineEntry(name, renderer, f"templatelint.engines.{module}", modelled, _BUILT_IN, "", real)


def _missing(name: str, renderer: str, modelled: str) -> EngineEntry:
    return EngineEntry(name, renderer, None, modelled, "", _NOT_MODELLED)


ENGINES: Mapping[str, EngineEntry] = {
    entry.name: entry
    for entry in (
        _built_in("transformers", "jinja2", "transformers", "5.24.0"),
        _built_in("transformers@4.57", "jinja2", "transformers", "4.57.6"),
        _built_in("transformers@5.20", "jinja2", "transformers", "5.20.0"),
        _built_in("llama.cpp", "llama.cpp", "llamacpp.engine", "b11549", real="llamacpp.real"),
        _missing("vllm", "jinja2", "0.33.0"),
        _missing("sglang", "jinja2", "0.5.23"),
        _missing("mlx-lm", "jinja2", "d78bf58e (2026-08-22)"),
        _missing("llama-cpp-python", "jinja2", "0.3.35"),
        _missing("mistral.rs", "minijinja", "9e922623f (2026-08-22)"),
        _missing("tgi", "minijinja", "db931fcf (2026-01-08)"),
        _missing("transformers.js", "hf-jinja", "@huggingface/jinja 0.5.11"),
        _missing("lmstudio", "hf-jinja", "@huggingface/jinja 0.5.11"),
        _missing("ollama", "llama.cpp", "fb3076099 (2026-08-21)"),
    )
}


def available() -> tuple[str, ...]:
    """The ids of the engines that can be used, in the order of the catalogue."""
    return tuple(entry.name for entry in ENGINES.values() if entry.module is not None)


def get(name: str) -> Engine:
    """The engine of that id.

    Raises:
        TemplatelintError: there is none, or it cannot be used here.
    """
    entry = ENGINES.get(name)
    if entry is None:
        from templatelint.nearest import unknown

        raise unknown("engine", name, ENGINES)
    if entry.module is None:
        raise TemplatelintError(f"engine {name} is {entry.why_not}", help=f"available: {', '.join(available())}")
    engine: Engine = import_module(entry.module).engine(name)
    return engine


@dataclass(frozen=True, slots=True)
class Counterpart:
    """The engine itself, beside our model of it: where it was found, or None, and what makes it available."""

    found: str | None
    install: str


def counterpart(name: str) -> Counterpart | None:
    """Whether the engine itself can be asked here; None where no version of ours could. Starts and loads nothing."""
    entry = ENGINES[name]
    if entry.real is None:
        return None
    module = import_module(entry.real)
    return Counterpart(module.found(), module.INSTALL)


def get_real(name: str) -> RealEngine:
    """The engine itself.

    Raises:
        TemplatelintError: it cannot be asked, in this version or on this machine.
    """
    entry = ENGINES.get(name)
    if entry is None or entry.real is None:
        known = ", ".join(entry.name for entry in ENGINES.values() if entry.real is not None)
        raise TemplatelintError(f"engine {name} has no real counterpart yet", help=f"--real can ask {known}")
    engine: RealEngine = import_module(entry.real).real()
    return engine
