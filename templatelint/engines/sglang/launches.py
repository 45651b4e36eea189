"""A model → why SGLang 0.5.23 does not use its template when it is started with that model and nothing else."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from templatelint.engines.sglang.detection import is_glm53

if TYPE_CHECKING:
    from templatelint.model import Model

# parser/conversation.py::MODEL_TYPE_TO_TEMPLATE
_BY_TYPE = {
    "internvl_chat": "internvl-2-5",
    "deepseek_vl_v2": "deepseek-vl2",
    "multi_modality": "janus-pro",
    "phi4mm": "phi-4-mm",
    "minicpmv": "minicpmv",
    "minicpmo": "minicpmo",
    "moss_vl": "moss-vl",
    "deepseek-ocr": "deepseek-ocr",
    "unlimited-ocr": "unlimited-ocr",
    "paddleocr_vl": "paddle-ocr",
    "whisper": "whisper",
}
# the functions of parser/conversation.py under @register_conv_template_matching_function, in their order
_BEFORE_TYPES = (
    (r"\bpoints\b", "points-v15-chat"),
    (r"moss.*vl", "moss-vl"),
)
_BEHIND_TYPES = (
    (r"internvl", "internvl-2-5"),
    (r"janus", "janus-pro"),
    (r"vicuna|llava-v1\.5|llava-next-video-7b", "vicuna_v1.1"),
    (r"deepseek.*vl2", "deepseek-vl2"),
    (r"llava-v1\.6-34b|llava-v1\.6-yi-34b|llava-next-video-34b|llava-onevision-qwen2", "chatml-llava"),
    (r"^(?!.*minicpm-[vo]-4[._][67]).*?minicpm-([vo])", "minicpm{}"),
    (r"phi-4-multimodal", "phi-4-mm"),
    (r"deepseek-ocr", "deepseek-ocr"),
    (r"unlimited", "unlimited-ocr"),
    (r"paddleocr", "paddle-ocr"),
    (r"whisper", "whisper"),
)
_NO_LEGACY_MINICPM = ("minicpmv4_6", "minicpmv4_7")
# entrypoints/openai/chat_encoding.py::resolve_chat_encoding_spec
_ENCODED = (
    ("DeepseekV41", "dsv41"),
    ("DeepseekV4", "dsv4"),
    ("KimiK3", "kimi_k3"),
    ("InklingForConditionalGeneration", "inkling"),
)
# parser/python_chat_template.py: architecture → whether it takes images
_GLM53 = {"GlmMoeDsaForCausalLM": False, "Glm5NextForConditionalGeneration": True}


def replacement(model: Model) -> str | None:
    """What SGLang renders prompts with instead, for people; None where it is the template."""
    if model.kind in ("file", "stdin"):
        return None  # passed as --chat-template, which wins over all of these
    # a repository's config.json is not looked at before it is on the disk
    kind = str(model.metadata.get("model_type", "")) if model.kind in ("folder", "config") else ""
    name = _conversation(_path(model), kind)
    if name is not None:
        return f"its built-in conversation {name}"
    architectures = model.metadata.get("architectures")
    first = str(architectures[0]) if isinstance(architectures, list) and architectures else ""
    encoding = _encoding(first, str(model.metadata.get("model_type", "")), has_template=bool(model.templates))
    if encoding is not None:
        return f"its own encoding {encoding} of {first}"
    if first in _GLM53 and model.templates and _reads_as_glm53(model.templates[0].source, images=_GLM53[first]):
        return f"its Python code for {first}"
    return None


def _path(model: Model) -> str:
    return str(PurePath(model.ref).parent) if model.kind == "config" else model.ref


@lru_cache(32)
def _conversation(path: str, model_type: str) -> str | None:
    for pattern, name in _BEFORE_TYPES:
        if re.search(pattern, path, re.IGNORECASE):
            return name
    if model_type in _BY_TYPE:
        return _BY_TYPE[model_type]
    for pattern, name in _BEHIND_TYPES:
        found = re.search(pattern, path, re.IGNORECASE)
        if found and not (name.startswith("minicpm") and model_type in _NO_LEGACY_MINICPM):
            return name.format(*map(str.lower, found.groups()))
    return None


def _encoding(architecture: str, model_type: str, *, has_template: bool) -> str | None:
    if model_type == "deepseek_v41":
        return "dsv41"
    for part, name in _ENCODED:
        if part in architecture:
            return name
    return "dsv32" if "DeepseekV3" in architecture and not has_template else None


def _reads_as_glm53(source: str, *, images: bool) -> bool:
    return ("<|begin_of_image|>" in source) == images and is_glm53(source)
