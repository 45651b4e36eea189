"""Bytes of a GGUF file, read where needed → its header, arrays skipped and every length checked first."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import repeat
from struct import Struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from templatelint.errors import TemplatelintError
from templatelint.sources import not_gguf, opening
from templatelint.texts import shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

TEMPLATE = "tokenizer.chat_template"
TOKENS = "tokenizer.ggml.tokens"
KINDS = "tokenizer.ggml.token_type"
ALIGNMENT = "general.alignment"
MODEL = "tokenizer.ggml.model"
_GGML = "tokenizer.ggml."
_ID = "_token_id"

# What is kept of the header; everything else is stepped over.
_KEPT = (_GGML, "general.", "split.")
_KEPT_ENDS = (".pooling_type",)

_MAGIC = b"GGUF"
_VERSIONS = range(1, 4)
_STRING, _ARRAY, _BOOL = 8, 9, 7
_FORMATS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
_INTEGERS = frozenset({0, 1, 2, 3, 4, 5, 10, 11})
_SIZES = {kind: Struct("<" + code).size for kind, code in _FORMATS.items()}
_NAMES = {_STRING: "a string", _ARRAY: "an array", _BOOL: "a boolean", 6: "a float", 12: "a float"}

# Bounds on what a hostile header can make us do. Real ones have under 100 keys, 800,000 strings in arrays and
# 200 KB of text.
_MAX_KEYS = 1 << 16
_MAX_KEY = 1 << 16  # bytes, by the specification
_MAX_TEXT = 1 << 16  # bytes of a kept string that is no template
_MAX_KEPT = 16 << 20  # bytes of keys and kept strings together
_MAX_STRINGS = 1 << 22  # strings and inner arrays stepped over: half a second
_MAX_DEPTH = 4  # arrays of arrays
_ABSURD = 1 << 32  # a length from here on is damage, not a file cut short

_WINDOW = 256 << 10  # bytes read at once
STRIDE = 1024  # tokens between two remembered offsets


class ByteSource(Protocol):
    """Random access to the bytes of a file, wherever it is."""

    @property
    def size(self) -> int:
        """Bytes in the whole file."""

    def read(self, offset: int, count: int, least: int | None = None) -> bytes:
        """`count` bytes from `offset` on, fewer at the end of the file.

        Args:
            offset: counted from 0.
            count: how many are wanted at most.
            least: how many are needed, where fewer than `count` may do: more is not fetched for their sake alone.
        """


class Tokens(NamedTuple):
    """Where a header's tokens stand in the file.

    Attributes:
        marks: offsets of every 1024th token, then of what follows the last.
        width: bytes of the length in front of each text.
        types: value type, offset and number of the token types, as far as the file has them as integers.
    """

    marks: tuple[int, ...]
    width: int
    types: tuple[int, int, int] | None = None


@dataclass(frozen=True)
class Header:
    """What a GGUF header says, as far as it matters to a prompt.

    Attributes:
        version: of the format, 1 to 3.
        byte_order: of all numbers in the file.
        values: scalars and short strings of the keys that are kept, in the file's order.
        templates: name → text, in the file's order.
        vocabulary: number of tokens; None where the file carries none.
        token_texts: key of a token id (`tokenizer.ggml.bos_token_id`) → text of that token.
        shadowed: keys of templates whose name another key has taken.
        tensors: number of tensors that it announces.
        end: offset of what follows the last key, which is the first tensor's description.
        nested: keys that hold arrays of arrays.
        alignment_type: the value type of `general.alignment`; None where there is no such key.
        tokens: where the tokens stand; None where the file carries none.
        keys: number of keys.
        places: key of a template → where that key, its type and its text begin and end in the file.
        default_texts: like `token_texts`, of keys that the file lacks, or whose ids it has no token for.
    """

    version: int
    byte_order: Literal["little", "big"]
    values: Mapping[str, Any]
    templates: Mapping[str, str]
    vocabulary: int | None
    token_texts: Mapping[str, str]
    shadowed: tuple[str, ...] = ()
    tensors: int = 0
    end: int = 0
    nested: tuple[str, ...] = ()
    alignment_type: int | None = None
    tokens: Tokens | None = None
    keys: int = 0
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    default_texts: Mapping[str, str] = field(default_factory=dict)


def read_header(
    source: ByteSource, path: str, ids: Sequence[str], defaults: Mapping[str, Mapping[str, int]] = MappingProxyType({})
) -> Header:
    """Read the header of a GGUF.

    Args:
        source: the file's bytes; only the header's are asked for.
        path: what the user calls the file.
        ids: keys of token ids whose texts are wanted.
        defaults: kind of vocabulary (`tokenizer.ggml.model`) → such keys, with the ids where the file has none.

    Raises:
        TemplatelintError: no GGUF, a version that is not known, cut short, or damaged.
    """
    walk = _Walk(source, path)
    version, order = walk.start()
    tensors = walk.length()
    keys = walk.length()
    if keys > _MAX_KEYS:
        raise walk.damaged(f"announces {keys:,} keys")
    for number in range(1, keys + 1):
        walk.pair(number, keys)
    end = walk.offset
    named = walk.resolve({key: walk.values[key] for key in ids if key in walk.values})
    assumed = defaults.get(walk.values.get(MODEL, ""), {})
    return Header(
        version,
        order,
        walk.values,
        walk.templates,
        walk.vocabulary,
        named,
        tuple(walk.shadowed),
        tensors,
        end,
        tuple(walk.nested),
        walk.alignment_type,
        walk.tokens,
        keys,
        walk.places,
        walk.resolve({key: number for key, number in assumed.items() if key not in named}),
    )


@dataclass
class _Walk:
    """One pass over a header: where it stands, and what it has kept so far."""

    source: ByteSource
    path: str
    values: dict[str, Any] = field(default_factory=dict)
    templates: dict[str, str] = field(default_factory=dict)
    shadowed: list[str] = field(default_factory=list)
    vocabulary: int | None = None
    nested: list[str] = field(default_factory=list)
    alignment_type: int | None = None
    places: dict[str, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._window = b""
        self._base = 0  # offset of the window in the file
        self._at = 0  # offset in the window
        self._order = "<"
        self._length = Struct("<Q")
        self._key = "the beginning"
        self._name = ""
        self._seen: set[str] = set()
        self._kept = 0
        self._strings = 0
        self._marks: list[int] = []  # as Tokens has them
        self._types: tuple[int, int, int] | None = None

    @property
    def offset(self) -> int:
        """Where it stands in the file."""
        return self._base + self._at

    @property
    def tokens(self) -> Tokens | None:
        """Where the tokens stand."""
        return Tokens(tuple(self._marks), self._length.size, self._types) if self.vocabulary is not None else None

    # ---- the parts of a header

    def start(self) -> tuple[int, Literal["little", "big"]]:
        """Magic and version; sets the byte order and the width of lengths."""
        head = self.source.read(0, 64)
        if head[:4] != _MAGIC:
            raise not_gguf.refusal(self.path, head)
        self._at = len(_MAGIC)
        raw = self._take(4)
        little, big = int.from_bytes(raw, "little"), int.from_bytes(raw, "big")
        order: Literal["little", "big"] = "big" if big in _VERSIONS else "little"
        version = big if order == "big" else little
        if version not in _VERSIONS:
            raise TemplatelintError(f"{self.path} has GGUF version {min(little, big):,}, known are 1 to 3")
        self._order = ">" if order == "big" else "<"
        self._length = Struct(self._order + ("I" if version == 1 else "Q"))
        return version, order

    def pair(self, number: int, count: int) -> None:
        """One key and its value."""
        self._key = f"key {number:,} of {count:,}"
        start = self.offset
        size = self.length()
        if size > _MAX_KEY:
            raise self.damaged(f"has a name of {size:,} bytes at {self._key}")
        name = self._keep(size).decode("utf-8", "replace")
        self._key += f" ({shown(name)})"
        if name in self._seen:
            raise self.damaged(f"has the key {shown(name)} twice")
        self._seen.add(name)
        self._name = name
        kind = self._number("I")
        if name == ALIGNMENT:
            self.alignment_type = kind
        if name == TEMPLATE or name.startswith(TEMPLATE + "."):
            self._template(name, kind)
            self.places[name] = start, self.offset
        elif name == TOKENS:
            self._tokens(kind)
        elif name.startswith(_GGML) and name.endswith(_ID) and kind not in _INTEGERS:
            raise TemplatelintError(f"{self.path}: {shown(name)} is {_kind(kind)}, not an integer")
        elif kind == _STRING and _is_kept(name):
            text = self._short_text()
            if text is not None:
                self.values[name] = text
        elif kind in _FORMATS and _is_kept(name):
            self._scalar(name, kind)
        else:
            self._skip(kind, 0)

    def length(self) -> int:
        """A length or a count."""
        (value,) = self._length.unpack(self._take(self._length.size))
        return int(value)

    def resolve(self, ids: Mapping[str, int]) -> dict[str, str]:
        """The texts of those tokens that the vocabulary has."""
        texts = {}
        for key, token in ids.items():
            if self.vocabulary is None or not 0 <= token < self.vocabulary:
                continue
            self._key = f"token {token:,}"
            self._go(self._marks[token // STRIDE])
            self._skip_strings(token % STRIDE)
            text = self._short_text()
            if text is not None:
                texts[key] = text
        return texts

    def damaged(self, what: str) -> TemplatelintError:
        """The error for a header that contradicts itself or the file's size."""
        return TemplatelintError(f"{self.path} {what}, in a file of {self.source.size:,} bytes", help=not_gguf.DAMAGED)

    # ---- values

    def _template(self, key: str, kind: int) -> None:
        if kind != _STRING:
            raise TemplatelintError(f"{self.path}: {shown(key)} is {_kind(kind)}, not a string")
        size = self.length()
        self._require(size)
        if size > opening.MAX_TEMPLATE:
            raise opening.too_large(f"{self.path}: {shown(key)}", size, opening.MAX_TEMPLATE, "a template")
        raw = self._keep(size)
        try:
            source = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            byte = raw[error.start]
            raise TemplatelintError(
                f"{self.path}: {shown(key)} is not UTF-8: byte 0x{byte:02x} at offset {error.start:,} of it"
            ) from error
        name = key[len(TEMPLATE) + 1 :] or "default"
        if name in self.templates:
            self.shadowed.append(TEMPLATE + ".default")
            if key != TEMPLATE:  # the key without a name is the one that engines read
                return
        self.templates[name] = source

    def _tokens(self, kind: int) -> None:
        if kind != _ARRAY or self._number("I") != _STRING:
            raise TemplatelintError(f"{self.path}: {TOKENS} is not an array of strings")
        self.vocabulary = self._string_count()
        for first in range(0, self.vocabulary, STRIDE):
            self._marks.append(self._base + self._at)
            self._skip_strings(min(STRIDE, self.vocabulary - first))
        self._marks.append(self.offset)

    def _scalar(self, key: str, kind: int) -> None:
        value = self._number(_FORMATS[kind])
        self.values[key] = bool(value) if kind == _BOOL else value

    def _short_text(self) -> str | None:
        """The string that stands here; None, and stepped over, where it is longer than such a string is."""
        size = self.length()
        self._require(size)
        if size > _MAX_TEXT:
            self._go(self._base + self._at + size)
            return None
        return self._keep(size).decode("utf-8", "replace")

    def _skip(self, kind: int, depth: int) -> None:
        """Step over a value."""
        if kind in _SIZES:
            self._step(_SIZES[kind])
        elif kind == _STRING:
            self._skip_strings(1)
        elif kind == _ARRAY:
            self._skip_array(depth + 1)
        else:
            raise self.damaged(f"has the unknown value type {kind:,} at {self._key}")

    def _skip_array(self, depth: int) -> None:
        if depth > _MAX_DEPTH:
            raise self.damaged(f"nests arrays more than {_MAX_DEPTH} deep at {self._key}")
        kind = self._number("I")
        if kind == _STRING:
            self._skip_strings(self._string_count())
        elif kind in _SIZES:
            count = self.length()
            if self._name == KINDS and kind in _INTEGERS and depth == 1:
                self._types = kind, self.offset, count
            self._step(count * _SIZES[kind])
        else:
            if kind == _ARRAY and self._name not in self.nested[-1:]:
                self.nested.append(self._name)
            for _ in repeat(None, self._string_count()):
                self._skip(kind, depth)

    def _string_count(self) -> int:
        """The count of an array whose elements have to be walked one by one."""
        count = self.length()
        self._require(count * self._length.size)
        self._strings += count
        if self._strings > _MAX_STRINGS:
            raise self.damaged(f"announces {self._strings:,} strings and more at {self._key}")
        return count

    def _skip_strings(self, count: int) -> None:
        """Step over `count` strings; the loop that a header's time goes into."""
        unpack, width = self._length.unpack_from, self._length.size
        window, at, last = self._window, self._at, len(self._window) - self._length.size
        for _ in repeat(None, count):
            if at > last:
                # A length that leads out of the file is found here, before anything is read for it.
                self._go(self._base + at)
                self._require(width)
                self._fill(width)
                window, at, last = self._window, 0, len(self._window) - width
            at += width + unpack(window, at)[0]
        self._go(self._base + at)

    def _number(self, code: str) -> Any:
        number = Struct(self._order + code)
        (value,) = number.unpack(self._take(number.size))
        return value

    # ---- bytes

    def _keep(self, count: int) -> bytes:
        self._kept += count
        if self._kept > _MAX_KEPT:
            raise self.damaged(f"has more than {_MAX_KEPT:,} bytes of text at {self._key}")
        return self._take(count)

    def _take(self, count: int) -> bytes:
        """The next `count` bytes; what calls it has bounded the count."""
        self._require(count)
        if self._at + count > len(self._window):
            self._fill(count)
        self._at += count
        return self._window[self._at - count : self._at]

    def _step(self, count: int) -> None:
        self._require(count)
        self._go(self._base + self._at + count)

    def _go(self, offset: int) -> None:
        """Stand at an offset of the file, which is checked against its size."""
        if offset > self.source.size:
            raise self._cut_short(offset - self.source.size)
        if self._base <= offset <= self._base + len(self._window):
            self._at = offset - self._base
        else:
            self._window, self._base, self._at = b"", offset, 0

    def _require(self, count: int) -> None:
        missing = self._base + self._at + count - self.source.size
        if missing > 0:
            raise self._cut_short(missing)

    def _fill(self, count: int) -> None:
        """Read a window that begins where we stand and holds at least `count` bytes."""
        offset = self._base + self._at
        self._window = self.source.read(offset, max(count, _WINDOW), count)
        self._base, self._at = offset, 0
        if len(self._window) < count:  # the file has shrunk since its size was taken
            raise self._cut_short(count - len(self._window))

    def _cut_short(self, missing: int) -> TemplatelintError:
        if missing > _ABSURD:
            return self.damaged(f"announces {missing:,} bytes more than it has at {self._key}")
        return TemplatelintError(
            f"{self.path} ends at byte {self.source.size:,}, {missing:,} too early for {self._key}",
            help=not_gguf.INCOMPLETE,
        )


def _is_kept(name: str) -> bool:
    return name.startswith(_KEPT) or name.endswith(_KEPT_ENDS)


def _kind(kind: int) -> str:
    return _NAMES.get(kind, "an integer" if kind in _INTEGERS else f"of the unknown type {kind:,}")
