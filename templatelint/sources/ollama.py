"""A model of Ollama's local store (`manifests/`, `blobs/`) → Model: its GGUF, and what Ollama puts around it."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.errors import TemplatelintError, clip
from templatelint.nearest import nearest
from templatelint.sources import json_object, ollama_choice, opening
from templatelint.texts import decode, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.model import Model
    from templatelint.sources.reach import Reach

_STORE = "OLLAMA_MODELS"
# Where the service of Linux packages keeps it.
_SERVICES = ("/usr/share/ollama/.ollama/models", "/var/lib/ollama/models", "/var/lib/ollama")
# The newer folder of manifests, which goes first, calls the public registry by another name.
_FOLDERS = (("manifests-v2", "ollama.com"), ("manifests", "registry.ollama.ai"))
_PUBLIC = frozenset(host for _, host in _FOLDERS)
_NAMESPACE, _TAG = "library", "latest"

_PART = r"([A-Za-z0-9_][A-Za-z0-9_.-]*)"
_NAME = re.compile(rf"(?:(?:([A-Za-z0-9][A-Za-z0-9.-]*(?::\d{{1,5}})?)/)?{_PART}/)?{_PART}(?::{_PART})?")
_LONGEST = 200  # characters of a name
_DIGEST = re.compile(r"sha256[:-]([0-9a-fA-F]{64})")

_MAX_MANIFEST = 4 << 20  # bytes; a model in many tensors lists thousands of layers
_MAX_TEXT = 4 << 20  # bytes of a system text, of parameters, of the model's config
_MAX_MODELS = 5000  # names looked through for the nearest
_MAX_SHARDS = 256

_LIST = "application/vnd.ollama.manifest.list.v2+json"
_RUNNERS = ("ollama", "llamacpp", "mlx")
_IMAGE = "application/vnd.ollama.image."
_MODEL, _SYSTEM, _PARAMETERS = "model", "system", "params"
_TEMPLATES = ("template", "prompt")


class _Name(NamedTuple):
    """A model's name in full; `host` is empty for the public registry."""

    host: str
    namespace: str
    model: str
    tag: str

    def __str__(self) -> str:
        if self.host:
            return f"{self.host}/{self.namespace}/{self.model}:{self.tag}"
        space = "" if self.namespace == _NAMESPACE else f"{self.namespace}/"
        return f"{space}{self.model}:{self.tag}"


class _Layer(NamedTuple):
    """A blob that a manifest lists."""

    kind: str
    path: Path
    size: int


def resolve(ref: str, reach: Reach) -> Model:
    """The model that the reference names.

    Args:
        ref: `ollama:name[:tag]`, `ollama:user/name[:tag]`, `ollama:host/owner/name[:tag]`.
        reach: nothing is fetched in any case.

    Raises:
        TemplatelintError: no store, no such model, or one whose files contradict its manifest.
    """
    name = _parse(ref)
    store, path = _find(name)
    manifest = _manifest(path, store)
    layers = list(_layers(manifest, store, path, name))
    config = _config(manifest, store, path, name)
    model = _gguf(ref, name, [layer for layer in layers if layer.kind == _MODEL], config, vetting=reach.vetting)
    held = _held(config, layers)
    notes = (*_notes(model, held), *model.notes)
    return replace(model, kind="ollama", local=False, metadata={**model.metadata, **held}, notes=notes)


# -------------------------------------------------------------------------------------------- names


def _parse(ref: str) -> _Name:
    text = ref.partition(":")[2].removeprefix("//")
    found = _NAME.fullmatch(text) if len(text) <= _LONGEST and ".." not in text else None
    if found is None:
        raise TemplatelintError(
            f"{clip(ascii(ref)[1:-1])} names no model of Ollama",
            help="give ollama:NAME, ollama:NAME:TAG or ollama:HOST/OWNER/NAME:TAG",
        )
    host, space, model, tag = found.groups()
    return _Name("" if host is None or host in _PUBLIC else host, space or _NAMESPACE, model, tag or _TAG)


def _stores() -> list[Path]:
    """Where models may be, the first choice first."""
    named = os.environ.get(_STORE, "").strip("\"' ")
    if named:
        return [Path(named)]
    stores = [Path(each) for each in _SERVICES] if sys.platform == "linux" else []
    try:
        return [Path.home() / ".ollama" / "models", *stores]
    except RuntimeError:  # nobody's home
        return stores


