"""Streamed chat completions: framed as clients read them, the same as plain ones, marked where they are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from templatelint.probe.chat import chunks as chat_chunks
from templatelint.probe.chat import clients as chat_clients
from templatelint.probe.chat import cut_calls
from templatelint.probe.chat import stream as chat_stream
from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.parts import decides, worst
from templatelint.probe.prompts import TOOLS
from templatelint.probe.server import context
from templatelint.probe.telling import busy, counted, misread, quoted
from templatelint.probe.verdict import failed, inconclusive, passed, skipped, warned
from templatelint.scripted import scripts
from templatelint.sources.endpoint.routes import table, text

if TYPE_CHECKING:
    from templatelint.probe.chat.stream import Streamed
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Event, Exchange

_FEW = 8  # tokens, after which an answer is cut
_LISTED = 12  # further faults that the evidence has room for
_LINE = 300  # characters of a text in the evidence
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_TEXT, _CALL = "text", "call"
_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


# ------------------------------------------------------------------------------------------ TL925, framing


def stream_framed(endpoint: Endpoint) -> Verdict:
    """TL925."""
    exchange = endpoint.chat(endpoint.prompts.plain, stream=True)
    early = busy(exchange) or (chat_stream.unread(exchange) if misread(exchange) else None)
    if early is not None:
        return early
    if instead := chat_stream.not_streamed(exchange):
        return failed(f"stream: true is answered with no event stream: {instead}")
    faults = list(chat_chunks.faults(exchange))
    if faults:
        return failed(faults[0], evidence=tuple(faults[1 : 1 + _LISTED]))
    if fault := chat_clients.fault(exchange, chat_stream.read(exchange)):
        return failed(fault)
    odd = list(chat_chunks.oddities(exchange))
    if odd:
        return warned(odd[0], evidence=tuple(odd[1:]))
    return passed(f"{counted(len(exchange.frames), 'chunk')} and [DONE]")


# ------------------------------------------------------------------------------------ TL926, against the plain

_PARTS = ("content", "reasoning", "finish_reason")
_Said: TypeAlias = tuple[str, str, str]


def stream_equals_plain(endpoint: Endpoint) -> Verdict:
    """TL926."""
    prompt = endpoint.prompts.plain
    plain, stream = endpoint.chat(prompt), endpoint.chat(prompt, stream=True)
    one, other = _both(plain, stream)
    if one is None or other is None:
        missing = inconclusive("there is no plain reply to compare with")
        return chat_stream.unread(stream) or chat_stream.read(stream).withheld or missing
    if one == other:
        return passed(f"both say {quoted(one[0] or one[1])}")
    return _differing(endpoint, plain, stream, one, other)


def _differing(endpoint: Endpoint, plain: Exchange, stream: Exchange, one: _Said, other: _Said) -> Verdict:
    at = next(at for at in range(len(_PARTS)) if one[at] != other[at])
    fact = f"{_PARTS[at]} is {quoted(one[at])} at once, and {quoted(other[at])} as a stream"
    if _trimmed(one) == _trimmed(other):
        return warned(f"{fact}: the same but for the white space around it")
    # a model may say this now and that then: what the server is to blame for comes again
    repeated = _both(endpoint.ask(plain.asked, again=True), endpoint.ask(stream.asked, again=True))
    if repeated[0] is not None and repeated[0] == repeated[1]:
        return passed(f"both say {quoted(repeated[0][0])} when asked again, though the model's answers vary")
    if repeated != (one, other):
        return inconclusive("the model's answers to the same question vary")
    if endpoint.scripted or _PARTS[at] == "finish_reason" or _within(one[at], other[at]) or _within(other[at], one[at]):
        return failed(fact, evidence=(f"plain:    {quoted(one[at], _LINE)}", f"streamed: {quoted(other[at], _LINE)}"))
    return inconclusive(f"{fact}: other words, which the model may have chosen")


def _both(plain: Exchange, stream: Exchange) -> tuple[_Said | None, _Said | None]:
    """The parts of either, None where there are none to compare."""
    one, other = ChatReply(plain), chat_stream.read(stream)
    return (
        (one.content, one.thoughts, one.finish) if (one.unusable or one.withheld) is None else None,
        (other.content, other.reasoning, other.finish)
        if (chat_stream.unread(stream) or other.withheld) is None
        else None,
    )


def _trimmed(parts: _Said) -> tuple[str, ...]:
    return tuple(map(str.strip, parts))


def _within(part: str, whole: str) -> bool:
    """Whether a text is another one that has lost characters, or had them doubled or replaced."""
    rest = iter(whole)
    return all(character in rest for character in part if character != _REPLACEMENT)


# ------------------------------------------------------------------------------------------ TL927, usage


def usage_on_request(endpoint: Endpoint) -> Verdict:
    """TL927."""
    prompt = endpoint.prompts.plain
    unasked = endpoint.chat(prompt, stream=True)
    asked = endpoint.chat(prompt, stream=True, stream_options={"include_usage": True})
    if asked.refused and busy(asked) is None:
        return warned(f"stream_options is refused: {chat_stream.not_streamed(asked)}")
    early = chat_stream.unread(unasked) or chat_stream.unread(asked)
    if early is not None:
        return early
    surplus = _with_usage(unasked)
    if fault := _usage_fault(asked) or _unasked_fault(surplus):
        return failed(fault)
    if odd := _odd_usage(asked) or (surplus and f"usage stands in {_chunks(surplus)} though nobody asked for it"):
        return warned(odd)
    return passed("usage adds up where it is asked for, and is absent elsewhere")


def _with_usage(exchange: Exchange) -> list[Event]:
    return [event for event in exchange.frames if isinstance(event.object.get("usage"), dict)]


def _usage_fault(asked: Exchange) -> str:
    usage = chat_stream.read(asked).usage
    if usage is None:
        return "no chunk has usage though stream_options.include_usage is true"
    counts: list[Any] = [usage.get(name) for name in _COUNTS]
    prompt, completion, total = counts
    for name, count in zip(_COUNTS, counts, strict=True):
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            return f"usage.{name} is {quoted(count)}"
    if prompt + completion == total:
        return ""
    return f"usage does not add up: {quoted(prompt)} + {quoted(completion)} is not {quoted(total)}"


def _unasked_fault(surplus: list[Event]) -> str:
    bare = any(event.object.get("choices") == [] for event in surplus)
    return "a chunk with usage and without choices comes though nobody asked for it" if bare else ""


def _odd_usage(asked: Exchange) -> str:
    holders = _with_usage(asked)
    if holders[-1].object.get("choices") != []:
        return "usage stands in a chunk with a choice, where OpenAI sends one more, without choices"
    if holders[-1] is not asked.frames[-1]:
        return "chunks follow the one with usage"
    if len(holders) > 1:
        return f"{_chunks(holders)} have usage, which clients that add it up count more than once"
    return ""


def _chunks(events: list[Event]) -> str:
    return counted(len(events), "chunk")


# ------------------------------------------------------------------------------------------ TL931, cut streams


def cut_stream_marked(endpoint: Endpoint) -> Verdict:
    """TL931."""
    return worst(endpoint, [lambda: _cut(endpoint, endpoint.prompts.long, _FEW), lambda: _cut_call(endpoint)])


def _cut_call(endpoint: Endpoint) -> Verdict:
    """What streams show that end inside of a call's arguments."""
    whole = cut_calls.whole(endpoint)
    if (trouble := cut_calls.uncut(endpoint, whole)) is not None:
        return trouble
    verdicts = []
    for limit in cut_calls.limits(whole.tokens):
        verdict = _cut(endpoint, endpoint.prompts.write, limit, whole)
        if verdict.word == "fail":
            return verdict
        verdicts.append(verdict)
    return next((verdict for verdict in verdicts if verdict.word == "pass"), verdicts[0])


