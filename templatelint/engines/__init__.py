"""Inference engines as their users know them: names → what prepares requests, picks templates and renders."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from templatelint.errors import TemplatelintError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
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

    @property
    def always_cues(self) -> bool:
        """Whether it asks for the generation prompt whatever the request says."""
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
        module: the module that models it, with a function `engine(name)`.
        loading: the modules that `load`, and reading calls back, import besides: only what loads a template pays.
        modelled: the version that is modelled.
        requires: the module of a renderer that has to be installed, with functions `missing()` and how to INSTALL it;
            None where nothing has.
        real: the module that asks the engine itself, with functions `found()`, `real()` and how to INSTALL it; None
            where none does yet.
    """

    name: str
    renderer: str
    module: str
    modelled: str
    loading: tuple[str, ...] = ()
    requires: str | None = None
    real: str | None = None

    @property
    def why_not(self) -> str:
        """What keeps it from being used here, in a clause; empty where it can be."""
        if self.requires is None:
            return ""
        return import_module(f"templatelint.renderers.{self.requires}").missing() or ""

    @property
    def install(self) -> str:
        """What makes it available here."""
        if self.requires is None:
            return "nothing to install: part of templatelint"
        install: str = import_module(f"templatelint.renderers.{self.requires}").INSTALL
        return install


_LLAMA_CPP = ("llamacpp.loaded", "llamacpp.round_trip")

ENGINES: Mapping[str, EngineEntry] = {
    entry.name: entry
    for entry in (
        EngineEntry("transformers", "jinja2", "transformers", "5.24.0"),
        EngineEntry("transformers@4.57", "jinja2", "transformers", "4.57.6"),
        EngineEntry("transformers@5.20", "jinja2", "transformers", "5.20.0"),
        EngineEntry("llama.cpp", "llama.cpp", "llamacpp.engine", "b11549", _LLAMA_CPP, real="llamacpp.real"),
        EngineEntry("vllm", "jinja2", "vllm.engine", "0.33.0", ("vllm.loaded",)),
        EngineEntry("sglang", "jinja2", "sglang", "0.5.23"),
        EngineEntry("mlx-lm", "jinja2", "mlx_lm", "0.32.2"),
        EngineEntry("llama-cpp-python", "jinja2", "llama_cpp_python", "0.3.35"),
        EngineEntry("mistral.rs", "minijinja", "mistral_rs", "9e922623f (2026-08-22)", requires="minijinja"),
        EngineEntry("tgi", "minijinja", "tgi", "db931fcf (2026-01-08)", requires="minijinja"),
        EngineEntry("transformers.js", "hf-jinja", "transformers_js", "@huggingface/jinja 0.5.11", requires="hf_jinja"),
        EngineEntry("lmstudio", "hf-jinja", "lmstudio", "@huggingface/jinja 0.5.11", requires="hf_jinja"),
        EngineEntry("ollama", "llama.cpp", "ollama", "fb3076099 (2026-08-21)"),
    )
}


def available() -> tuple[str, ...]:
    """The ids of the engines that can be used here, in the order of the catalogue."""
    return tuple(entry.name for entry in ENGINES.values() if not entry.why_not)


def expanded(words: Iterable[str]) -> tuple[str, ...]:
    """The ids that a user named, each once; `all` stands for every one that can be used here."""
    return tuple(dict.fromkeys(name for word in words for name in (available() if word == "all" else (word,))))


def running(words: Sequence[str] = ()) -> list[Engine]:
    """The engines that a user named, each once; the default set where he named none.

    Raises:
        TemplatelintError: see `get`.
    """
    return [get(name) for name in expanded(words or DEFAULT_ENGINES)]


def absent(words: Sequence[str]) -> dict[str, str]:
    """The engines that `all`, if a user named it, does not stand for here: id → why not."""
    if "all" not in words:
        return {}
    return {name: why_not for name, entry in ENGINES.items() if (why_not := entry.why_not)}


def preload(engines: Iterable[Engine]) -> None:
    """Import what these load templates with, for a process that has many to load: its children then inherit it."""
    for engine in engines:
        entry = ENGINES.get(engine.name)
        for module in entry.loading if entry is not None else ():
            import_module(f"templatelint.engines.{module}")


def get(name: str) -> Engine:
    """The engine of that id.

    Raises:
        TemplatelintError: there is none, or it cannot be used here.
    """
    entry = ENGINES.get(name)
    if entry is None:
        from templatelint.nearest import unknown

        raise unknown("engine", name, ENGINES)
    if why_not := entry.why_not:
        raise TemplatelintError(f"engine {name} cannot be used here: {why_not}", help=entry.install)
    engine: Engine = import_module(f"templatelint.engines.{entry.module}").engine(name)
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
    module = import_module(f"templatelint.engines.{entry.real}")
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
    engine: RealEngine = import_module(f"templatelint.engines.{entry.real}").real()
    return engine
