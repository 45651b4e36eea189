"""`tool_choice` of the chat route: no call, some call, a certain call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.probe.chat import leaks
from templatelint.probe.chat.leak_causes import TOOLLESS, tools_shown
from templatelint.probe.chat.off_script import kept_from
from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.prompts import TOOLS
from templatelint.probe.telling import busy, counted, http, quoted
from templatelint.probe.verdict import failed, inconclusive, passed, warned

if TYPE_CHECKING:
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict

_NAMED = "write_file"  # the prompt asks for the other one
_PROSE = 128  # tokens that show that no call comes
_COAX = 'a "tool" text in --prompts FILE that makes this model call get_weather'
_ROOM = "a higher --max-tokens gives it room"
# of a reply whose call was forced; OpenAI's own says `stop` there
_FORCED = ("tool_calls", "stop")


def choice_none(endpoint: Endpoint) -> Verdict:
    """TL912."""
    reply = ChatReply(endpoint.chat(endpoint.prompts.tool, tools=TOOLS, tool_choice="none"))
    if (settled := _settled(endpoint, reply, "tool_choice none")) is not None:
        return settled
    if reply.calls or reply.message.get("function_call"):
        return failed(f"tool_choice none is not heeded: {_named(reply) or 'a function_call'} arrives")
    if reply.cut_before_answer:
        return inconclusive(f"nothing is said within {endpoint.tokens} tokens", cure=_ROOM)
    leak = leaks.found(reply.content)
    # the scripted model writes its call whatever is offered, and nothing is left to take it out
    if leak is not None and leak.certain and endpoint.scripted is None:
        return warned(
            f"no call arrives, and content holds {leak.form}: {leak.shown}",
            cure="leave the tools out of requests that allow no call: the template shows them all the same",
        )
    return _none_without(endpoint) or passed(f"no call, {reply.told_finish}")


def _none_without(endpoint: Endpoint) -> Verdict | None:
    """Why `none` shows nothing: without it no call comes either; None where one does."""
    auto = _auto(endpoint)
    if auto.unusable is not None:
        return inconclusive(f"whether a call comes where one is allowed is not seen: {auto.unusable.message}")
    if auto.calls:
        return None
    if leaks.found(auto.content) is not None:
        return inconclusive(leaks.LEFT)
    return inconclusive("no call comes, and none where one is allowed", cure=_COAX)


def _auto(endpoint: Endpoint) -> ChatReply:
    """The reply to the question that a call answers, where the model may choose."""
    return ChatReply(endpoint.chat(endpoint.prompts.tool, tools=TOOLS))


def choice_required(endpoint: Endpoint) -> Verdict:
    """TL913."""
    reply = ChatReply(endpoint.chat(endpoint.prompts.plain, tools=TOOLS, tool_choice="required"))
    if (settled := _settled(endpoint, reply, "tool_choice required")) is not None:
        return settled
    if not reply.calls:
        return _no_call(endpoint, reply, "tool_choice required")
    if reply.finish == "length":
        return inconclusive(f"the call is cut at {endpoint.tokens} tokens", cure=_ROOM)
    wrong = reply.malformed
    if reply.finish not in _FORCED:
        wrong = wrong or f"{reply.told_finish} beside {counted(len(reply.calls), 'call')}, not 'tool_calls'"
    if reply.unlike_tools and not wrong:
        return (inconclusive if endpoint.scripted is None else failed)(reply.unlike_tools)
    if wrong:
        return failed(wrong)
    return _called_anyway(endpoint) or passed(f"{_named(reply)}, {reply.told_finish}")


def _called_anyway(endpoint: Endpoint) -> Verdict | None:
    """Why `required` shows nothing: without it a call comes too; None where none does."""
    if endpoint.scripted is not None:  # whose plain text is no call
        return None
    auto = ChatReply(endpoint.chat(endpoint.prompts.plain, tools=TOOLS))
    if auto.calls:
        return inconclusive(f"{_named(auto)} comes where none is required, so that required shows nothing")
    # one that cannot let the model choose forces its calls
    return busy(auto.exchange)


def required_against_prose(endpoint: Endpoint) -> Verdict:
    """TL914."""
    limit = min(endpoint.tokens, _PROSE)
    reply = ChatReply(endpoint.chat(endpoint.prompts.prose, tools=TOOLS, tool_choice="required", max_tokens=limit))
    if (settled := _settled(endpoint, reply, "what the model does not heed")) is not None:
        return settled
    if not reply.calls:
        if (trouble := kept_from(endpoint, reply)) is not None:
            return trouble
        if reply.finish == "length" and limit < _PROSE:
            return inconclusive(f"no call comes within {limit} tokens", cure=_ROOM)
        return failed(
            f"tool_choice required does not keep the model from prose: no call within {limit} tokens, "
            f"{reply.told_finish}, content {quoted(reply.content)}"
        )
    return failed(reply.malformed) if reply.malformed else passed(f"{_named(reply)}, {reply.told_finish}")


def choice_named(endpoint: Endpoint) -> Verdict:
    """TL915."""
    choice = {"type": "function", "function": {"name": _NAMED}}
    reply = ChatReply(endpoint.chat(endpoint.prompts.tool, tools=TOOLS, tool_choice=choice))
    if (settled := _settled(endpoint, reply, "a named tool")) is not None:
        return settled
    if not reply.calls:
        return _no_call(endpoint, reply, f"tool_choice {_NAMED}")
    if reply.malformed:
        return failed(reply.malformed)
    others = [call.name for call in reply.calls if call.name != _NAMED]
    if others:
        fact = f"tool_choice names {_NAMED}, {_named(reply)} arrives"
        # `functions.write_file`
        if endpoint.scripted is None and all(_NAMED in name for name in others):
            return inconclusive(f"{fact}, as the model may have written it")
        return failed(fact)
    return passed(f"{_named(reply)}, {reply.told_finish}")


def _settled(endpoint: Endpoint, reply: ChatReply, what: str) -> Verdict | None:
    """What there is to conclude before any call is looked at: a refusal counts where tools are taken at all."""
    if reply.exchange.refused:
        auto = _auto(endpoint).exchange
        if not auto.ok:
            return busy(auto) or inconclusive(f"tools are refused whatever tool_choice says: {http(auto)}")
    return reply.unusable_unless_refused(what)


def _no_call(endpoint: Endpoint, reply: ChatReply, choice: str) -> Verdict:
    leak = leaks.found(reply.content)
    if leak is not None and not leak.marked and endpoint.scripted is not None:
        return inconclusive(f"{choice}: the scripted model leaves the marks of its call out: {leak.shown}")
    if leak is not None and leak.certain:
        return failed(f"{choice}: no call arrives, and content holds {leak.form}: {leak.shown}")
    if (trouble := kept_from(endpoint, reply)) is not None:
        return trouble
    # a model that is still talking may be thinking aloud before it calls
    if reply.cut_before_answer or (reply.finish == "length" and endpoint.scripted is None):
        return inconclusive(f"no call comes within {endpoint.tokens} tokens", cure=_ROOM)
    fact = f"{choice} is not heeded: no call, {reply.told_finish}, content {quoted(reply.content)}"
    if tools_shown(endpoint, endpoint.chat_body(endpoint.prompts.tool, tools=TOOLS)) is False:
        return failed(f"{fact}; the template in force never shows the tools to the model", cure=TOOLLESS)
    return failed(fact)


def _named(reply: ChatReply) -> str:
    """The calls, by the names of their functions."""
    if not reply.calls:
        return ""
    names = " and ".join(call.name if call.name.isidentifier() else quoted(call.name) for call in reply.calls[:2])
    return f"a call of {names}" if len(reply.calls) == 1 else f"{len(reply.calls)} calls of {names}"
