"""A reply of the scripted model → whether it was kept from its script: by a grammar that its server enforces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.probe.verdict import inconclusive
from templatelint.sources.endpoint.routes import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.probe.chat.reply import ChatReply
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict

# what the scripted model writes where no word of its script may come next
_FILLERS = frozenset('"}]:{[</>0,tn')


def kept_from(endpoint: Endpoint, reply: ChatReply) -> Verdict | None:
    """What there is to conclude of a reply that the scripted model would never give by itself; None of any other."""
    if endpoint.scripted is None or not any(map(_filled, _texts(reply))):
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
