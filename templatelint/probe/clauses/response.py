"""Plain answers of the Responses API: complete, marked where they are cut, formats enforced, no member ignored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from templatelint.probe.answered import whole
from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.endpoint import RESPONSES
from templatelint.probe.limits import goes_on
from templatelint.probe.responses.faults import REQUIRED, fault_of, faults_of, shown, untold
from templatelint.probe.responses.items import (
    LEAST,
    MORE,
    Reply,
    ask,
    decisive,
    limit_told,
    take_back,
    unanswered,
    user,
)
from templatelint.probe.responses.types import refused_by_types
from templatelint.probe.schema import fault
from templatelint.probe.telling import busy, http, quoted
from templatelint.probe.thoughts import mark_in, thoughtless
from templatelint.probe.verdict import NotOffered, failed, inconclusive, passed, warned
from templatelint.probe.wire import sdk
from templatelint.probe.wire.exchange import Asked, parsed
from templatelint.sources.endpoint.routes import rows, table, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict
    from templatelint.probe.wire.exchange import Exchange

_PLAIN = "a plain input"


# ------------------------------------------------------------------------------------------------------ TL936


def response_complete(endpoint: Endpoint) -> Verdict:
    """TL936."""
    exchange = endpoint.respond(endpoint.prompts.plain)
    trouble = unanswered(exchange, _PLAIN)
    if trouble is not None:
        return trouble
    reply = Reply(exchange)
    response = reply.response
    missing, wrong = faults_of(response)
    refused = refused_by_types(response)
    evidence = tuple(f"openai SDK: {member}: {why}" for member, why, _ in refused)
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        lacks = f"{len(missing)} of {len(REQUIRED)} required members {verb} missing: {', '.join(missing)}"
        return failed("; ".join([lacks, *wrong[:2]]), evidence=(*wrong, *evidence))
    if wrong:
        return failed("; ".join(wrong[:3]), evidence=(*wrong, *evidence))
    if refused:
        return _refused(refused, evidence)
    if not reply.messages:
        return inconclusive(f"the output has no message, but {reply.shape}")
    return passed(f"all {len(REQUIRED)} required members are there; output is {reply.shape}")


def _refused(refused: Sequence[tuple[str, str, bool]], evidence: tuple[str, ...]) -> Verdict:
    """What the SDK's types refuse, though it has all members: other types are a fault, further values need be none."""
    for member, why, drifts in refused:
        if not drifts and (member in REQUIRED or member.startswith("output[")):
            return failed(f"the openai SDK's types refuse {member}: {why}", evidence=evidence)
    member, why, _ = refused[0]
    return warned(f"the installed openai SDK's types refuse {member}: {why}", evidence=evidence)


# ------------------------------------------------------------------------------------------------------ TL937


def response_usage_details(endpoint: Endpoint) -> Verdict:
    """TL937."""
    exchange = endpoint.respond(endpoint.prompts.plain)
    trouble = unanswered(exchange, _PLAIN)
    if trouble is not None:
        return trouble
    usage = exchange.object.get("usage")
    if not isinstance(usage, dict):
        return failed(f"usage is {quoted(usage)}" if "usage" in exchange.object else "usage is missing")
    counts = {name: whole(usage.get(name)) for name in ("input_tokens", "output_tokens", "total_tokens")}
    wrong = [f"{name} is {shown(usage, name)}" for name, count in counts.items() if count is None]
    parts = {}
    for name, part in (("input_tokens_details", "cached_tokens"), ("output_tokens_details", "reasoning_tokens")):
        details = usage.get(name)
        parts[part] = whole(table(details).get(part))
        if not isinstance(details, dict):
            wrong.append(f"{name} is {shown(usage, name)}")
        elif parts[part] is None:
            wrong.append(f"{name}.{part} is {shown(details, part)}")
    if wrong:
        return failed(f"usage: {', '.join(wrong)}")
    read, written, total = (count or 0 for count in counts.values())
    if read + written != total:
        return failed(f"usage: {read} input and {written} output tokens are {total} in all")
    for part, of in (("cached_tokens", read), ("reasoning_tokens", written)):
        if (parts[part] or 0) > of:
            return warned(f"usage: {parts[part]} {part} of {of} tokens")
    return passed(f"usage: {read} + {written} = {total} tokens, with details of both")


# ------------------------------------------------------------------------------------------------------ TL939


