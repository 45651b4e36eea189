"""A GGUF's header and a template → the pieces of the file with that template: ranges of the old bytes, and new ones.

Nothing but the template's key and value, the number of keys and the padding before the data changes: offsets of tensors
count from where the data starts, so that their descriptions stay as they are.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from templatelint.sources.gguf_header import TEMPLATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.sources.gguf_header import Header
    from templatelint.sources.gguf_tensors import Tensors

_STRING = 8  # value type
_PREFIX = 8  # bytes of the magic and the version


class Range(NamedTuple):
    """Bytes of the old file."""

    start: int
    end: int


Piece: TypeAlias = "bytes | Range"


def key_of(name: str) -> str:
    """The key under which engines look for the template of that name."""
    return TEMPLATE if name == "default" else f"{TEMPLATE}.{name}"


class Layout(NamedTuple):
    """Where the parts of a file end.

    Attributes:
        described: byte at which the descriptions of the tensors end.
        alignment: what the start of the data is padded to; 1 where there are no tensors.
    """

    described: int
    alignment: int

    @property
    def data(self) -> int:
        """The byte at which the data starts."""
        return -(-self.described // self.alignment) * self.alignment


def layout(header: Header, tensors: Tensors) -> Layout | None:
    """The layout of a file; None where the descriptions of its tensors cannot be followed to their end."""
    if tensors.described is None or tensors.alignment is None:
        return None
    return Layout(tensors.described, tensors.alignment if header.tensors else 1)


def pieces(header: Header, old: Layout, size: int, name: str, template: bytes) -> list[Piece]:
    """What the new file is made of, in its order.

    Args:
        header: of the old file.
        old: its layout.
        size: bytes of the old file.
        name: of the template; `default` for the one without a name.
        template: its UTF-8 bytes.
    """
    order = "<" if header.byte_order == "little" else ">"
    length = Struct(order + ("I" if header.version == 1 else "Q"))
    key = key_of(name).encode()
    kind = Struct(order + "I").pack(_STRING)
    pair = b"".join((length.pack(len(key)), key, kind, length.pack(len(template)), template))
    start, end = header.places.get(key_of(name), (header.end, header.end))
    keys = header.keys + (start == end)
    before = _PREFIX + length.size  # the number of tensors stands in front of that of the keys
    return [
        Range(0, before),
        length.pack(keys),
        Range(before + length.size, start),
        pair,
        Range(end, old.described),
        bytes(-(old.described + len(pair) - (end - start)) % old.alignment),
        Range(min(old.data, size), size),
    ]


def length_of(parts: Sequence[Piece]) -> int:
    """Bytes of the new file."""
    return sum(len(part) if isinstance(part, bytes) else part.end - part.start for part in parts)
