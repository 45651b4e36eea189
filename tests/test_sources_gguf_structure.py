from __future__ import annotations

from typing import TYPE_CHECKING

import gguf
import pytest
from gguf_bytes import ARRAY, Tensor, Value, described, header, number, padded, text, u32

from templatelint.engines.llamacpp.loaded import Ends
from templatelint.engines.llamacpp.server import Bounds, NotReady, serving
from templatelint.engines.llamacpp.tiny_gguf import write
from templatelint.lint import Options, lint
from templatelint.sources import gguf_tensors, resolve
from templatelint.sources.gguf import from_source
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gguf_bytes import Value as AnyValue

    from templatelint.model import Model

TEMPLATE = ("tokenizer.chat_template", text("{{ messages[0].content }}"))
A, B = Tensor("a.weight", (32, 4), 0, 0), Tensor("b.weight", (64,), 2, 512)  # 512 bytes, 36 bytes


def vetted(path: Path, raw: bytes) -> Model:
    path.write_bytes(raw)
    return resolve(str(path), reach=Reach(vetting=True))


def model(
    tensors: Sequence[Tensor] = (A, B), pairs: Sequence[tuple[str, AnyValue]] = (), data: int = 576, alignment: int = 32
) -> bytes:
    return padded(described(header([TEMPLATE, *pairs]), tensors), alignment) + bytes(data)


START = len(model(data=0))


def test_the_table_of_blocks_is_that_of_the_gguf_package() -> None:
    theirs = {int(kind): size for kind, size in gguf.constants.GGML_QUANT_SIZES.items()}
    theirs[9] = (32, 36)  # it stands for a form that ggml gave up
    assert {**theirs, 42: (64, 18)} == gguf_tensors._BLOCKS  # noqa: SLF001 (facts, compared)


SOUND = {
    "padded": model(),
    "last-padding-missing": model(data=512 + 36),
    "scalar": model((Tensor("s", ()),), data=4),
    "empty-tensor": model((Tensor("a", (0,)), Tensor("b", (1,))), data=4),
    "alignment-64": model((A, B._replace(offset=512)), [("general.alignment", u32(64))], 576, 64),
    "alignment-8": model((Tensor("a", (1,)), Tensor("b", (1,), 0, 8)), [("general.alignment", u32(8))], 12, 8),
    "big-endian": padded(described(header([TEMPLATE], order=">"), [A, B])) + bytes(576),
}


@pytest.mark.parametrize("raw", SOUND.values(), ids=SOUND.keys())
def test_nothing_is_wrong_with_a_whole_file(raw: bytes, tmp_path: Path) -> None:
    assert vetted(tmp_path / "m.gguf", raw).damage == ()


def short(data: int, missing: str) -> str:
    end, there = START + 548, START + data
    share = there * 100 // end
    return f"tensor data ends at byte {end}, the file at {there}: {missing} ({share} % of the file is there)"


