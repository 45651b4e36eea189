"""Bytes of an encoded body, in any pieces → those that were encoded, never many at once."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_AT_ONCE = 1 << 16  # bytes
_EITHER, _BARE = zlib.MAX_WBITS | 32, -zlib.MAX_WBITS  # with gzip's head or zlib's, and with none
KNOWN = frozenset({"", "gzip", "x-gzip", "deflate"})
"""Encodings that every client unpacks, whether it has asked for them or not."""


def unpacked(parts: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The plain bytes.

    Args:
        parts: of the body, as they come.
        encoding: one of those that are known.

    Raises:
        ValueError: the bytes are not so encoded.
    """
    if not encoding:
        yield from parts
        return
    unpacking = zlib.decompressobj(_EITHER)
    begun = False
    for part in parts:
        rest = part
        while rest and not unpacking.eof:
            try:
                plain = unpacking.decompress(rest, _AT_ONCE)
            except zlib.error as error:
                if begun or encoding != "deflate":
                    raise ValueError(str(error)) from error
                # what the name says, and not what the standard means by it: without zlib's head
                unpacking, begun = zlib.decompressobj(_BARE), True
                continue
            begun = True
            rest = unpacking.unconsumed_tail
            if plain:
                yield plain
    if tail := unpacking.flush():  # the end of a repetition that had no room before
        yield tail
