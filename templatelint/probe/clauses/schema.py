"""`response_format` with a JSON schema: what is said is an instance of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from templatelint.probe.chat.reply import ChatReply
from templatelint.probe.schema import fault
from templatelint.probe.telling import busy, http, quoted
from templatelint.probe.verdict import failed, inconclusive, passed
from templatelint.probe.wire.exchange import parsed

if TYPE_CHECKING:
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict

# without texts of any length, which a weak model never ends; no model comes upon it by chance
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "kind": {"type": "string", "enum": ["village", "town", "city"]},
        "continent": {"type": "string", "enum": ["Africa", "Asia", "Europe"]},
        "capital": {"type": "boolean"},
    },
    "required": ["kind", "continent", "capital"],
    "additionalProperties": False,
}
_ROOM = "a higher --max-tokens gives it room"


def schema_enforced(endpoint: Endpoint) -> Verdict:
    """TL917."""
    reply = _wrapped(endpoint)
    if (trouble := reply.unusable or reply.withheld) is not None:
        return trouble
    return _judged(endpoint, reply, "the schema is not enforced")


def _wrapped(endpoint: Endpoint) -> ChatReply:
    """The reply to a schema in its right form."""
    wrapped = {"type": "json_schema", "json_schema": {"name": "place", "strict": True, "schema": SCHEMA}}
    return ChatReply(endpoint.chat(endpoint.prompts.json, response_format=wrapped))


def bare_schema_refused(endpoint: Endpoint) -> Verdict:
    """TL918."""
    bare = {"type": "json_schema", "schema": SCHEMA}
    reply = ChatReply(endpoint.chat(endpoint.prompts.json, response_format=bare))
    if reply.exchange.refused and busy(reply.exchange) is None and (right := _wrapped(endpoint).exchange).refused:
        return busy(right) or inconclusive(f"a schema is refused in its right form too: {http(right)}")
    if (settled := reply.unusable_unless_refused("a schema that is not wrapped")) is not None:
        return settled
    return _judged(endpoint, reply, "a schema that is not wrapped is taken and not enforced")


def _judged(endpoint: Endpoint, reply: ChatReply, broken: str) -> Verdict:
    said = reply.content.strip()
    if reply.cut_before_answer or (reply.finish == "length" and said.startswith("{")):
        return inconclusive(f"the answer is cut at {endpoint.tokens} tokens", cure=_ROOM)
    value = parsed(said)
    if not isinstance(value, Mapping):
        what = f"the thoughts are {quoted(reply.thoughts)}" if reply.thoughts and not said else quoted(said)
        return failed(f"{broken}: content is {'empty, ' if not said else 'no JSON object, '}{what}")
    wrong = fault(value, SCHEMA)
    if wrong:
        return failed(f"{broken}: {wrong}, content is {quoted(said)}")
    if reply.finish != "stop":
        return failed(f"{reply.told_finish} behind a whole object, not 'stop'")
    return passed(f"content {quoted(said, 100)}")
