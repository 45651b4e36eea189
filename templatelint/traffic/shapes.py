"""One recorded JSON value, in whichever interface's form and envelope → Request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from templatelint.errors import TemplatelintError, clip
from templatelint.model import Request
from templatelint.traffic.chat import request_from_openai
from templatelint.traffic.json_files import check_characters, is_too_deep
from templatelint.traffic.tools import tools_of

Kind: TypeAlias = Literal["chat", "responses", "anthropic", "tools"]

WANTED = (
    "give requests as OpenAI (chat completions or Responses) or Anthropic (Messages) have them, messages alone, or an"
    " MCP server's list of tools"
)
# where proxies, logs and batch files put the body
_WRAPPERS = ("request", "body", "request_body", "requestBody", "params", "payload", "json")
_DEPTH = 4  # envelopes round a body
_NAMES = ("custom_id", "id")
_LISTED = 6  # members of what is unknown that a message names
# what is asked where a list of tools stands alone
_QUESTION = "Which of these tools can be of use to me?"

# tuples, not sets: what is looked for in them may be of any type
_ITEMS = ("function_call", "function_call_output", "reasoning", "item_reference", "custom_tool_call")
_BLOCKS = ("tool_use", "tool_result", "thinking", "redacted_thinking", "image", "document")
# members of a body that only embeddings have
_EMBEDDING = frozenset({"encoding_format", "dimensions", "input_type"})


class Shaped(NamedTuple):
    """A recorded request.

    Attributes:
        name: what the recording calls it; empty where it does not.
        left_out: what of it no engine shows a model, in clauses.
    """

    name: str
    request: Request
    kind: Kind
    left_out: tuple[str, ...] = ()


def shaped(value: Any, where: str) -> Shaped:
    """The request in one recorded value.

    Args:
        value: JSON data.
        where: what error messages call it.

    Raises:
        TemplatelintError: it holds none that an engine could be sent.
    """
    body, name, url = _unwrapped(value)
    if is_too_deep(body):
        raise TemplatelintError(f"{where} is nested too deeply", help=WANTED)
    check_characters([name, body], where)
    if isinstance(body, list):
        body = _of_list(body, where)
    if not isinstance(body, Mapping):
        kinds = {str: "a string", type(None): "null", bool: "a boolean"}
        raise TemplatelintError(f"{where} is {kinds.get(type(body), 'a number')}, not a request", help=WANTED)
    if url and (other := _other_interface(url)):
        raise TemplatelintError(f"{where} is a request to {clip(other)}, which uses no chat template", help=WANTED)
    kind = _kind(body)
    if kind is None:
        listed = ", ".join(clip(str(member)) for member in list(body)[:_LISTED]) or "nothing"
        more = " …" if len(body) > _LISTED else ""
        raise TemplatelintError(f"{where} is no request that is known: it holds {listed}{more}", help=WANTED)
    request, left_out = _CONVERTED[kind](body, where)
    return Shaped(name, request, kind, left_out)


# ------------------------------------------------------------------------------------------- envelopes


def _unwrapped(value: Any) -> tuple[Any, str, str]:
    """A body out of its envelopes, its name, and the URL that it was sent to."""
    name, url = "", ""
    for _ in range(_DEPTH):
        if not isinstance(value, Mapping):
            break
        name = name or next((str(value[key]) for key in _NAMES if _is_name(value.get(key))), "")
        if isinstance(value.get("url"), str):
            url = value["url"]
        kind = _kind(value)
        if kind is not None:
            # an answer of JSON-RPC has an id that numbers it
            return value, "" if kind == "tools" else name, url
        inner = next((body for key in _WRAPPERS if (body := _body(value.get(key))) is not None), None)
        if inner is None:
            break
        value = inner
    return value, name, url


def _is_name(value: Any) -> bool:
    return (isinstance(value, str) and bool(value)) or (isinstance(value, int) and not isinstance(value, bool))


def _body(value: Any) -> Any:
    """What may be a body: data, or the text of it, as logs have it."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        import json

        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, (Mapping, list)) and value else None


def _other_interface(url: str) -> str:
    path = url.partition("?")[0].rstrip("/")
    if path.endswith(("/embeddings", "/moderations", "/audio/speech", "/images/generations", "/rerank")):
        return path
    return path if path.endswith("/completions") and not path.endswith("/chat/completions") else ""


# ---------------------------------------------------------------------------------------------- shapes


def is_one(values: list[Any]) -> bool:
    """Whether a list is one request (messages, items or tools alone), not a list of requests."""
    return bool(values) and (_is_item(values[0]) or _is_tool(values[0]))


def _is_item(value: Any) -> bool:
    return isinstance(value, Mapping) and _is_message(value)


def _is_message(value: Mapping[str, Any]) -> bool:
    return isinstance(value.get("role"), str) or (isinstance(value.get("type"), str) and value["type"] in _ITEMS)


def _is_tool(value: Any) -> bool:
    if not isinstance(value, Mapping) or "messages" in value or "input" in value:
        return False
    named = isinstance(value.get("name"), str) and any(
        member in value for member in ("inputSchema", "input_schema", "parameters", "description")
    )
    return named or (value.get("type") == "function" and "function" in value)


def _of_list(values: list[Any], where: str) -> Mapping[str, Any]:
    if not is_one(values):
        raise TemplatelintError(f"{where} is an array, not a request", help=WANTED)
    if _is_tool(values[0]):
        return {"tools": values}
    items = any(isinstance(value, Mapping) and value.get("type") in _ITEMS for value in values)
    return {"input" if items else "messages": values}


def _kind(body: Mapping[str, Any]) -> Kind | None:
    if isinstance(body.get("messages"), list):
        return "anthropic" if _is_anthropic(body) else "chat"
    if isinstance(body.get("input"), (str, list)) and _EMBEDDING.isdisjoint(body):
        return "responses"
    result = body.get("result")
    if isinstance(body.get("tools"), list) or (isinstance(result, Mapping) and isinstance(result.get("tools"), list)):
        return "tools"
    return None


def _is_anthropic(body: Mapping[str, Any]) -> bool:
    if "system" in body or "anthropic_version" in body or isinstance(body.get("thinking"), Mapping):
        return True
    if any(isinstance(tool, Mapping) and "input_schema" in tool for tool in _list(body.get("tools"))):
        return True
    return any(
        isinstance(block, Mapping) and block.get("type") in _BLOCKS
        for message in body["messages"]
        if isinstance(message, Mapping)
        for block in _list(message.get("content"))
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# ----------------------------------------------------------------------------------------- conversions


def _of_chat(body: Mapping[str, Any], where: str) -> tuple[Request, tuple[str, ...]]:
    return request_from_openai({key: value for key, value in body.items() if key not in _NAMES}, where=where), ()


def _of_responses(body: Mapping[str, Any], where: str) -> tuple[Request, tuple[str, ...]]:
    from templatelint.traffic import responses

    chat, left_out = responses.chat_body(body, where)
    return request_from_openai(chat, where=where), left_out


def _of_anthropic(body: Mapping[str, Any], where: str) -> tuple[Request, tuple[str, ...]]:
    from templatelint.traffic import anthropic

    chat, left_out = anthropic.chat_body(body, where)
    return request_from_openai(chat, where=where), left_out


def _of_tools(body: Mapping[str, Any], where: str) -> tuple[Request, tuple[str, ...]]:
    return Request([{"role": "user", "content": _QUESTION}], tools=tools_of(body, where)), ()


_CONVERTED = {"chat": _of_chat, "responses": _of_responses, "anthropic": _of_anthropic, "tools": _of_tools}