LONG = "n" * 64
TWO = described(header([TEMPLATE]), [A, B])
BAD: dict[str, tuple[bytes, str]] = {
    "short": (
        model(data=100),
        short(100, "448 bytes are missing"),
    ),
    "one-byte-short": (
        model(data=547),
        short(547, "1 byte is missing"),
    ),
    "overlap": (
        model((A, B._replace(offset=256))),
        "tensor b.weight starts at byte 256 of the tensor data, and what stands before it ends at 512: they overlap",
    ),
    "gap": (
        model((A, B._replace(offset=1024)), data=2000),
        "tensor b.weight starts at byte 1,024 of the tensor data, llama.cpp expects it at 512",
    ),
    "outside": (
        model((A, B._replace(offset=1 << 40))),
        "tensor b.weight starts at byte 1,099,511,627,776 of the tensor data, llama.cpp expects it at 512",
    ),
    "unaligned": (
        model((A, B._replace(offset=513))),
        "tensor b.weight starts at byte 513 of the tensor data, no multiple of the alignment of 32",
    ),
    "several": (
        model((A._replace(offset=32), B._replace(offset=1024))),
        "tensor a.weight starts at byte 32 of the tensor data, llama.cpp expects it at 0 (1 more like it)",
    ),
    "twice": (model((A, A._replace(offset=512)), data=1024), "tensor a.weight is there twice"),
    "long-name": (
        model((Tensor(LONG, (1,)),)),
        f"tensor {LONG} has a name of 64 bytes, llama.cpp takes 63",
    ),
    "unknown-type": (model((A._replace(kind=139),)), "tensor a.weight has the type 139, which llama.cpp does not know"),
    "removed-type": (
        model((A._replace(kind=31),)),
        "tensor a.weight has the type 31, a type that llama.cpp has removed",
    ),
    "half-a-block": (
        model((Tensor("a", (48,), 2),)),
        "tensor a has rows of 48 elements, no multiple of its type's blocks of 32",
    ),
    "absurd-shape": (
        model((Tensor("a", (1 << 40, 1 << 40)),)),
        "tensor a has the absurd shape 1,099,511,627,776 × 1,099,511,627,776",
    ),
    "negative-length": (
        model((Tensor("a", (1 << 63,)),)),
        "tensor a has the absurd shape 9,223,372,036,854,775,808",
    ),
    "dimensions": (
        model((Tensor("a", (1,) * 5),)),
        "tensor 1 of 1 (a) has 5 dimensions, more than the 4 there may be",
    ),
    "alignment-24": (model(pairs=[("general.alignment", u32(24))]), "general.alignment is 24, not a power of two"),
    "alignment-0": (model(pairs=[("general.alignment", u32(0))]), "general.alignment is 0, not a power of two"),
    "alignment-u64": (
        model(pairs=[("general.alignment", number(10, 32))]),
        "general.alignment is no unsigned 32-bit integer, which llama.cpp refuses",
    ),
    "alignment-text": (
        model(pairs=[("general.alignment", text("32"))]),
        "general.alignment is no unsigned 32-bit integer, which llama.cpp refuses",
    ),
    "cut-in-descriptions": (
        TWO[:-10],
        f"the file ends at byte {len(TWO) - 10}, within the description of tensor 2 of 2 (b.weight)",
    ),
    "more-announced": (
        described(header([TEMPLATE]), [A], 3),
        f"the file ends at byte {len(described(header([TEMPLATE]), [A]))}, within the description of tensor 2 of 3",
    ),
    "absurd-count": (
        described(header([TEMPLATE]), [], 1 << 40),
        "announces 1,099,511,627,776 tensors, more than any model has",
    ),
    "absurd-name": (
        described(header([TEMPLATE]), [], 1) + b"\xff" * 8 + bytes(100),
        "tensor 1 of 1 has a name of 18,446,744,073,709,551,615 bytes",
    ),
    "version-1": (
        header([TEMPLATE], version=1),
        "the file is GGUF version 1, which llama.cpp reads no more",
    ),
    "nested-arrays": (
        model(pairs=[("x.y", Value(ARRAY, [Value(ARRAY, [u32(1)])]))]),
        "x.y is an array of arrays, which llama.cpp refuses",
    ),
}


