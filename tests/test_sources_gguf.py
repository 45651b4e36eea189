from __future__ import annotations

import random
import struct
import tracemalloc
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from gguf_bytes import ARRAY, STRING, Value, flag, header, number, text, texts, u32

from templatelint.errors import TemplatelintError
from templatelint.lint import Options, lint
from templatelint.sources import resolve
from templatelint.sources.gguf_header import Header, read_header

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

BOS, EOS = "tokenizer.ggml.bos_token_id", "tokenizer.ggml.eos_token_id"
TOKENS = "tokenizer.ggml.tokens"

MODEL: list[tuple[str | bytes, Value]] = [
    ("general.architecture", text("llama")),
    ("general.name", text("Tiny é")),
    ("general.base_model.count", u32(1)),
    ("general.base_model.0.repo_url", text("https://example.org/base")),
    ("general.tags", texts("a", "b")),
    ("llama.rope.freq_base", number(6, 10000.0)),
    ("split.no", number(2, 0)),
    ("split.count", number(2, 3)),
    ("tokenizer.ggml.model", text("gpt2")),
    ("tokenizer.ggml.pre", text("qwen2")),
    (TOKENS, texts("<unk>", "<s>", "</s>", "<|eot|>", "<|eom|>", "<pad>", "", "\U0001f600")),
    ("tokenizer.ggml.scores", Value(ARRAY, [number(6, 0.5)] * 8)),
    ("tokenizer.ggml.token_type", Value(ARRAY, [number(5, 1)] * 8)),
    ("tokenizer.ggml.merges", texts("a b", "c d")),
    ("nested", Value(ARRAY, [texts("x", ""), texts(), Value(ARRAY, [u32(1), u32(2)])])),
    ("doubles", Value(ARRAY, [number(12, 0.5)])),
    (BOS, u32(1)),
    (EOS, number(5, 2)),
    ("tokenizer.ggml.unknown_token_id", number(10, 0)),
    ("tokenizer.ggml.padding_token_id", number(0, 5)),
    ("tokenizer.ggml.eot_token_id", u32(3)),
    ("tokenizer.ggml.eom_token_id", u32(4)),
    ("tokenizer.ggml.mask_token_id", u32(7)),
    ("tokenizer.ggml.add_bos_token", flag(True)),
    ("tokenizer.ggml.add_eos_token", flag(False)),
    ("tokenizer.chat_template.tool_use", text("tools\r\n")),
    ("tokenizer.chat_template", text("{{ 'é' }}")),
    ("tokenizer.chat_templates", texts("tool_use")),
]


def save(folder: Path, raw: bytes, name: str = "model.gguf") -> str:
    (folder / name).write_bytes(raw)
    return str(folder / name)


@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
@pytest.mark.parametrize("version", [1, 2, 3])
def test_every_version_and_byte_order(version: int, order: str, tmp_path: Path) -> None:
    path = save(tmp_path, header(MODEL, version=version, order=order) + b"tensors")
    model = resolve(path)
    assert (model.ref, model.kind, model.local, model.notes) == (path, "gguf", False, ())
    assert [(template.name, template.source) for template in model.templates] == [
        ("default", "{{ 'é' }}"),
        ("tool_use", "tools\r\n"),
    ]
    origin = model.templates[0].origin
    assert (origin.path, origin.text, origin.locatable) == (path, "{{ 'é' }}", False)
    tokenizer = model.tokenizer
    assert tokenizer.special_tokens == {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "mask_token": "\U0001f600",
    }
    assert (tokenizer.assumed, tokenizer.add_bos, tokenizer.add_eos) == (False, True, False)
    assert tokenizer.stop_tokens == ("</s>", "<|eot|>", "<|eom|>")
    facts = tokenizer.facts
    assert (facts["tokenizer.ggml.model"], facts["tokenizer.ggml.pre"], facts["vocabulary"]) == ("gpt2", "qwen2", 8)
    assert (facts["eot_token"], facts[BOS]) == ("<|eot|>", 1)
    assert model.metadata == {
        "gguf.version": version,
        "gguf.byte_order": "little" if order == "<" else "big",
        "general.architecture": "llama",
        "general.name": "Tiny é",
        "general.base_model.count": 1,
        "general.base_model.0.repo_url": "https://example.org/base",
        "split.no": 0,
        "split.count": 3,
    }


