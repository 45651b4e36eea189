"""Requests that are at fault: refused as that, with an error object that says why, and without harm to the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.errors import TemplatelintError
from templatelint.probe.answered import whole
from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.endpoint import CHAT, RESPONSES, for_responses
from templatelint.probe.parts import decides
from templatelint.probe.prompts import TOOLS, WEATHER
from templatelint.probe.refusals import (
    baseless,
    carries,
    judged,
    openai_fault,
    refused_as_such,
    with_few_tokens,
)
from templatelint.probe.responses.items import LEAST
from templatelint.probe.server import context, serving
from templatelint.probe.telling import busy, error_message, http, quoted
from templatelint.probe.template.raising import raised
from templatelint.probe.verdict import failed, inconclusive, passed, skipped, warned
from templatelint.probe.wire.exchange import Asked
from templatelint.sources.endpoint.routes import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.refusals import Bad
    from templatelint.probe.template.raising import Raised
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_PLAIN = "a plain request"
_FEW = 8  # tokens of an answer that there is not to be
_NO_JSON = '{"messages": ['
_ROLE = "wizard"
_TRIED = 3  # conversations that the template refuses
_SAID = 160  # characters of what a template says
_WORST = ("crashed", "silent", "told", "early", "accepted")  # how a server deals with what the template refuses
# words of a prompt where the context is not known: no server of a large context has to read a book
_GUESSES = (1 << 12, 1 << 14)
_FAR = 1 << 15  # tokens of a context beyond which nothing is sent to a server that may charge for it
_PATIENCE = 5.0  # seconds in which a prompt is found too long


class _Base(NamedTuple):
    """A right request of the same make, as it was answered: what is refused then is the fault that is put into it.

    Attributes:
        limit: of its tokens.
    """

    endpoint: Endpoint
    exchange: Exchange
    limit: int

    def body(self, messages: Any = None, **members: Any) -> dict[str, Any]:
        """A chat completion that is right but for these members."""
        spoken = self.endpoint.prompts.plain if messages is None else messages
        return {**self.endpoint.chat_body(spoken, max_tokens=self.limit), **members}


def _base(endpoint: Endpoint, messages: Any = None, **members: Any) -> _Base:
    """With few tokens; with as many as any request where so few are refused."""
    # another clause is about what a server makes of this behind all faults
    plain = endpoint.chat(endpoint.prompts.plain)
    if not plain.ok:
        return _Base(endpoint, plain, endpoint.tokens)
    spoken = endpoint.prompts.plain if messages is None else messages
    right, limit = with_few_tokens(
        lambda tokens: endpoint.chat(spoken, max_tokens=tokens, **members), _FEW, endpoint.tokens
    )
    return _Base(endpoint, right, limit)


def _without(body: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in body.items() if key != name}


def _said(content: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": content}]


# ------------------------------------------------------------------------------------------- TL960 to TL963


def _bodies(base: _Base) -> list[Bad]:
    words = base.endpoint.prompts.plain
    body = base.body()
    return [
        ("no messages", _without(body, "messages")),
        ("messages as a text", {**body, "messages": words}),
        ("temperature as a text", {**body, "temperature": "hot"}),
        ("a body that is no JSON", _NO_JSON),
        ("a body that is an array", []),
        ("messages as an object", {**body, "messages": {"role": "user", "content": words}}),
        ("a message without a role", {**body, "messages": [{"content": words}]}),
        ("content as a number", {**body, "messages": _said(7)}),
        ("top_p as a text", {**body, "top_p": "most"}),
        ("stream as a text", {**body, "stream": "maybe"}),
    ]


def bad_body_refused(endpoint: Endpoint) -> Verdict:
    """TL960."""
    base = _base(endpoint)
    return _of_chat(base, _PLAIN, _bodies(base), "faulty bodies", strict=True)


def bad_tools_refused(endpoint: Endpoint) -> Verdict:
    """TL961."""
    nameless = {name: value for name, value in WEATHER["function"].items() if name != "name"}
    tools: list[tuple[str, Any]] = [
        ("tools as an object", WEATHER),
        ("tools as a text", WEATHER["function"]["name"]),
        ("a tool without a name", [{"type": "function", "function": nameless}]),
        ("a tool of the type spell", [{**WEATHER, "type": "spell"}]),
    ]
    base = _base(endpoint, tools=[WEATHER])
    bad = [(name, base.body(tools=value)) for name, value in tools]
    return _of_chat(base, "a request with a right list of tools", bad, "faulty lists of tools")


def unknown_role_refused(endpoint: Endpoint) -> Verdict:
    """TL962."""
    name = f"a message of the role {_ROLE}"
    base = _base(endpoint)
    return _of_chat(base, _PLAIN, [(name, base.body([{"role": _ROLE, "content": endpoint.prompts.plain}]))], name)


def bad_choice_refused(endpoint: Endpoint) -> Verdict:
    """TL963."""
    base = _base(endpoint, tools=list(TOOLS), tool_choice="auto")
    bad = [
        ("tool_choice maybe", base.body(tools=list(TOOLS), tool_choice="maybe")),
        ("tool_choice required without tools", base.body(tool_choice="required")),
    ]
    return _of_chat(base, "a request with tools and tool_choice auto", bad, "faulty choices of tools")


def _of_chat(base: _Base, right: str, bad: Sequence[Bad], what: str, *, strict: bool = False) -> Verdict:
    return baseless(base.exchange, right) or judged(
        base.endpoint, CHAT, bad, what, shape=openai_fault if strict else None
    )


# ------------------------------------------------------------------------------- TL964, refused by the template


def template_refusal_told(endpoint: Endpoint) -> Verdict:
    """TL964."""
    base = _base(endpoint)
    if (trouble := baseless(base.exchange, _PLAIN)) is not None:
        return trouble
    served = serving.known(endpoint)
    model = served.model or endpoint.linted
    if model is None:
        return skipped(
            "the server does not tell its template, so that nobody knows what it refuses", cure="--template REF"
        )
    try:
        found = raised(model, served.kind)
    except TemplatelintError as trouble_here:
        return inconclusive(f"the template cannot be rendered here: {trouble_here.message}")
    if not found:
        return skipped("the template refuses no conversation of ours with raise_exception")
    told: list[tuple[str, Raised, Exchange]] = []
    for one in found[:_TRIED]:
        exchange = endpoint.post(CHAT, base.body(list(one.messages)))
        if (trouble := busy(exchange)) is not None:
            return trouble
        told.append((_how_told(one, exchange), one, exchange))
        if told[-1][0] == "crashed":
            break
    return _of_refusals(endpoint, told)


def _how_told(one: Raised, exchange: Exchange) -> str:
    if exchange.refused:
        return "told" if carries(exchange, one.words) else "silent" if one.common else "early"
    return "accepted" if exchange.ok and not exchange.cut else "crashed"


def _of_refusals(endpoint: Endpoint, told: Sequence[tuple[str, Raised, Exchange]]) -> Verdict:
    word, one, exchange = min(told, key=lambda each: (_WORST.index(each[0]), not each[1].common))
    decides(endpoint, exchange)
    evidence = tuple(f"{each.name}: {http(answer)}" for _, each, answer in told)
    conversation = f"a conversation with {one.name}"
    words = f"the template's words {quoted(one.words, _SAID)}"
    if word == "crashed":
        how = "a connection that ends" if exchange.cut else f"HTTP {exchange.status}"
        refused = f"{conversation}, which the template refuses with {quoted(one.words, _SAID)},"
        return failed(f"{refused} is answered with {how}", evidence=evidence)
    if word == "silent":
        return warned(f"{conversation} is refused without {words}: {http(exchange)}", evidence=evidence)
    if word == "told":
        return passed(f"{conversation} is refused with {words}", evidence=evidence)
    if word == "early":
        return skipped(f"{conversation} is refused before the template sees it")
    return inconclusive(
        f"the template refuses {conversation} as we render it, and the server answers it",
        evidence=(f"it would be refused with {words}", *evidence),
    )


# --------------------------------------------------------------------------------------------------- TL965


def bad_part_refused(endpoint: Endpoint) -> Verdict:
    """TL965."""
    words = {"type": "text", "text": endpoint.prompts.plain}
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    parts: list[tuple[str, list[Any]]] = [
        ("a part of the type spell", [{"type": "spell", "spell": "abracadabra"}]),
        ("a text part without a text", [{"type": "text"}]),
        ("a text part whose text is a number", [{"type": "text", "text": 7}]),
        ("a part that is a number", [7]),
        ("an image part that is no image", [words, image]),
    ]
    base = _base(endpoint, _said([words]))
    bad = [(name, base.body(_said(content))) for name, content in parts]
    return _of_chat(base, "a message whose content is a text part", bad, "faulty content parts")


# ---------------------------------------------------------------------------------- TL966, beyond the context


def overflow_refused(endpoint: Endpoint) -> Verdict:
    """TL966."""
    base = _base(endpoint)
    if (trouble := baseless(base.exchange, _PLAIN)) is not None:
        return trouble
    size, near = context.size(endpoint), _near(endpoint.url)
    if size > (context.LARGEST if near else _FAR):
        where = "" if near else " to a server elsewhere, which may charge for it"
        return skipped(
            f"the context holds {size:,} tokens, and a prompt beyond that is more than this check sends{where}"
        )
    if size:
        exchange = endpoint.chat(context.beyond(size), max_tokens=base.limit)
        return busy(exchange) or _overflown(exchange, size)
    return _beyond_what_is_not_told(base, near=near)


def _near(url: str) -> bool:
    """Whether a server is on this machine or in its network, where nobody pays for what it reads."""
    from ipaddress import ip_address
    from urllib.parse import urlsplit

    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_private
    except ValueError:
        return host == "localhost"


def _beyond_what_is_not_told(base: _Base, *, near: bool) -> Verdict:
    """The same where the server does not tell how large its context is."""
    unknown = "the server does not tell how many tokens its context holds"
    if not near:
        return skipped(f"{unknown}, and may charge for a prompt that is long enough to find out")
    endpoint = base.endpoint
    for words in _GUESSES:
        body = endpoint.chat_body(context.beyond(words), max_tokens=base.limit)
        exchange = endpoint.ask(Asked("POST", CHAT, body, leave_at=_PATIENCE))
        if (trouble := busy(exchange)) is not None:
            return trouble
        if exchange.left:
            return skipped(f"{unknown}, and has not refused {words:,} words within {_PATIENCE:g} s")
        if exchange.cut or not exchange.ok:
            return _overflown(exchange, 0)
        if 0 < (read := _read(exchange)) < words:
            return failed(f"a prompt of more than {words:,} words is cut to {read:,} tokens without a word")
    return skipped(f"{unknown}, and it is more than {_GUESSES[-1]:,}")


def _overflown(exchange: Exchange, size: int) -> Verdict:
    """What is to be said of the answer to a prompt beyond the context; 0 where that is not known."""
    prompt = f"a prompt of more than {size:,} tokens" if size else "a prompt beyond the context"
    if exchange.refused and not exchange.cut:
        return _overflow_told(exchange, size, prompt)
    if fault := _overflow_fault(exchange, size):
        return failed(f"{prompt} {fault}")
    return warned(f"{prompt} is answered: it was shortened on the way, or the context is longer than told")


def _overflow_told(exchange: Exchange, size: int, prompt: str) -> Verdict:
    if fault := openai_fault(exchange):
        return failed(f"{prompt} is refused with HTTP {exchange.status} {fault}")
    if size and not _names(exchange, size):
        return warned(f"{prompt} is refused, and the error does not name the {size:,}: {http(exchange)}")
    return passed(f"{prompt} is refused: {http(exchange)}")


def _overflow_fault(exchange: Exchange, size: int) -> str:
    """What is wrong with the answer to a prompt that is not refused; empty where nothing surely is."""
    if exchange.cut:
        return "ends the connection"
    if not exchange.ok:
        return f"is answered {http(exchange)}"
    if "error" in exchange.object:
        return f"is answered with an error object and HTTP {exchange.status}"
    if 0 < (read := _read(exchange)) < size:
        return f"is answered: the server has cut it to {read:,} tokens without a word"
    return ""


def _read(exchange: Exchange) -> int:
    """Tokens of the prompt; 0 where they are not told."""
    return whole(table(exchange.object.get("usage")).get("prompt_tokens")) or 0


def _names(exchange: Exchange, size: int) -> bool:
    """Whether the error tells how large the context is, in its words or in a member."""
    error = table(exchange.object.get("error"))
    return size in error.values() or str(size) in error_message(exchange).replace(",", "")


# ----------------------------------------------------------------------------------------- TL967 and TL968


def error_members(endpoint: Endpoint) -> Verdict:
    """TL967."""
    base = _base(endpoint)
    if (trouble := baseless(base.exchange, _PLAIN)) is not None:
        return trouble
    for what, body in _bodies(base)[:3]:
        exchange = endpoint.post(CHAT, body)
        if (trouble := busy(exchange)) is not None:
            return trouble
        error = exchange.object.get("error")
        if exchange.refused and isinstance(error, dict):
            faults = [*_member_faults(error)]
            if faults:
                return failed(f"in the error object {' and '.join(faults)}", evidence=(f"{what}: {http(exchange)}",))
            return passed("the error object has message, type, param and code")
    return skipped("none of three requests at fault is refused with an error object")


def _member_faults(error: Mapping[str, Any]) -> Iterator[str]:
    for name in ("message", "type"):
        if not isinstance(error.get(name), str):
            yield _fault_of(error, name)
    for name in ("param", "code"):
        if name not in error or not isinstance(error[name], (str, type(None))):
            yield _fault_of(error, name)


def _fault_of(error: Mapping[str, Any], name: str) -> str:
    return f"{name} is {quoted(error[name])}" if name in error else f"{name} is missing"


def bad_response_refused(endpoint: Endpoint) -> Verdict:
    """TL968."""
    words = endpoint.prompts.plain
    right, limit = with_few_tokens(
        lambda tokens: endpoint.respond(words, max_output_tokens=tokens), LEAST, endpoint.tokens
    )
    if (trouble := baseless(right, "a plain input")) is not None:
        return trouble
    body = endpoint.response_body(words, max_output_tokens=limit)
    bad: list[Bad] = [
        ("a body that is no JSON", '{"input": ['),
        ("no input", _without(body, "input")),
        ("input as a number", {**body, "input": 7}),
        ("input as an object", {**body, "input": {"role": "user", "content": words}}),
    ]
    # where what is right of its kind is refused, a refusal shows nothing
    if not refused_as_such(endpoint, RESPONSES, {**body, "input": _said(words)}):
        bad.append(("an item of the type spell", {**body, "input": [{"type": "spell", "spell": "abracadabra"}]}))
    if not refused_as_such(endpoint, RESPONSES, {**body, "tools": for_responses(TOOLS)}):
        bad.append(("tools as a text", {**body, "tools": WEATHER["function"]["name"]}))
    return judged(endpoint, RESPONSES, bad, "faulty bodies", shape=openai_fault)


# --------------------------------------------------------------------------------------------------- TL969


def still_correct(endpoint: Endpoint) -> Verdict:
    """TL969."""
    first = endpoint.chat(endpoint.prompts.plain)
    before = ChatReply(first)
    if before.unusable is not None:
        return inconclusive(f"the plain request was answered {http(first)} before any other")
    exchange = endpoint.ask(first.asked, again=True)
    after = ChatReply(exchange)
    if after.unusable is not None:
        told = f"the plain request that was answered at first is not any more: {after.unusable.message}"
        return busy(exchange) or (failed(told) if after.unusable.word == "fail" else after.unusable)
    then = f"and was with {quoted(before.content)} at first"
    if before.content.strip() and not after.content.strip():
        if after.finish != "stop" or after.thoughts or after.message.get("refusal"):
            return inconclusive(f"the model says nothing now, {after.told_finish}, {then}")
        return failed(f"the plain request is answered without a text, {then}")
    if endpoint.scripted and before.content != after.content:
        return failed(f"the plain request is answered with {quoted(after.content)}, {then}")
    return passed(f"the plain request is answered as before: {quoted(after.content)}")