@pytest.mark.parametrize(("raw", "clause"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_is_one_clause(raw: bytes, clause: str, tmp_path: Path) -> None:
    assert vetted(tmp_path / "m.gguf", raw).damage == (clause,)


def test_a_name_reaches_a_message_as_plain_text(tmp_path: Path) -> None:
    (clause,) = vetted(tmp_path / "m.gguf", model((A._replace(name="\x1b[2J" + "é" * 20, kind=99),))).damage
    assert clause.startswith("tensor \\x1b[2J\\xe9")


def test_each_clause_is_a_finding_of_vet_and_none_of_lint(tmp_path: Path) -> None:
    damaged = vetted(tmp_path / "m.gguf", model((A, A._replace(offset=512), B._replace(kind=57))))
    report = lint([damaged], Options(select=("TL609",), vetting=True))
    assert [(found.severity, found.message) for found in report.findings] == [
        ("error", clause) for clause in damaged.damage
    ]
    assert len(damaged.damage) == 2
    assert resolve(str(tmp_path / "m.gguf")).damage == ()
    assert lint([damaged], Options()).findings == lint([resolve(str(tmp_path / "m.gguf"))], Options()).findings


NOTES = {
    "vocabulary-only": (header([TEMPLATE]), "the file holds no tensors, only a vocabulary or metadata"),
    "trailing": (model(data=576 + 40), "40 bytes follow the tensor data"),
    "big-endian": (SOUND["big-endian"], "the file is big-endian"),
}


@pytest.mark.parametrize(("raw", "note"), NOTES.values(), ids=NOTES.keys())
def test_what_is_odd_and_not_wrong_is_a_note(raw: bytes, note: str, tmp_path: Path) -> None:
    found = vetted(tmp_path / "m.gguf", raw)
    assert found.damage == ()
    assert any(each.startswith(note) for each in found.notes)


def test_of_the_data_not_a_byte_is_read() -> None:
    class Bytes:
        def __init__(self, raw: bytes, size: int) -> None:
            self.raw, self.size, self.last = raw, size, 0

        def read(self, offset: int, count: int, least: int | None = None) -> bytes:
            self.last = max(self.last, offset + (count if least is None else least))
            return self.raw[offset : offset + count] + bytes(max(0, offset + count - len(self.raw)))

    huge = Tensor("a", (1 << 32,), 0)
    raw = described(header([TEMPLATE]), [huge])
    source = Bytes(raw, len(padded(raw)) + (1 << 34))
    assert from_source(source, "m.gguf", "m.gguf", vetting=True).damage == ()
    assert source.last <= len(raw)
    (clause,) = from_source(Bytes(raw, 1 << 33), "m.gguf", "m.gguf", vetting=True).damage
    assert "(49 % of the file is there)" in clause


# --------------------------------------------------------------------------------------- splits


def split(folder: Path, files: Sequence[tuple[Sequence[Tensor], dict[str, int]]]) -> Path:
    for place, (tensors, values) in enumerate(files, 1):
        pairs = [(f"split.{key}", number(2 if key != "tensors.count" else 5, value)) for key, value in values.items()]
        raw = padded(described(header([TEMPLATE, *pairs] if place == 1 else pairs), tensors)) + bytes(512)
        (folder / f"m-{place:05}-of-{len(files):05}.gguf").write_bytes(raw)
    return folder / f"m-00001-of-{len(files):05}.gguf"


def shards(**changed: int) -> list[tuple[Sequence[Tensor], dict[str, int]]]:
    files: list[tuple[Sequence[Tensor], dict[str, int]]] = [
        ((A._replace(name=f"{place}.weight"),), {"no": place, "count": 3, "tensors.count": 3} | changed)
        for place in range(3)
    ]
    return files


def test_a_whole_split_is_sound(tmp_path: Path) -> None:
    assert resolve(str(split(tmp_path, shards())), reach=Reach(vetting=True)).damage == ()


def test_missing_shards_are_named(tmp_path: Path) -> None:
    first = split(tmp_path, shards())
    (tmp_path / "m-00002-of-00003.gguf").unlink()
    assert resolve(str(first), reach=Reach(vetting=True)).damage == ("1 of 3 shards is missing: m-00002-of-00003.gguf",)
    (tmp_path / "m-00003-of-00003.gguf").unlink()
    assert resolve(str(first), reach=Reach(vetting=True)).damage == (
        "2 of 3 shards are missing: m-00002-of-00003.gguf, m-00003-of-00003.gguf",
    )


def test_shards_on_a_server_are_asked_for_by_name_only(tmp_path: Path) -> None:
    first = split(tmp_path, shards())

    class Bytes:
        raw = first.read_bytes()
        size = len(raw)

        def read(self, offset: int, count: int, least: int | None = None) -> bytes:
            del least
            return self.raw[offset : offset + count]

    for names, count in (({"m-00002-of-00003.gguf"}, 1), ((), 0), ({f"m-0000{n}-of-00003.gguf" for n in (2, 3)}, 0)):
        assert len(from_source(Bytes(), f"hub/{first.name}", "hub", vetting=True, beside=names).damage) == count


def foreign() -> Iterator[tuple[str, list[tuple[Sequence[Tensor], dict[str, int]]], str]]:
    yield "wrong-number", [*shards()[:2], shards(no=1)[2]], "m-00003-of-00003.gguf: split.no is 1, not 2"
    yield "no-number", [*shards()[:2], (shards()[2][0], {})], "m-00003-of-00003.gguf has no split.no"
    other = (shards()[2][0], {"no": 2, "count": 3, "tensors.count": 9})
    yield "other-split", [*shards()[:2], other], "m-00003-of-00003.gguf: split.tensors.count is 9, not 3"
    same = (shards()[0][0], shards()[2][1])
    yield (
        "other-model",
        [*shards()[:2], same],
        "m-00003-of-00003.gguf has tensors that another shard has too (0.weight): it is of another model",
    )
    counted = [(tensors, values | {"tensors.count": 4}) for tensors, values in shards()]
    yield "tensors-missing", counted, "the 3 shards have 3 tensors, split.tensors.count is 4"
    short = (A._replace(name="2.weight", shape=(32, 5)),)
    yield "cut", [*shards()[:2], (short, shards()[2][1])], "m-00003-of-00003.gguf: tensor data ends at byte "
    yield (
        "name",
        shards(count=4),
        "split.count is 4, for which llama.cpp asks the first file to be called NAME-00001-of",
    )
    yield "absurd", shards(count=60_000), "split.count is 60,000, more files than any model is split into"


FOREIGN = {name: (files, clause) for name, files, clause in foreign()}


@pytest.mark.parametrize(("files", "clause"), FOREIGN.values(), ids=FOREIGN.keys())
def test_shards_that_do_not_belong_together(
    files: list[tuple[Sequence[Tensor], dict[str, int]]], clause: str, tmp_path: Path
) -> None:
    (found,) = resolve(str(split(tmp_path, files)), reach=Reach(vetting=True)).damage
    assert found.startswith(clause)


def test_a_shard_that_is_no_gguf_is_told(tmp_path: Path) -> None:
    first = split(tmp_path, shards())
    later = tmp_path / "m-00002-of-00003.gguf"
    later.write_bytes(b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n")
    assert resolve(str(first), reach=Reach(vetting=True)).damage == (
        f"{later} is a Git LFS pointer, not the file itself",
    )


# ----------------------------------------------------------------------------------- llama.cpp itself

TINY = write({"default": "{{ messages[0].content }}"}, Ends())
FIRST_OFFSET = TINY.index(b"output.weight") + len(b"output.weight") + 4 + 16 + 4
DAMAGED = {
    "whole": TINY,
    "short": TINY[:-32],
    "overlap": TINY[:FIRST_OFFSET] + bytes(8) + TINY[FIRST_OFFSET + 8 :],
    "type": TINY[: FIRST_OFFSET - 4] + b"\x63" + TINY[FIRST_OFFSET - 3 :],
    "twice": TINY.replace(b"blk.0.attn_k.weight", b"blk.0.attn_q.weight"),
}


@pytest.mark.parametrize("raw", DAMAGED.values(), ids=DAMAGED.keys())
def test_llama_cpp_starts_with_what_is_sound_and_with_nothing_else(raw: bytes, tmp_path: Path) -> None:
    from templatelint.engines.llamacpp.real import real

    pytest.importorskip("xllamacpp")
    try:
        with serving(real()._command, raw, Bounds(20.0, 5.0)):  # noqa: SLF001 (how it is started)
            starts = True
    except NotReady:
        starts = False
    assert starts is not bool(vetted(tmp_path / "m.gguf", raw).damage)
