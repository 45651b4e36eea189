"""A template → whether its prompt is another one where thoughts are switched off."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from templatelint import engines, matrix
from templatelint.model import Request

if TYPE_CHECKING:
    from templatelint.model import Model

_LLAMA_CPP = "llama.cpp"
_SWITCH = "enable_thinking"
_LEAST = 4  # characters that no tokenizer takes into the tokens around them


def switched_off(model: Model | None, kind: str, words: str) -> bool:
    """Whether a prompt without thoughts is sure to have another number of tokens than one with them.

    Args:
        model: whose template it is; None where it is not known.
        kind: the engine's id; empty where it is not known.
        words: of the user's message.

    Raises:
        TemplatelintError: our model of the engine does not work any more.
    """
    if model is None:
        return False
    engine = engines.get(kind if kind in engines.available() else _LLAMA_CPP)
    messages = ({"role": "user", "content": words},)
    requests = [Request(messages, variables={_SWITCH: value}) for value in (True, False)]
    now = datetime.now(UTC).astimezone().replace(tzinfo=None)
    on, off = (each.prompt for _, each in matrix.observe_requests(model, engine, requests, now))
    return on is not None and off is not None and _inserted(*sorted((on, off), key=len))


def _inserted(short: str, long: str) -> bool:
    """Whether the longer text is the shorter one with something put in, which takes tokens of its own."""
    before = _alike(short, long)
    behind = _alike(short[before:][::-1], long[::-1])
    return before + behind == len(short) and len(long) - len(short) >= _LEAST


def _alike(short: str, long: str) -> int:
    """How many characters two texts have alike from their start on."""
    return next((at for at, (one, other) in enumerate(zip(short, long, strict=False)) if one != other), len(short))
