"""What is said of tokens and llama.cpp, held against llama.cpp itself."""

from __future__ import annotations

import string
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import numpy as np
import pytest
from gguf import GGUFWriter

from templatelint import engines
from templatelint.cases import FIXED_NOW
from templatelint.engines import tokenizing
from templatelint.engines.llamacpp import hosted
from templatelint.engines.llamacpp.server import Bounds, serving
from templatelint.model import RenderError, Request
from templatelint.sources import resolve
from templatelint.sources.reach import Reach

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

pytestmark = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="needs the package xllamacpp")

_NORMAL, _UNKNOWN, _CONTROL, _USER, _UNUSED = 1, 2, 3, 4, 5
_MARKERS = {
    "<start_of_turn>": _NORMAL,
    "<one>": _CONTROL,
    "<two>": _USER,
    "<three>": _UNUSED,
    "<four>": _UNKNOWN,
    "<|im_start|>": _NORMAL,
    "<|im_end|>": _NORMAL,
    "<end_of_turn>": _NORMAL,
    "<|channel|>": _NORMAL,
}
_LETTERS = string.printable[:94]
_TEMPLATE = "{{ bos_token }} {{ eos_token }} {% for m in messages %}{{ m.content }}{% endfor %}"


def _write(path: Path) -> None:
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(512)
    writer.add_embedding_length(32)
    writer.add_block_count(1)
    writer.add_feed_forward_length(32)
    writer.add_head_count(1)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([*_LETTERS, *_MARKERS])
    writer.add_token_types([*([_NORMAL] * len(_LETTERS)), *_MARKERS.values()])
    writer.add_token_merges(["x y"])
    writer.add_chat_template(_TEMPLATE)
    square, vector = np.zeros((32, 32), np.float32), np.zeros(32, np.float32)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
        writer.add_tensor(f"blk.0.{name}.weight", square)
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", vector)
    for name in ("token_embd", "output"):
        writer.add_tensor(f"{name}.weight", np.zeros((len(_LETTERS) + len(_MARKERS), 32), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _command(gguf: Path, port: int) -> Sequence[str]:
    return (sys.executable, "-P", str(hosted.__file__), str(gguf), str(port))


def test_llama_cpp_finds_the_tokens_that_it_is_said_to_find_and_assumes_those_that_it_is_said_to(
    tmp_path: Path,
) -> None:
    path = tmp_path / "model.gguf"
    _write(path)
    model = resolve(str(path), reach=Reach(vetting=True))
    vocabulary = model.tokenizer.vocabulary
    assert vocabulary is not None
    with serving(_command, path.read_bytes(), Bounds(60, 20)) as server:
        found = {}
        for marker in _MARKERS:
            reply = server.ask("POST", "/tokenize", {"content": f"x{marker}y", "parse_special": True})
            assert isinstance(reply.body, dict)
            token = vocabulary.token(marker)
            assert token is not None
            found[marker] = token.id in reply.body["tokens"]
            assert found[marker] == tokenizing.finds("llama.cpp", token), marker
        assert set(found.values()) == {True, False}
        answer = server.ask("POST", "/apply-template", {"messages": [{"role": "user", "content": "Hi"}]}).body
    loaded = engines.get("llama.cpp").load(model.templates[0], model.tokenizer)
    assert not isinstance(loaded, RenderError)
    prompt = loaded.render(Request([{"role": "user", "content": "Hi"}]), FIXED_NOW).prompt
    assert answer == {"prompt": prompt}
    assert prompt == f"{_LETTERS[11]} {_LETTERS[11]} Hi"