def _cut(endpoint: Endpoint, prompt: str, limit: int, whole: ChatReply | None = None) -> Verdict:
    """What a stream with a limit shows; `whole` is the plain reply without it, where that is a call."""
    members = {} if whole is None else {"tools": TOOLS}
    exchange = endpoint.chat(prompt, max_tokens=limit, stream=True, **members)
    reply = chat_stream.read(exchange)
    early = chat_stream.unread(exchange, failing=whole is None) or reply.withheld
    if early is not None:
        return early
    cut = f"a {_TEXT if whole is None else _CALL} cut after {limit} tokens ends"
    if reply.finish == "length":
        if whole is None or cut_calls.begun(whole, reply):
            return passed(f"{cut} with finish_reason 'length'")
        return inconclusive(f"no call had begun when {limit} tokens were over")
    if not reply.finish:
        return failed(f"{cut} without a finish_reason")
    return _not_marked(endpoint, exchange, limit, whole)


def _not_marked(endpoint: Endpoint, exchange: Exchange, limit: int, whole: ChatReply | None) -> Verdict:
    """What to say of a stream that says it was not cut."""
    reply = chat_stream.read(exchange)
    what = _TEXT if whole is None else _CALL
    if whole is None and _unheeded(reply):
        return failed(f"max_tokens {limit} is not heeded: {len(reply.content.split())} words came")
    cut = _evidently_cut(endpoint, exchange, limit, whole)
    decides(endpoint, exchange)
    if not cut:
        return inconclusive(
            f"the {what} was done before {limit} tokens were",
            cure="--prompts FILE with a prompt that makes the model write more",
        )
    said = [f"content: {quoted(reply.content, _LINE)}"] if reply.content else []
    called = [f"call {call.index}: {quoted(call.name)} {quoted(call.arguments, _LINE)}" for call in reply.calls]
    fact = f"a {what} cut after {limit} tokens ends with finish_reason {quoted(reply.finish)}"
    return failed(fact, evidence=(*said, *called[:_LISTED]))


