from __future__ import annotations

import json
import pickle
from typing import TYPE_CHECKING, Any

import pytest

from templatelint.model import Token
from templatelint.sources import resolve
from templatelint.sources.json_vocabulary import JsonVocabulary
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from pathlib import Path

_ADDED = [
    {"id": 4, "content": "<|im_start|>", "special": True},
    {"id": 5, "content": "<tool_call>", "special": False},
]
_OBJECT = {"type": "BPE", "vocab": {"a": 0, "<s>": 1, 'quo"te': 2, "é": 3, "<0x0A>": 7}, "merges": ["a b", "<x> <y>"]}
_LIST = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.5], ["[UNK]", -2], ['quo"te', -3]]}


def _read(
    folder: Path, tokenizer: dict[str, Any], config: dict[str, Any] | None = None, **written: Any
) -> JsonVocabulary:
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, **written), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": "x", **(config or {})}))
    found = resolve(str(folder), reach=Reach(vetting=True)).tokenizer.vocabulary
    assert isinstance(found, JsonVocabulary)
    return found


@pytest.mark.parametrize("written", [{}, {"ensure_ascii": False}, {"indent": 2}, {"separators": (",", ":")}], ids=str)
def test_tokens_are_found_however_the_file_is_written(tmp_path: Path, written: dict[str, Any]) -> None:
    found = _read(tmp_path, {"added_tokens": _ADDED, "model": _OBJECT}, **written)
    assert found.token("<|im_start|>") == Token(4, "<|im_start|>", "control")
    assert found.token("<tool_call>") == Token(5, "<tool_call>", "user-defined")
    assert [found.token(text) for text in ("a", "<s>", 'quo"te', "é", "<0x0A>")] == [
        Token(0, "a", "normal"),
        Token(1, "<s>", "normal"),
        Token(2, 'quo"te', "normal"),
        Token(3, "é", "normal"),
        Token(7, "<0x0A>", "byte"),
    ]
    assert found.special() == (found.token("<|im_start|>"), found.token("<tool_call>"))
    assert found.size == 8


@pytest.mark.parametrize("written", [{}, {"indent": 2}], ids=str)
def test_tokens_of_a_list_have_their_place_as_id(tmp_path: Path, written: dict[str, Any]) -> None:
    found = _read(tmp_path, {"added_tokens": [], "model": _LIST}, **written)
    texts = ("<unk>", "a", "[UNK]", 'quo"te')
    assert [found.token(text) for text in texts] == [Token(at, text, "normal") for at, text in enumerate(texts)]
    assert found.size == len(texts)
    assert found.token("b") is None


@pytest.mark.parametrize(
    "tokenizer",
    [
        {"added_tokens": [], "normalizer": {"<x>": 3}, "model": _OBJECT},
        {"added_tokens": [], "model": {"vocab": {'", "<x>": 3, "': 0}, "merges": []}},
        {"added_tokens": [], "model": {"vocab": {"\\": 0, "b": 1}, "merges": [["<x>", "y"], ["a", "<x>"]]}},
        {"added_tokens": [], "model": {"vocab": {"a<x>": 0, "<x>b": 1, " <x>": 2}}},
        {"added_tokens": [], "model": {"vocab": [["a", -1], ['["<x>", -1', -1], [" <x>", -1]]}},
        {"added_tokens": [{"id": "x", "content": "<x>"}, {"id": 1, "content": 7}, "<x>"], "model": {"vocab": {}}},
        {"added_tokens": {"<x>": 1}},
    ],
    ids=["other member", "inside a text", "merges", "longer texts", "inside a text of a list", "no ids", "no list"],
)
def test_what_only_looks_like_a_token_is_none(tmp_path: Path, tokenizer: dict[str, Any]) -> None:
    assert _read(tmp_path, tokenizer).token("<x>") is None


def test_tokens_that_the_config_adds_are_tokens(tmp_path: Path) -> None:
    decoder = {
        "9": {"content": "<|eot|>", "special": True},
        "4": {"content": "<|im_start|>", "special": False},
        "x": {"content": "<x>"},
        "7": "<y>",
    }
    found = _read(tmp_path, {"added_tokens": _ADDED, "model": _OBJECT}, {"added_tokens_decoder": decoder})
    assert found.token("<|eot|>") == Token(9, "<|eot|>", "control")
    assert found.token("<|im_start|>") == Token(4, "<|im_start|>", "control")  # as tokenizer.json has it
    assert found.token("<x>") is None
    assert found.token("<y>") is None


def test_named_special_tokens_that_the_file_lacks_are_tokens_behind_all_others(tmp_path: Path) -> None:
    config = {"eos_token": "<|eos|>", "unk_token": "<s>", "additional_special_tokens": ["<|im_start|>", "<|extra|>"]}
    found = _read(tmp_path, {"added_tokens": _ADDED, "model": _OBJECT}, config)
    assert found.token("<|eos|>") == Token(8, "<|eos|>", "control")
    assert found.token("<|extra|>") == Token(9, "<|extra|>", "control")
    assert found.token("<s>") == Token(1, "<s>", "control")
    assert found.token("<|other|>") is None


@pytest.mark.parametrize(
    "vocabulary",
    [
        '["' + "a" * (1 << 20),
        '["' + "\\\\" * (1 << 20),
        '{"a": ' + "9" * 5000 + ', "b": 1',
        '["a" ' * 50_000,
        '{"a"' * 50_000,
    ],
    ids=["text", "escapes", "digits", "lists", "objects"],
)
def test_what_is_no_json_costs_no_more(tmp_path: Path, vocabulary: str) -> None:
    found = _read(tmp_path, {"added_tokens": _ADDED})
    text = json.dumps({"added_tokens": _ADDED})[:-1]
    (tmp_path / "tokenizer.json").write_text(f'{text}, "model": {{"vocab": {vocabulary}')
    assert found.token("a") is None
    assert found.size == 6  # those of the added tokens alone


def test_a_vocabulary_goes_to_another_process_without_what_it_has_read(tmp_path: Path) -> None:
    found = _read(tmp_path, {"added_tokens": _ADDED, "model": _OBJECT})
    assert found.token("a") is not None
    sent = pickle.dumps(found)
    assert b"merges" not in sent
    assert pickle.loads(sent).token("a") == found.token("a")  # noqa: S301 (our own bytes)


@pytest.mark.parametrize("text", [None, "{", '{"added_tokens": ['], ids=["absent", "cut short", "cut in its tokens"])
def test_a_folder_without_a_readable_tokenizer_has_no_vocabulary(tmp_path: Path, text: str | None) -> None:
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "x", "added_tokens_decoder": {}}')
    if text is not None:
        (tmp_path / "tokenizer.json").write_text(text)
    assert resolve(str(tmp_path), reach=Reach(vetting=True)).tokenizer.vocabulary is None


def test_a_config_that_is_named_alone_has_the_vocabulary_beside_it(tmp_path: Path) -> None:
    _read(tmp_path, {"added_tokens": _ADDED, "model": _OBJECT})
    path = str(tmp_path / "tokenizer_config.json")
    assert resolve(path, reach=Reach(vetting=True)).tokenizer.vocabulary is not None
    assert resolve(path).tokenizer.vocabulary is None
