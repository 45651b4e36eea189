"""The descriptions of a GGUF's tensors, behind its keys → what of them contradicts itself or the file's size."""

from __future__ import annotations

from dataclasses import dataclass, field
from struct import Struct
from typing import TYPE_CHECKING

from templatelint.sources.gguf_header import ALIGNMENT
from templatelint.texts import shown

if TYPE_CHECKING:
    from templatelint.sources.gguf_header import ByteSource, Header

# Type of a tensor → elements and bytes of a block: `type_traits` of ggml.c with the structs of ggml-common.h
# (llama.cpp b11549). Numbers that are left out were never given, or are those of types that ggml has removed.
_BLOCKS = {
    0: (1, 4),  # F32
    1: (1, 2),  # F16
    2: (32, 18),  # Q4_0
    3: (32, 20),  # Q4_1
    6: (32, 22),  # Q5_0
    7: (32, 24),  # Q5_1
    8: (32, 34),  # Q8_0
    9: (32, 36),  # Q8_1
    10: (256, 84),  # Q2_K
    11: (256, 110),  # Q3_K
    12: (256, 144),  # Q4_K
    13: (256, 176),  # Q5_K
    14: (256, 210),  # Q6_K
    15: (256, 292),  # Q8_K
    16: (256, 66),  # IQ2_XXS
    17: (256, 74),  # IQ2_XS
    18: (256, 98),  # IQ3_XXS
    19: (256, 50),  # IQ1_S
    20: (32, 18),  # IQ4_NL
    21: (256, 110),  # IQ3_S
    22: (256, 82),  # IQ2_S
    23: (256, 136),  # IQ4_XS
    24: (1, 1),  # I8
    25: (1, 2),  # I16
    26: (1, 4),  # I32
    27: (1, 8),  # I64
    28: (1, 8),  # F64
    29: (256, 56),  # IQ1_M
    30: (1, 2),  # BF16
    34: (256, 54),  # TQ1_0
    35: (256, 66),  # TQ2_0
    39: (32, 17),  # MXFP4
    40: (64, 36),  # NVFP4
    41: (128, 18),  # Q1_0
    42: (64, 18),  # Q2_0
}
_REMOVED = frozenset({4, 5, 31, 32, 33, 36, 37, 38})

# Of gguf.cpp (`gguf_init_from_reader`) and ggml.h.
_DIMENSIONS = 4  # GGML_MAX_DIMS
_NAME = 64  # GGML_MAX_NAME: a name has fewer bytes
_ELEMENTS = (1 << 63) - 1
_PADDED = 32  # the alignment where the file gives none
_U32 = 4  # value type of the alignment

# Bounds on what a hostile file can make us do. Real models have under 100,000 tensors (one an expert).
_MAX_TENSORS = 1 << 17
_MAX_TEXT = 1 << 10  # bytes of a name from which on the descriptions are no descriptions
_WINDOW = 64 << 10  # bytes read at once