def cut_response_incomplete(endpoint: Endpoint) -> Verdict:
    """TL939."""
    exchange = endpoint.respond(endpoint.prompts.long, max_output_tokens=LEAST)
    trouble = unanswered(exchange, f"a long answer's request with max_output_tokens {LEAST}", may_refuse=True)
    if trouble is not None:
        return trouble
    reply = Reply(exchange)
    if reply.status == "incomplete":
        return _cut_told(reply)
    if reply.status != "completed":
        return failed(f"status is {shown(reply.response, 'status')} at the end of a response")
    if reply.written is not None and reply.written > LEAST:
        return failed(f"max_output_tokens {LEAST} brings {reply.written} tokens, and status completed")
    proof = _proof_of_cut(endpoint, reply)
    decisive(endpoint, exchange)
    if proof:
        return failed(
            f"a response cut after {LEAST} tokens has status completed",
            evidence=(proof, f"it ends with {quoted(reply.text[-60:])}"),
        )
    return inconclusive(
        f"the model ended by itself after {'some' if reply.written is None else reply.written} tokens",
        cure="--prompts FILE, with a prompt `long` that brings a long answer",
    )


def _cut_told(reply: Reply) -> Verdict:
    wrong = limit_told(reply)
    if wrong is not None:
        return wrong
    last = reply.items[-1] if reply.items else {}
    # OpenAI's own reasoning items have no status
    if last and last.get("status") != "incomplete" and not untold(last):
        kind = quoted(last.get("type"))
        return failed(
            f"the response is incomplete, but the status of its last item, a {kind}, is {shown(last, 'status')}"
        )
    if reply.written is not None and reply.written > LEAST:
        return warned(f"max_output_tokens {LEAST} brings {reply.written} tokens; the response is told to be cut")
    return passed(f"status incomplete, reason {reply.reason}, last item {quoted(last.get('status'))}")


def _proof_of_cut(endpoint: Endpoint, reply: Reply) -> str:
    """Why a completed response was not at its end; empty where it may have been."""
    at_limit = reply.written is None or reply.written >= LEAST
    if at_limit and endpoint.scripted is not None:
        return f"the scripted model's text is longer than {LEAST} tokens"
    if at_limit:
        whole = Reply(endpoint.respond(endpoint.prompts.long)).said
        if goes_on(reply.said, whole):
            return f"with {endpoint.tokens} tokens the same answer has {len(whole):,} characters, not {len(reply.said)}"
    try:
        chat = ChatReply(endpoint.chat(endpoint.prompts.long, max_tokens=LEAST))
    except NotOffered:
        return ""
    if chat.finish == "length" and reply.text.strip() and chat.content.strip() == reply.text.strip():
        return "the chat route says of the same answer: finish_reason length"
    return ""


# ------------------------------------------------------------------------------------------------------ TL944

# values that no model comes upon by itself, and none that is free: a small model would not end it
_PLACE: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "enum": ["Paris", "Oslo"]},
        "kind": {"type": "string", "enum": ["kind-7q", "kind-4z"]},
    },
    "required": ["city", "kind"],
    "additionalProperties": False,
}


def text_format_enforced(endpoint: Endpoint) -> Verdict:
    """TL944."""
    form = {"type": "json_schema", "name": "place", "strict": True, "schema": _PLACE}
    exchange = endpoint.respond(endpoint.prompts.json, text={"format": form})
    trouble = unanswered(exchange, "text.format json_schema", may_refuse=True)
    if trouble is not None:
        return trouble
    reply = Reply(exchange)
    if reply.ran_out(endpoint.tokens):
        return inconclusive(f"{endpoint.tokens} tokens are not enough for the answer", cure=MORE)
    if not reply.text:
        return _textless(reply)
    value = parsed(reply.text)
    wrong = "it is no JSON" if value is None else fault(value, _PLACE)
    if wrong:
        return failed(
            f"text.format json_schema is not enforced: {wrong}", evidence=(f"the text is {quoted(reply.text)}",)
        )
    return _read_by_sdk(exchange)


def _textless(reply: Reply) -> Verdict:
    if reply.refusal:
        return inconclusive(f"the model refuses to answer: {quoted(reply.refusal)}")
    if reply.messages == reply.items:
        return failed("text.format json_schema brings no text")
    return inconclusive(f"text.format json_schema brings {reply.shape}, and no text")