@pytest.mark.parametrize(
    ("pairs", "reason"),
    [
        ([("general.type", text("model"))], ""),
        ([("general.type", text("mmproj")), ("general.architecture", text("clip"))], "general.type is mmproj"),
        ([("general.type", text("adapter")), ("general.architecture", text("llama"))], "general.type is adapter"),
        ([("general.type", text("imatrix"))], "general.type is imatrix"),
        ([("general.architecture", text("llama"))], ""),
        ([("general.architecture", text("clip"))], "general.architecture is clip"),
        ([("general.architecture", text("nomic-bert"))], "general.architecture is nomic-bert"),
        ([("general.architecture", text("qwen3")), ("qwen3.pooling_type", u32(3))], "qwen3.pooling_type is 3"),
        ([("general.architecture", text("qwen3")), ("qwen3.pooling_type", u32(0))], ""),
        ([("general.type", text("adapter")), ("tokenizer.chat_template", text("{{ messages }}"))], ""),
    ],
)
def test_what_nobody_chats_with_needs_no_template(
    pairs: Sequence[tuple[str, Value]], reason: str, tmp_path: Path
) -> None:
    model = resolve(save(tmp_path, header(pairs)))
    assert model.not_for_chat == reason
    assert model.notes == ((f"no chat model: {reason}",) if reason else ())
    told = {finding.rule for finding in lint([model], Options(select=("TL601",), jobs=1)).findings}
    assert told == (set() if reason or model.templates else {"TL601"})