@dataclass(frozen=True)
class Tensors:
    """What the descriptions say.

    Attributes:
        names: of the tensors, as bytes; all of them where the descriptions are whole.
        described: byte of the file at which the descriptions end; None where they are broken.
        alignment: what the data and each tensor in it is padded to; None where the file gives none that is one.
        end: byte of the file at which the data ends; None where that cannot be told.
        damage: what contradicts itself or the file's size, a clause each.
        notes: what a user may want to know.
    """

    names: frozenset[bytes]
    described: int | None
    alignment: int | None
    end: int | None
    damage: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_tensors(source: ByteSource, header: Header) -> Tensors:
    """Read the descriptions of the tensors; of the data, not a byte."""
    faults = _Faults()
    alignment = _alignment(header, faults)
    if header.tensors > _MAX_TENSORS:
        faults.add("count", f"announces {header.tensors:,} tensors, more than any model has")
        return Tensors(frozenset(), None, alignment, None, faults.clauses())
    reader = _Reader(source, header)
    names: set[bytes] = set()
    layout = _Layout(alignment)
    try:
        for number in range(header.tensors):
            name = reader.name(number)
            shape, kind, offset = reader.shape(name), reader.number("I"), reader.number("Q")
            _judge_name(name, names, faults)
            layout.place(name, offset, _size(name, shape, kind, faults), faults)
    except _Broken as broken:
        faults.add("broken", broken.clause)
        return Tensors(frozenset(names), None, alignment, None, faults.clauses())
    if header.tensors == 0 or alignment is None or not layout.known:
        return Tensors(frozenset(names), reader.at, alignment, None, faults.clauses())
    end = -(-reader.at // alignment) * alignment + layout.end
    missing = end - source.size
    if missing > 0:
        share = source.size * 100 // end
        gone = f"{missing:,} bytes are missing" if missing > 1 else "1 byte is missing"
        clause = f"tensor data ends at byte {end:,}, the file at {source.size:,}: {gone}"
        faults.add("short", f"{clause} ({share} % of the file is there)")
    surplus = source.size - (end + -layout.end % alignment)
    notes = (f"{surplus:,} bytes follow the tensor data",) if surplus > 0 else ()
    return Tensors(frozenset(names), reader.at, alignment, end, faults.clauses(), notes)


def _alignment(header: Header, faults: _Faults) -> int | None:
    """What offsets are multiples of; None where the file gives something else than a power of two."""
    if header.alignment_type is None:
        return _PADDED
    value = header.values.get(ALIGNMENT)
    if header.alignment_type != _U32:
        faults.add("alignment", f"{ALIGNMENT} is no unsigned 32-bit integer, which llama.cpp refuses")
        return None
    if not isinstance(value, int) or value <= 0 or value & (value - 1):
        faults.add("alignment", f"{ALIGNMENT} is {value:,}, not a power of two")
        return None
    return value


def _judge_name(name: bytes, seen: set[bytes], faults: _Faults) -> None:
    if len(name) >= _NAME:
        faults.add("name", f"tensor {shown(_text(name))} has a name of {len(name)} bytes, llama.cpp takes {_NAME - 1}")
    if name in seen:
        faults.add("twice", f"tensor {shown(_text(name))} is there twice")
    seen.add(name)


def _size(name: bytes, shape: tuple[int, ...], kind: int, faults: _Faults) -> int | None:
    """Bytes of a tensor; None where its type or shape says none."""
    label = f"tensor {shown(_text(name))}"
    if kind not in _BLOCKS:
        gone = "a type that llama.cpp has removed" if kind in _REMOVED else "which llama.cpp does not know"
        faults.add("type", f"{label} has the type {kind:,}, {gone}")
        return None
    elements = 1
    for length in shape:
        elements *= length
    # llama.cpp takes a length for signed, and multiplies them one by one
    if any(length > _ELEMENTS for length in shape) or elements > _ELEMENTS:
        faults.add("shape", f"{label} has the absurd shape {' × '.join(f'{length:,}' for length in shape)}")
        return None
    block, size = _BLOCKS[kind]
    if shape and shape[0] % block:
        faults.add("row", f"{label} has rows of {shape[0]:,} elements, no multiple of its type's blocks of {block}")
        return None
    if not shape and block > 1:
        faults.add("row", f"{label} is a single element of a type with blocks of {block}")
        return None
    return elements // block * size


@dataclass
class _Layout:
    """Where the tensors stand in the data: llama.cpp refuses whatever is not one behind the other, padded."""

    alignment: int | None
    known: bool = True
    end: int = 0  # of the last tensor, counted from the start of the data

    def place(self, name: bytes, offset: int, size: int | None, faults: _Faults) -> None:
        """Put a tensor behind those before it."""
        if size is None or self.alignment is None:
            self.known = False
        if not self.known or size is None or self.alignment is None:
            return
        expected = -(-self.end // self.alignment) * self.alignment
        if offset != expected:
            faults.add("offset", f"tensor {shown(_text(name))} {self._wrong(offset, expected)}")
        self.end = expected + size

    def _wrong(self, offset: int, expected: int) -> str:
        start = f"starts at byte {offset:,} of the tensor data"
        if self.alignment and offset % self.alignment:
            return f"{start}, no multiple of the alignment of {self.alignment}"
        if offset < expected:
            return f"{start}, and what stands before it ends at {self.end:,}: they overlap"
        return f"{start}, llama.cpp expects it at {expected:,}"


@dataclass
class _Faults:
    """The first fault of each kind, and how many of it there are."""

    found: dict[str, list[str]] = field(default_factory=dict)
    count: dict[str, int] = field(default_factory=dict)

    def add(self, kind: str, clause: str) -> None:
        self.found.setdefault(kind, [clause])
        self.count[kind] = self.count.get(kind, 0) + 1

    def clauses(self) -> tuple[str, ...]:
        more = {kind: f" ({number - 1:,} more like it)" if number > 1 else "" for kind, number in self.count.items()}
        return tuple(clause + more[kind] for kind, (clause,) in self.found.items())


class _Broken(Exception):
    """The descriptions end, or are none: nothing behind can be read."""

    def __init__(self, clause: str) -> None:
        super().__init__(clause)
        self.clause = clause


class _Reader:
    """Stands in the descriptions; a window of the file at a time."""

    def __init__(self, source: ByteSource, header: Header) -> None:
        self.at = header.end  # in the file
        self._source = source
        self._count = header.tensors
        self._tensor = ""
        self._window = b""
        self._base = header.end
        order = "<" if header.byte_order == "little" else ">"
        self._numbers = {code: Struct(order + code) for code in "IQ"}
        # the first version of the format had short lengths, of names and of dimensions
        self._length = "I" if header.version == 1 else "Q"

    def number(self, code: str) -> int:
        """The next number."""
        number = self._numbers[code]
        (value,) = number.unpack(self._take(number.size))
        return int(value)

    def name(self, number: int) -> bytes:
        """The name that stands next."""
        self._tensor = f"tensor {number + 1:,} of {self._count:,}"
        size = self.number(self._length)
        if size > _MAX_TEXT:
            raise _Broken(f"{self._tensor} has a name of {size:,} bytes")
        return self._take(size)

    def shape(self, name: bytes) -> tuple[int, ...]:
        """The lengths that stand next, the innermost first."""
        self._tensor += f" ({shown(_text(name))})"
        dimensions = self.number("I")
        if dimensions > _DIMENSIONS:
            raise _Broken(f"{self._tensor} has {dimensions:,} dimensions, more than the {_DIMENSIONS} there may be")
        return tuple(self.number(self._length) for _ in range(dimensions))

    def _take(self, count: int) -> bytes:
        start = self.at - self._base
        if start + count > len(self._window):
            self._window, self._base, start = self._source.read(self.at, max(count, _WINDOW), count), self.at, 0
            if len(self._window) < count:
                raise _Broken(f"the file ends at byte {self._source.size:,}, within the description of {self._tensor}")
        self.at += count
        return self._window[start : start + count]


def _text(name: bytes) -> str:
    return name.decode("utf-8", "replace")
