"""TL703: a template that stands in another file of the same model gives other prompts than the one in force."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from templatelint import engines, matrix
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Model, Template
    from templatelint.view import View

CASES = ("chat-basic", "chat-system", "chat-turns", "tools-offer", "tool-call", "reasoning-history")

_GGUF = ".gguf"
# Who reads which file: transformers' tokenizer (get_chat_template) and processor, vllm/renderers/hf.py, TGI's
# router/src/server.rs; gguf-py/gguf/vocab.py of llama.cpp b11549 converts the entry of tokenizer_config.json, and
# chat_template.jinja or .json only where that has none.
_READERS = {
    "chat_template.jinja": "transformers, vLLM, SGLang and mlx-lm read",
    "tokenizer_config.json": "llama.cpp's conversion to GGUF and TGI read",
    "processor_config.json": "transformers' processors, and vLLM and SGLang for multimodal models, read",
    "chat_template.json": "TGI, transformers' processors, and vLLM and SGLang for multimodal models read",
}
_OF_A_TOKENIZER = "transformers, vLLM and SGLang read"
_OF_A_GGUF = "llama.cpp and Ollama read"
_OTHERS = "other engines read"
_NAMED = 3  # cases in a message


def check(view: View) -> Iterator[Fault]:
    """Render the template of each other file in the place of this one, and compare."""
    seen = {_text(view.template)}
    for other in view.model.others:
        if other.name != view.template.name or _text(other) in seen:
            continue
        seen.add(_text(other))
        if differing := _differing(view, other):
            rest = len(differing) - _NAMED
            more = f" and {rest} more" if rest > 0 else ""
            own, its = (PurePath(one.origin.path).name for one in (view.template, other))
            yield Fault(
                message=f"{own}, which {_readers(view.template, in_force=True)}, and {its}, which {_readers(other)}, "
                f"give different prompts: {', '.join(differing[:_NAMED])}{more}",
                help="keep the template that is right in both; the difference: "
                f"{_command(view.model, other, view.template)}",
                cases=view.ids(*differing),
                cause=its,
            )


def _command(model: Model, *templates: Template) -> str:
    from shlex import join

    return join(["templatelint", "diff", *(_ref(model, template) for template in templates), "--prompts"])


def _ref(model: Model, template: Template) -> str:
    """The file that carries the template, as it can be typed."""
    path, repository = template.origin.path, model.metadata.get("hub.repo")
    if not isinstance(repository, str) or not path.startswith(f"{repository}/"):
        return path
    revision = model.metadata.get("hub.revision", "main")
    return f"hf:{repository}{'' if revision == 'main' else f'@{revision}'}{path.removeprefix(repository)}"


def _text(template: Template) -> str:
    # Readers turn CRLF into LF: a difference in newlines alone is none.
    return template.source.replace("\r\n", "\n")


def _readers(template: Template, *, in_force: bool = False) -> str:
    name = PurePath(template.origin.path).name
    if name.lower().endswith(_GGUF):
        return _OF_A_GGUF
    if in_force and name == "tokenizer_config.json":
        return _OF_A_TOKENIZER
    return _READERS.get(name, _OTHERS)


def _differing(view: View, other: Template) -> tuple[str, ...]:
    """The cases in which the other template gives another prompt on this engine, or only one of both gives one."""
    ids = {case_id: view.ids(case_id)[0] for case_id in CASES}
    tried = {case_id: own for case_id, own in ids.items() if (own, view.engine) in view.matrix.cells}
    picked = replace(view.model, templates=(other,), picked=True)
    cases = [view.matrix.cases[own] for own in tried.values()]
    found = matrix.observe(picked, other, [engines.get(view.engine)], cases)
    load_error = found.loads.get(view.engine)
    differing = []
    for case_id, own in tried.items():
        here, there = view.matrix.cells[own, view.engine], found.cells.get((own, view.engine))
        if there is None and load_error is None:
            continue  # this engine does not serve the request with a template of such a file
        errors = [one.error for one in (here, there) if one is not None and one.error is not None]
        if any(error.out_of_budget or error.kind in {"invalid-request", "unsupported"} for error in errors):
            continue
        if here.prompt != (None if there is None else there.prompt):
            differing.append(case_id)
    return tuple(differing)
