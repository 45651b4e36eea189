"""The template in force → conversations that it refuses with `raise_exception`, and with which words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from templatelint import engines, matrix
from templatelint.model import Request

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from templatelint.model import Model

_LLAMA_CPP = "llama.cpp"
_HI = {"role": "user", "content": "Hello."}
_HELLO = {"role": "assistant", "content": "Hello."}
_BRIEF = {"role": "system", "content": "Be brief."}
_DEVELOPER = {"role": "developer", "content": "Be brief."}
_RESULT = {"role": "tool", "tool_call_id": "weather01", "content": "21"}
# what OpenAI's API takes, and some templates do not; the last two it does not take either
_CONVERSATIONS: Mapping[str, Sequence[Mapping[str, str]]] = {
    "two messages of the user in a row": (_HI, _HI),
    "an assistant's message first": (_HELLO, _HI),
    "a system message alone": (_BRIEF,),
    "an assistant's message behind the system's": (_BRIEF, _HELLO, _HI),
    "two system messages": (_BRIEF, _BRIEF, _HI),
    "a system message later on": (_HI, _HELLO, _BRIEF, _HI),
    "a system message": (_BRIEF, _HI),
    "a developer message": (_DEVELOPER, _HI),
    "a tool's result without a call": (_HI, _HELLO, _RESULT),
    "a message of the role wizard": ({"role": "wizard", "content": "Hello."},),
}
_UNKNOWN = ("a tool's result without a call", "a message of the role wizard")


class Raised(NamedTuple):
    """A conversation that the template refuses.

    Attributes:
        name: what it is.
        words: of the template.
        common: it is one that the API knows, so that nothing but the template refuses it.
    """

    name: str
    messages: Sequence[Mapping[str, str]]
    words: str
    common: bool


def raised(model: Model, kind: str) -> list[Raised]:
    """The conversations of a small battery that the template refuses, the common ones first.

    Args:
        model: whose template it is.
        kind: the engine's id; empty where it is not known.

    Raises:
        TemplatelintError: our model of the engine does not work any more.
    """
    engine = engines.get(kind if kind in engines.available() else _LLAMA_CPP)
    requests = [Request(messages) for messages in _CONVERSATIONS.values()]
    now = datetime.now(UTC).astimezone().replace(tzinfo=None)
    observed = [each for _, each in matrix.observe_requests(model, engine, requests, now)]
    return [
        Raised(name, messages, each.error.message, common=name not in _UNKNOWN)
        for (name, messages), each in zip(_CONVERSATIONS.items(), observed, strict=True)
        if each.error is not None and each.error.kind == "refused"
    ]
