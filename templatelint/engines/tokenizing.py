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
_STOPPING = frozenset({"transformers", "vllm", "sglang"})

_FOUND: frozenset[TokenType] = frozenset({"control", "user-defined", "unknown"})
# what llama.cpp makes user-defined whatever the file says, for gpt-oss
_RETYPED = frozenset({"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>"})
# tokens beside which </s> is plain text to it
_NO_END = {"</s>": ("<|tool_response>", "<|plamo:eos|>")}
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
    """Whether an answer ends where a model writes that token; None where the files do not tell.

    A GGUF names no more ends to other engines than to llama.cpp, which finds some by their text: what does not end an
    answer there, does not elsewhere.
    """
    name = _family(engine)
    if name in LLAMA:
        return _ends_llama(tokenizer, vocabulary, token)
    if name not in _STOPPING:
        return None
    if of_gguf(tokenizer):
        return token.text in _SGLANG_ENDS or _ends_llama(tokenizer, vocabulary, token)
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


def _ends_llama(tokenizer: Tokenizer, vocabulary: Vocabulary, token: Token) -> bool:
    if token.text in tokenizer.stop_tokens or token.text == taken_for(tokenizer, "eos_token"):
        return True
    known = facts.load().vocabulary
    if token.text not in known.ends:
        return False
    besides = (*known.open_ends.get(token.text, ()), *((one,) for one in _NO_END.get(token.text, ())))
    return not any(all(vocabulary.token(other) is not None for other in beside) for beside in besides)


def of_gguf(tokenizer: Tokenizer) -> bool:
    """Whether it was read from a GGUF."""
    return "vocabulary" in tokenizer.facts


def _family(engine: str) -> str:
    return engine.partition("@")[0]


def _ids(value: Any) -> frozenset[int]:
    """The ids of a config's `eos_token_id`, which is one or a list of them."""
    return frozenset(one for one in (value if isinstance(value, list) else [value]) if isinstance(one, int))
