"""A model → what a lock keeps of its templates."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from templatelint import engines, inspection
from templatelint.errors import TemplatelintError
from templatelint.pin.carried import GO, carried
from templatelint.pin.lock import Entry
from templatelint.pin.normal import digests
from templatelint.pin.place import place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.engines import Engine
    from templatelint.model import Model, Template
    from templatelint.pin.place import Place

_KEY = "tokenizer.chat_template"
_COMMIT = "hub.commit"
_BLOB = re.compile(r"sha256[-:][0-9a-f]{64}")  # what Ollama names its files by


def entries(model: Model, asked: Sequence[str], lock: str) -> tuple[Entry, ...]:
    """What is kept, an entry a template.

    Args:
        model: what a reference resolved to.
        asked: ids of the engines that serve it; empty for the one that runs, of a server, else the default set.
        lock: the file that they are for.

    Raises:
        TemplatelintError: there is no template, or nobody finds the model again.
    """
    if not (templates := carried(model)):
        raise TemplatelintError(f"{model.ref} carries no chat template: there is nothing to pin")
    found = place(model, lock)
    names = engines.expanded(asked or _own(model) or engines.DEFAULT_ENGINES)
    running = engines.running(names)
    return tuple(_entry(model, template, found, names, running) for template in templates)


def _entry(model: Model, template: Template, found: Place, names: tuple[str, ...], running: Sequence[Engine]) -> Entry:
    dialect, flags = ("", {}) if template.name == GO else _read(model, template, running)
    return Entry(
        ref=found.ref,
        name=template.name,
        source=found.source,
        sha256=template.sha256,
        kind=model.kind,
        place=_place(model, template),
        revision=_revision(model, template),
        dialect=dialect,
        engines=names,
        normalised={} if template.name == GO else digests(template.source, template.name),
        flags=flags,
        text=template.source if _is_whole(template.source) else None,
        picked=model.picked,
    )


def _read(model: Model, template: Template, running: Sequence[Engine]) -> tuple[str, dict[str, tuple[str, ...]]]:
    """The dialect of its calls, and the launch flags that fit."""
    known = inspection.inspect(replace(model, templates=(template,), picked=True), running)
    dialects = (shown.dialect for shown in (*known.syntax.values(), *known.elsewhere.values()))
    flags = {engine: told.arguments for engine, told in known.flags.items() if told.arguments}
    return next((dialect for dialect in dialects if dialect), ""), flags


def _own(model: Model) -> tuple[str, ...]:
    """The engine of a running server."""
    return (model.launch.engine,) if model.launch is not None and model.launch.engine in engines.ENGINES else ()


def _place(model: Model, template: Template) -> str:
    """Where in the model it stands, where that is not the one place that it can have."""
    if template.name == GO:
        return ""
    if model.kind in {"gguf", "ollama"}:
        return _KEY if template.name == "default" else f"{_KEY}.{template.name}"
    if model.kind != "folder":
        return ""
    path, folder = PurePath(template.origin.path), PurePath(model.ref)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name


def _revision(model: Model, template: Template) -> str:
    """Of what state of the source it is: a commit, the digest of a blob, the version of a server; empty for files."""
    if isinstance(commit := model.metadata.get(_COMMIT), str):
        return commit
    if model.kind == "ollama" and (blob := _BLOB.search(PurePath(template.origin.path).name)):
        return blob[0].replace("-", ":")
    return model.launch.version if model.launch is not None else ""


def _is_whole(text: str) -> bool:
    """Whether it can be written: half of a surrogate pair is no character."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