def _find(name: _Name) -> tuple[Path, str]:
    """The store and the path of the manifest."""
    stores = _stores()
    there = [store for store in stores if opening.status(str(store)) is not None]
    for store in there:
        for folder, public in _FOLDERS:
            path = str(store / folder / (name.host or public) / name.namespace / name.model / name.tag)
            if opening.status(path) is not None:
                return store, path
    if not there:
        looked = " and ".join(map(str, stores))
        raise TemplatelintError(f"no models of Ollama in {looked}", help=f"{_STORE} names the folder that has them")
    where = " and ".join(map(str, there))
    known = [str(each) for store in there for each in islice(_models(store), _MAX_MODELS)]
    close = _nearest(name, known)
    cure = f"did you mean ollama:{close}?" if close else f"fetch it with: ollama pull {quote(str(name))}"
    raise TemplatelintError(f"no model {name} in {where}", help=cure)


def _nearest(name: _Name, known: list[str]) -> str | None:
    """The name that was meant: a tag of the model of that name, or of the nearest."""
    tags: dict[str, list[str]] = {}
    for each in known:
        tags.setdefault(each.rpartition(":")[0], []).append(each)
    wanted = str(name).rpartition(":")[0]
    model = wanted if wanted in tags else nearest(wanted, tags)
    return None if model is None else nearest(f"{model}:{name.tag}", tags[model]) or min(tags[model])


def _models(store: Path) -> Iterator[_Name]:
    for folder, _ in _FOLDERS:
        try:
            for path in sorted((store / folder).glob("*/*/*/*")):
                host, namespace, model, tag = path.parts[-4:]
                if not any(part.startswith(".") for part in path.parts[-4:]):
                    yield _Name("" if host in _PUBLIC else host, namespace, model, tag)
        except OSError:  # somebody else's, or going away
            continue


# ---------------------------------------------------------------------------------------- manifests


def _manifest(path: str, store: Path) -> Mapping[str, Any]:
    _, data = json_object.parse(opening.read_bytes(path, _MAX_MANIFEST, "a manifest"), path)
    if data.get("mediaType") != _LIST:
        return data
    entries = [entry for entry in _list(data, "manifests", path) if isinstance(entry, dict)]
    for runner in _RUNNERS:
        for entry in entries:
            if str(entry.get("runner", "")).lower() != runner:
                continue
            if "layers" in entry or "digest" not in entry:
                return entry
            child = str(_blob(entry["digest"], store, path))
            return json_object.parse(opening.read_bytes(child, _MAX_MANIFEST, "a manifest"), child)[1]
    raise TemplatelintError(f"{path} lists no manifest that Ollama would take")


def _layers(manifest: Mapping[str, Any], store: Path, path: str, name: _Name) -> Iterator[_Layer]:
    wanted = (_MODEL, _SYSTEM, _PARAMETERS, *_TEMPLATES)
    for entry in _list(manifest, "layers", path):
        if not isinstance(entry, dict) or not isinstance(entry.get("mediaType"), str):
            raise TemplatelintError(f"{path} is damaged: a layer is none", help=_again(name))
        kind = entry["mediaType"].removeprefix(_IMAGE)
        if kind in wanted:
            yield _checked(kind, entry, store, path, name)


def _checked(kind: str, entry: Mapping[str, Any], store: Path, path: str, name: _Name) -> _Layer:
    """A layer whose blob is there, in the size that the manifest gives; its digest is not computed."""
    blob = _blob(entry.get("digest"), store, path)
    found = opening.status(str(blob))
    if found is None:
        raise TemplatelintError(f"{name}: the blob of its {kind} layer is missing: {blob}", help=_again(name))
    size = entry.get("size")
    if isinstance(size, int) and size != found.st_size:
        raise TemplatelintError(
            f"{name}: {blob} has {found.st_size:,} bytes, its manifest says {size:,}", help=_again(name)
        )
    return _Layer(kind, blob, found.st_size)


def _blob(digest: Any, store: Path, path: str) -> Path:
    found = _DIGEST.fullmatch(digest) if isinstance(digest, str) else None
    if found is None:
        what = shown(digest) if isinstance(digest, str) else json_object.type_name(digest)
        raise TemplatelintError(f"{path} is damaged: {what} is no digest")
    return store / "blobs" / f"sha256-{found[1]}"


