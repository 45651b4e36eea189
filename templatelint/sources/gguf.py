"""A GGUF file → Model with its templates, special tokens and where it comes from."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from templatelint.errors import TemplatelintError
from templatelint.model import Model, Origin, Template, Tokenizer
from templatelint.sources import opening
from templatelint.sources.gguf_header import Header, read_header
from templatelint.sources.gguf_shards import first_shard, missing_shards

if TYPE_CHECKING:
    from collections.abc import Collection

    from templatelint.sources.gguf_header import ByteSource

_GGML = "tokenizer.ggml."
# transformers' name of a special token → GGUF's; the format spells "seperator" so.
_SPECIAL = {
    "bos_token": "bos",
    "eos_token": "eos",
    "unk_token": "unknown",
    "sep_token": "seperator",
    "pad_token": "padding",
    "cls_token": "cls",
    "mask_token": "mask",
    "eot_token": "eot",
    "eom_token": "eom",
}
_ENDS = ("eos_token", "eot_token", "eom_token")
_UNNAMED = ("eot_token", "eom_token")  # facts, not variables that a template is given
_IDS = {token: f"{_GGML}{name}_token_id" for token, name in _SPECIAL.items()}
# What llama.cpp takes for BOS and EOS where a file names none: `llama_vocab::impl::load` in `src/llama-vocab.cpp`.
_BOS, _EOS = _IDS["bos_token"], _IDS["eos_token"]
_DEFAULTS = {
    "llama": {_BOS: 1, _EOS: 2},
    "gpt2": {_BOS: 11, _EOS: 11},
    "plamo2": {_BOS: 1, _EOS: 2},
    "plamo3": {_BOS: 1, _EOS: 2},
    "t5": {_EOS: 1},
}

_TYPE, _ARCHITECTURE, _POOLING = "general.type", "general.architecture", ".pooling_type"
# Of llama.cpp's architectures (2026-11) those that embed, rank, see or hear and never answer.
_NO_CHAT = frozenset(
    {
        "bert",
        "clip",
        "eurobert",
        "gemma-embedding",
        "jina-bert-v2",
        "jina-bert-v3",
        "llama-embed",
        "modern-bert",
        "neo-bert",
        "nomic-bert",
        "nomic-bert-moe",
        "t5encoder",
        "wavtokenizer-dec",
        "whisper",
    }
)

# Files beside a GGUF that say what ends generation, for engines which read them first.
_SIDECARS = frozenset({"config.json", "generation_config.json"})
_POOLINGS = range(1, 5)  # mean, cls, last, rank; 0 is none


def resolve(path: str, *, ref: str | None = None, vetting: bool = False) -> Model:
    """The model behind a GGUF file; of a split, behind its first shard.

    Args:
        path: the file.
        ref: the reference as typed, where that is not the path.
        vetting: read the vocabulary and look at the tensors too.

    Raises:
        TemplatelintError: no GGUF, cut short, damaged, or a later shard of a split.
    """
    with opening.open_regular(path) as (handle, size):
        source = opening.LocalFile(handle, size)
        model, header = _read(source, path, ref or path)
        return _vetted(model, header, source, path, None) if vetting else model


def from_source(
    source: ByteSource, path: str, ref: str, *, vetting: bool = False, beside: Collection[str] = ()
) -> Model:
    """The model behind the bytes of a GGUF, wherever they are.

    Args:
        source: the bytes.
        path: what messages call the file.
        ref: the reference as typed.
        vetting: read the vocabulary and look at the tensors too.
        beside: names of the files that stand beside it; empty where nobody knows.
    """
    model, header = _read(source, path, ref)
    return _vetted(model, header, source, path, beside) if vetting else model


def _read(source: ByteSource, path: str, ref: str) -> tuple[Model, Header]:
    header = read_header(source, path, tuple(_IDS.values()), _DEFAULTS)
    return from_header(header, path, ref), header


def _vetted(model: Model, header: Header, source: ByteSource, path: str, beside: Collection[str] | None) -> Model:
    """The model with its vocabulary and what a look at the tensors adds; `beside` is None for a local file."""
    from templatelint.sources import gguf_structure, gguf_vocabulary

    found = gguf_structure.examine(source, path, header, beside)
    names = _beside(path) if beside is None else beside
    facts = {**model.tokenizer.facts, "sidecars": sorted(_SIDECARS.intersection(names))}
    tokenizer = replace(model.tokenizer, facts=facts, vocabulary=gguf_vocabulary.read(source, header))
    notes = (*model.notes, *found.notes)
    return replace(model, tokenizer=tokenizer, damage=found.damage, notes=notes, weightless=found.weightless)


def _beside(path: str) -> list[str]:
    return [name for name in _SIDECARS if Path(path).with_name(name).is_file()]


def from_header(header: Header, path: str, ref: str) -> Model:
    """The model that a header describes."""
    _require_first_shard(header, path)
    templates = tuple(
        Template(name, source, Origin(path, source, locatable=False)) for name, source in _default_first(header)
    )
    notes = [f"{key} is ignored: tokenizer.chat_template has the same name" for key in header.shadowed]
    notes += _unresolved(header)
    reason = "" if templates else _not_for_chat(header)
    if reason:
        notes.append(f"no chat model: {reason}")
    return Model(
        ref,
        "gguf",
        templates,
        _tokenizer(header),
        _metadata(header),
        local=False,
        notes=tuple(notes),
        not_for_chat=reason,
    )


def _not_for_chat(header: Header) -> str:
    """What of the header says that nobody chats with this file; empty where nothing does."""
    values = header.values
    pooled = next((key for key, value in values.items() if key.endswith(_POOLING) and value in _POOLINGS), "")
    if values.get(_TYPE, "model") != "model":
        return f"{_TYPE} is {values[_TYPE]}"
    if values.get(_ARCHITECTURE) in _NO_CHAT:
        return f"{_ARCHITECTURE} is {values[_ARCHITECTURE]}"
    return f"{pooled} is {values[pooled]}" if pooled else ""


def _default_first(header: Header) -> list[tuple[str, str]]:
    return sorted(header.templates.items(), key=lambda item: item[0] != "default")


def _tokenizer(header: Header) -> Tokenizer:
    texts = {token: header.token_texts[key] for token, key in _IDS.items() if key in header.token_texts}
    values = header.values
    facts = {key: value for key, value in values.items() if key.startswith(_GGML)}
    facts |= {token: texts[token] for token in _UNNAMED if token in texts}
    if _ARCHITECTURE in values:
        facts[_ARCHITECTURE] = values[_ARCHITECTURE]
    if header.vocabulary is not None:
        facts["vocabulary"] = header.vocabulary
    taken = header.default_texts
    facts |= {f"llama.cpp.{token}": taken[key] for token, key in _IDS.items() if key in taken}
    return Tokenizer(
        special_tokens={token: text for token, text in texts.items() if token not in _UNNAMED},
        add_bos=_flag(values, f"{_GGML}add_bos_token"),
        add_eos=_flag(values, f"{_GGML}add_eos_token"),
        stop_tokens=tuple(dict.fromkeys(texts[token] for token in _ENDS if token in texts)),
        facts=facts,
    )


def _metadata(header: Header) -> dict[str, Any]:
    found = {key: value for key, value in header.values.items() if not key.startswith(_GGML)}
    return {"gguf.version": header.version, "gguf.byte_order": header.byte_order, **found}


def _unresolved(header: Header) -> list[str]:
    """Special tokens that the file names by an id which its vocabulary does not have."""
    notes = []
    for key in _IDS.values():
        if key in header.values and key not in header.token_texts:
            inside = "no vocabulary" if header.vocabulary is None else f"{header.vocabulary:,} tokens"
            taken = header.default_texts.get(key)
            then = "that token stays unset" if taken is None else f"llama.cpp takes {taken!r} for that token"
            notes.append(f"{key} is {header.values[key]}, and the file has {inside}: {then}")
    return notes


def _flag(values: Any, key: str) -> bool | None:
    value = values.get(key)
    return bool(value) if isinstance(value, (bool, int)) else None


def _require_first_shard(header: Header, path: str) -> None:
    number, count = header.values.get("split.no", 0), header.values.get("split.count", 0)
    if not isinstance(number, int) or number <= 0:
        return
    first = first_shard(Path(path).name)
    where = Path(path).with_name(first) if first else "the file whose name has 00001"
    missing = missing_shards(path)
    raise TemplatelintError(
        f"{path} is shard {number + 1} of {count} and carries no template{missing and f'; {missing}'}",
        help=f"give the first: {where}",
    )
