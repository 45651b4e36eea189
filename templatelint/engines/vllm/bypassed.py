"""Model → the code of vLLM that writes its prompts where no template is read at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import RenderError

if TYPE_CHECKING:
    from templatelint.model import Model

# vLLM 0.33.0, started without options: ModelConfig.__post_init__ (vllm/config/model.py) sets a tokenizer mode by the
# architecture, and the mode chooses the renderer (vllm/renderers/registry.py).
_BY_ARCHITECTURE = {
    "DeepseekV32ForCausalLM": "its DeepseekV32Renderer",
    "DeepseekV4ForCausalLM": "its DeepseekV4Renderer",
    "DeepseekV4ForConditionalGeneration": "its DeepseekV4Renderer",
    "DeepseekV41ForCausalLM": "its DeepseekV41Renderer",
    "InklingForCausalLM": "its InklingRenderer",
    "InklingForConditionalGeneration": "its InklingRenderer",
    "KimiK3ForConditionalGeneration": "its KimiK3Renderer",
}
# OnlineRenderer.__init__ (vllm/renderers/online_renderer.py) looks at the model type alone.
_BY_MODEL_TYPE = {"gpt_oss": "openai_harmony"}
# llama.cpp's names of the same architectures (src/llama-arch.cpp, b11549).
_BY_GGUF = {
    "gpt-oss": _BY_MODEL_TYPE["gpt_oss"],
    "deepseek32": _BY_ARCHITECTURE["DeepseekV32ForCausalLM"],
    "deepseek4": _BY_ARCHITECTURE["DeepseekV4ForCausalLM"],
    "kimi-k3": _BY_ARCHITECTURE["KimiK3ForConditionalGeneration"],
}
# What tells which model it is; what the templates of gpt-oss hold, where they alone are known; and what those of LLM-jp
# hold besides, which are made after them.
_IDENTITY = ("model_type", "architectures", "general.architecture")
_GPT_OSS, _LLM_JP = ("<|start|>", "<|channel|>analysis", "<|message|>"), "llm-jp-harmony"
# Models without a template of their own get one of vLLM's (vllm/transformers_utils/chat_templates/registry.py).
_FALLBACKS = frozenset(
    {"blip-2", "clip", "colpali", "deepseek_ocr", "deepseek_ocr2", "unlimited-ocr", "unlimited_ocr", "deepseek_vl_v2"}
    | {"minicpm_ocr", "minicpmv", "minicpmv4_6", "minicpmv4_7", "paligemma", "siglip", "siglip2"}
)


def bypass(model: Model) -> RenderError | None:
    """Why vLLM, started without options, reads no template of this model; None where it does.

    A model of which nothing but templates is known is gpt-oss where they are as those of gpt-oss.
    """
    metadata = model.metadata
    if files := metadata.get("mistral_common"):
        return _instead(f"mistral_common, as there are {' and '.join(files)}")
    architecture = _first(metadata.get("architectures"))
    code = (
        _named(_BY_MODEL_TYPE, metadata.get("model_type"))
        or _named(_BY_ARCHITECTURE, architecture)
        or _named(_BY_GGUF, metadata.get("general.architecture"))
    )
    if code is not None:
        return _instead(code)
    if architecture == "MoonshotKimiaForCausalLM":
        return RenderError("unsupported", "vLLM's tokenizer for Kimi-Audio has no chat template")
    if not model.templates and _named(dict.fromkeys(_FALLBACKS, ""), metadata.get("model_type")) is not None:
        return RenderError("unsupported", f"vLLM has a chat template of its own for {metadata['model_type']} models")
    if not any(key in metadata for key in _IDENTITY) and any(_as_of_gpt_oss(each.source) for each in model.templates):
        return RenderError(
            "unsupported",
            f"vLLM writes the prompts of gpt-oss models with {_BY_MODEL_TYPE['gpt_oss']}, not with a template like "
            "this: it is judged where a config.json beside it names another model_type",
        )
    return None


def _as_of_gpt_oss(source: str) -> bool:
    return all(sign in source for sign in _GPT_OSS) and _LLM_JP not in source


def _instead(code: str) -> RenderError:
    return RenderError("unsupported", f"vLLM writes the prompts of this model with {code}, and reads no template")


def _first(value: object) -> object:
    return value[0] if isinstance(value, list) and value else None


def _named(table: dict[str, str], name: object) -> str | None:
    return table.get(name) if isinstance(name, str) else None
