"""A reply of the scripted model → whether it was kept from its script: by a grammar that its server enforces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.verdict import inconclusive
from templatelint.sources.endpoint.routes import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict

# what the scripted model writes where no word of its script may come next
_FILLERS = frozenset('"}]:{[</>0,tn')
_RUN = 16  # characters of them that no script has


def kept_from(endpoint: Endpoint, reply: ChatReply) -> Verdict | None:
    """What there is to conclude of a reply that the scripted model would never give by itself; None of any other."""
    if endpoint.scripted is None or not (_runs_out(reply.content) or any(map(_filled, _texts(reply)))):
        return None
    return inconclusive("a grammar that the server enforces does not let the scripted model write its call")


def _texts(reply: ChatReply) -> Iterator[Any]:
    """What is said, where there is no call, and the values of arguments."""
    if not reply.calls and reply.content.strip():
        yield reply.content
    for call in reply.calls:
        yield from table(call.value).values()


def _filled(value: Any) -> bool:
    return isinstance(value, str) and _FILLERS.issuperset(value.strip())


def _runs_out(content: str) -> bool:
    """Whether a text ends in what comes where the script is over, and its end is not let through."""
    end = content.rstrip()[-_RUN:]
    return len(end) == _RUN and _FILLERS.issuperset(end)


def stopped_early(endpoint: Endpoint, reply: ChatReply, prompt: str) -> Verdict | None:
    """What there is to conclude of a reply with fewer tokens than the same prompt brings where no tools are offered."""
    free = ChatReply(endpoint.for_check().chat(prompt)).tokens
    if endpoint.scripted is None or free is None or reply.tokens is None or reply.tokens >= free:
        return None
    return inconclusive(
        f"a grammar that the server enforces ends the scripted model's calls after {reply.tokens} of {free} tokens"
    )
