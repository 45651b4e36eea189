"""What engines do with tokens at both ends: whether BOS is added to a chat prompt, and which tokens end an answer.

Sources, in the versions that are modelled. llama.cpp: `llama_vocab::impl::load` in `src/llama-vocab.cpp` (tokens that
end generation by their text, and what is re-typed for it; see `llamacpp/b11549.toml`), `common/chat.cpp` (a leading BOS
is cut from the prompt where encoding adds it). transformers: `apply_chat_template` encodes with
`add_special_tokens=False`, `GenerationMixin` stops at `eos_token_id` of the generation config. vLLM:
`ChatCompletionRequest.add_special_tokens` is false unless asked for, `SamplingParams.update_from_generation_config`.
SGLang: `_apply_jinja_template` in `entrypoints/openai/serving_chat.py`; `_get_hf_eos_token_id` in
`configs/model_config.py`, `_check_token_based_finish` in `managers/schedule_batch.py`, and
`_ADDITIONAL_STOP_TOKEN_TEXTS` in `utils/hf_transformers/common.py`. llama-cpp-python: `Jinja2ChatFormatter` says that
special tokens are there, `Llama.generate` ends at `llama_vocab_is_eog`. transformers.js: `apply_chat_template`.

Of a GGUF, transformers takes `eos_token_id` alone (`GGUF_CONFIG_MAPPING["tokenizer"]` in `integrations/ggml.py`; for
Gemma 4 `load_gguf_checkpoint` has three of its own), and SGLang loads it so (`get_config` in `config.py`,
`get_generation_config` in `common.py` of `utils/hf_transformers`), with EOT for one architecture that it reads itself
(`build_gguf_generation_config` in `gguf_native.py`); JSON files beside the GGUF count before it. vLLM loads none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.engines.assumed import taken_for
from templatelint.engines.llamacpp import facts
from templatelint.engines.llamacpp.loaded import Ends

if TYPE_CHECKING:
    from templatelint.model import Token, Tokenizer, TokenType, Vocabulary

LLAMA = frozenset({"llama.cpp", "ollama", "llama-cpp-python"})
_LLAMA_SERVER = LLAMA - {"llama-cpp-python"}
_AS_RENDERED = frozenset({"transformers", "vllm", "sglang", "llama-cpp-python", "transformers.js"})
STOPPING = frozenset({"transformers", "vllm", "sglang"})

_FOUND: frozenset[TokenType] = frozenset({"control", "user-defined", "unknown"})
# what llama.cpp makes user-defined whatever the file says, for gpt-oss
_RETYPED = frozenset({"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"})
# tokens beside which </s> is plain text to it
_NO_END = {"</s>": ("<|tool_response>", "<|plamo:eos|>")}
# architectures of GGUFs for which transformers or SGLang have ends that are not the file's EOS
_OWN_ENDS = frozenset({"gemma4", "muse-glimmer"})
ARCHITECTURE = "general.architecture"
SIDECARS = "sidecars"  # the fact that JSON files which say what ends generation stand beside a GGUF
_SGLANG_ENDS = frozenset({"<|eom_id|>", "<|content_model_end_sampling|>", "<|ifm|im_end|>"})


def adds_bos(engine: str, tokenizer: Tokenizer) -> bool | None:
    """Whether the engine puts BOS before what the template renders; None where that is not known.

    What other engines than llama.cpp do with a GGUF is not known: they mostly read a tokenizer from elsewhere.
    """
    name = _family(engine)
    if name in _AS_RENDERED:
        return None if of_gguf(tokenizer) and name not in LLAMA else False
    return declares_bos(tokenizer) if name in _LLAMA_SERVER else None


def declares_bos(tokenizer: Tokenizer) -> bool | None:
    """Whether the tokenizer's files want BOS before every text; None where they do not say."""
    if tokenizer.add_bos is None and not of_gguf(tokenizer):
        return None
    return Ends.of(tokenizer, facts.load()).add_bos


def finds(engine: str, token: Token) -> bool | None:
    """Whether the engine finds that token of a GGUF in a prompt, before it splits the rest; None where not known."""
    if _family(engine) not in LLAMA:
        return None
    return token.type in _FOUND or token.text in _RETYPED or token.text in facts.load().vocabulary.ends


def ends(engine: str, tokenizer: Tokenizer, vocabulary: Vocabulary, token: Token) -> bool | None:
    """Whether an answer ends where a model writes that token; None where the files do not tell."""
    name = _family(engine)
    if name in LLAMA:
        return _ends_llama(tokenizer, vocabulary, token)
    if name not in STOPPING:
        return None
    if of_gguf(tokenizer):
        return _ends_by_gguf(name, tokenizer, token)
    if name != "transformers" and token.text == tokenizer.special_tokens.get("eos_token"):
        return True
    named = _ids(tokenizer.generation_config.get("eos_token_id"))
    configured = _ids(tokenizer.facts.get("config.eos_token_id"))
    if not named and not configured:
        return None
    if name == "sglang":
        named |= configured
    # without a generation config, one is made of the model's
    known = named or configured
    return token.id in known or (name == "sglang" and token.text in _SGLANG_ENDS)


def _ends_by_gguf(name: str, tokenizer: Tokenizer, token: Token) -> bool | None:
    eos = tokenizer.special_tokens.get("eos_token")
    if token.text == eos or (name == "sglang" and token.text in _SGLANG_ENDS):
        return True
    architecture = tokenizer.facts.get(ARCHITECTURE)
    known = eos and name != "vllm" and architecture not in _OWN_ENDS and not tokenizer.facts.get(SIDECARS)
    return False if known else None


def _ends_llama(tokenizer: Tokenizer, vocabulary: Vocabulary, token: Token) -> bool:
    if token.text in tokenizer.stop_tokens or token.text == taken_for(tokenizer, "eos_token"):
        return True
    known = facts.load().vocabulary
    if token.text not in known.ends:
        return False
    besides = (*known.open_ends.get(token.text, ()), *((one,) for one in _NO_END.get(token.text, ())))
    return not any(all(vocabulary.token(other) is not None for other in beside) for beside in besides)


def ends_text(text: str) -> bool:
    """Whether a token with that text ends generation in every model that llama.cpp knows to have it."""
    return text in facts.load().vocabulary.ends


def of_gguf(tokenizer: Tokenizer) -> bool:
    """Whether it was read from a GGUF."""
    return "vocabulary" in tokenizer.facts


def unfound(engine: str, tokenizer: Tokenizer, token: Token) -> str:
    """Why nobody knows whether the engine finds that token of a GGUF in a prompt; empty where that is known.

    transformers makes a tokenizer of a GGUF by rules of each architecture, and SGLang has it do so; what becomes of
    the tokens that the file takes for text is not established.
    """
    if _family(engine) not in {"transformers", "sglang"} or not of_gguf(tokenizer) or token.type in _FOUND:
        return ""
    return f"{token.text!r} has the type {token.type} in the GGUF, of which it is not known what {engine} makes"


def _family(engine: str) -> str:
    return engine.partition("@")[0]


def _ids(value: Any) -> frozenset[int]:
    """The ids of a config's `eos_token_id`, which is one or a list of them."""
    return frozenset(one for one in (value if isinstance(value, list) else [value]) if isinstance(one, int))
