"""OpenAI request → whether vLLM takes it at all: what it answers with an error before it renders anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.engines.kinds import json_kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from templatelint.model import Request

Message = dict[str, Any]
_ABSENT = object()


class InvalidRequest(Exception):
    """vLLM refuses the request, whatever the template."""


EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
_ANSWERS = ("text", "json_object", "json_schema", "structural_tag")
# of the request, and only for a server that was started to trust them
_UNTRUSTED = ("chat_template", "mm_processor_kwargs", "media_io_kwargs")


def require_members(request: Request) -> None:
    """The members of the request other than its messages are of a kind that vLLM takes.

    Its server is taken to run with a tool parser: without one it refuses every request that may lead to calls.

    Raises:
        InvalidRequest: it answers with an error instead.
    """
    body = request.extra
    for name in _UNTRUSTED:
        if body.get(name) or (name == "chat_template" and body.get(name) is not None):
            raise InvalidRequest(f"the request has {name}, which vLLM takes only where it is started to trust it")
    if request.variables.get("chat_template") is not None:
        raise InvalidRequest("chat_template_kwargs has a chat_template, which vLLM takes only where it trusts it")
    if isinstance(request.continue_final_message, str):
        raise InvalidRequest(f"continue_final_message is {request.continue_final_message!r}, not a boolean")
    if (effort := body.get("reasoning_effort")) is not None and effort not in EFFORTS:
        raise InvalidRequest(f"reasoning_effort is {effort!r}, none of {', '.join(EFFORTS)}")
    for number, document in enumerate(request.documents or (), 1):
        for name, value in document.items():
            if not isinstance(value, str):
                raise InvalidRequest(f"{name} of document {number} is {json_kind(value)}, not text")
    _require_answer(body.get("response_format"))
    _require_tool_choice(request)


def _require_answer(wanted: Any) -> None:
    if wanted is None:
        return
    form = wanted.get("type") if isinstance(wanted, dict) else None
    if form not in _ANSWERS:
        raise InvalidRequest(f"response_format is of type {form!r}, none of {', '.join(_ANSWERS)}")
    schema = wanted.get("json_schema")
    if form == "json_schema" and not (isinstance(schema, dict) and isinstance(schema.get("name"), str)):
        raise InvalidRequest("response_format has no json_schema with a name")


def _require_tool_choice(request: Request) -> None:
    if request.tools is not None and not request.tools:
        raise InvalidRequest("tools is an empty list")
    choice = request.extra.get("tool_choice")
    if choice is None or choice == "none":
        return
    if request.tools is None:
        raise InvalidRequest("tool_choice is given without tools")
    if not isinstance(choice, dict):
        if choice not in ("auto", "required"):
            raise InvalidRequest(f"tool_choice is {choice!r}, neither none nor auto nor required nor a function")
        return
    function = choice.get("function")
    if choice.get("type", "function") != "function":
        raise InvalidRequest(f"tool_choice is of type {choice['type']!r}, not function")
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str) or not name:
        raise InvalidRequest("tool_choice names no function")
    if all(
        not isinstance(tool.get("function"), dict) or tool["function"].get("name") != name for tool in request.tools
    ):
        raise InvalidRequest(f"tool_choice names {name}, which is none of the tools")


# ----------------------------------------------------------------------------------------------- tools


def tool(definition: Mapping[str, Any], number: int) -> dict[str, Any]:
    """A tool definition as templates see it: built anew of the members that vLLM knows.

    A description and parameters that are not given are null there.

    Raises:
        InvalidRequest: it is none.
    """
    function = definition.get("function")
    if definition.get("type", "function") != "function":
        raise InvalidRequest(f"tool {number} is of type {definition['type']!r}, not function")
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise InvalidRequest(f"tool {number} has no function with a name")
    for name, types, wanted in (("description", str, "text"), ("parameters", dict, "an object")):
        if function.get(name) is not None and not isinstance(function[name], types):
            raise InvalidRequest(f"{name} of tool {number} is {json_kind(function[name])}, not {wanted}")
    shown = {name: function.get(name) for name in ("name", "description", "parameters")}
    if function.get("strict") is not None:
        shown["strict"] = function["strict"]
    deferred = definition.get("defer_loading")
    inner = function.get("defer_loading")
    if (inner if inner is not None else deferred) is not None:
        shown["defer_loading"] = inner if inner is not None else deferred
    dumped = {"type": "function", "function": shown}
    return dumped if deferred is None else {**dumped, "defer_loading": deferred}


# -------------------------------------------------------------------------------------------- messages

# A message is read as the type that the OpenAI package declares for its role, or as vLLM's own, which takes every
# role and every kind of part: whichever accounts for more of it (that is pydantic's choice), the declared one first.
_DECLARED = {
    "developer": ("content", "name"),
    "system": ("content", "name"),
    "user": ("content", "name"),
    "assistant": ("content", "name", "tool_calls", "refusal", "function_call", "audio"),
    "tool": ("content", "tool_call_id"),
    "function": ("content", "name"),
}
_OWN = ("content", "name", "tool_call_id", "tool_calls", "reasoning", "tools", "task")
_REQUIRED = {"tool": ("content", "tool_call_id"), "function": ("content", "name"), "assistant": ()}
_MAY_BE_NULL = ("assistant", "function")
# types of parts that a declared type takes, but for text
_DECLARED_PARTS = {"user": ("image_url", "input_audio", "file"), "assistant": ("refusal",)}
# part type → the member that has to be text for the part to count as one of that type
_TEXTS = {"text": "text", "refusal": "refusal", "thinking": "thinking"}
MEDIA = {
    "image_url": "image",
    "input_image": "image",
    "image_pil": "image",
    "image_embeds": "image",
    "audio_url": "audio",
    "input_audio": "audio",
    "audio_embeds": "audio",
    "video_url": "video",
    "video_embeds": "video",
}
"""Part type, and the member that carries the medium → what templates see as its type."""


def message(given: Mapping[str, Any], number: int) -> Message:
    """A message that passed, its reasoning under the name that vLLM reads it by, its calls in the declared order.

    Raises:
        InvalidRequest: vLLM has no message type for it.
    """
    taken = dict(given)
    old_name = taken.pop("reasoning_content", None)
    if old_name is not None and taken.get("reasoning") is None:
        taken["reasoning"] = old_name
    role = taken.get("role")
    if not isinstance(role, str):
        raise InvalidRequest(f"message {number} has no role")
    where = f"message {number} ({role})"
    if isinstance(taken.get("tool_calls"), str | dict):
        taken["tool_calls"] = [*taken["tool_calls"]]
    declared, own = _is_declared(taken), _is_own(taken)
    if not declared and not own:
        raise InvalidRequest(_fault(taken, where))
    content = taken.get("content")
    if own and (not declared or _accounts_for_more(taken)):
        if taken.get("tools"):
            taken["tools"] = [_tool_of_developer(definition) for definition in taken["tools"]]
    elif isinstance(content, list):
        for part in content:
            _require_declared(part, role, where)
    if role == "assistant" and taken.get("tool_calls") is not None:
        taken["tool_calls"] = [_call(call, where) for call in taken["tool_calls"]]
    return taken


def _is_declared(message: Message) -> bool:
    """Whether the type of its role takes the message; it does not look into lists yet."""
    role = message["role"]
    if role not in _DECLARED or any(name not in message for name in _REQUIRED.get(role, ("content",))):
        return False
    content = message.get("content")
    if content is None:
        fits = role in _MAY_BE_NULL
    else:
        fits = isinstance(content, str) or (isinstance(content, list) and role != "function")
    for name in ("name", "tool_call_id"):
        if name in _DECLARED[role] and name in message:
            fits = fits and isinstance(message[name], str)
    if role == "assistant":
        fits = fits and isinstance(message.get("tool_calls", []), list)
        fits = fits and isinstance(message.get("refusal"), str | None)
    return fits


def _is_own(message: Message) -> bool:
    """Whether vLLM's own type takes the message."""
    content = message.get("content", "")
    parts = content if isinstance(content, list) else [content]
    calls, tools = message.get("tool_calls"), message.get("tools")
    return (
        all(isinstance(part, str) or (isinstance(part, dict) and part is not content) for part in parts)
        and isinstance(message.get("name", ""), str)
        and isinstance(message.get("tool_call_id"), str | None)
        and isinstance(message.get("task"), str | None)
        and _is_reasoning(message.get("reasoning"))
        and (calls is None or (isinstance(calls, list) and all(not _fault_of_call(call) for call in calls)))
        and (tools is None or (isinstance(tools, list) and all(map(_is_tool, tools))))
    )