def _read_by_sdk(exchange: Exchange) -> Verdict:
    if not sdk.installed("openai"):
        return passed(f"the text is valid by its schema: {quoted(Reply(exchange).text)}")
    from pydantic import create_model

    place = create_model("Place", city=(str, ...), kind=(str, ...))
    reading = sdk.parsed_response(exchange, place)
    if reading.trouble:
        return failed(f"responses.parse() of the openai SDK raises {reading.trouble}")
    return passed(f"the text is valid by its schema, and responses.parse() reads it: {quoted(Reply(exchange).text)}")


# ------------------------------------------------------------------------------------------------------ TL946

_NO_RESPONSE = "resp_0000000000000000000000000000000000000000templatelint"


def state_not_ignored(endpoint: Endpoint) -> Verdict:
    """TL946."""
    first = endpoint.respond(endpoint.prompts.plain)
    trouble = unanswered(first, _PLAIN)
    if trouble is not None:
        return trouble
    made_up = ask(endpoint, endpoint.prompts.plain, previous_response_id=_NO_RESPONSE)
    if (trouble := _neither(made_up, "a previous_response_id that there never was")) is not None:
        return trouble
    if made_up.ok:
        return failed("a previous_response_id that there never was is ignored: HTTP 200")
    told = [f"an unknown previous_response_id is refused: {http(made_up)}"]
    id_ = text(first.object.get("id"))
    if id_:
        verdict = _continued(endpoint, id_, told) or _fetched(endpoint, id_, told)
        if verdict is not None:
            return verdict
    return passed("; ".join(told))


def _continued(endpoint: Endpoint, id_: str, told: list[str]) -> Verdict | None:
    before = Reply(endpoint.respond(endpoint.prompts.plain)).read
    exchange = ask(endpoint, endpoint.prompts.plain, previous_response_id=id_)
    if (trouble := _neither(exchange, "previous_response_id")) is not None:
        return trouble
    if not exchange.ok:
        told.append(f"so is that of a response that there was (HTTP {exchange.status})")
        return None
    after = Reply(exchange).read
    if before is None or after is None or after <= before:
        return warned(
            "previous_response_id is accepted, and usage does not show its history: "
            f"{quoted(before)} and then {quoted(after)} input tokens"
        )
    told.append(f"a known one brings its history: {before} and then {after} input tokens")
    return None


def _fetched(endpoint: Endpoint, id_: str, told: list[str]) -> Verdict | None:
    exchange = endpoint.ask(Asked("GET", f"{RESPONSES}/{quote(id_[:200], safe='', errors='replace')}"))
    if (trouble := _neither(exchange, f"GET {RESPONSES}/ID")) is not None:
        return trouble
    if exchange.ok and exchange.object.get("id") != id_:
        return failed(
            f"GET {RESPONSES}/ID answers HTTP {exchange.status} with something else than the response of that id"
        )
    told.append(f"GET {RESPONSES}/ID answers HTTP {exchange.status}")
    return None


def _neither(exchange: Exchange, request: str) -> Verdict | None:
    """What is wrong with an answer that neither does what is asked nor refuses it."""
    if (trouble := busy(exchange)) is not None:
        return trouble
    if exchange.cut:
        return failed(f"the connection ends before the answer to {request} does")
    # 501 is a refusal in all but its class
    if exchange.ok or exchange.refused or exchange.status == 501:  # noqa: PLR2004 (HTTP's Not Implemented)
        return None
    return failed(f"{request} is answered {http(exchange)}")


# ------------------------------------------------------------------------------------------------------ TL947


def input_forms_accepted(endpoint: Endpoint) -> Verdict:
    """TL947."""
    plain = endpoint.respond(endpoint.prompts.plain)
    trouble = unanswered(plain, _PLAIN)
    if trouble is not None:
        return trouble
    alone = Reply(plain)
    if not alone.text:
        return inconclusive(f"the answer to a plain input is {alone.shape}, without a text")
    words = endpoint.prompts.plain
    typed = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": words}]}
    forms: Mapping[str, Callable[[], Exchange]] = {
        "typed items": lambda: take_back(endpoint, [typed], alone, [typed]),
        "typed messages with strings": lambda: ask(endpoint, [{"type": "message", **each} for each in _short(words)]),
        "messages without a type": lambda: ask(endpoint, _short(words)),
    }
    wrong: list[tuple[str, Exchange]] = []
    short: list[tuple[str, Exchange]] = []
    for name, answered in forms.items():
        exchange = answered()
        trouble = unanswered(exchange, f"a history of {name}")
        if trouble is not None and trouble.word != "fail":
            return trouble
        if trouble is not None:
            wrong.append((trouble.message, exchange))
            continue
        read = Reply(exchange).read
        if alone.read is not None and read is not None and read <= alone.read:
            short.append((f"{name}: {read} input tokens, and {alone.read} without the history", exchange))
    found = [*wrong, *short]
    if not found:
        return passed(f"accepted: {', '.join(forms)}")
    told, exchange = found[0]
    decisive(endpoint, exchange)
    evidence = tuple(fact for fact, _ in found)
    if wrong:
        return failed(told, evidence=evidence)
    return warned(f"usage tells of no more input tokens with a history ({told})", evidence=evidence)