def _list(data: Mapping[str, Any], key: str, path: str) -> list[Any]:
    value = data.get(key)
    if not isinstance(value, list):
        raise TemplatelintError(f"{path} is no manifest: {key} is {json_object.type_name(value)}, not a list")
    return value


def _again(name: _Name) -> str:
    return f"fetch it again: ollama pull {quote(str(name))}"


# ------------------------------------------------------------------------------------------ content


def _config(manifest: Mapping[str, Any], store: Path, path: str, name: _Name) -> Mapping[str, Any]:
    entry = manifest.get("config")
    if not isinstance(entry, dict) or not entry.get("digest"):
        return {}
    blob = str(_checked("config", entry, store, path, name).path)
    return json_object.parse(opening.read_bytes(blob, _MAX_TEXT, "a config"), blob)[1]


def _gguf(ref: str, name: _Name, layers: list[_Layer], config: Mapping[str, Any], *, vetting: bool) -> Model:
    from templatelint.sources import gguf

    if not layers:
        if host := config.get("remote_host"):
            raise TemplatelintError(f"{name} runs at {shown(str(host))}: there is nothing of it here")
        form = config.get("model_format") or "unknown"
        raise TemplatelintError(f"{name} has no GGUF: its format is {shown(str(form))}")
    blob = str(_main(layers[:_MAX_SHARDS]).path)
    with opening.open_regular(blob) as (handle, size):
        return gguf.from_source(opening.LocalFile(handle, size), blob, ref, vetting=vetting)


def _main(layers: list[_Layer]) -> _Layer:
    """Of several model layers the one that Ollama loads: the first shard of a split, else the last layer."""
    taken = layers[0]
    if len(layers) == 1:
        return taken
    from templatelint.sources.gguf_header import read_header

    for layer in layers:
        with opening.open_regular(str(layer.path)) as (handle, size):
            header = read_header(opening.LocalFile(handle, size), str(layer.path), ())
        if header.values.get("split.no", 0) == 0:
            taken = layer
    return taken


def _held(config: Mapping[str, Any], layers: list[_Layer]) -> dict[str, Any]:
    """What goes along with the GGUF, for `Model.metadata`."""
    held: dict[str, Any] = {
        key: value
        for key, member in (
            (ollama_choice.RENDERER, "renderer"),
            (ollama_choice.PARSER, "parser"),
            (ollama_choice.FAMILY, "model_family"),
        )
        if isinstance(value := config.get(member), str) and value
    }
    for layer in layers:
        if layer.kind in _TEMPLATES:
            held[ollama_choice.TEMPLATE] = _text(layer, "a template")
        elif layer.kind == _SYSTEM:
            held["ollama.system"] = _text(layer, "a system text")
        elif layer.kind == _PARAMETERS:
            raw = opening.read_bytes(str(layer.path), _MAX_TEXT, "parameters")
            stops = json_object.parse(raw, str(layer.path))[1].get("stop")
            listed = stops if isinstance(stops, list) else [stops]
            held["ollama.stop"] = tuple(stop for stop in listed if isinstance(stop, str))
    return held


def _text(layer: _Layer, what: str) -> str:
    limit = opening.MAX_TEMPLATE if layer.kind in _TEMPLATES else _MAX_TEXT
    return decode(opening.read_bytes(str(layer.path), limit, what), str(layer.path), what)


def _notes(model: Model, held: Mapping[str, Any]) -> Iterator[str]:
    default = model.template("default")
    chosen = ollama_choice.choice(held, default.source if default else "")
    if chosen == "go template":
        cure = ", unless OLLAMA_GO_TEMPLATE=0 is set" if default else ", which is not judged here"
        yield f"ollama renders this model with its Go TEMPLATE{cure}"
    elif chosen == "renderer":
        own = held.get(ollama_choice.RENDERER) or held.get(ollama_choice.PARSER) or "harmony"
        yield f"ollama renders this model with code of its own ({shown(own)}), not with the template of the GGUF"
    elif chosen == "unknown":
        yield "whether ollama renders this model with its Go TEMPLATE or with the template of the GGUF is not known"
    elif ollama_choice.TEMPLATE in held:
        yield "ollama prefers the template of the GGUF to the model's Go TEMPLATE"
    if system := held.get("ollama.system"):
        yield f"ollama puts a system text of {len(system):,} characters before conversations without one"
