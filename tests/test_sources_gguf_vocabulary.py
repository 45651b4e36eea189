from __future__ import annotations

import pickle
import struct
from typing import TYPE_CHECKING

import pytest
from gguf_bytes import ARRAY, Value, header, number, text, texts

from templatelint.model import Token
from templatelint.sources import resolve
from templatelint.sources.gguf_vocabulary import GgufVocabulary
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)


def _types(*kinds: int, kind: int = 5) -> Value:
    return Value(ARRAY, [number(kind, one) for one in kinds])


def _read(folder: Path, tokens: Sequence[str | bytes], types: Value | None = None, **how: object) -> GgufVocabulary:
    path = folder / "model.gguf"
    pairs = [("tokenizer.ggml.tokens", texts(*tokens)), ("general.name", text("a name"))]
    pairs += [("tokenizer.ggml.token_type", types)] if types is not None else []
    path.write_bytes(header(pairs, **how))  # type: ignore[arg-type]
    found = resolve(str(path), reach=Reach(vetting=True)).tokenizer.vocabulary
    assert isinstance(found, GgufVocabulary)
    return found


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("order", ["<", ">"])
def test_tokens_are_found_with_their_ids_and_types(tmp_path: Path, version: int, order: str) -> None:
    tokens = ["<unk>", "<s>", "a", "<｜User｜>", "<0x0A>", "[PAD5]", ""]
    types = _types(_UNKNOWN, _CONTROL, _NORMAL, _USER_DEFINED, _BYTE, _UNUSED, _NORMAL)
    found = _read(tmp_path, tokens, types, version=version, order=order)
    assert found.size == len(tokens)
    assert found.token("<｜User｜>") == Token(3, "<｜User｜>", "user-defined")
    kinds = [token.type for token in map(found.token, tokens) if token is not None]
    assert kinds == ["unknown", "control", "normal", "user-defined", "byte", "unused", "normal"]
    assert found.special() == (Token(1, "<s>", "control"), Token(3, "<｜User｜>", "user-defined"))
    assert found.token("User") is None


def test_ids_beyond_the_first_stretch_of_tokens_are_right(tmp_path: Path) -> None:
    tokens = [f"t{at}" for at in range(5000)]
    kinds = [_CONTROL if at in {0, 1023, 1024, 4999} else _NORMAL for at in range(5000)]
    found = _read(tmp_path, tokens, _types(*kinds))
    assert [token.id for token in found.special()] == [0, 1023, 1024, 4999]
    for at in (0, 1023, 1024, 2047, 2048, 4999):
        assert found.token(f"t{at}") == Token(at, f"t{at}", "control" if kinds[at] == _CONTROL else "normal")


def test_what_only_looks_like_a_token_inside_another_is_none(tmp_path: Path) -> None:
    inside = struct.pack("<Q", 4) + b"fake"
    tokens: list[str | bytes] = [b"x" + inside, inside, "real"]
    assert _read(tmp_path, tokens).token("fake") is None
    # more look-alikes than are looked into
    many: list[str | bytes] = [b"x" + inside * 1500, "fake", b"y" + inside * 1500]
    assert _read(tmp_path, many).token("fake") == Token(1, "fake", "normal")
    assert _read(tmp_path, [many[0], many[2]]).token("fake") is None


def test_of_tokens_with_one_text_the_last_counts(tmp_path: Path) -> None:
    assert _read(tmp_path, ["<s>", "a", "<s>"], _types(_NORMAL, _NORMAL, _CONTROL)).token("<s>") == Token(
        2, "<s>", "control"
    )


@pytest.mark.parametrize(
    "types",
    [None, _types(_CONTROL), _types(_CONTROL, _CONTROL, kind=10), texts("3", "3")],
    ids=["none", "too few", "other integers", "texts"],
)
def test_types_that_no_engine_could_read_make_every_token_a_normal_one(tmp_path: Path, types: Value | None) -> None:
    found = _read(tmp_path, ["<s>", "a"], types)
    assert found.token("<s>") == Token(0, "<s>", "normal")
    assert found.special() == ()


def test_a_vocabulary_goes_to_another_process(tmp_path: Path) -> None:
    found = _read(tmp_path, ["<s>", "a"], _types(_CONTROL, _NORMAL))
    assert pickle.loads(pickle.dumps(found)) == found  # noqa: S301 (our own bytes)


def test_without_vetting_no_vocabulary_is_read(tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(header([("tokenizer.ggml.tokens", texts("<s>"))]))
    assert resolve(str(path)).tokenizer.vocabulary is None


@pytest.mark.parametrize("tokens", [[], None], ids=["empty", "absent"])
def test_a_file_without_tokens_has_no_vocabulary(tmp_path: Path, tokens: list[str] | None) -> None:
    path = tmp_path / "model.gguf"
    pairs = [("general.name", text("a name"))]
    pairs += [("tokenizer.ggml.tokens", texts(*tokens))] if tokens is not None else []
    path.write_bytes(header(pairs))
    assert resolve(str(path), reach=Reach(vetting=True)).tokenizer.vocabulary is None
