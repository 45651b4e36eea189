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


def switched_off(model: Model | None, kind: str, words: str) -> bool:
    """Whether a prompt without thoughts is sure to have another length than one with them.

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
    return on is not None and off is not None and len(on) != len(off)