def _short(words: str) -> list[dict[str, Any]]:
    return [user("Good morning."), {"role": "assistant", "content": "Good morning to you."}, user(words)]


# ------------------------------------------------------------------------------------------------------ TL948


def response_reasoning(endpoint: Endpoint) -> Verdict:
    """TL948."""
    exchange = endpoint.respond(endpoint.prompts.think)
    trouble = unanswered(exchange, "a prompt that asks for thought")
    if trouble is not None:
        return trouble
    reply = Reply(exchange)
    mark = mark_in(reply.text, "yes" if reply.thoughts else "")
    if mark:
        return failed(f"the message holds {quoted(mark)}", evidence=(f"it begins {quoted(reply.text, 120)}",))
    if not reply.thoughts:
        return _without_thoughts(endpoint, reply)
    kinds = [item.get("type") for item in reply.items]
    if "message" in kinds and kinds.index("reasoning") > kinds.index("message"):
        return failed("the reasoning item stands behind the message")
    wrong = next(filter(None, map(fault_of, reply.thoughts)), "")
    if wrong:
        return failed(f"the reasoning item: {wrong}")
    trouble = _taken_back(endpoint, reply)
    return (
        trouble
        if trouble is not None and trouble.word == "fail"
        else _worse(trouble, _limited_thought(endpoint, reply))
    )


def _taken_back(endpoint: Endpoint, reply: Reply) -> Verdict | None:
    if not reply.text or reply.ran_out(endpoint.tokens):
        # OpenAI's API takes no thoughts back that nothing follows
        return inconclusive(f"nothing follows the thoughts within {endpoint.tokens} tokens", cure=MORE)
    again = take_back(endpoint, [user(endpoint.prompts.think)], reply, [user(endpoint.prompts.plain)])
    return unanswered(again, "a history with the reasoning item as it came")


def _worse(before: Verdict | None, verdict: Verdict) -> Verdict:
    return before if before is not None and verdict.word == "pass" else verdict


def _without_thoughts(endpoint: Endpoint, reply: Reply) -> Verdict:
    try:
        thoughts = ChatReply(endpoint.chat(endpoint.prompts.think)).thoughts
    except NotOffered:
        thoughts = ""
    if thoughts:
        decisive(endpoint, reply.exchange)
        return failed(
            f"the output has no reasoning item ({reply.shape}), though the chat route gives thoughts apart",
            evidence=(f"the chat route's begin {quoted(thoughts)}",),
        )
    return thoughtless(endpoint)


def _limited_thought(endpoint: Endpoint, reply: Reply) -> Verdict:
    limit = _inside_thought(reply)
    exchange = ask(endpoint, endpoint.prompts.think, max_output_tokens=limit)
    trouble = unanswered(exchange, f"max_output_tokens {limit}", may_refuse=True)
    if trouble is not None:
        return trouble
    cut = Reply(exchange)
    if cut.cut:
        return passed(
            f"reasoning comes before the message, can be sent back, and is told to be cut after {limit} tokens"
        )
    if cut.status == "incomplete":
        return limit_told(cut) or failed("the response is incomplete without a reason")
    if cut.messages or cut.calls or (cut.written is not None and cut.written < limit):
        return inconclusive(f"{limit} tokens were enough for all thoughts: {cut.shape}")
    return failed(
        f"a response cut after {limit} tokens, inside its reasoning, has status {shown(cut.response, 'status')}"
    )


def _inside_thought(reply: Reply) -> int:
    """A limit that ends within the thoughts, and is as high as OpenAI demands where they are long enough."""
    usage = table(reply.response.get("usage"))
    counted = whole(table(usage.get("output_tokens_details")).get("reasoning_tokens"))
    if not counted:
        parts = [part for item in reply.thoughts for part in (*rows(item, "content"), *rows(item, "summary"))]
        length = sum(len(text(part.get("text"))) for part in parts)
        counted = (reply.written or 0) * length // max(1, length + len(reply.text))
    return LEAST if counted > LEAST or not counted else max(1, counted // 2)
