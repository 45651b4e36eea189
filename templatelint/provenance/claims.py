"""The metadata of a model → the model that it says it was made of, and how near to that it is."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint.errors import clip

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.model import Model

_CARD, _RELATION = "hub.base_model", "hub.base_model_relation"
_HUB = re.compile(r"(?:https?://)?(?:www\.)?(?:huggingface\.co|hf\.co)/([^?#\s]+)", re.IGNORECASE)
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
# what a path on the Hub begins with that is none of a model's
_PAGES = frozenset({"datasets", "spaces", "docs", "papers", "collections", "blog", "api", "organizations", "settings"})
_FILES = (".jinja", ".jinja2", ".j2", ".json", ".gguf", ".txt", ".safetensors", ".bin", ".pt", ".pth")
_WORD = re.compile(r"[a-z0-9]+")
_SHOWN = 80  # characters of what a file says
_READ = 500  # characters of a name or URL
_MAX_BASES = 100
# What stands behind the name of a model where it is in another form: formats, widths, tools.
_FORM = re.compile(
    r"(?:-(?:gguf|awq|gptq|bnb|mlx|onnx|exl\d|hf|imatrix|imat|i1|unsloth|dynamic|ud|quantized|quant|safetensors"
    r"|f16|f32|bf16|fp16|fp8|nvfp4|mxfp4|int[48]|w\d+a\d+|\d-?bit"
    r"|i?q\d(?:-[01]|-k(?:-(?:xxs|xs|s|m|l|xl))?|-(?:xxs|xs|s|m|nl|xl))?))+$"
)


@dataclass(frozen=True)
class Claim:
    """What a model is said to be made of.

    Attributes:
        ref: the reference of that model.
        copy: this is the same model in another form, and not one that was trained further.
        said: where that is said: a metadata key.
    """

    ref: str
    copy: bool
    said: str


def claimed(model: Model) -> Claim | str:
    """The model that this one was made of; or why none is known, as a clause."""
    for found in (_by_card(model), _by_source(model), _by_base_models(model), _by_repository(model)):
        if found is not None:
            return found
    return "nothing in its files says what it was made of"


def _by_card(model: Model) -> Claim | str | None:
    """What the model card says: the Hub's own way to say it."""
    value = model.metadata.get(_CARD)
    listed = value if isinstance(value, (list, tuple)) else (value,)
    names = [name[:_READ] for name in listed[:_MAX_BASES] if isinstance(name, str) and name]
    if not names:
        return None
    relation = model.metadata.get(_RELATION)
    if len(names) > 1:
        return _several(names)
    # the Hub takes GGUFs for quantizations where a card says nothing else
    copy = relation == "quantized" or (relation is None and (model.kind == "gguf" or _alike(model, names[0])))
    return _claim(model, names[0], _CARD, copy=copy)


def _by_source(model: Model) -> Claim | str | None:
    """What a GGUF was converted from: the same model."""
    for key in ("general.source.huggingface.repository", "general.source.repo_url", "general.source.url"):
        if value := _text(model.metadata, key):
            return _claim(model, value, key, copy=True)
    return None


def _by_base_models(model: Model) -> Claim | str | None:
    """What the converter took from the card of the model: that of a quantization, or what that was trained from."""
    bases = [base for base in _bases(model.metadata) if base[1]]
    if not bases:
        return None
    if len({name.lower() for _, name in bases}) > 1:
        return _several([name for _, name in bases])
    key, name = bases[0]
    return _claim(model, name, key, copy=_alike(model, name))


def _by_repository(model: Model) -> Claim | str | None:
    """The repository that the file names as its own, where that is not the one that it was fetched from."""
    key = "general.repo_url"
    value = _text(model.metadata, key)
    return _claim(model, value, key, copy=True) if value and _repository(value) else None


def _bases(metadata: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Key and name of each base model that a GGUF lists."""
    for at in range(_MAX_BASES):
        stem = f"general.base_model.{at}"
        url, name = _text(metadata, f"{stem}.repo_url"), _text(metadata, f"{stem}.name")
        if url:
            yield f"{stem}.repo_url", url
        elif name:
            owner = _text(metadata, f"{stem}.organization")
            yield f"{stem}.name", "/".join("-".join(part.split()) for part in (owner, name) if part)
        else:
            return


def _text(metadata: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key)
    return value.strip()[:_READ] if isinstance(value, str) else ""


def _several(names: list[str]) -> str:
    return f"it was made of several models: {clip(', '.join(names), _SHOWN)}"


def _claim(model: Model, value: str, said: str, *, copy: bool) -> Claim | str:
    repository = _repository(value)
    if repository is None:
        return f"{said} is {clip(value, _SHOWN)}, which names no repository of the Hub"
    if repository.lower() == _own_repository(model.ref).lower():
        return f"{said} names the model itself"
    return Claim(f"hf:{repository}", copy, said)


def _repository(value: str) -> str | None:
    """`owner/name` of a URL of the Hub, or as it stands; None where it is neither."""
    url = _HUB.match(value)
    path = url[1].strip("/") if url else _on_endpoint(value)
    # behind the name: tree/main, blob/main/FILE; without a host all is the name, and no path of a file
    name = value if path is None else "/".join(path.split("/")[:2])
    plain = path is not None or not value.lower().endswith(_FILES)
    known = plain and _REPOSITORY.fullmatch(name) and name.partition("/")[0].lower() not in _PAGES
    return name if known else None


def _on_endpoint(value: str) -> str | None:
    """The path of an address on the host that stands in for the Hub; None for any other."""
    endpoint = os.environ.get("HF_ENDPOINT", "").rstrip("/")
    if not endpoint or not value.startswith(f"{endpoint}/"):
        return None
    return re.split(r"[?#\s]", value[len(endpoint) :], maxsplit=1)[0].strip("/")


def _own_repository(ref: str) -> str:
    """The repository that a reference names, if it names one."""
    return "/".join(re.split(r"[@:#]", ref.removeprefix("hf:"), maxsplit=1)[0].split("/")[:2])


def _alike(model: Model, base: str) -> bool:
    """Whether the model is called as the other one is, but for the form that it is in."""
    own = [_text(model.metadata, "general.name"), model.ref.rstrip("/").rpartition("/")[2]]
    wanted = _named((_repository(base) or base).rpartition("/")[2])
    return bool(wanted) and wanted in [_named(name) for name in own if name]


def _named(name: str) -> str:
    return _FORM.sub("", "-".join(_WORD.findall(name[:_READ].lower())))
