"""A model folder (HF snapshot, MLX model, GGUF download) → Model, its files ranked as transformers does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from templatelint.errors import TemplatelintError
from templatelint.model import Model, Template
from templatelint.sources import config_json, file, json_object, model_card, opening, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from templatelint.sources.tokens import Head

_JINJA = "chat_template.jinja"
_ADDITIONAL = "additional_chat_templates"
_CONFIG = "tokenizer_config.json"
_PROCESSOR = "processor_config.json"
_LEGACY = "chat_template.json"
# With one of these a folder is what transformers loads, whatever GGUFs stand beside it.
_TOKENIZER_FILES = (_JINJA, _ADDITIONAL, _CONFIG, _PROCESSOR, _LEGACY, "tokenizer.json", "tokenizer.model")
_MODEL_FILES = ("config.json", "generation_config.json", "special_tokens_map.json")
# Of Mistral's own format: weights, and the tokenizers that mistral_common reads.
_MISTRAL_WEIGHTS = re.compile(r"consolidated.*\.safetensors")
_MISTRAL_TOKENIZER = re.compile(r"tekken\.json|tokenizer\.model\.v.*")
# Of models that embed or rank (sentence-transformers), and of what transformers calls such classes of models.
_EMBEDS = ("config_sentence_transformers.json", "sentence_bert_config.json")
_NO_CHAT = re.compile(r"\w*(For(MaskedLM|QuestionAnswering|\w*Classification)|(Bert|Roberta|MPNet)Model)")
# How many GGUFs beside tokenizer files are looked into: quantizations of one model carry one template.
_MAX_GGUFS = 2
# GGUFs that go along with a model and carry no template.
_COMPANION = re.compile(r"(.*[-_.])?(mmproj|imatrix)(?![a-z0-9]).*", re.IGNORECASE)


def resolve(
    path: str, *, vetting: bool = False, listed: frozenset[str] | None = None, head: Head | None = None
) -> Model:
    """The model that a folder holds; it may carry no template.

    Args:
        path: the folder.
        vetting: read the vocabulary and the templates that are not in force too.
        listed: names of what would be in it, of which it has what is read here; None where it has all.
        head: gives the first bytes of a `tokenizer.json` that is elsewhere.

    Raises:
        TemplatelintError: no model files, several unrelated GGUFs, or a file that decides cannot be read.
    """
    names = _names(path) if listed is None else listed
    weights = sorted(name for name in names if name.lower().endswith(".gguf"))
    if not is_tokenizer(names):
        if weights:
            return _gguf(path, weights, vetting=vetting)
        if not names.intersection(_MODEL_FILES) and not any(name.endswith(".safetensors") for name in names):
            raise _no_model(path, names)
    config_path = str(Path(path, _CONFIG))
    config_text, config = _read(config_path)
    templates, notes = _templates(path, config_json.templates(config_text, config, config_path))
    notes += config_json.repeated_names(config, config_path)
    others: tuple[Template, ...] = ()
    if vetting:
        others, passed_over = _others(path, weights if listed is None else [], templates)
        notes += passed_over
    if weights and not templates and not (vetting and listed is None):
        notes.append(f"{Path(path, weights[0])} beside the tokenizer files was not looked into")
    tokenizer, unread = tokens.read_tokenizer(config, path, vetting=vetting, head=head)
    metadata = _metadata(path, names) | (model_card.read(path) if vetting else {})
    reason = "" if templates else _not_for_chat(path, names)
    if reason:
        notes.append(f"no chat model: {reason}")
    return Model(
        path,
        "folder",
        templates,
        tokenizer,
        metadata,
        notes=(*notes, *unread),
        not_for_chat=reason,
        others=others,
    )


def carrier(path: str) -> str:
    """The file that carries the template of a folder's tokenizer, or of its processor; empty where none does.

    Raises:
        TemplatelintError: a file that decides cannot be read.
    """
    config_path = str(Path(path, _CONFIG))
    templates, _ = _templates(path, config_json.templates(*_read(config_path), config_path))
    return _where(templates) if templates else ""


def not_for_chat(path: str) -> str:
    """What of a folder says that nobody chats with its model; empty where nothing does."""
    return _not_for_chat(path, _names(path) if opening.is_folder(path) else frozenset[str]())


def is_tokenizer(names: frozenset[str]) -> bool:
    """Whether among the names of a folder's files is one by which transformers loads it, whatever else is in it."""
    return not names.isdisjoint(_TOKENIZER_FILES)


def _not_for_chat(path: str, names: frozenset[str]) -> str:
    for name in _EMBEDS:
        if name in names:
            return f"it has a {name}"
    listed = _metadata(path, names).get("architectures")
    classes = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    if classes and all(map(_NO_CHAT.fullmatch, classes)):
        return f"its architecture is {', '.join(classes)}"
    return ""


def _names(path: str) -> frozenset[str]:
    try:
        return frozenset(entry.name for entry in Path(path).iterdir())
    except OSError as error:
        raise opening.refused(path, error) from error


def _read(path: str) -> tuple[str, Mapping[str, Any]]:
    return json_object.read(path) if opening.is_there(path) else ("", {})


# ------------------------------------------------------------------------------- which template


def _templates(path: str, listed: tuple[Template, ...]) -> tuple[tuple[Template, ...], list[str]]:
    """The templates in force, and what the user ought to know about those that are not.

    Args:
        path: the folder.
        listed: the templates of its `tokenizer_config.json`.
    """
    files = _template_files(path)
    templates = files or listed
    processor, notes = _processor_templates(path, files, decides=not templates)
    if files and listed and not _same(files, listed):
        notes.append(f"transformers ignores the template in {_where(listed)}, which is not that of {_where(files)}")
    if processor and not templates:
        notes.append(f"only the processor has a template, in {_where(processor)}")
        return processor, notes
    if processor and not _same(processor, templates):
        used, other = _where(templates), _where(processor)
        notes.append(f"the processor has another template, in {other}; taken is the tokenizer's, in {used}")
    return templates, notes


