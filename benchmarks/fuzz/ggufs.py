"""Keys, values and tensors → the bytes of a GGUF with faults where the format has its joints, and what is in it."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from fuzz.jinja import mutated
from fuzz.texts import damaged, odd, templates

if TYPE_CHECKING:
    from random import Random

TEMPLATE = "tokenizer.chat_template"
STRING, ARRAY = 8, 9
_CODES = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
_BIG = (0, 1, 2, 255, 1 << 16, 1 << 20, (1 << 31) - 1, 1 << 32, (1 << 63) - 1, (1 << 64) - 1)


class Pair(NamedTuple):
    """A key and its value; what is announced of it may be wrong."""

    key: bytes
    kind: int
    content: Any
    length: int | None = None


class Tensor(NamedTuple):
    """A description."""

    name: bytes
    shape: list[int]
    kind: int
    offset: int


class Writer:
    """Bytes, and where a part of the format ends in them."""

    def __init__(self, order: str, version: int, random: Random) -> None:
        self.out = bytearray()
        self.joints: list[int] = []
        self._order, self._random = order, random
        self._length = order + ("I" if version == 1 else "Q")

    def number(self, code: str, value: float) -> None:
        """A number of that struct code; one that does not fit wraps around."""
        size = struct.calcsize(code)
        if code in "fd":
            self.out += struct.pack(self._order + code, value)
        else:
            self.out += (int(value) % (1 << 8 * size)).to_bytes(size, "little" if self._order == "<" else "big")
        self.joints.append(len(self.out))

    def length(self, value: int) -> None:
        """A length or a count."""
        self.number(self._length[1:], value)

    def string(self, raw: bytes, length: int | None = None) -> None:
        """Bytes with a length in front, be it wrong."""
        self.length(len(raw) if length is None else length)
        self.out += raw
        self.joints.append(len(self.out))

    def value(self, kind: int, content: Any, length: int | None = None) -> None:
        """A value; what does not fit its type is made to."""
        if kind == STRING:
            self.string(content if isinstance(content, bytes) else str(content).encode(), length)
        elif kind == ARRAY:
            inner, items = content if isinstance(content, tuple) else (STRING, [])
            self.number("I", inner)
            self.length(len(items) if length is None else length)
            for item in items:
                self.value(inner, item)
        elif kind in _CODES:
            self.number(_CODES[kind], content if isinstance(content, (int, float)) else 1)
        else:
            self.out += self._random.randbytes(8)

    def pair(self, pair: Pair) -> None:
        """A key, its type and its value."""
        self.string(pair.key)
        self.number("I", pair.kind)
        self.value(pair.kind, pair.content, pair.length)


def gguf(random: Random) -> bytes:
    """A GGUF, mostly with a fault or two."""
    pairs, tensors = _pairs(random), _tensors(random)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        _fault(pairs, tensors, random)
    version = random.choice((3, 3, 3, 3, 2, 1))
    writer = Writer(random.choice("<<<<<>"), version, random)
    writer.out += b"GGUF"
    writer.number("I", _mostly(version, random))
    writer.length(_mostly(len(tensors), random))
    writer.length(_mostly(len(pairs), random))
    for pair in pairs:
        writer.pair(pair)
    for tensor in tensors:
        writer.string(tensor.name)
        writer.number("I", _mostly(len(tensor.shape), random))
        for size in tensor.shape:
            writer.length(size)
        writer.number("I", tensor.kind)
        writer.number("Q", tensor.offset)
    raw = bytes(writer.out)
    if tensors:
        raw += bytes(-len(raw) % 32) + bytes(128 * len(tensors))
    kind = random.randrange(10)
    if kind < 2:
        return raw[: random.choice(writer.joints) + random.choice((-1, 0, 0, 1))]
    return damaged(raw, random) if kind == 2 else raw


def _mostly(number: int, random: Random) -> int:
    return number if random.random() < 0.98 else random.choice((*_BIG, number + 1, number - 1))


def _pairs(random: Random) -> list[Pair]:
    tokens = [f"t{number}" for number in range(random.choice((0, 3, 20, 1500)))] + ["<s>", "</s>", "<|im_end|>"]
    source = random.choice(templates()) if random.random() < 0.6 else mutated(random)
    pairs = [
        Pair(b"general.architecture", STRING, b"llama"),
        Pair(b"general.name", STRING, odd(random).encode()),
        Pair(b"tokenizer.ggml.model", STRING, b"gpt2"),
        Pair(b"tokenizer.ggml.tokens", ARRAY, (STRING, tokens)),
        Pair(b"tokenizer.ggml.token_type", ARRAY, (5, [1] * (len(tokens) - 3) + [3] * 3)),
        Pair(b"tokenizer.ggml.bos_token_id", 4, len(tokens) - 3),
        Pair(b"tokenizer.ggml.eos_token_id", 4, len(tokens) - 2),
        Pair(b"tokenizer.ggml.add_bos_token", 7, random.choice((0, 1, 2))),
        Pair(TEMPLATE.encode(), STRING, source.encode("utf-8", "surrogatepass")),
    ]
    if random.random() < 0.3:
        name = random.choice(("tool_use", "default", "rag", odd(random)))
        pairs.append(Pair(f"{TEMPLATE}.{name}".encode(), STRING, mutated(random).encode("utf-8", "surrogatepass")))
    if random.random() < 0.3:
        pairs.insert(random.randrange(len(pairs)), Pair(b"x.scores", ARRAY, (6, [0.5] * 40)))
    return pairs


def _tensors(random: Random) -> list[Tensor]:
    return [Tensor(b"blk.%d.weight" % n, [32], 0, 128 * n) for n in range(random.choice((0, 0, 1, 3, 12)))]


def _fault(pairs: list[Pair], tensors: list[Tensor], random: Random) -> None:
    random.choice(_FAULTS)(pairs, tensors, random)


def _in_a_pair(pairs: list[Pair], tensors: list[Tensor], random: Random) -> None:
    del tensors
    if not pairs:
        return
    at = random.randrange(len(pairs))
    pair = pairs[at]
    text = odd(random).encode() + random.choice((b"", b"\xff\xfe", b"\xc3", b"\xed\xa0\x80"))
    pairs[at] = random.choice(
        (
            pair._replace(kind=random.choice((*_CODES, STRING, ARRAY, 13, 255, 1 << 31))),
            pair._replace(length=random.choice(_BIG)),
            pair._replace(key=odd(random).encode()),
            pair._replace(kind=STRING, content=text),
            pair._replace(kind=random.choice(tuple(_CODES)), content=random.choice(_BIG)),
            pair._replace(kind=ARRAY, content=_nested(random)),
        )
    )


def _among_pairs(pairs: list[Pair], tensors: list[Tensor], random: Random) -> None:
    del tensors
    kind = random.randrange(3)
    if kind == 0 and pairs:
        pairs.insert(0, random.choice(pairs))
    elif kind == 1 and pairs:
        del pairs[random.randrange(len(pairs))]
    else:
        random.shuffle(pairs)


def _further_pair(pairs: list[Pair], tensors: list[Tensor], random: Random) -> None:
    del tensors
    number = random.choice((0, 1, 3, 24, 64, 1 << 20))
    counted = random.choice(
        (b"general.alignment", b"split.count", b"split.no", b"split.tensors.count", b"x.pooling_type")
    )
    named = random.choice((b"eot", b"eom", b"padding", b"unknown", b"bos", b"x"))
    kind = random.choice((4, 5, 10, 11, 6, 7, 8))
    pairs.append(
        random.choice(
            (
                Pair(counted, random.choice((2, 4, 5, 10, STRING)), number),
                Pair(b"general.type", STRING, random.choice((b"mmproj", b"model", b"adapter", b"\xff"))),
                Pair(b"tokenizer.ggml." + named + b"_token_id", kind, random.choice((*_BIG, -1))),
            )
        )
    )


def _long_template(pairs: list[Pair], tensors: list[Tensor], random: Random) -> None:
    del tensors
    content = b"{{ x }}" * (1 << random.choice((3, 12, 18)))
    pairs[:] = [each._replace(content=content) if each.key == TEMPLATE.encode() else each for each in pairs]


def _in_tensors(pairs: list[Pair], tensors: list[Tensor], random: Random) -> None:
    del pairs
    if not tensors:
        return
    tensor = tensors[-1]
    sizes = [random.choice(_BIG) for _ in range(random.randrange(7))]
    changed = (
        tensor._replace(name=tensor.name * random.choice((1, 9, 200))),
        tensor._replace(shape=sizes),
        tensor._replace(kind=random.choice((2, 4, 12, 31, 43, 1 << 31))),
        tensor._replace(offset=random.choice(_BIG)),
        tensor._replace(name=odd(random).encode()),
        tensors[0],
    )
    tensors[-1:] = [*([tensor] if random.random() < 0.3 else []), random.choice(changed)]


_FAULTS = (_in_a_pair, _in_a_pair, _in_a_pair, _among_pairs, _further_pair, _further_pair, _long_template, _in_tensors)


def _nested(random: Random) -> tuple[int, list[Any]]:
    content: tuple[int, list[Any]] = (random.choice((4, STRING)), [1, 2] if random.random() < 0.5 else [])
    if content[0] == STRING:
        content = (STRING, ["a", "\x1b"])
    for _ in range(random.choice((1, 2, 4, 5, 50))):
        content = (ARRAY, [content] * random.choice((1, 2)))
        if len(str(content)) > 20_000:
            break
    return content


# ------------------------------------------------------------------------------------------ the oracle


class Broken(Exception):
    """The bytes are no GGUF that anybody could follow to its last key."""


def read(raw: bytes) -> dict[str, bytes]:
    """Key → bytes of each template: a plain reading of the whole header, sharing no line with the one that is tested.

    Raises:
        Broken: it ends early, has a type that there is none of, or a key twice.
    """
    if raw[:4] != b"GGUF":
        raise Broken
    plain = _Plain(raw)
    found: dict[str, bytes] = {}
    seen: set[bytes] = set()
    plain.integer(plain.width)
    for _ in range(plain.integer(plain.width)):
        key = plain.string()
        if key in seen:
            raise Broken
        seen.add(key)
        content = plain.value(plain.integer(4), 0)
        name = key.decode("utf-8", "replace")
        if name == TEMPLATE or name.startswith(TEMPLATE + "."):
            if content is None:
                raise Broken
            found[name] = content
    return found


class _Plain:
    def __init__(self, raw: bytes) -> None:
        self.raw, self.at = raw, 4
        self.order: Literal["little", "big"] = "little" if int.from_bytes(raw[4:8], "little") in {1, 2, 3} else "big"
        version = self.integer(4)
        if version not in {1, 2, 3}:
            raise Broken
        self.width = 4 if version == 1 else 8

    def integer(self, size: int) -> int:
        return int.from_bytes(self.some(size), self.order)

    def some(self, size: int) -> bytes:
        if self.at + size > len(self.raw):
            raise Broken
        self.at += size
        return self.raw[self.at - size : self.at]

    def string(self) -> bytes:
        return self.some(self.integer(self.width))

    def value(self, kind: int, depth: int) -> bytes | None:
        if kind == STRING:
            return self.string()
        if kind in _CODES:
            self.some(struct.calcsize(_CODES[kind]))
            return None
        if kind != ARRAY or depth > 100:
            raise Broken
        inner, count = self.integer(4), self.integer(self.width)
        if count > len(self.raw):
            raise Broken
        for _ in range(count):
            self.value(inner, depth + 1)
        return None