def _is_reasoning(value: Any) -> bool:
    return isinstance(value, str | None) or (isinstance(value, dict) and value.get("type") == "prompt_embeds")


def _is_tool(value: Any) -> bool:
    function = value.get("function") if isinstance(value, dict) else None
    return isinstance(function, dict) and isinstance(function.get("name"), str) and value.get("type") == "function"


def _accounts_for_more(message: Message) -> bool:
    """Whether vLLM's own type knows more members of the message than the declared one, which leaves lists unread."""
    content = message.get("content")
    if (
        message.get("tool_calls")
        or message.get("tools")
        or (isinstance(content, list) and any(map(_is_known, content)))
    ):
        return True
    return sum(name in message for name in _OWN) > sum(name in message for name in _DECLARED[message["role"]])


def _is_known(part: Any) -> bool:
    """Whether some type of part that vLLM declares has a member of it."""
    if not isinstance(part, dict):
        return False
    form = part.get("type")
    if isinstance(form, str) and form in _TEXTS and isinstance(part.get(_TEXTS[form]), str):
        return True
    return (
        form in ("tool_reference", "file", *MEDIA)
        or not MEDIA.keys().isdisjoint(part)
        or any(isinstance(part.get(name), str) for name in ("name", "uuid"))
    )


def _require_declared(part: Any, role: str, where: str) -> None:
    form = part.get("type") if isinstance(part, dict) else None
    if form == "text" or (form == "refusal" and role == "assistant"):
        if isinstance(part.get(form), str):
            return
        raise InvalidRequest(f"{where} has a part of type {form} without a text")
    if form not in _DECLARED_PARTS.get(role, ()):
        shown = f"of type {form!r}" if isinstance(part, dict) else f"that is {json_kind(part)}"
        raise InvalidRequest(f"{where} has a part {shown}, which that role does not take")


