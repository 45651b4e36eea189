"""A GGUF as a whole, and the files it was split into → what of it is damaged, incomplete, or read by no engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from templatelint.sources import gguf_shards, opening
from templatelint.sources.gguf_header import read_header
from templatelint.sources.gguf_tensors import read_tensors
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from templatelint.sources.gguf_header import ByteSource, Header

_UNREAD = (", which llama.cpp reads no more", ", which llama.cpp refuses")
_UNREAD_VERSION = 1  # `gguf_init_from_reader` of gguf.cpp: "GGUFv1 is no longer supported"


class Found(NamedTuple):
    """What is wrong, a clause each, what a user may want to know, and whether there are no tensors at all."""

    damage: tuple[str, ...]
    notes: tuple[str, ...]
    weightless: bool


def examine(source: ByteSource, path: str, header: Header, beside: Collection[str] | None) -> Found:
    """Look at the tensors of a GGUF, and at the other files of a split.

    Args:
        source: the bytes of the (first) file; those of the tensors' descriptions are asked for.
        path: of the file.
        header: what it says.
        beside: names of the files beside a remote one, empty where nobody knows; None for a local file, whose other
            shards are read.
    """
    first = gguf_shards.Shard(header, read_tensors(source, header))
    if gguf_shards.count(header) == 1 or not (beside or beside is None):
        split: tuple[str, ...] = ()
    elif beside is None:
        split = gguf_shards.damage(Path(path).name, first, gguf_shards.beside(path), _reader(Path(path).parent))
    else:
        split = gguf_shards.damage(Path(path).name, first, beside, None)
    damage = (*_unread(header), *first.tensors.damage, *split)
    return Found(damage, (*_notes(header), *first.tensors.notes), _weightless(header))


def _weightless(header: Header) -> bool:
    return header.tensors == 0 and gguf_shards.count(header) == 1


def _reader(folder: Path) -> Callable[[str], gguf_shards.Shard]:
    def read(name: str) -> gguf_shards.Shard:
        path = str(folder / name)
        with opening.open_regular(path) as (handle, size):
            source = opening.LocalFile(handle, size)
            header = read_header(source, path, ())
            return gguf_shards.Shard(header, read_tensors(source, header))

    return read


def _unread(header: Header) -> list[str]:
    """What no current llama.cpp reads, although it can be read."""
    clauses = []
    if header.version == _UNREAD_VERSION:
        clauses.append(f"the file is GGUF version 1{_UNREAD[0]}")
    if header.nested:
        clauses.append(f"{shown(header.nested[0])} is an array of arrays{_UNREAD[1]}")
    return clauses


def made_so(clause: str) -> bool:
    """Whether what a clause of damage says was made so: the file fetched anew is the same."""
    return clause.endswith(_UNREAD)


def _notes(header: Header) -> list[str]:
    notes = []
    if header.byte_order == "big":
        notes.append("the file is big-endian: only a llama.cpp on such a machine loads it")
    if _weightless(header):
        notes.append("the file holds no tensors, only a vocabulary or metadata: no engine can answer with it")
    return notes
