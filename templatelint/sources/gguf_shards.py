"""The files that a GGUF was split into → which are missing, and which do not belong together."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from templatelint.errors import TemplatelintError
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any, TypeGuard

    from templatelint.sources.gguf_header import Header
    from templatelint.sources.gguf_tensors import Tensors

# the name that llama.cpp composes (`llama_split_path`), and asks the first file for
_NAME = re.compile(r"(?P<stem>.+)-(?P<number>\d{5})-of-(?P<count>\d{5})\.gguf", re.IGNORECASE)
_NUMBER, _COUNT, _TENSORS = "split.no", "split.count", "split.tensors.count"
_MAX_SHARDS = 1000  # the largest real splits have under 200
_LISTED = 5  # file names in a clause


class Shard(NamedTuple):
    """A file of a split, as far as it was read."""

    header: Header
    tensors: Tensors


def first_shard(name: str) -> str | None:
    """The first file of the split that `name` belongs to, by the naming that llama.cpp asks for."""
    shard = _NAME.fullmatch(name)
    return f"{shard['stem']}-00001-of-{shard['count']}.gguf" if shard else None


def missing_shards(path: str) -> str:
    """Which files of the split are not beside that one of it, in a clause; empty where none is, or nobody knows."""
    shard, there = _NAME.fullmatch(Path(path).name), beside(path)
    total = int(shard["count"]) if shard else 0
    if shard is None or Path(path).name not in there or total > _MAX_SHARDS:
        return ""
    names = [f"{shard['stem']}-{number:05}-of-{shard['count']}.gguf" for number in range(1, total + 1)]
    return _missing(names, there, total)


def _missing(names: list[str], there: Collection[str], total: int) -> str:
    missing = [each for each in names if each not in there]
    verb = "are" if len(missing) > 1 else "is"
    return f"{len(missing):,} of {total:,} shards {verb} missing: {_listed(missing)}" if missing else ""


def count(header: Header) -> int:
    """How many files the model was split into; 1 where it was not."""
    value = header.values.get(_COUNT)
    return value if _is_count(value) and value > 1 else 1


def damage(name: str, first: Shard, there: Collection[str], read: Callable[[str], Shard] | None) -> tuple[str, ...]:
    """What is wrong with a split, a clause each.

    Args:
        name: of the first file.
        first: what it says.
        there: names of the files beside it.
        read: reads one of them, and raises TemplatelintError; None where they are not to be read.
    """
    total = count(first.header)
    if total == 1:
        return ()
    if total > _MAX_SHARDS:
        return (f"{_COUNT} is {total:,}, more files than any model is split into",)
    named = _NAME.fullmatch(name)
    if named is None or int(named["count"]) != total or int(named["number"]) != 1:
        wanted = f"NAME-00001-of-{total:05}.gguf"
        return (f"{_COUNT} is {total:,}, for which llama.cpp asks the first file to be called {wanted}",)
    names = [f"{named['stem']}-{number:05}-of-{named['count']}.gguf" for number in range(2, total + 1)]
    if missing := _missing(names, there, total):
        return (missing,)
    return tuple(_contradictions(first, names, read)) if read is not None else ()


def _contradictions(first: Shard, names: list[str], read: Callable[[str], Shard]) -> list[str]:
    clauses: list[str] = []
    seen = set(first.tensors.names)
    found = first.header.tensors
    doubled = False
    for number, name in enumerate(names, 1):
        try:
            shard = read(name)
        except TemplatelintError as error:
            clauses.append(error.message)
            found = -1
            continue
        clauses += [f"{shown(name)}: {clause}" for clause in shard.tensors.damage]
        clauses += _other_split(name, number, first.header.values, shard.header.values)
        twice = seen & shard.tensors.names
        if twice and not doubled:
            doubled = True
            sample = shown(min(twice).decode("utf-8", "replace"))
            clauses.append(f"{shown(name)} has tensors that another shard has too ({sample}): it is of another model")
        seen |= shard.tensors.names
        found = found + shard.header.tensors if found >= 0 else found
    announced = first.header.values.get(_TENSORS)
    if not clauses and announced != found:
        shards = f"the {len(names) + 1:,} shards have {found:,} tensors"
        said = f"{_TENSORS} is {announced:,}" if _is_count(announced) else f"there is no {_TENSORS}"
        clauses.append(f"{shards}, {said}")
    return clauses


def _other_split(name: str, number: int, first: Mapping[str, Any], values: Mapping[str, Any]) -> list[str]:
    """What a later file says of the split that the first one does not."""
    wrong = {_NUMBER: number}
    # llama.cpp takes these from the first file; where they are others, the file is of another split
    wrong |= {key: first[key] for key in (_COUNT, _TENSORS) if key in first and key in values}
    return [
        f"{shown(name)}: {key} is {values[key]}, not {expected}" if key in values else f"{shown(name)} has no {key}"
        for key, expected in wrong.items()
        if values.get(key) != expected
    ]


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _listed(names: list[str]) -> str:
    more = len(names) - _LISTED
    return ", ".join(map(shown, names[:_LISTED])) + (f" and {more:,} more" if more > 0 else "")


def beside(path: str) -> frozenset[str]:
    """Names of the files in the folder of a file; none where it cannot be listed."""
    try:
        return frozenset(entry.name for entry in Path(path).parent.iterdir())
    except OSError:
        return frozenset()
