"""A model → what a lock keeps of its templates."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from templatelint import engines, inspection
from templatelint.errors import TemplatelintError
from templatelint.pin.lock import Entry
from templatelint.pin.normal import digests
from templatelint.pin.place import place

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Model, Template

_KEY = "tokenizer.chat_template"
# what a source says of the state in which it was found
_REVISIONS = ("commit", "revision", "digest")


def entries(model: Model, asked: Sequence[str], lock: str) -> tuple[Entry, ...]:
    """What is kept, an entry a template.

    Args:
        model: what a reference resolved to.
        asked: ids of the engines that serve it; empty for the one that runs, of a server, else the default set.
        lock: the file that they are for.

    Raises:
        TemplatelintError: there is no template, or nobody finds the model again.
    """
    if not model.templates:
        raise TemplatelintError(f"{model.ref} carries no chat template: there is nothing to pin")
    found = place(model, lock)
    names = engines.expanded(asked or _own(model) or engines.DEFAULT_ENGINES)
    running = engines.running(names)
    made = []
    for template in model.templates:
        alone = replace(model, templates=(template,), picked=True)
        known = inspection.inspect(alone, running)
        dialects = (shown.dialect for shown in (*known.syntax.values(), *known.elsewhere.values()))
        made.append(
            Entry(
                ref=found.ref,
                name=template.name,
                source=found.source,
                sha256=template.sha256,
                kind=model.kind,
                place=_place(model, template),
                revision=next(_revisions(model), ""),
                dialect=next((dialect for dialect in dialects if dialect), ""),
                engines=names,
                normalised=digests(template.source, template.name),
                flags={engine: flags.arguments for engine, flags in known.flags.items() if flags.arguments},
                text=template.source if _is_whole(template.source) else None,
                picked=model.picked,
            )
        )
    return tuple(made)


def _own(model: Model) -> tuple[str, ...]:
    """The engine of a running server."""
    return (model.launch.engine,) if model.launch is not None and model.launch.engine in engines.ENGINES else ()


def _place(model: Model, template: Template) -> str:
    """Where in the model it stands, where that is not the one place that it can have."""
    if model.kind == "gguf":
        return _KEY if template.name == "default" else f"{_KEY}.{template.name}"
    if model.kind != "folder":
        return ""
    path, folder = PurePath(template.origin.path), PurePath(model.ref)
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else path.name


def _revisions(model: Model) -> Iterator[str]:
    for name in _REVISIONS:
        if isinstance(found := model.metadata.get(name), str) and found:
            yield found
    if model.launch is not None and model.launch.version:
        yield model.launch.version


def _is_whole(text: str) -> bool:
    """Whether it can be written: half of a surrogate pair is no character."""
    return not any("\ud800" <= character <= "\udfff" for character in text)
