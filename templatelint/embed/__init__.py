"""A GGUF and a template → the same GGUF with that template, everything else byte for byte."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from templatelint.embed import copying, splicing
from templatelint.errors import TemplatelintError
from templatelint.sources import opening
from templatelint.sources.gguf_header import read_header
from templatelint.sources.gguf_tensors import read_tensors

if TYPE_CHECKING:
    from io import FileIO

    from templatelint.embed.splicing import Layout
    from templatelint.sources.gguf_header import Header
    from templatelint.sources.gguf_tensors import Tensors

_COMPARED = 4096  # bytes of the data that are compared at its start, and at its end
_BLOCK = 512  # bytes; what a file's blocks are counted in, whatever their size


@dataclass(frozen=True)
class Written:
    """What was written.

    Attributes:
        size: bytes of the new file.
        before: the template that stood under the name; None where there was none.
    """

    size: int
    before: str | None


class _File(NamedTuple):
    """A GGUF that is open, as far as it was read."""

    source: opening.LocalFile
    header: Header
    tensors: Tensors
    layout: Layout


def embed(path: str, name: str, template: str, target: Path, progress: copying.Progress | None = None) -> Written:
    """Write a GGUF with another template.

    Args:
        path: the GGUF; of a split, its first shard.
        name: of the template in the file; `default` for the one without a name.
        template: its text.
        target: the file to write, no link; it may be the GGUF itself. It is there whole, or as it was before.
        progress: told how far the copy is.

    Raises:
        TemplatelintError: the GGUF cannot be read, or what follows its keys not understood; the target cannot be
            written, or is not what it has to be when it is read back.
    """
    raw = template.encode()
    with copying.replacing(target, Path(path)) as stream, opening.open_regular(path) as (handle, size):
        old = _read(path, handle, size)
        status = os.fstat(handle.fileno())
        parts = splicing.pieces(old.header, old.layout, size, name, raw)
        copying.need_space(target.parent, _held(status, size) + len(raw), str(target))
        copying.write(handle, parts, stream, target, progress)
        after = os.fstat(handle.fileno())
        if (after.st_size, after.st_mtime_ns) != (status.st_size, status.st_mtime_ns):
            raise TemplatelintError(f"{path} was changed while it was read: nothing was written", help="try again")
        length = splicing.length_of(parts)
        _verify(old, _read(str(target), stream, length), name, template)
    return Written(length, old.header.templates.get(name))


def _read(path: str, handle: FileIO, size: int) -> _File:
    source = opening.LocalFile(handle, size)
    header = read_header(source, path, ())
    tensors = read_tensors(source, header)
    layout = splicing.layout(header, tensors)
    if layout is None:
        raise TemplatelintError(f"{path}: {tensors.damage[0]}", help="the file is damaged: fetch it again")
    return _File(source, header, tensors, layout)


def _held(status: os.stat_result, size: int) -> int:
    """Bytes that a file takes of its disk: fewer than it has where it has holes."""
    return min(size, getattr(status, "st_blocks", size) * _BLOCK)


def _verify(old: _File, new: _File, name: str, template: str) -> None:
    """Compare what was written with what it has to be, before it takes its place.

    Raises:
        TemplatelintError: a fault of ours, or of the disk.
    """
    templates = {**old.header.templates, name: template}
    for what, is_right in (
        ("templates", new.header.templates == templates),
        ("metadata", new.header.values == old.header.values),
        ("tensors", (new.header.tensors, new.tensors.names) == (old.header.tensors, old.tensors.names)),
        ("data", _edges(new) == _edges(old)),
    ):
        if not is_right:
            raise TemplatelintError(f"the {what} were not written as they have to be: nothing was kept")


def _edges(file: _File) -> tuple[int, bytes, bytes]:
    """How much data there is, and how it starts and ends."""
    size = file.source.size
    start = min(file.layout.data, size)
    return size - start, file.source.read(start, _COMPARED), file.source.read(max(start, size - _COMPARED), _COMPARED)
