"""Chat templates and what a tokenizer says of BOS and EOS → the smallest GGUF with which llama-server starts."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.engines.llamacpp.loaded import Ends

_U32, _F32, _BOOL, _STRING, _ARRAY = 4, 6, 7, 8, 9  # types of metadata, as the GGUF specification numbers them
_NORMAL, _CONTROL = 1, 3  # types of tokens
_ALIGNMENT = 32
_WIDTH = 32  # of every matrix: one head, one layer
# No character is a token of its own, so that no text is exactly one: llama-server refuses tools where a word that
# starts a call is one token and its handler did not expect that. And there are fewer than twelve tokens, so that 11,
# which llama.cpp takes for BOS and EOS where none is declared, is none.
_FILLERS = ("[filler 1]", "[filler 2]")


def write(templates: Mapping[str, str], ends: Ends) -> bytes:
    """The bytes of a one-layer model of zeros.

    Args:
        templates: name → source; `default` is the one that the server uses, unless `tool_use` serves a request.
        ends: what the model's BOS and EOS are, and whether encoding adds them.
    """
    named = list(dict.fromkeys(text for text in (ends.bos_token, ends.eos_token) if text))
    tokens = [*(text for text in _FILLERS if text not in named), *named]
    values: dict[str, tuple[int, Any]] = {
        "general.architecture": (_STRING, "llama"),
        "general.name": (_STRING, "templatelint"),
        "llama.context_length": (_U32, 512),
        "llama.embedding_length": (_U32, _WIDTH),
        "llama.block_count": (_U32, 1),
        "llama.feed_forward_length": (_U32, _WIDTH),
        "llama.attention.head_count": (_U32, 1),
        "llama.attention.layer_norm_rms_epsilon": (_F32, 1e-5),
        "tokenizer.ggml.model": (_STRING, "gpt2"),
        "tokenizer.ggml.pre": (_STRING, "gpt-2"),
        "tokenizer.ggml.tokens": (_ARRAY, (_STRING, tokens)),
        "tokenizer.ggml.token_type": (_ARRAY, (_U32 + 1, [_CONTROL if t in named else _NORMAL for t in tokens])),
        "tokenizer.ggml.merges": (_ARRAY, (_STRING, ["x y"])),
        "tokenizer.ggml.add_bos_token": (_BOOL, ends.add_bos),
        "tokenizer.ggml.add_eos_token": (_BOOL, ends.add_eos),
    }
    for key, text in (("bos", ends.bos_token), ("eos", ends.eos_token)):
        if text:
            values[f"tokenizer.ggml.{key}_token_id"] = (_U32, tokens.index(text))
    for name, source in templates.items():
        key = "tokenizer.chat_template" + ("" if name == "default" else f".{name}")
        values[key] = (_STRING, source)
    return _file(values, _tensors(len(tokens)))


def _tensors(tokens: int) -> dict[str, tuple[int, ...]]:
    """Name → lengths, the innermost first."""
    square, vector = (_WIDTH, _WIDTH), (_WIDTH,)
    layer = {
        "attn_norm": vector,
        "attn_q": square,
        "attn_k": square,
        "attn_v": square,
        "attn_output": square,
        "ffn_norm": vector,
        "ffn_gate": square,
        "ffn_up": square,
        "ffn_down": square,
    }
    return {
        "token_embd.weight": (_WIDTH, tokens),
        "output.weight": (_WIDTH, tokens),
        "output_norm.weight": vector,
        **{f"blk.0.{name}.weight": shape for name, shape in layer.items()},
    }


def _file(values: Mapping[str, tuple[int, Any]], tensors: Mapping[str, Sequence[int]]) -> bytes:
    out = bytearray(b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(values)))
    for key, (kind, value) in values.items():
        out += _string(key) + struct.pack("<I", kind) + _value(kind, value)
    offset = 0
    for name, shape in tensors.items():
        out += _string(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, 0, offset)
        size = 4
        for length in shape:
            size *= length
        offset += -(-size // _ALIGNMENT) * _ALIGNMENT
    out += bytes(-len(out) % _ALIGNMENT)
    return bytes(out) + bytes(offset)


def _value(kind: int, value: Any) -> bytes:
    if kind == _STRING:
        return _string(value)
    if kind == _ARRAY:
        inner, items = value
        return struct.pack("<IQ", inner, len(items)) + b"".join(_value(inner, item) for item in items)
    return struct.pack({_U32: "<I", _U32 + 1: "<i", _F32: "<f", _BOOL: "<?"}[kind], value)


def _string(text: str) -> bytes:
    raw = text.encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(raw)) + raw