@pytest.mark.parametrize("endianess", ["LITTLE", "BIG"])
def test_what_the_gguf_package_writes(endianess: str, tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf", reason="the gguf package is not installed")
    path = tmp_path / "written.gguf"
    writer = gguf.GGUFWriter(path, "llama", endianess=getattr(gguf.GGUFEndian, endianess))
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([f"token {index}" for index in range(3000)])
    writer.add_token_types([1] * 3000)
    writer.add_bos_token_id(2999)
    writer.add_eos_token_id(0)
    writer.add_add_bos_token(value=False)
    writer.add_chat_template([{"name": "default", "template": "D"}, {"name": "tool use", "template": "TU"}])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    model = resolve(str(path))
    assert {template.name: template.source for template in model.templates} == {"default": "D", "tool_use": "TU"}
    assert model.tokenizer.special_tokens == {"bos_token": "token 2999", "eos_token": "token 0"}
    assert model.tokenizer.add_bos is False


NONE: dict[str, list[tuple[str | bytes, Value]]] = {
    "nothing": [],
    "no-vocabulary": [("general.type", text("mmproj"))],
    "empty-vocabulary": [(TOKENS, texts())],
}


@pytest.mark.parametrize("pairs", NONE.values(), ids=NONE)
def test_no_template(pairs: list[tuple[str | bytes, Value]], tmp_path: Path) -> None:
    model = resolve(save(tmp_path, header(pairs)))
    assert (model.templates, dict(model.tokenizer.special_tokens), model.tokenizer.stop_tokens) == ((), {}, ())


NOTES: dict[str, tuple[list[tuple[str | bytes, Value]], dict[str, str], str]] = {
    "id-behind-the-vocabulary": (
        [(TOKENS, texts("a", "b")), (BOS, u32(2)), (EOS, u32(1))],
        {"eos_token": "b"},
        f"{BOS} is 2, and the file has 2 tokens: that token stays unset",
    ),
    "negative-id": (
        [(TOKENS, texts("a", "b")), (BOS, number(5, -1))],
        {},
        f"{BOS} is -1, and the file has 2 tokens: that token stays unset",
    ),
    "no-vocabulary": ([(BOS, u32(2))], {}, f"{BOS} is 2, and the file has no vocabulary: that token stays unset"),
}


@pytest.mark.parametrize(("pairs", "tokens", "note"), NOTES.values(), ids=NOTES)
def test_ids_without_text(
    pairs: list[tuple[str | bytes, Value]], tokens: dict[str, str], note: str, tmp_path: Path
) -> None:
    model = resolve(save(tmp_path, header(pairs)))
    assert (dict(model.tokenizer.special_tokens), model.notes) == (tokens, (note,))


@pytest.mark.parametrize("keys", [("", ".default"), (".default", "")], ids=["plain-first", "plain-last"])
def test_two_defaults(keys: Sequence[str], tmp_path: Path) -> None:
    pairs = [(f"tokenizer.chat_template{key}", text(key or "plain")) for key in keys]
    model = resolve(save(tmp_path, header(pairs)))
    assert [(template.name, template.source) for template in model.templates] == [("default", "plain")]
    assert model.notes == ("tokenizer.chat_template.default is ignored: tokenizer.chat_template has the same name",)


# ------------------------------------------------------------------------------- only what is needed is read


@dataclass
class Bytes:
    """A source of bytes that counts what it is asked for; behind its data zeros stand, if it claims to be larger."""

    data: bytes
    size: int = -1
    reads: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.size = len(self.data) if self.size < 0 else self.size

    def read(self, offset: int, count: int, least: int | None = None) -> bytes:
        del least
        count = min(count, self.size - offset)
        assert count <= 1 << 21, "a read as large as some announced length"
        self.reads.append((offset, count))
        return self.data[offset : offset + count].ljust(count, b"\0")


def read(source: Bytes, ids: Sequence[str] = (BOS, EOS)) -> Header:
    return read_header(source, "x.gguf", ids)


def test_tokens_across_windows_and_strides() -> None:
    chosen = random.Random(7)  # noqa: S311 (the same vocabulary in every run)
    vocabulary = [chosen.choice(["", "a", "é", "token " * 40]) + str(index) for index in range(20_000)]
    wanted = [0, 1, 1023, 1024, 1025, 2047, 19_999, *(chosen.randrange(20_000) for _ in range(60))]
    ids = {f"tokenizer.ggml.x{position}_token_id": token for position, token in enumerate(wanted)}
    raw = header([*((key, u32(token)) for key, token in ids.items()), (TOKENS, texts(*vocabulary))])
    assert len(raw) > 4 * (256 << 10)
    assert read(Bytes(raw), tuple(ids)).token_texts == {key: vocabulary[token] for key, token in ids.items()}


def test_large_values_are_stepped_over() -> None:
    long = "x" * (3 << 20)
    floats = Value(ARRAY, struct.pack("<IQ", 6, 1 << 20) + bytes(4 << 20))
    pairs = [("a", text(long)), ("b", floats), ("c", texts(long)), ("general.description", text(long)), (BOS, u32(0))]
    raw = header([*pairs, (TOKENS, texts(long, "b")), (EOS, u32(1)), ("tokenizer.chat_template", text("T"))])
    source = Bytes(raw)
    found = read(source)
    assert (found.templates, found.token_texts) == ({"default": "T"}, {EOS: "b"})
    assert "general.description" not in found.values
    assert sum(count for _, count in source.reads) < len(raw) // 5


def test_tensors_are_not_read() -> None:
    raw = header(MODEL)
    source = Bytes(raw, size=1 << 40)
    assert read(source).templates["default"] == "{{ 'é' }}"
    assert sum(count for _, count in source.reads) < 1 << 20


# ------------------------------------------------------------------------------- bad files

T = "tokenizer.chat_template"
HUGE = (1 << 64) - 1


def length(value: int) -> bytes:
    return struct.pack("<Q", value)


BAD: dict[str, tuple[bytes, str, str | None]] = {
    "empty": (b"", " is empty", "incomplete"),
    "lfs-pointer": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n",
        " is a Git LFS pointer",
        "git lfs pull",
    ),
    "html": (b"  <!doctype HTML>\n<html>", " is an HTML page", "raw file"),
    "html-without-doctype": (b"<html lang=en>", " is an HTML page", "raw file"),
    "json-error": (b'{"error":"Not found"}', ' is text, no GGUF: "{"error":"Not found"}"', "fetch the file again"),
    "word-of-a-server": (b"Entry not found", ' is text, no GGUF: "Entry not found"', "fetch the file again"),
    "binary": (b"\x7fELF\2\1\1\0\0", r' is no GGUF: it starts with "\x7fELF\x02\x01\x01\x00"', "damaged"),
    "zip": (b"PK\x03\x04\x14\0\0\0", " is a zip archive, as PyTorch's checkpoints are, no GGUF", "convert_hf_to_gguf"),
    "pickle": (b"\x80\x02}q\0.", " is a Python pickle, as older PyTorch checkpoints are, no GGUF", "convert"),
    "gzip": (b"\x1f\x8b\x08\0\0", " is compressed with gzip, no GGUF", "decompress"),
    "safetensors": (b'\x40\0\0\0\0\0\0\0{"__metadata__":', " is a safetensors file, no GGUF", "convert"),
    "zeros": (bytes(100), " is no GGUF: it starts with zero bytes", "reserve"),
    "short": (b"GGU", ' is no GGUF: it starts with "GGU"', None),
    "ggml": (b"tjgg" + bytes(20), " is a GGML file from before GGUF", "convert"),
    "magic-alone": (b"GGUF", " ends at byte 4, 4 too early for the beginning", "incomplete"),
    "version-0": (header([], version=0), " has GGUF version 0, known are 1 to 3", None),
    "version-4": (header([], version=4), " has GGUF version 4, known are 1 to 3", None),
    "version-4-big": (header([], version=4, order=">"), " has GGUF version 4, known are 1 to 3", None),
    "magic-and-noise": (b"GGUF" + b"\x9a\x5c\xe1\x07" * 16, " has GGUF version 132,209,818, known are 1 to 3", None),
    "absurd-key-count": (header([], keys=HUGE), " announces 18,446,744,073,709,551,615 keys", "damaged"),
    "too-many-keys": (header([], keys=70_000) + bytes(1 << 20), " announces 70,000 keys", "damaged"),
    "more-keys-than-there-are": (header([("a", u32(1))], keys=2), " ends at byte ", "incomplete"),
    "absurd-key-length": (
        header([], keys=1) + length(1 << 40),
        " has a name of 1,099,511,627,776 bytes at key 1 of 1",
        "damaged",
    ),
    "key-cut": (
        header([], keys=1) + length(20) + b"tokenizer.",
        " ends at byte 42, 10 too early for key 1 of 1",
        "incomplete",
    ),
    "template-cut": (
        header([(T, text("x" * 90))])[:-40],
        " ends at byte 117, 40 too early for key 1 of 1 (tokenizer.chat_template)",
        "incomplete",
    ),
    "template-absurd": (
        header([(T, Value(STRING, b""))])[:-8] + length(1 << 40),
        " announces 1,099,511,627,776 bytes more than it has at key 1 of 1 (tokenizer.chat_template)",
        "damaged",
    ),
    "template-huge": (
        header([(T, text("x" * ((1 << 20) + 1)))]),
        ": tokenizer.chat_template has 1,048,577 bytes, more than the 1,048,576 a template may have",
        None,
    ),
    "template-not-utf-8": (
        header([(T, text(b"abc\xff"))]),
        ": tokenizer.chat_template is not UTF-8: byte 0xff at offset 3 of it",
        None,
    ),
    "template-number": (header([(T, u32(1))]), ": tokenizer.chat_template is an integer, not a string", None),
    "template-array": (header([(T, texts("a"))]), ": tokenizer.chat_template is an array, not a string", None),
    "named-template-float": (
        header([(T + ".rag", number(6, 1))]),
        ": tokenizer.chat_template.rag is a float, not",
        None,
    ),
    "template-of-unknown-type": (
        header([(T, Value(77, b""))]),
        ": tokenizer.chat_template is of the unknown type 77",
        None,
    ),
    "template-twice": (
        header([(T, text("a")), (T, text("b"))]),
        " has the key tokenizer.chat_template twice",
        "damaged",
    ),
    "key-twice": (header([("a", u32(1)), ("a", u32(1))]), " has the key a twice", "damaged"),
    "control-characters-in-a-key": (
        header([(b"\x1b[31m\n\xff", u32(1))] * 2),
        r" has the key \x1b[31m\n\ufffd twice",
        "damaged",
    ),
    "unknown-type": (header([("a", Value(13, b""))]), " has the unknown value type 13 at key 1 of 1 (a)", "damaged"),
    "unknown-array-type": (
        header([("a", Value(ARRAY, struct.pack("<IQ", 99, 1) + bytes(20)))]),
        " has the unknown value type 99 at key 1 of 1 (a)",
        "damaged",
    ),
    "array-count-absurd": (
        header([("a", Value(ARRAY, struct.pack("<IQ", 6, HUGE)))]),
        " announces 73,786,976,294,838,206,460 bytes more than it has at key 1 of 1 (a)",
        "damaged",
    ),
    "array-cut": (
        header([("tokenizer.ggml.scores", Value(ARRAY, struct.pack("<IQ", 6, 1000) + bytes(400)))]),
        ", 3,600 too early for key 1 of 1 (tokenizer.ggml.scores)",
        "incomplete",
    ),
    "string-array-count-absurd": (
        header([(TOKENS, Value(ARRAY, struct.pack("<IQ", STRING, HUGE)))]),
        " announces 147,573,952,589,676,412,920 bytes more than it has at key 1 of 1 (tokenizer.ggml.tokens)",
        "damaged",
    ),
    "string-in-array-cut": (
        header([(TOKENS, texts("a", "b", "c" * 50))])[:-9],
        ", 9 too early for key 1 of 1 (tokenizer.ggml.tokens)",
        "incomplete",
    ),
    "length-in-array-cut": (
        header([(TOKENS, texts("a" * 30, "b" * 30, "c"))])[:-45],
        " too early for key 1 of 1 (tokenizer.ggml.tokens)",
        "incomplete",
    ),
    "string-in-array-absurd": (
        header([(TOKENS, Value(ARRAY, struct.pack("<IQQ", STRING, 1, HUGE)))]),
        " bytes more than it has at key 1 of 1 (tokenizer.ggml.tokens)",
        "damaged",
    ),
    "tokens-no-strings": (
        header([(TOKENS, Value(ARRAY, [u32(1)]))]),
        ": tokenizer.ggml.tokens is not an array of strings",
        None,
    ),
    "tokens-no-array": (header([(TOKENS, u32(1))]), ": tokenizer.ggml.tokens is not an array of strings", None),
    "id-no-number": (header([(BOS, text("<s>"))]), f": {BOS} is a string, not an integer", None),
    "id-float": (header([(BOS, number(6, 1))]), f": {BOS} is a float, not an integer", None),
    "nesting-bomb": (
        header([("a", Value(ARRAY, struct.pack("<IQ", ARRAY, 1) * 2000 + struct.pack("<IQ", 4, 0)))]),
        " nests arrays more than 4 deep at key 1 of 1 (a)",
        "damaged",
    ),
    "second-shard": (
        header([("split.no", number(2, 1)), ("split.count", number(2, 3))]),
        " is shard 2 of 3 and carries no template",
        "give the first: the file whose name has 00001",
    ),
}


