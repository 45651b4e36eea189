"""A JSON file that carries templates (`tokenizer_config.json` and its like) → Model, with their places."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from templatelint.errors import TemplatelintError
from templatelint.model import Model, Origin, Template
from templatelint.sources import json_object, opening, tokens
from templatelint.sources.file import ASSUMED
from templatelint.sources.json_positions import locate

if TYPE_CHECKING:
    from collections.abc import Mapping

_KEY = "chat_template"


def resolve(path: str, *, vetting: bool = False) -> Model:
    """The model behind one JSON file; files beside it lend their tokens, never a template.

    Args:
        path: the file.
        vetting: read the vocabulary too.

    Raises:
        TemplatelintError: it cannot be read, is no JSON object, or holds something else where templates go.
    """
    text, data = json_object.read(path)
    folder = str(Path(path).parent)
    model = from_data(text, data, path, kind="config", folder=folder, vetting=vetting)
    if tokens.is_tokenizer_config(data, path):
        model = replace(model, notes=(*model.notes, *_overruled(str(Path(folder, "chat_template.jinja")))))
    return model


def _overruled(jinja: str) -> tuple[str, ...]:
    """A note where the tokenizer's template stands in a file of its own."""
    try:
        return (f"transformers takes the template from {jinja} instead",) if opening.is_there(jinja) else ()
    except TemplatelintError as error:
        return (f"left out: {error.message}",)


def from_data(  # noqa: PLR0913 (a parsed file, and where it comes from)
    text: str, data: Mapping[str, Any], path: str, *, kind: str, folder: str | None, vetting: bool = False
) -> Model:
    """The model behind a parsed JSON file.

    Args:
        text: the whole text of the file.
        data: what it parses to.
        path: what the user calls the file.
        kind: `config` or `stdin`.
        folder: where the files that belong to it stand; None where there are none.
        vetting: read the vocabulary too.
    """
    found, repeated = templates(text, data, path), repeated_names(data, path)
    if tokens.is_tokenizer_config(data, path):
        tokenizer, notes = tokens.read_tokenizer(data, folder, vetting=vetting)
        return Model(path, kind, found, tokenizer, notes=(*repeated, *notes))
    config = str(Path(folder, "tokenizer_config.json")) if folder is not None else ""
    if config and opening.is_there(config):
        tokenizer, notes = tokens.read_tokenizer(json_object.read(config)[1], folder, vetting=vetting)
        return Model(path, kind, found, tokenizer, notes=(*repeated, f"special tokens are those of {config}", *notes))
    return Model(path, kind, found, ASSUMED, notes=repeated)


def templates(text: str, data: Mapping[str, Any], path: str) -> tuple[Template, ...]:
    """The templates of a parsed JSON file, in its order.

    `chat_template` is a string (named `default`), a list of `{name, template}` objects or an object of names; of
    equal names the last one counts, as for transformers. Null, or none at all, is no template.
    """
    value = data.get(_KEY)
    if value is None:
        return ()
    found = {name: _template(name, source, text, steps, path) for name, source, steps in _entries(value, path)}
    return tuple(found.values())


def repeated_names(data: Mapping[str, Any], path: str) -> tuple[str, ...]:
    """A note on each name that the list form of `chat_template` gives to several templates."""
    value = data.get(_KEY)
    if not isinstance(value, list):
        return ()
    from collections import Counter

    counts = Counter(name for name, _, _ in _entries(value, path))
    return tuple(
        f'{path}: {count} templates have the name "{name}"; the last one counts'
        for name, count in counts.items()
        if count > 1
    )


def _entries(value: Any, path: str) -> list[tuple[str, Any, tuple[str | int, ...]]]:
    """Name, source and position of each template in the value of `chat_template`."""
    if isinstance(value, str):
        return [("default", value, (_KEY,))]
    if isinstance(value, dict):
        return [(name, source, (_KEY, name)) for name, source in value.items()]
    if not isinstance(value, list):
        kind = json_object.type_name(value)
        raise TemplatelintError(f"{path}: {_KEY} is {kind}, not a string or a list of named templates")
    entries: list[tuple[str, Any, tuple[str | int, ...]]] = []
    for index, entry in enumerate(value):
        if not isinstance(entry, dict) or not isinstance(entry.get("name"), str) or "template" not in entry:
            raise TemplatelintError(f'{path}: {_KEY}[{index}] is no object with a "name" and a "template"')
        entries.append((entry["name"], entry["template"], (_KEY, index, "template")))
    return entries


def _template(name: str, source: Any, text: str, steps: tuple[str | int, ...], path: str) -> Template:
    if not isinstance(source, str):
        kind = json_object.type_name(source)
        raise TemplatelintError(f'{path}: the template "{name}" is {kind}, not a string')
    size = len(source.encode("utf-8", "surrogatepass"))
    if size > opening.MAX_TEMPLATE:
        raise opening.too_large(f'{path}: the template "{name}"', size, opening.MAX_TEMPLATE, "a template")
    return Template(name, source, Origin(path, text, locate(text, steps) + 1, escaped=True))
