"""Plain replies of the chat route: complete, marked where they are cut, thoughts kept apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.probe.chat import stream as chat_stream
from templatelint.probe.chat.leak_causes import syntax_of
from templatelint.probe.chat.reply import FILTERED, ChatReply
from templatelint.probe.endpoint import CHAT
from templatelint.probe.parts import decides
from templatelint.probe.telling import busy, counted, http, misread, quoted
from templatelint.probe.thoughts import mark_in, thoughtless
from templatelint.probe.verdict import failed, inconclusive, passed, warned
from templatelint.probe.wire.exchange import Asked
from templatelint.sources.endpoint.routes import table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_CUT = 8  # tokens
_NEWER = "max_completion_tokens"
_MORE = 64  # tokens that show whether an answer goes on
_FINISHES = ("stop", "length", "tool_calls", "content_filter", "function_call")
# of marks that models also write because they were asked to think
_WORDS = ("thinking", "thought", "reasoning")
_COAX = 'a "long" text in --prompts FILE that this model answers at length'
_ROOM = "a higher --max-tokens gives it room"


def reply_complete(endpoint: Endpoint) -> Verdict:
    """TL907."""
    reply = ChatReply(endpoint.chat(endpoint.prompts.plain))
    if misread(reply.exchange):
        return failed(
            f"what the model says does not fit the parser that the server made of its template: {http(reply.exchange)}"
        )
    if reply.unusable is not None:
        return reply.unusable
    faults = [*_faults(endpoint, reply), *_usage_faults(reply.exchange.object.get("usage"))]
    if faults:
        more = f" ({counted(len(faults) - 1, 'more fault')} besides)" if len(faults) > 1 else ""
        return failed(faults[0] + more, evidence=tuple(faults))
    if (trouble := reply.withheld or _unsaid(endpoint, reply)) is not None:
        return trouble
    if "usage" not in reply.exchange.object:
        return warned("the reply has no usage, all else is there")
    return passed(f"content {quoted(reply.content)}, {reply.told_finish}")


def _unsaid(endpoint: Endpoint, reply: ChatReply) -> Verdict | None:
    """Why it is no whole answer."""
    if reply.finish == "length":
        return inconclusive(f"the answer is cut at {endpoint.tokens} tokens", cure=_ROOM)
    if not reply.content:
        return inconclusive("the model thinks and says nothing" if reply.thoughts else "the model says nothing")
    return None


def _faults(endpoint: Endpoint, reply: ChatReply) -> list[str]:
    whole, choice, message = reply.exchange.object, reply.choice, reply.message
    content, finish = message.get("content"), choice.get("finish_reason")
    wanted: list[tuple[str, Any, bool]] = [
        ("id", whole.get("id"), isinstance(whole.get("id"), str) and bool(whole["id"])),
        ("object", whole.get("object"), whole.get("object") == "chat.completion"),
        ("created", whole.get("created"), _is_count(whole.get("created"))),
        ("model", whole.get("model"), isinstance(whole.get("model"), str)),
        ("choices[0].index", choice.get("index"), _is_count(choice.get("index")) and choice["index"] == 0),
        ("choices[0].finish_reason", finish, finish in _FINISHES if isinstance(finish, str) else False),
        ("message.role", message.get("role"), message.get("role") == "assistant"),
        ("message.content", content, isinstance(content, str) or (content is None and _may_be_null(endpoint, reply))),
    ]
    found = [f"{name} is {quoted(value)}" for name, value, right in wanted if not right]
    if reply.finish in ("tool_calls", "function_call"):
        found.append(f"finish_reason is {quoted(reply.finish)}, and no tools were offered")
    return found


def _may_be_null(endpoint: Endpoint, reply: ChatReply) -> bool:
    """Whether there may have been nothing to say, which is told by null too; the scripted model says something."""
    if reply.finish in ("length", FILTERED) or reply.withheld is not None:
        return True
    return endpoint.scripted is None and ("content" in reply.message or bool(reply.thoughts))


def _usage_faults(usage: Any) -> list[str]:
    """Whether the numbers are there and add up; no usage at all is no fault."""
    if usage is None:
        return []
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    numbers: list[Any] = [table(usage).get(name) for name in names]
    found = [
        f"usage.{name} is {quoted(number)}"
        for name, number in zip(names, numbers, strict=True)
        if not _is_count(number)
    ]
    if found or numbers[0] + numbers[1] == numbers[2]:
        return found
    return [f"usage.total_tokens is {numbers[2]}, not {numbers[0]} + {numbers[1]}"]


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


# ------------------------------------------------------------------------------------------------- cut replies


def cut_reply_marked(endpoint: Endpoint) -> Verdict:
    """TL908."""
    verdicts: list[Verdict] = []
    refused: list[str] = []
    for member, exchange in _limited(endpoint):
        if (turned_away := busy(exchange)) is not None:
            return turned_away
        if exchange.refused:
            refused.append(f"{member} is refused: {http(exchange)}")
        else:
            verdicts.append(_limit_verdict(endpoint, exchange, member))
            if verdicts[-1].word == "fail":
                decides(endpoint, exchange)
                return verdicts[-1]
    if not verdicts:
        # a server that takes no limit at all was not contacted
        return inconclusive(f"a limit of {_CUT} tokens is refused by either name", evidence=tuple(refused))
    for word in ("inconclusive", "warn"):
        for verdict in verdicts:
            if verdict.word == word:
                return verdict
    # either of the two names does: models that refuse the old one exist, and servers that do not know the new one
    return warned(refused[0]) if refused else verdicts[0]


def _limited(endpoint: Endpoint) -> Iterator[tuple[str, Exchange]]:
    """The answers under both names of the limit; the newer one streamed, so that who does not know it can be left."""
    first = endpoint.chat(endpoint.prompts.long, max_tokens=_CUT)
    # a model that refuses the old name was told so at the first meeting
    yield "max_tokens" if "max_tokens" in table(first.asked.body) else _NEWER, first
    body = endpoint.chat_body(endpoint.prompts.long, max_tokens=None, stream=True, **{_NEWER: _CUT})
    yield _NEWER, endpoint.ask(Asked("POST", CHAT, body, leave_after=_MORE))


def _limit_verdict(endpoint: Endpoint, exchange: Exchange, member: str) -> Verdict:
    if exchange.left:
        words = len(chat_stream.read(exchange).content.split())
        if words > _CUT:
            return failed(f"{member} {_CUT} is not heeded: {words} words come, and no end")
        return inconclusive(f"{member} {_CUT}: {len(exchange.frames)} chunks come with {counted(words, 'word')}")
    if exchange.ok and exchange.events is not None:
        return _cut_stream_verdict(endpoint, exchange, member)
    reply = ChatReply(exchange)
    return reply.unusable or reply.withheld or _cut_verdict(endpoint, reply, member)


def _cut_stream_verdict(endpoint: Endpoint, exchange: Exchange, member: str) -> Verdict:
    fault = chat_stream.broken(exchange)
    if fault:
        return inconclusive(fault)
    streamed = chat_stream.read(exchange)
    if streamed.withheld is not None:
        return streamed.withheld
    said = f"{member} {_CUT}, streamed: finish_reason {quoted(streamed.finish)}"
    if streamed.finish == "length":
        return passed(said)
    cut = streamed.reasoning + streamed.content
    if not _goes_on(endpoint, cut):
        return inconclusive(f"{said}, the answer may have ended by itself", cure=_COAX)
    return failed(f"{said}, though the answer goes on behind {quoted(cut[-30:])}")


def _cut_verdict(endpoint: Endpoint, reply: ChatReply, member: str) -> Verdict:
    said = f"{member} {_CUT}: {reply.told_finish}"
    count = reply.tokens
    if count is not None and count > _CUT:
        return failed(f"{member} {_CUT} is not heeded: usage counts {count} completion tokens")
    if reply.finish == "length":
        if count is None:
            return warned(f"{said}, and no usage tells how many tokens that were")
        if count < _CUT:
            return warned(f"{said}, and usage counts {counted(count, 'completion token')}")
        return passed(f"{said} and {count} completion tokens")
    cut = reply.thoughts + reply.content
    if not _goes_on(endpoint, cut):
        return inconclusive(f"{said}, the answer may have ended by itself", cure=_COAX)
    return failed(f"{said}, though the answer goes on behind {quoted(cut[-30:])}")


def _goes_on(endpoint: Endpoint, cut: str) -> bool:
    """Whether the same answer is longer where more of it is allowed."""
    longer = ChatReply(endpoint.chat(endpoint.prompts.long, max_tokens=_MORE))
    whole = longer.thoughts + longer.content
    return bool(cut) and len(whole.rstrip()) > len(cut.rstrip()) and whole.startswith(cut.rstrip())


# ---------------------------------------------------------------------------------------------------- thoughts


def thoughts_apart(endpoint: Endpoint) -> Verdict:
    """TL923."""
    reply = ChatReply(endpoint.chat(endpoint.prompts.think))
    if (trouble := reply.unusable or reply.withheld) is not None:
        return trouble
    mark = mark_in(reply.content, reply.thoughts)
    if mark:
        return _marked(endpoint, f"content holds {mark}: {quoted(_around(reply.content, mark))}", mark)
    if reply.thoughts and reply.content:
        return passed(f"thoughts {quoted(reply.thoughts, 40)}, content {quoted(reply.content, 40)}")
    return _silent(endpoint, reply) if reply.thoughts else thoughtless(endpoint)


def _marked(endpoint: Endpoint, fact: str, mark: str) -> Verdict:
    if mark.strip("</>") in _WORDS:
        syntax = syntax_of(endpoint.served.model)
        if syntax is None or syntax.reasoning is None or mark not in (syntax.reasoning.start + syntax.reasoning.end):
            return warned(f"{fact}, which may be the model's own way of writing")
    return failed(fact, cure=_parser_cure(endpoint))


def _silent(endpoint: Endpoint, reply: ChatReply) -> Verdict:
    """Nothing is said behind the thoughts."""
    if reply.finish == "length":
        return inconclusive(f"no answer follows the thoughts within {endpoint.tokens} tokens", cure=_ROOM)
    if endpoint.scripted is not None:
        return failed(f"content is empty, all of the reply is in the thoughts: {quoted(reply.thoughts[-60:])}")
    return inconclusive("the model thinks and says nothing")


def _around(content: str, mark: str) -> str:
    at = content.find(mark)
    return content[max(0, at - 20) : at + len(mark) + 20]


def _parser_cure(endpoint: Endpoint) -> str:
    kind = endpoint.served.kind
    if kind == "llama.cpp":
        return "start llama-server with --reasoning-format auto, its default"
    if kind not in ("vllm", "sglang"):
        return ""
    from templatelint.dialects.serving.flags import flags

    syntax = syntax_of(endpoint.served.model)
    if syntax is None or syntax.reasoning is None:
        return f"start {kind} with --reasoning-parser NAME"
    wanted = flags(kind, None, syntax.reasoning)
    words = " ".join(wanted.arguments) if wanted is not None else ""
    return f"start {kind} with {words}" if words else ""