@pytest.mark.parametrize(("raw", "message", "cure"), BAD.values(), ids=BAD)
def test_bad_file(raw: bytes, message: str, cure: str | None, tmp_path: Path) -> None:
    path = save(tmp_path, raw)
    with pytest.raises(TemplatelintError) as caught:
        resolve(path)
    assert caught.value.message.startswith(path)
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert cure is None or cure in str(caught.value.help)


def test_later_shard_names_the_first(tmp_path: Path) -> None:
    path = save(tmp_path, header([("split.no", number(2, 1)), ("split.count", number(2, 3))]), "m-00002-of-00003.gguf")
    with pytest.raises(TemplatelintError) as caught:
        resolve(path)
    assert caught.value.help == f"give the first: {tmp_path / 'm-00001-of-00003.gguf'}"


def test_gguf_without_its_ending(tmp_path: Path) -> None:
    path = save(tmp_path, header(MODEL), "sha256-0123")
    assert resolve(path).kind == "gguf"


# ------------------------------------------------------------------------------- hostile headers

WORK = {
    "strings": header([("a", Value(ARRAY, struct.pack("<IQ", STRING, 1 << 30)))]),
    "arrays": header([("a", Value(ARRAY, struct.pack("<IQ", ARRAY, 1 << 30)))]),
    "many-string-arrays": header(
        [("a", Value(ARRAY, struct.pack("<IQ", ARRAY, 3) + struct.pack("<IQ", STRING, 1 << 24)))]
    ),
}


