"""TL608: an engine serves requests with another of the model's templates than the one that is named for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from templatelint import engines, matrix
from templatelint.cases import get, to_form
from templatelint.engines.transformers import choose_named
from templatelint.model import Fault, RenderError, Template
from templatelint.reading import has

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Observation
    from templatelint.view import View

_CHAT, _TOOLS = "chat-basic", "tools-offer"
CASES = (_CHAT, _TOOLS)

# case → the need that it shows, and what the requests are called
_REQUESTS = {_CHAT: ("chat", "requests without tools"), _TOOLS: ("tools", "requests with tools")}
_TOOL_MARKS = ("tools.1.name", "tools.1.description")
# engine → how it is told to take a template by its name, or from a file
_CURES = {
    "llama.cpp": "start it with `--chat-template-file FILE`, which then serves every request",
    "sglang": "launch it with `--hf-chat-template-name {name}`, which then serves every request",
    "vllm": "launch it with `--chat-template FILE`, which then serves every request",
    "llama-cpp-python": 'open the model with `chat_format="chat_template.{name}"`, which then serves every request',
}


def check(view: View) -> Iterator[Fault]:
    """Compare what the engine's choice gives with what the names of the templates ask for, where both differ."""
    if view.model.picked or len(view.model.templates) < 2:  # noqa: PLR2004 (one leaves no choice)
        return
    effects: dict[str, dict[str, str]] = {}  # name of the template that is meant → case → effect
    for case_id in CASES:
        meant = _meant(view, case_id)
        if meant is None or not view.renders(case_id):
            continue
        case = view.case(case_id)
        picked = replace(view.model, templates=(meant,), picked=True)
        other = matrix.observe(picked, meant, [engines.get(view.engine)], [case]).cells.get((case.id, view.engine))
        # that the other one does not load, or refuses, is told of that one
        if other is not None and other.prompt is not None and other.prompt != view.prompt(case_id):
            effects.setdefault(meant.name, {})[case_id] = _effect(view, case_id, other)
    for name, shown in effects.items():
        need, requests = _REQUESTS[next(iter(shown))]
        requests = "every request" if len(shown) == len(CASES) else requests
        yield Fault(
            message=f"{view.engine} serves {requests} with the template {view.template.name}, where transformers takes "
            f"{name}: {', '.join(dict.fromkeys(shown.values()))}",
            help=_CURES.get(view.engine, "give the engine the template of that name alone").format(name=name),
            cases=view.ids(*shown),
            cause=f"{view.template.name} for {name}",
            need=need,
        )


def _meant(view: View, case_id: str) -> Template | None:
    """The template that the names ask for (transformers' rule, which models are published by), if not this one.

    None where the engine serves the request with none, or with the one that is meant.
    """
    engine = engines.get(view.engine)
    request = to_form(get(case_id).request, engine.client_form)
    if engine.choose(view.model, request) != view.template:
        return None
    meant = choose_named(view.model, request)
    return None if isinstance(meant, RenderError) or meant == view.template else meant


def _effect(view: View, case_id: str, other: Observation) -> str:
    case, prompt = view.case(case_id), other.prompt or ""
    shown = [mark for mark in _TOOL_MARKS if mark in case.marks and has(prompt, case, mark)]
    if shown and not any(has(view.prompt(case_id), case, mark) for mark in shown):
        return "tool definitions do not reach the prompt"
    return "the prompts differ"
