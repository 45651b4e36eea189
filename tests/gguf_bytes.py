"""Keys and typed values → the bytes of a GGUF header, of any version and byte order, right or wrong."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
STRING, ARRAY = 8, 9


class Value(NamedTuple):
    """A value with its type; an array's items are values of one type, or raw bytes that stand for them."""

    kind: int
    content: Any


class Tensor(NamedTuple):
    """A description: lengths, the innermost first; type (0 is F32); offset in the data."""

    name: str
    shape: tuple[int, ...]
    kind: int = 0
    offset: int = 0


def text(value: str | bytes) -> Value:
    return Value(STRING, value.encode() if isinstance(value, str) else value)


def texts(*values: str | bytes) -> Value:
    return Value(ARRAY, [text(value) for value in values])


def number(kind: int, value: float) -> Value:
    return Value(kind, value)


def u32(value: int) -> Value:
    return number(4, value)


def flag(value: bool) -> Value:
    return number(7, value)


def header(
    pairs: Sequence[tuple[str | bytes, Value]],
    *,
    version: int = 3,
    order: str = "<",
    keys: int | None = None,
    magic: bytes = b"GGUF",
) -> bytes:
    """The bytes of a header; `keys` announces another number of keys than there are."""
    length = struct.Struct(order + ("I" if version == 1 else "Q"))

    def string(raw: bytes) -> bytes:
        return length.pack(len(raw)) + raw

    def body(value: Value) -> bytes:
        if value.kind == STRING:
            return string(value.content)
        if value.kind == ARRAY:
            if isinstance(value.content, bytes):
                return value.content
            kind = value.content[0].kind if value.content else STRING
            items = b"".join(body(item) for item in value.content)
            return struct.pack(order + "I", kind) + length.pack(len(value.content)) + items
        if value.kind in FORMATS:
            return struct.pack(order + FORMATS[value.kind], value.content)
        return bytes(value.content)

    parts = [
        magic,
        struct.pack(order + "I", version),
        length.pack(0),
        length.pack(len(pairs) if keys is None else keys),
    ]
    for key, value in pairs:
        raw = key.encode() if isinstance(key, str) else key
        parts += [string(raw), struct.pack(order + "I", value.kind), body(value)]
    return b"".join(parts)


def described(raw: bytes, tensors: Sequence[Tensor], announced: int | None = None) -> bytes:
    """A header with descriptions of tensors behind it; `announced` says another number of them than there are."""
    order = ">" if raw[4:6] == b"\0\0" else "<"
    length = struct.Struct(order + ("I" if 1 in (raw[4], raw[7]) else "Q"))
    count = length.pack(len(tensors) if announced is None else announced)
    parts = [raw[:8], count, raw[8 + length.size :]]
    for tensor in tensors:
        name = tensor.name.encode()
        parts += [length.pack(len(name)), name, struct.pack(order + "I", len(tensor.shape))]
        parts += [length.pack(size) for size in tensor.shape]
        parts.append(struct.pack(order + "IQ", tensor.kind, tensor.offset))
    return b"".join(parts)


def padded(raw: bytes, alignment: int = 32) -> bytes:
    """The bytes up to the next multiple of the alignment."""
    return raw + bytes(-len(raw) % alignment)


def from_json(pairs: Mapping[str, Any]) -> bytes:
    """The bytes of a header whose values JSON gives: integers are 32 bits wide, in lists with a sign."""
    return header([(key, _value(value)) for key, value in pairs.items()])


def _value(value: Any) -> Value:
    if isinstance(value, list):
        return Value(ARRAY, [text(one) if isinstance(one, str) else number(5, one) for one in value])
    if isinstance(value, bool):
        return flag(value)
    return text(value) if isinstance(value, str) else u32(value)