def _template_files(path: str) -> tuple[Template, ...]:
    """`chat_template.jinja` and `additional_chat_templates/*.jinja`: together they replace all others."""
    found = {}
    default = str(Path(path, _JINJA))
    if opening.is_there(default):
        found["default"] = file.template(default, "default")
    additional = Path(path, _ADDITIONAL)
    for entry in sorted(_names(str(additional))) if opening.is_folder(str(additional)) else ():
        name, additional_file = entry.removesuffix(".jinja"), str(additional / entry)
        if name and name != entry and opening.is_there(additional_file):
            found[name] = file.template(additional_file, name)
    return tuple(found.values())


def _processor_templates(
    path: str, files: tuple[Template, ...], *, decides: bool
) -> tuple[tuple[Template, ...], list[str]]:
    """The templates of transformers' processor, where they are not those of the `.jinja` files.

    Args:
        path: the folder.
        files: the templates of its `.jinja` files.
        decides: there is no other template: a file that cannot be read is an error and not a note.
    """
    notes: list[str] = []
    for name in (_PROCESSOR, _LEGACY):
        found = str(Path(path, name))
        try:
            text, data = _read(found)
            templates = config_json.templates(text, data, found)
            notes += config_json.repeated_names(data, found)
        except TemplatelintError as error:
            if decides:
                raise
            notes.append(f"left out: {error.message}")
            continue
        if not templates:
            continue
        if name == _LEGACY and any(template.name != "default" for template in files):
            notes.append(f"transformers' processor refuses this folder: it has both {name} and {_ADDITIONAL}/")
        return templates, notes
    return (), notes


def _others(path: str, weights: list[str], in_force: tuple[Template, ...]) -> tuple[tuple[Template, ...], list[str]]:
    """The templates of the folder's files besides, and what was not looked at for them."""
    taken = {template.origin.path for template in in_force}
    found: list[Template] = []
    notes: list[str] = []
    for name in (_CONFIG, _PROCESSOR, _LEGACY):
        carrier = str(Path(path, name))
        if carrier not in taken:
            try:
                found += config_json.templates(*_read(carrier), carrier)
            except TemplatelintError as error:
                notes.append(f"left out: {error.message}")
    models = _models(weights) if weights else []
    for name in models[:_MAX_GGUFS]:
        from templatelint.sources import gguf

        try:
            found += gguf.resolve(str(Path(path, name))).templates
        except TemplatelintError as error:
            notes.append(f"left out: {error.message}")
    if skipped := models[_MAX_GGUFS:]:
        notes.append(f"not looked into for templates: {_listed(skipped)}")
    return tuple(found), notes


def _same(left: Iterable[Template], right: Iterable[Template]) -> bool:
    # Readers turn CRLF into LF: a difference in newlines alone is none.
    return _texts(left) == _texts(right)


def _texts(templates: Iterable[Template]) -> dict[str, str]:
    return {template.name: template.source.replace("\r\n", "\n") for template in templates}


def _where(templates: tuple[Template, ...]) -> str:
    return templates[0].origin.path


# ------------------------------------------------------------------------------- other files


def _metadata(path: str, names: frozenset[str]) -> dict[str, Any]:
    """What `config.json` says about the model, as far as it can be read, and one file each of Mistral's own format."""
    try:
        _, config = _read(str(Path(path, "config.json")))
    except TemplatelintError:
        config = {}
    found = {key: config[key] for key in ("model_type", "architectures", "transformers_version") if key in config}
    own = [min(filter(pattern.fullmatch, names), default="") for pattern in (_MISTRAL_WEIGHTS, _MISTRAL_TOKENIZER)]
    return {**found, "mistral_common": own} if all(own) else found


def _gguf(path: str, weights: list[str], *, vetting: bool) -> Model:
    from templatelint.sources import gguf

    models = _models(weights)
    if len(models) > 1:
        raise TemplatelintError(f"{path} holds {len(models)} GGUF models: {_listed(models)}", help="name one of them")
    if models[0] not in weights:
        there = f"{path} holds {len(weights)} of the shards of a split GGUF, and not the first: {models[0]}"
        raise TemplatelintError(there, help="fetch that too: it carries the template")
    return gguf.resolve(str(Path(path, models[0])), ref=path, vetting=vetting)


def _models(weights: list[str]) -> list[str]:
    """The names of the GGUFs that hold models, of a split that of the first file."""
    from templatelint.sources import gguf_shards

    main = [name for name in weights if not _COMPANION.fullmatch(name)] or weights
    return sorted({gguf_shards.first_shard(name) or name for name in main})


def _no_model(path: str, names: frozenset[str]) -> TemplatelintError:
    if "snapshots" in names:  # a repository of the Hub's cache: its revisions stand one level down
        revisions = sorted(_names(str(Path(path, "snapshots"))))
        return TemplatelintError(
            f"{path} is a cache of {len(revisions)} revisions, not a model folder",
            help="name one of them" + "".join(f": {Path(path, 'snapshots', name)}" for name in revisions[:1]),
        )
    templates = sorted(name for name in names if name.endswith((".jinja", ".jinja2", ".j2")))
    if templates:
        return TemplatelintError(
            f"{path} is no model folder: it holds {len(templates)} template files and no tokenizer",
            help=f"name the files: {Path(path, templates[0])}",
        )
    return TemplatelintError(f"{path} is no model folder: it has no {_CONFIG}, no {_JINJA} and no .gguf")


def _listed(names: list[str], most: int = 6) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
