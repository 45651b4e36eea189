"""Chat templates and what a tokenizer says of BOS and EOS → the smallest GGUF with which llama-server starts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.gguf_writing import ARRAY, BOOL, CONTROL, F32, I32, NORMAL, STRING, U32, Tensor, gguf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.engines.llamacpp.loaded import Ends

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
        "general.architecture": (STRING, "llama"),
        "general.name": (STRING, "templatelint"),
        "llama.context_length": (U32, 512),
        "llama.embedding_length": (U32, _WIDTH),
        "llama.block_count": (U32, 1),
        "llama.feed_forward_length": (U32, _WIDTH),
        "llama.attention.head_count": (U32, 1),
        "llama.attention.layer_norm_rms_epsilon": (F32, 1e-5),
        "tokenizer.ggml.model": (STRING, "gpt2"),
        "tokenizer.ggml.pre": (STRING, "gpt-2"),
        "tokenizer.ggml.tokens": (ARRAY, (STRING, tokens)),
        "tokenizer.ggml.token_type": (ARRAY, (I32, [CONTROL if t in named else NORMAL for t in tokens])),
        "tokenizer.ggml.merges": (ARRAY, (STRING, ["x y"])),
        "tokenizer.ggml.add_bos_token": (BOOL, ends.add_bos),
        "tokenizer.ggml.add_eos_token": (BOOL, ends.add_eos),
    }
    for key, text in (("bos", ends.bos_token), ("eos", ends.eos_token)):
        if text:
            values[f"tokenizer.ggml.{key}_token_id"] = (U32, tokens.index(text))
    for name, source in templates.items():
        key = "tokenizer.chat_template" + ("" if name == "default" else f".{name}")
        values[key] = (STRING, source)
    return gguf(values, [Tensor(name, shape) for name, shape in _tensors(len(tokens)).items()])


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
