"""A whole call with long arguments → the limits that cut it inside of them, and whether a stream was cut there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.probe.chat import leaks
from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.prompts import TOOLS
from templatelint.probe.verdict import inconclusive
from templatelint.probe.wire.exchange import parsed
from templatelint.sources.endpoint.routes import table, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from templatelint.probe.chat.stream import Streamed
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict

_BEFORE_END = 10  # tokens before its end where a reply is inside the arguments, and not yet in the marks behind them
_BLIND_CUT = 24  # tokens that no call of write_file can do with, where nobody counts


def whole(endpoint: Endpoint) -> ChatReply:
    """The reply to the question that a call of `write_file` answers."""
    return ChatReply(endpoint.chat(endpoint.prompts.write, tools=TOOLS))


def uncut(endpoint: Endpoint, reply: ChatReply) -> Verdict | None:
    """Why there is no whole call that could be cut; None where there is one."""
    if reply.unusable is not None:
        return inconclusive(reply.unusable.message)
    if not reply.calls and leaks.found(reply.content) is not None:
        return inconclusive(leaks.LEFT)
    if not reply.calls or reply.finish == "length":
        return inconclusive(
            f"the model makes no call of write_file within {endpoint.tokens} tokens",
            cure='a "write" text in --prompts FILE that makes it call write_file',
        )
    return None


def limits(tokens: int | None) -> tuple[int, ...]:
    """Where to cut a reply of so many tokens (None where nobody counts them): near its end first."""
    if tokens is None or tokens <= 2 * _BEFORE_END:
        return (_BLIND_CUT,) if tokens is None or tokens > _BLIND_CUT else (max(1, tokens // 2),)
    return tokens - _BEFORE_END, tokens // 2


def begun(reply: ChatReply, streamed: Streamed) -> bool:
    """Whether a stream that a limit has cut was cut inside the call: nothing else was still to come before it."""
    if streamed.calls or streamed.stray:
        return True
    said = streamed.reasoning.strip(), streamed.content.strip()
    return said == (reply.thoughts.strip(), reply.content.strip()) and not reply.thinks_hidden


def shortened(reply: ChatReply, streamed: Streamed, *, sure: bool) -> bool:
    """Whether the calls of a stream are those of the whole reply, and some of their arguments are missing.

    Args:
        reply: the whole one.
        streamed: one that says it was not cut.
        sure: the model says the same each time.
    """
    for at, call in enumerate(streamed.calls):
        came = parsed(call.arguments)
        if not isinstance(came, dict):
            return True
        meant = table(reply.calls[at].value) if at < len(reply.calls) else {}
        if came != meant and (sure or _begins(came, meant)):
            return True
    return False


def _begins(came: Mapping[str, Any], meant: Mapping[str, Any]) -> bool:
    """Whether a parser may have closed arguments that were cut: no text in them goes on otherwise."""
    return all(name in meant and text(meant[name]).startswith(text(value)) for name, value in came.items())
