"""What of a recorded request depends on the server that receives it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.model import Request
    from templatelint.replay.side import Side
    from templatelint.traffic.recorded import Recorded

_MERGES = frozenset({"vllm"})


def has_inline_system(recorded: Recorded) -> bool:
    """Whether it is an Anthropic body with a system message among its messages."""
    return (
        recorded.kind == "anthropic"
        and recorded.request is not None
        and any(message.get("role") == "system" for message in recorded.request.messages[1:])
    )


def received(recorded: Sequence[Recorded], sides: Sequence[Side]) -> list[Request]:
    """The requests as the servers of both sides hand them on.

    vLLM (entrypoints/anthropic/serving.py) puts system messages of an Anthropic body into the first one where the
    template refuses later ones. llama-server never does, which the comparison of the two passes over.
    """
    requests = [one.request for one in recorded if one.request is not None]
    inline = [row for row, one in enumerate(recorded) if has_inline_system(one)]
    merging = [side for side in sides if side.engine.name in _MERGES]
    for side in merging if inline else ():
        for row, seen in zip(inline, side.render([requests[row] for row in inline]), strict=True):
            if seen.error is not None:
                requests[row] = _merged(requests[row])
    return requests


def _merged(request: Request) -> Request:
    """With all system texts, which are strings here, in the first message."""
    texts = [str(message.get("content") or "") for message in request.messages if message.get("role") == "system"]
    others = [message for message in request.messages if message.get("role") != "system"]
    return replace(request, messages=[{"role": "system", "content": "".join(texts)}, *others])
