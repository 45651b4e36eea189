"""SGLang's /v1/chat/completions: requests → prompts, without a server."""

from templatelint.engines.sglang.chat import engine
from templatelint.engines.sglang.detection import content_format

__all__ = ["content_format", "engine"]
