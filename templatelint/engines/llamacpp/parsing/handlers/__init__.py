"""The families of templates that llama.cpp serves without analysis → how their replies are read.

Each module holds the grammars of one family, and names where in llama.cpp its facts stand.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from templatelint.engines.llamacpp.parsing.handlers import minimax
from templatelint.engines.llamacpp.parsing.handlers.cohere import cohere2moe
from templatelint.engines.llamacpp.parsing.handlers.deepseek import deepseek_v3_2
from templatelint.engines.llamacpp.parsing.handlers.functionary import functionary_v3_2
from templatelint.engines.llamacpp.parsing.handlers.gemma import gemma4
from templatelint.engines.llamacpp.parsing.handlers.gigachat import gigachat_v3
from templatelint.engines.llamacpp.parsing.handlers.harmony import gpt_oss, llm_jp_harmony
from templatelint.engines.llamacpp.parsing.handlers.horizon import k2_horizon
from templatelint.engines.llamacpp.parsing.handlers.kimi import kimi_k2, kimi_k3
from templatelint.engines.llamacpp.parsing.handlers.lfm import lfm2
from templatelint.engines.llamacpp.parsing.handlers.ling import ling3
from templatelint.engines.llamacpp.parsing.handlers.minicpm import minicpm5
from templatelint.engines.llamacpp.parsing.handlers.ministral import ministral_3
from templatelint.engines.llamacpp.parsing.handlers.muse import muse_glimmer
from templatelint.engines.llamacpp.parsing.handlers.qwen import qwen3_coder
from templatelint.engines.llamacpp.parsing.handlers.translation import translate_gemma
from templatelint.engines.llamacpp.parsing.reply import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from templatelint.engines.llamacpp.parsing.reply import Parsed, Setting

_gemma4 = partial(read, gemma4, form="peg-gemma4", keeps_blank_reasoning=True)

PARSERS: Mapping[str, Callable[[bytes, Setting], Parsed]] = {
    "ministral_3": partial(read, ministral_3),
    "llm_jp_harmony": partial(read, llm_jp_harmony),
    "gpt_oss": partial(read, gpt_oss),
    "muse_glimmer": partial(read, muse_glimmer),
    "functionary_v3_2": partial(read, functionary_v3_2),
    "kimi_k2": partial(read, kimi_k2),
    "kimi_k3": partial(read, kimi_k3),
    "k2_horizon": partial(read, k2_horizon),
    "ling3": partial(read, ling3),
    "cohere2moe": partial(read, cohere2moe),
    "lfm2": partial(read, lfm2),
    "lfm2_5": partial(read, lfm2),
    "gigachat_v3": partial(read, gigachat_v3),
    "minimax_m3": minimax.parse,
    "deepseek_v3_2": partial(read, deepseek_v3_2),
    "gemma4": _gemma4,
    "gemma4_legacy": _gemma4,
    "minicpm5": partial(read, minicpm5),
    "translate_gemma": partial(read, translate_gemma),
    "qwen3_coder": partial(read, qwen3_coder),
}
"""The name of a handler, as in `b11549.toml` → what reads the replies of its templates."""


def parse(name: str, reply: bytes, setting: Setting) -> Parsed:
    """Read a reply as llama-server does for a template with that handler.

    Raises:
        reply.NoMatch: it does not fit, and the request fails.
    """
    return PARSERS[name](reply, setting)
