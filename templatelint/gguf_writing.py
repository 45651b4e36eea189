"""Metadata and tensors → the bytes of a GGUF."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

U32, I32, F32, BOOL, STRING, ARRAY = 4, 5, 6, 7, 8, 9  # types of metadata, as the GGUF specification numbers them
NORMAL, CONTROL, USER_DEFINED = 1, 3, 4  # types of tokens
SINGLE, HALF = 0, 1  # types of tensors: four bytes a value, or two
_WIDTHS = {SINGLE: 4, HALF: 2}
_ALIGNMENT = 32
_FORMATS = {U32: "<I", I32: "<i", F32: "<f", BOOL: "<?"}


class Tensor(NamedTuple):
    """A tensor.

    Attributes:
        shape: lengths, the innermost first.
        kind: `SINGLE` or `HALF`.
        data: its values, little-endian; None for zeros.
    """

    name: str
    shape: tuple[int, ...]
    kind: int = SINGLE
    data: bytes | None = None

    @property
    def size(self) -> int:
        """Bytes of its values."""
        size = _WIDTHS[self.kind]
        for length in self.shape:
            size *= length
        return size


def gguf(values: Mapping[str, tuple[int, Any]], tensors: Sequence[Tensor]) -> bytes:
    """The file.

    Args:
        values: key → type and value; of an array, the value is the type of its items, and these.
        tensors: in the order in which they are to stand there.
    """
    out = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)))
    for key, (kind, value) in values.items():
        out += _string(key) + struct.pack("<I", kind) + _value(kind, value)
    offset = 0
    for tensor in tensors:
        lengths = len(tensor.shape)
        out += _string(tensor.name) + struct.pack(f"<I{lengths}QIQ", lengths, *tensor.shape, tensor.kind, offset)
        offset += tensor.size + _gap(tensor.size)
    out += bytes(_gap(len(out)))
    for tensor in tensors:
        out += bytes(tensor.size) if tensor.data is None else tensor.data
        out += bytes(_gap(tensor.size))
    return bytes(out)


def _gap(size: int) -> int:
    """Bytes up to the next place where a tensor may start."""
    return -size % _ALIGNMENT


def _value(kind: int, value: Any) -> bytes:
    if kind == STRING:
        return _string(value)
    if kind == ARRAY:
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(_value(inner, item) for item in items)
    return struct.pack(_FORMATS[kind], value)


def _string(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(raw)) + raw