@pytest.mark.parametrize("raw", WORK.values(), ids=WORK)
def test_work_announced_by_a_sparse_file_is_refused(raw: bytes) -> None:
    source = Bytes(raw, size=1 << 45)
    with pytest.raises(TemplatelintError, match=r"announces [0-9,]+ strings and more at key 1 of 1 \(a\)"):
        read(source)
    assert len(source.reads) < 5


def test_text_beyond_all_measure_is_refused() -> None:
    pairs = [(f"tokenizer.chat_template.{index}", text("x" * (1 << 20))) for index in range(20)]
    with pytest.raises(TemplatelintError, match=r"has more than 16,777,216 bytes of text at key 16 of 20"):
        read(Bytes(header(pairs)))


def test_a_file_that_shrinks_while_it_is_read() -> None:
    source = Bytes(header(MODEL), size=1 << 20)
    source.read = lambda offset, count, *_: source.data[offset : offset + count]  # type: ignore[method-assign]
    assert read(source).templates["default"] == "{{ 'é' }}"
    source.data = source.data[:300]
    with pytest.raises(TemplatelintError, match="too early for key"):
        read(source)


def test_every_cut_is_reported() -> None:
    raw = header(MODEL)
    for size in range(len(raw)):
        with pytest.raises(TemplatelintError, match=r"^x\.gguf (is empty|is no GGUF|ends at byte)"):
            read(Bytes(raw[:size]))


