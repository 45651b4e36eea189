"""OpenAI request body → what SGLang 0.5.23 keeps of it, or why it answers with an error before it renders.

What is kept is the dump of its pydantic classes (entrypoints/openai/protocol.py): members that they do not name are
gone, and what is left stands in their order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from templatelint.engines.sglang import schemas

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.model import Request

Json: TypeAlias = dict[str, Any]

MEDIA = {"image_url": "image", "video_url": "video", "audio_url": "audio"}
"""Types of parts that need a multimodal model → as templates are shown them."""

_ROLES = ("system", "assistant", "tool", "function", "developer", "latest_reminder", "root")
_WITH_TOOLS = ("root", "system", "developer")
_EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "ultra", "max")
_HIGHEST_EFFORT = 0.99  # of those that are numbers
_PHASES = ("commentary", "final_answer")
_TRUE = ("1", "true", "t", "yes", "y", "on")
_FALSE = ("0", "false", "f", "no", "n", "off")


class InvalidRequest(Exception):
    """SGLang answers the request with an error, whatever the template."""


class ChatRequest(NamedTuple):
    """A request that passed.

    Attributes:
        messages: null-valued members absent; content is text, or a list of parts as they were sent.
        tools: what templates are shown; None where they are shown none.
        effort: how much to reason.
        variables: `chat_template_kwargs`, as far as templates see them.
        continued: the last message goes on.
    """

    messages: Sequence[Json]
    tools: Sequence[Json] | None
    effort: str | float | None
    variables: Mapping[str, Any]
    continued: bool


def read(request: Request) -> ChatRequest:
    """The request as SGLang understands it.

    Raises:
        InvalidRequest: it answers with an error instead.
    """
    messages = [_message(message, f"message {number}") for number, message in enumerate(request.messages, 1)]
    tools = _tools(request.tools, "tool")
    if not messages:
        raise InvalidRequest("there are no messages")
    effort, variables = _reasoning(request)
    if "chat_template" in variables:
        raise InvalidRequest("the request brings a chat_template, which --trust-request-chat-template permits")
    if not request.media and (kind := next(_media(messages), None)):
        raise InvalidRequest(f"{kind} is sent to a model that only supports text")
    return ChatRequest(messages, _shown(tools, messages, request), effort, variables, _continued(request))


# ------------------------------------------------------------------------------------------- messages


def _message(message: Mapping[str, Any], where: str) -> Json:
    """The message without its null-valued members; user messages keep nothing but their content."""
    role = message.get("role")
    if role == "user":
        if message.get("content") is None:
            raise InvalidRequest(f"{where} is a user's and has no content")
        return {"role": role, "content": _content(message["content"], "user", f"content of {where}")}
    role = role.lower() if isinstance(role, str) else role
    if role not in _ROLES:
        raise InvalidRequest(f"the role of {where} is none that SGLang knows: {message.get('role')!r}")
    kept = {
        "content": _content(message.get("content"), role, f"content of {where}"),
        "tool_call_id": _text(message, "tool_call_id", where),
        "name": _text(message, "name", where),
        "phase": _one_of(_PHASES, message, "phase", where),
        "reasoning_content": _text(message, "reasoning_content", where),
        "tool_calls": _calls(message.get("tool_calls"), where),
        "tools": _tools(message.get("tools"), f"{where}: tool", offered=role in _WITH_TOOLS),
        "prefix": _flag(message.get("prefix"), f"prefix of {where}"),
    }
    return {"role": role, **{name: value for name, value in kept.items() if value is not None}}


def _content(content: Any, role: str, where: str) -> str | list[Json]:
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list | tuple):
        raise InvalidRequest(f"{where} is neither text nor a list")
    return [_part(part, role, f"part {number} of the {where}") for number, part in enumerate(content, 1)]


def _part(part: Any, role: str, where: str) -> Json:
    kind = _object(part, where).get("type")
    if kind == "text" and isinstance(part.get("text"), str):
        return {"type": kind, "text": part["text"]}
    if kind in ("thinking", "reasoning") and role == "assistant":
        given = [part[name] for name in ("thinking", "text") if part.get(name) is not None]
        if len(given) == 1 and isinstance(given[0], str):
            return {"type": kind}  # no template is shown more of it
    if kind == "input_audio":
        audio = _object(part.get(kind), where)
        if isinstance(audio.get("data"), str) and audio.get("format") in ("wav", "mp3"):
            return {"type": "audio_url"}
    if isinstance(kind, str) and kind in MEDIA and isinstance(_object(part.get(kind), where).get("url"), str):
        return {"type": kind}
    if kind == "tool_reference" and isinstance(part.get("name"), str):
        return {"type": kind, "name": part["name"]}
    raise InvalidRequest(f"{where} is none that SGLang takes from role {role}: type {kind!r}")


def _calls(calls: Any, where: str) -> list[Json] | None:
    if calls is None:
        return None
    return [_call(call, f"call {number} of {where}") for number, call in enumerate(_list(calls, where), 1)]


def _call(call: Any, where: str) -> Json:
    """The call with all members that SGLang knows, null where the client sent none (`index` too)."""
    call = _object(call, where)
    function = _object(call.get("function"), f"function of {where}")
    arguments = function.get("arguments")
    if not (arguments is None or isinstance(arguments, str | Mapping)):
        raise InvalidRequest(f"arguments of {where} are neither text nor an object")
    if call.get("type", "function") != "function":
        raise InvalidRequest(f"the type of {where} is not function")
    return {
        "id": _text(call, "id", where),
        "index": _index(call.get("index"), where),
        "type": "function",
        "function": {"name": _text(function, "name", where), "arguments": arguments},
    }


def _index(value: Any, where: str) -> int | None:
    if value is None or isinstance(value, int):
        return value if value is None else int(value)
    if isinstance(value, float | str):
        try:
            number = float(value)
        except ValueError:
            number = 0.5
        if number.is_integer():
            return int(number)
    raise InvalidRequest(f"index of {where} is no integer")


def _media(messages: Sequence[Json]) -> Iterator[str]:
    for message in messages:
        if isinstance(message["content"], list):
            yield from (part["type"] for part in message["content"] if part["type"] in MEDIA)


# ---------------------------------------------------------------------------------------------- tools


def _tools(tools: Any, what: str, *, offered: bool = True) -> list[Json] | None:
    if tools is None:
        return None
    return [_tool(tool, f"{what} {number}", offered=offered) for number, tool in enumerate(_list(tools, f"{what}s"), 1)]


def _tool(tool: Any, where: str, *, offered: bool) -> Json:
    """The definition as SGLang dumps it: the function's members in the client's order, then those it did not send.

    Only tools that the model may call are checked, and have the types of their parameters normalised on the way.
    """
    tool = _object(tool, where)
    function = _object(tool.get("function"), f"function of {where}")
    if not isinstance(function.get("name"), str):
        raise InvalidRequest(f"{where} has no name")
    if not isinstance(tool.get("type", "function"), str):
        raise InvalidRequest(f"the type of {where} is no text")
    deferred = _flag(tool.get("defer_loading"), f"defer_loading of {where}")
    own = _flag(function.get("defer_loading"), f"defer_loading of {where}")
    parameters = function.get("parameters")
    known = {
        "description": _text(function, "description", where),
        "name": function["name"],
        "parameters": schemas.normalised(parameters) if offered else parameters,
        "strict": _flag(function.get("strict"), f"strict of {where}"),
        "defer_loading": deferred if own is None else own,
    }
    for name in ("strict", "defer_loading"):
        if known[name] is None:
            del known[name]
    order = [name for name in function if name in known]
    shown = {name: known[name] for name in [*order, *(name for name in known if name not in order)]}
    return {"type": tool.get("type", "function"), "function": shown, "defer_loading": deferred}


def _shown(tools: list[Json] | None, messages: Sequence[Json], request: Request) -> list[Json] | None:
    """The tools that the template is shown.

    (entrypoints/openai/serving_chat.py::_validate_request and ::_process_messages)
    """
    own = [tool for message in messages if message["role"] in _WITH_TOOLS for tool in message.get("tools", ())]
    all_tools = [*(tools or ()), *own]
    names = [tool["function"]["name"] for tool in all_tools]
    choice = request.extra.get("tool_choice")
    if choice is None:
        choice = "none" if tools is None and not own else "auto"
    if isinstance(choice, str):
        wanted = None
        if choice not in ("auto", "required", "none"):
            raise InvalidRequest(f"tool_choice is none that SGLang knows: {choice!r}")
    else:
        wanted = _named(choice)
    if not names and (wanted is not None or choice == "required"):
        raise InvalidRequest("tool_choice asks for a call, and there are no tools")
    if wanted is not None and wanted not in names:
        raise InvalidRequest(f"tool_choice names {wanted}, which is none of the tools")
    if own and len(set(names)) < len(names):
        raise InvalidRequest("tools of the request and of its messages share a name")
    for tool in all_tools:
        _check_parameters(tool["function"])
    if choice == "none":
        return None
    return [tool for tool in tools or () if wanted in (None, tool["function"]["name"])] or None


def _named(choice: Any) -> str:
    function = _object(choice, "tool_choice").get("function")
    if not isinstance(function, Mapping) or choice.get("type", "function") != "function":
        raise InvalidRequest("tool_choice names no function")
    return str(_text(function, "name", "tool_choice"))


def _check_parameters(function: Json) -> None:
    if function["parameters"] is None:
        return
    try:
        fault = schemas.fault(function["parameters"])
    except RecursionError:
        fault = "# is nested too deeply"
    if fault is not None:
        raise InvalidRequest(f"parameters of tool {function['name']} are no JSON schema: {fault}")


# ------------------------------------------------------------------------------------------ the rest


def _reasoning(request: Request) -> tuple[str | float | None, dict[str, Any]]:
    """How much to reason, and the template variables that follow from it.

    An effort among the variables moves out of them, and wins, but switches nothing.
    (entrypoints/openai/protocol.py::normalize_reasoning_inputs, serving_chat.py::_convert_to_internal_request)
    """
    effort, thinking = request.extra.get("reasoning_effort"), None
    reasoning = request.extra.get("reasoning")
    if isinstance(reasoning, Mapping):
        asked = reasoning.get("effort")
        asked = reasoning.get("reasoning_effort") if asked is None else asked
        effort = effort if asked is None else asked
        enabled = reasoning.get("enabled")
        enabled = reasoning.get("enable", False) if enabled is None else enabled
        if isinstance(enabled, str):
            enabled = enabled.strip().lower() in ("1", "true", "yes", "y", "on")
        thinking = True if enabled else None
    effort = _effort(effort)
    if effort is not None:
        thinking = effort != "none"
    variables = dict(request.variables)
    if thinking is not None:
        variables = {
            **variables,
            **{name: thinking for name in ("thinking", "enable_thinking") if name not in variables},
        }
    among = variables.pop("reasoning_effort", None)
    return effort if among is None else among, variables


def _effort(value: Any) -> str | float | None:
    if value is None or value in _EFFORTS:
        return value if value is None else str(value)
    try:
        number = float("nan" if isinstance(value, bool) else value)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 <= number <= _HIGHEST_EFFORT:
        raise InvalidRequest(f"reasoning_effort is none that SGLang knows: {value!r}")
    return number


def _continued(request: Request) -> bool:
    continued = _flag(request.continue_final_message, "continue_final_message") or False
    if continued and not request.add_generation_prompt:
        raise InvalidRequest("continue_final_message needs add_generation_prompt")
    return continued


# ------------------------------------------------------------------------------------------- JSON types


def _object(value: Any, where: str) -> Any:
    if not isinstance(value, Mapping):
        raise InvalidRequest(f"{where} is no object")
    return value


def _list(value: Any, where: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise InvalidRequest(f"{where} are no list")
    return value


def _text(holder: Mapping[str, Any], name: str, where: str) -> str | None:
    value = holder.get(name)
    if value is None or isinstance(value, str):
        return value
    raise InvalidRequest(f"{name} of {where} is no text")


def _one_of(known: Sequence[str], holder: Mapping[str, Any], name: str, where: str) -> str | None:
    value = _text(holder, name, where)
    if value is None or value in known:
        return value
    raise InvalidRequest(f"{name} of {where} is none that SGLang knows: {value!r}")


def _flag(value: Any, where: str) -> bool | None:
    """A boolean, also as pydantic reads it from numbers and words."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        value = next((flag for flag, words in ((1, _TRUE), (0, _FALSE)) if value.lower() in words), None)
    if value in (0, 1):
        return bool(value)
    raise InvalidRequest(f"{where} is neither true nor false")