def _unheeded(reply: Streamed) -> bool:
    """More words came than tokens were allowed, with room for tokens of two words."""
    return len(reply.content.split()) > 2 * _FEW


def _evidently_cut(endpoint: Endpoint, exchange: Exchange, limit: int, whole: ChatReply | None) -> bool:
    """Whether an answer that claims to be whole is not."""
    reply = chat_stream.read(exchange)
    if reply.calls and whole is not None:
        return cut_calls.shortened(whole, reply, sure=endpoint.scripted is not None)
    if endpoint.scripted:
        return True
    plain = _plain_of(endpoint, exchange)
    return plain.finish == "length" and plain.content == reply.content and (plain.tokens or 0) >= limit


def _plain_of(endpoint: Endpoint, exchange: Exchange) -> ChatReply:
    """The reply to the same request, unstreamed."""
    body = {name: value for name, value in exchange.asked.body.items() if name != "stream"}
    return ChatReply(endpoint.post(exchange.asked.path, body))


# ------------------------------------------------------------------------------------------ TL932, characters


def characters_whole(endpoint: Endpoint) -> Verdict:
    """TL932."""
    stream = endpoint.chat(endpoint.prompts.unicode, stream=True)
    early = chat_stream.unread(stream)
    if early is not None:
        return early
    for number, _, choice in chat_stream.choices(stream):
        piece = text(table(choice.get("delta")).get("content"))
        if _REPLACEMENT in piece:
            return failed(f"chunk {number} holds U+FFFD in place of a part of a character: {quoted(piece)}")
        if any("\ud800" <= character <= "\udfff" for character in piece):
            return failed(f"chunk {number} holds half of a character: {quoted(piece)}")
    content = chat_stream.read(stream).content.strip()
    if content == scripts.UNICODE:
        return passed(f"{counted(len(stream.frames), 'chunk')} join to {quoted(content)}")
    if _latin(content) != _latin(scripts.UNICODE):
        return inconclusive(f"the model says {quoted(content)}, not its text with accents and emoji")
    return failed(
        "accents or emoji of a streamed text are lost or changed",
        evidence=(f"said:     {quoted(scripts.UNICODE, _LINE)}", f"streamed: {quoted(content, _LINE)}"),
    )


def _latin(content: str) -> str:
    """What stays of a text whatever befalls the rest."""
    return "".join(character for character in content if character.isascii() and character.isalnum())


# ------------------------------------------------------------------------------------------ TL935, overflow


def overflow_before_stream(endpoint: Endpoint) -> Verdict:
    """TL935."""
    size = context.size(endpoint)
    if not size:
        return skipped("the server does not tell how many tokens its context holds")
    if size > context.LARGEST:
        return skipped(f"the context holds {size:,} tokens, and a prompt beyond that is more than this check sends")
    exchange = endpoint.chat(context.beyond(size), max_tokens=_FEW, stream=True)
    if (turned_away := busy(exchange)) is not None:
        return turned_away
    prompt = f"a prompt of more than {size:,} tokens"
    if exchange.refused:
        return passed(f"{prompt} is refused with HTTP {exchange.status} before the stream")
    if fault := _late(exchange):
        return failed(f"{prompt} {fault}")
    return warned(f"{prompt} is answered: it was shortened on the way, or the context is longer than told")


def _late(exchange: Exchange) -> str:
    """What a client meets that was not refused in time; empty where it meets an answer."""
    if instead := chat_stream.not_streamed(exchange):
        return f"is not refused: {instead}"
    if fact := chat_stream.broken(exchange):
        return f"gets HTTP {exchange.status}, and then {fact}"
    return "" if chat_stream.read(exchange).finish else f"gets HTTP {exchange.status} and a stream that does not end"
