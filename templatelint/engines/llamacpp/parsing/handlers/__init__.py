"""The families of templates that llama.cpp serves without analysis → how their replies are read.

Each module holds the grammars of one family, and names where in llama.cpp its facts stand.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from templatelint.engines.llamacpp.parsing.reply import read

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.engines.llamacpp.parsing.reply import Parsed, Setting

# Handler, as in `b11549.toml` → the module of its family, imported only for its templates, and the grammar.
_GRAMMARS: Mapping[str, tuple[str, str]] = {
    "ministral_3": ("ministral", "ministral_3"),
    "llm_jp_harmony": ("harmony", "llm_jp_harmony"),
    "gpt_oss": ("harmony", "gpt_oss"),
    "muse_glimmer": ("muse", "muse_glimmer"),
    "functionary_v3_2": ("functionary", "functionary_v3_2"),
    "kimi_k2": ("kimi", "kimi_k2"),
    "kimi_k3": ("kimi", "kimi_k3"),
    "k2_horizon": ("horizon", "k2_horizon"),
    "ling3": ("ling", "ling3"),
    "cohere2moe": ("cohere", "cohere2moe"),
    "lfm2": ("lfm", "lfm2"),
    "lfm2_5": ("lfm", "lfm2"),
    "gigachat_v3": ("gigachat", "gigachat_v3"),
    "deepseek_v3_2": ("deepseek", "deepseek_v3_2"),
    "gemma4": ("gemma", "gemma4"),
    "gemma4_legacy": ("gemma", "gemma4"),
    "minicpm5": ("minicpm", "minicpm5"),
    "translate_gemma": ("translation", "translate_gemma"),
    "qwen3_coder": ("qwen", "qwen3_coder"),
}
_GEMMA: Mapping[str, Any] = {"form": "peg-gemma4", "keeps_blank_reasoning": True}
_OPTIONS: Mapping[str, Mapping[str, Any]] = {"gemma4": _GEMMA, "gemma4_legacy": _GEMMA}
# handlers whose replies are put together otherwise than those of all others
_WHOLE: Mapping[str, str] = {"minimax_m3": "minimax"}
NAMES: tuple[str, ...] = (*_GRAMMARS, *_WHOLE)


def parse(name: str, reply: bytes, setting: Setting) -> Parsed:
    """Read a reply as llama-server does for a template with that handler.

    Raises:
        reply.NoMatch: it does not fit, and the request fails.
    """
    if name in _WHOLE:
        parsed: Parsed = _module(_WHOLE[name]).parse(reply, setting)
        return parsed
    module, grammar = _GRAMMARS[name]
    return read(getattr(_module(module), grammar), reply, setting, **_OPTIONS.get(name, {}))


def _module(name: str) -> Any:
    return import_module(f"{__name__}.{name}")