def _fault(message: Message, where: str) -> str:
    """Why no type takes the message, as far as that is one member's fault."""
    content = message.get("content")
    if "content" in message and not isinstance(content, str | list):
        return f"content of {where} is {json_kind(content)}, neither text nor parts"
    for name in ("name", "tool_call_id"):
        if name in message and not isinstance(message[name], str):
            return f"{name} of {where} is {json_kind(message[name])}, not text"
    if isinstance(content, list):
        for part in content:
            if not isinstance(part, str | dict):
                return f"{where} has a part that is {json_kind(part)}"
    calls = message.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if fault := _fault_of_call(call):
            return f"{where} has a tool call {fault}"
    return f"{where} is of no type that vLLM knows"


def _ordered(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The members in the order in which their type declares them, then those that it does not know."""
    return {name: given[name] for name in (*(name for name in names if name in given), *given)}


def _call(call: Any, where: str) -> dict[str, Any]:
    if fault := _fault_of_call(call):
        raise InvalidRequest(f"{where} has a tool call {fault}")
    function = _ordered(call["function"], ("arguments", "name"))
    return _ordered({**call, "function": function}, ("id", "function", "type"))


def _fault_of_call(call: Any) -> str:
    """What is wrong with a call; empty where it is one of a function."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        return "without a function"
    if not isinstance(call.get("id"), str):
        return "without an id"
    if call.get("type") != "function":
        return f"of type {call.get('type')!r}, not function"
    if not isinstance(function.get("name"), str):
        return "without the name of a function"
    arguments = function.get("arguments", _ABSENT)
    if isinstance(arguments, str):
        return ""
    return (
        "without arguments"
        if arguments is _ABSENT
        else f"whose arguments are {json_kind(arguments)}, not a JSON string"
    )


def _tool_of_developer(definition: dict[str, Any]) -> dict[str, Any]:
    function = _ordered(definition["function"], ("name", "description", "parameters", "strict"))
    return _ordered({**definition, "function": function}, ("function", "type"))
