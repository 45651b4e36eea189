"""What is known of a model on an engine → the command line that serves it so that replies are read back."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from shlex import join
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from templatelint.dialects.serving.flags import Flags
    from templatelint.inspection import Inspection
    from templatelint.model import Model

# what the reader has to fill in
_GGUF, _REPOSITORY = "MODEL.gguf", "OWNER/NAME"
EXTRACTED = "chat_template.jinja"
_ALONE = frozenset({"file", "config", "stdin"})  # a template without a model
_HUB = re.compile(
    r"(?:hf:)?(?P<name>[^/@:]+/[^/@:]+)(?:@(?P<revision>[^/:]+))?(?::(?P<quant>.+)|/(?P<file>.+))?", re.IGNORECASE
)
_HIDDEN = "what stands behind the ? of the address is for the reader to fill in: it may be a secret"
_URL = re.compile(r"https?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Launch:
    """How an engine is started with a model.

    Attributes:
        line: as a shell takes it; words in capitals are for the reader to fill in.
        remarks: what else there is to know, in clauses.
        aside: what there is to know besides, for those who want to know all.
    """

    engine: str
    line: str
    remarks: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()


def launches(known: Inspection, against: Model | None = None, made_of: str = "") -> Mapping[str, Launch]:
    """How each engine that is a server is started, by its id; nothing for one that does not load the template.

    Args:
        known: what is known of the model.
        against: the model whose template a file replaces.
        made_of: `owner/name` of what a GGUF was made of; empty where that is not known.
    """
    if known.model.launch is not None or known.model.weightless:  # it runs already, or never
        return {}
    told = {}
    for engine, view in known.views.items():
        line = _LINES.get(engine.partition("@")[0])
        if line is None or view.load_error is not None or not known.model.templates:
            continue
        flags = known.flags.get(engine)
        words, remarks = line(replace(_Served.of(known.model, against), made_of=made_of))
        told[engine] = Launch(
            engine,
            join([*words, *(flags.arguments if flags else ())]),
            (*remarks, *(_said(flags) if flags else ())),
            flags.remarks if flags else (),
        )
    return told


def _said(flags: Flags) -> Iterator[str]:
    if not flags.arguments:
        yield from flags.said
    yield from flags.lost


@dataclass(frozen=True)
class _Served:
    """What there is to serve.

    Attributes:
        path: of a model on this machine; empty where it is not.
        name: `owner/name` of a repository of the Hub; empty where it is none.
        quant: `QUANT` behind it.
        file: a file of it that was named.
        url: of a file that is elsewhere.
        stored: what Ollama calls it in its store.
        gguf: it is a GGUF.
        template: a file that replaces its template; empty where its own is in force.
        source: the reference of the template.
        made_of: see `launches`.
    """

    path: str = ""
    name: str = ""
    revision: str = ""
    quant: str = ""
    file: str = ""
    url: str = ""
    stored: str = ""
    gguf: bool = False
    template: str = ""
    source: str = ""
    made_of: str = ""

    @staticmethod
    def of(model: Model, against: Model | None) -> _Served:
        """What a reference stands for, and a template file with it."""
        source = model.reference(model.templates[0])
        if model.kind not in _ALONE:
            return replace(_of_ref(model), template=EXTRACTED if model.picked else "", source=source)
        template = model.templates[0].origin.path if model.kind == "file" else EXTRACTED
        served = _Served() if against is None else _of_ref(against)
        return replace(served, template=template, source=source)

    def remarks(self, model: str = "") -> tuple[str, ...]:
        """What the words to fill in are."""
        told = [model] if model else []
        if self.template == EXTRACTED != self.source:
            command = join(["templatelint", "extract", self.source, "-o", EXTRACTED])
            told.append(f"{EXTRACTED} is {'what was read' if self.source == '-' else f'what this writes: {command}'}")
        return tuple(told)


def _of_ref(model: Model) -> _Served:
    gguf = model.kind in {"gguf", "ollama"}
    if model.weightless:  # what lends its tokens is not what is served
        return _Served(gguf=gguf)
    if os.path.lexists(model.ref):
        return _Served(path=model.ref, gguf=gguf)
    if _URL.match(model.ref):
        return _Served(url=model.ref, gguf=gguf)
    if model.kind == "ollama":
        path = next((one.origin.path for one in model.templates), "")
        return _Served(path=path, stored=model.ref.partition(":")[2], gguf=True)
    hub = _HUB.fullmatch(model.ref)
    if hub is None:
        return _Served(gguf=gguf)
    name, revision, quant, file = (part or "" for part in hub.group("name", "revision", "quant", "file"))
    return _Served(name=name, revision=revision, quant=quant, file=file, gguf=gguf)


# ----------------------------------------------------------------------------------------------- the engines

_Line = tuple[list[str], tuple[str, ...]]


def _llama_server(served: _Served) -> _Line:
    """`-hf` takes `owner/name:QUANT`, `-hff` a file of it, `-mu` a URL (common/arg.cpp)."""
    ours = ""
    if served.name and served.gguf:
        model = ["-hf", f"{served.name}{':' if served.quant else ''}{served.quant}"]
        model += ["-hff", served.file] if served.file else []
    elif served.url and served.gguf:
        model = ["-mu", served.url]
        ours = _HIDDEN if served.url.endswith("?…") else ""
    elif served.path and served.gguf:
        model = ["-m", served.path]
    else:
        model = ["-m", _GGUF]
        ours = f"{_GGUF} is made from this model" if served.path or served.name else f"{_GGUF} is the model"
    template = ["--chat-template-file", served.template] if served.template else []
    return ["llama-server", *model, "--jinja", *template], served.remarks(ours)


def _vllm(served: _Served) -> _Line:
    """It has no loader for GGUF files since 0.33 (model_executor/layers/quantization has none)."""
    ours, template = "", served.template
    if served.gguf:
        model, template = served.made_of or _REPOSITORY, template or EXTRACTED
        ours = f"{model} is the model that the GGUF was made from: vLLM itself loads no GGUF"
    elif served.name or served.path:
        model = served.name or served.path
    else:
        model, ours = _REPOSITORY, f"{_REPOSITORY} is the model"
    words = [
        "vllm",
        "serve",
        model,
        *(["--revision", served.revision] if served.revision and not served.gguf else []),
    ]
    return [*words, *(["--chat-template", template] if template else [])], replace(served, template=template).remarks(
        ours
    )


def _sglang(served: _Served) -> _Line:
    """`--model-path` takes `owner/name:QUANT` and a GGUF too (srt/utils/hf_transformers/common.py)."""
    ours = ""
    if served.name:
        behind = f":{served.quant}" if served.quant else f"/{served.file}" if served.file else ""
        model = f"{served.name}{behind}"
    elif served.path:
        model = served.path
    else:
        model = _GGUF if served.gguf else _REPOSITORY
        ours = f"{model} is the model"
    words = ["python", "-m", "sglang.launch_server", "--model-path", model]
    words += ["--revision", served.revision] if served.revision else []
    return [*words, *(["--chat-template", served.template] if served.template else [])], served.remarks(ours)


def _mlx_lm(served: _Served) -> _Line:
    known = not served.gguf and (served.name or served.path)
    words = ["mlx_lm.server", "--model", known or _REPOSITORY]
    return words, served.remarks("" if known else f"{_REPOSITORY} is the model, as MLX has it")


def _llama_cpp_python(served: _Served) -> _Line:
    known = served.path if served.gguf else ""
    words = ["python", "-m", "llama_cpp.server", "--model", known or _GGUF]
    return words, served.remarks("" if known else f"{_GGUF} is the model")


def _ollama(served: _Served) -> _Line:
    """It runs what its store has, and GGUFs of the Hub by `hf.co/owner/name:QUANT`; a file takes a Modelfile."""
    if served.stored:
        return ["ollama", "run", served.stored], ()
    if served.name and served.gguf and not served.file:
        return ["ollama", "run", f"hf.co/{served.name}{':' if served.quant else ''}{served.quant}"], ()
    made = f"Modelfile says: FROM {served.path if served.gguf and served.path else _GGUF}"
    return ["ollama", "create", "NAME", "-f", "Modelfile"], (made,)


_LINES: Mapping[str, Callable[[_Served], _Line]] = {
    "llama.cpp": _llama_server,
    "vllm": _vllm,
    "sglang": _sglang,
    "mlx-lm": _mlx_lm,
    "ollama": _ollama,
    "llama-cpp-python": _llama_cpp_python,
}