def mutated(raw: bytes, chosen: random.Random) -> bytes:
    """The bytes with one to three places overwritten, often by what a length or a type might be."""
    out = bytearray(raw)
    for _ in range(chosen.randint(1, 3)):
        at = chosen.randrange(4, len(out))
        size = chosen.choice([1, 4, 8])
        value = chosen.choice([0, 1, 8, 9, 255, 1 << 16, 1 << 20, (1 << 31) - 1, 1 << 40, HUGE, chosen.getrandbits(64)])
        out[at : at + size] = (value & ((1 << 8 * size) - 1)).to_bytes(size, chosen.choice(["little", "big"]))
    return bytes(out[: chosen.randrange(len(out))] if chosen.random() < 0.1 else out)


@pytest.mark.parametrize(("version", "order"), [(3, "<"), (1, "<"), (2, ">")])
def test_mutations_end_in_a_header_or_one_sentence(version: int, order: str) -> None:
    chosen = random.Random(20261129 + version)  # noqa: S311 (the same mutations in every run)
    raw = header(MODEL, version=version, order=order)
    refusals = []
    tracemalloc.start()
    try:
        for _ in range(1500):
            source = Bytes(mutated(raw, chosen), size=1 << 34 if chosen.random() < 0.1 else -1)
            try:
                read(source)
            except TemplatelintError as error:
                refusals.append(error.message)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 100 < len(refusals) < 1400
    assert [message for message in refusals if not message.startswith("x.gguf") or not message.isprintable()] == []
    assert peak < 32 << 20


def test_a_later_shard_says_which_others_are_missing(tmp_path: Path) -> None:
    for at in (2, 4):
        raw = header([("split.no", number(2, at - 1)), ("split.count", number(2, 4))])
        (tmp_path / f"m-0000{at}-of-00004.gguf").write_bytes(raw)
    with pytest.raises(TemplatelintError) as raised:
        resolve(str(tmp_path / "m-00002-of-00004.gguf"))
    missing = "2 of 4 shards are missing: m-00001-of-00004.gguf, m-00003-of-00004.gguf"
    assert raised.value.message.endswith(f"is shard 2 of 4 and carries no template; {missing}")
