"""What about a request a model may refuse: each thing's name, its cure, and the request without it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from templatelint.outcomes import BY_ID
from templatelint.replay.parts import REASONING, WITHOUT_MEDIA, has_media, without_media

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from templatelint.model import Request

_Message = Mapping[str, Any]


class Cause(NamedTuple):
    """One thing about requests that a model may refuse.

    Attributes:
        subject: stable name, for programs.
        need: which of a client's needs it belongs to.
        name: what it is called, in the plural: a clause follows.
        cure: what a client can do instead.
        change: the request without it; None where the request has none.
    """

    subject: str
    need: str
    name: str
    cure: str
    change: Callable[[Request], Request | None]


def _of_messages(change: Callable[[_Message], _Message]) -> Callable[[Request], Request | None]:
    """A change of each message by itself."""

    def changed(request: Request) -> Request | None:
        messages = [change(message) for message in request.messages]
        if all(new is old for new, old in zip(messages, request.messages, strict=True)):
            return None
        return replace(request, messages=messages)

    return changed


def _of_all(change: Callable[[Sequence[_Message]], list[_Message]]) -> Callable[[Request], Request | None]:
    """A change of the conversation."""

    def changed(request: Request) -> Request | None:
        messages = change(request.messages)
        return None if messages == list(request.messages) or not messages else replace(request, messages=messages)

    return changed


def _calls(message: _Message) -> list[Any]:
    calls = message.get("tool_calls")
    return calls if isinstance(calls, list) else []


def _is(message: _Message, *roles: str) -> bool:
    return message.get("role") in roles


def _text(content: Any) -> str:
    """Content as one string."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


@_of_messages
def _with_content(message: _Message) -> _Message:
    return {**message, "content": ""} if _calls(message) and message.get("content") is None else message


def _with_short_ids(request: Request) -> Request | None:
    """Ids as Mistral's templates take them; those that are so already are kept."""
    new: dict[Any, str] = {}

    def short(call_id: Any) -> Any:
        if not isinstance(call_id, str) or (len(call_id) == 9 and call_id.isascii() and call_id.isalnum()):  # noqa: PLR2004 (the length they ask for)
            return call_id
        return new.setdefault(call_id, f"call{len(new):05}"[-9:])

    messages = []
    for message in request.messages:
        one = dict(message)
        if "tool_call_id" in one:
            one["tool_call_id"] = short(one["tool_call_id"])
        if _calls(one):
            one["tool_calls"] = [
                {**call, "id": short(call.get("id", ""))} if isinstance(call, Mapping) else call for call in _calls(one)
            ]
        messages.append(one)
    return replace(request, messages=messages) if new else None


@_of_all
def _with_result_names(messages: Sequence[_Message]) -> list[_Message]:
    names = {
        call.get("id"): call["function"].get("name")
        for message in messages
        for call in _calls(message)
        if isinstance(call, Mapping) and isinstance(call.get("function"), Mapping) and isinstance(call.get("id"), str)
    }
    return [
        {**message, "name": names[message["tool_call_id"]]}
        if _is(message, "tool") and "name" not in message and _known(message.get("tool_call_id"), names)
        else message
        for message in messages
    ]


def _known(call_id: Any, names: Mapping[Any, Any]) -> bool:
    return isinstance(call_id, str) and isinstance(names.get(call_id), str)


def _with_arguments(change: Callable[[Any], Any]) -> Callable[[Request], Request | None]:
    def changed(message: _Message) -> _Message:
        calls = [_changed_arguments(call, change) for call in _calls(message)]
        if all(new is old for new, old in zip(calls, _calls(message), strict=True)):
            return message
        return {**message, "tool_calls": calls}

    return _of_messages(changed)


def _changed_arguments(call: Any, change: Callable[[Any], Any]) -> Any:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or "arguments" not in function:
        return call
    arguments = change(function["arguments"])
    return call if arguments is function["arguments"] else {**call, "function": {**function, "arguments": arguments}}


def _as_mapping(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return read if isinstance(read, dict) else arguments


def _some(arguments: Any) -> Any:
    return "{}" if arguments is None or (isinstance(arguments, str) and not arguments.strip()) else arguments


def _an_object(arguments: Any) -> Any:
    return arguments if isinstance(_as_mapping(arguments), Mapping) else "{}"


def _as_string(arguments: Any) -> Any:
    return json.dumps(arguments, ensure_ascii=False) if isinstance(arguments, Mapping) else arguments


@_of_messages
def _system_for_developer(message: _Message) -> _Message:
    return {**message, "role": "system"} if _is(message, "developer") else message


@_of_all
def _one_system(messages: Sequence[_Message]) -> list[_Message]:
    """With the texts of later ones in the first message, which is one where there is none yet."""
    later = [message for message in messages[1:] if _is(message, "system", "developer")]
    if not later:
        return list(messages)
    first, others = messages[0], [message for message in messages[1:] if not _is(message, "system", "developer")]
    if not _is(first, "system", "developer"):
        first, others = {"role": later[0].get("role")}, [first, *others]
    else:
        later = [first, *later]
    return [{**first, "content": "\n".join(_text(message.get("content")) for message in later)}, *others]


@_of_messages
def _strings(message: _Message) -> _Message:
    content = message.get("content")
    if not isinstance(content, list) or _is(message, "tool") or has_media(message):
        return message
    return {**message, "content": _text(content)}


@_of_messages
def _string_results(message: _Message) -> _Message:
    content = message.get("content")
    return {**message, "content": _text(content)} if isinstance(content, list) and _is(message, "tool") else message


@_of_all
def _one_call_a_turn(messages: Sequence[_Message]) -> list[_Message]:
    """The first call of each turn, and its result."""
    kept: list[_Message] = []
    dropped: set[Any] = set()
    results = 0
    for message in messages:
        if _is(message, "tool"):
            results += 1
            call_id = message.get("tool_call_id")
            # results without ids belong to the calls in their order
            if (isinstance(call_id, str) and call_id in dropped) or (not isinstance(call_id, str) and results > 1):
                continue
            kept.append(message)
            continue
        results = 0
        calls = _calls(message)
        if len(calls) > 1:
            ids = [call.get("id") if isinstance(call, Mapping) else None for call in calls[1:]]
            dropped |= {call_id for call_id in ids if isinstance(call_id, str)}
            kept.append({**message, "tool_calls": calls[:1]})
        else:
            kept.append(message)
    return kept


@_of_messages
def _calls_alone(message: _Message) -> _Message:
    return {**message, "content": ""} if _calls(message) and message.get("content") else message


@_of_messages
def _without_reasoning(message: _Message) -> _Message:
    if not any(message.get(name) for name in REASONING):
        return message
    return {name: value for name, value in message.items() if name not in REASONING}


def _media(request: Request) -> Request | None:
    if not any(map(has_media, request.messages)):
        return None
    return _strings(without_media(request)) or without_media(request)


def _joining(role: str) -> Callable[[Request], Request | None]:
    def joined(messages: Sequence[_Message]) -> list[_Message]:
        kept: list[_Message] = []
        for message in messages:
            alike = bool(kept) and _is(message, role) and _is(kept[-1], role)
            if alike and not _calls(message) and not _calls(kept[-1]):
                text = f"{_text(kept[-1].get('content'))}\n{_text(message.get('content'))}"
                kept[-1] = {**kept[-1], "content": text}
            else:
                kept.append(message)
        return kept

    return _of_all(joined)


@_of_all
def _answered(messages: Sequence[_Message]) -> list[_Message]:
    """With an answer between each tool result and the user message behind it."""
    kept: list[_Message] = []
    for message in messages:
        if kept and _is(message, "user") and _is(kept[-1], "tool"):
            kept.append({"role": "assistant", "content": "Done."})
        kept.append(message)
    return kept


@_of_all
def _user_first(messages: Sequence[_Message]) -> list[_Message]:
    start = next((index for index, message in enumerate(messages) if not _is(message, "system", "developer")), 0)
    if start < len(messages) and _is(messages[start], "assistant"):
        return [*messages[:start], {"role": "user", "content": "Begin."}, *messages[start:]]
    return list(messages)


@_of_all
def _some_user(messages: Sequence[_Message]) -> list[_Message]:
    if any(_is(message, "user") for message in messages):
        return list(messages)
    return [*messages, {"role": "user", "content": "Begin."}]


@_of_all
def _without_system(messages: Sequence[_Message]) -> list[_Message]:
    kept = [message for message in messages if not _is(message, "system", "developer")]
    return kept or list(messages)


def _with_tools(request: Request) -> Request | None:
    """With definitions of the functions that its history calls, where it has none."""
    if request.tools:
        return None
    names = dict.fromkeys(
        call["function"]["name"]
        for message in request.messages
        for call in _calls(message)
        if isinstance(call, Mapping)
        and isinstance(call.get("function"), Mapping)
        and isinstance(call["function"].get("name"), str)
    )
    if not names:
        return None
    empty = {"type": "object", "properties": {}}
    tools = [
        {"type": "function", "function": {"name": name, "description": "A tool.", "parameters": empty}}
        for name in names
    ]
    return replace(request, tools=tools)


def _of_functions(change: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> Callable[[Request], Request | None]:
    """A change of each tool's definition by itself."""

    def changed(request: Request) -> Request | None:
        tools = []
        for tool in request.tools or ():
            function = tool.get("function")
            new = change(function) if isinstance(function, Mapping) else function
            tools.append(tool if new is function else {**tool, "function": new})
        if all(new is old for new, old in zip(tools, request.tools or (), strict=True)):
            return None
        return replace(request, tools=tools)

    return changed


def _described(function: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**function, "description": "A tool."} if function.get("description") is None else function


def _parametrised(function: Mapping[str, Any]) -> Mapping[str, Any]:
    parameters = function.get("parameters")
    if isinstance(parameters, Mapping) and isinstance(parameters.get("properties"), Mapping):
        return function
    return {**function, "parameters": {"type": "object", "properties": {}, "required": []}}


def _complete(function: Mapping[str, Any]) -> Mapping[str, Any]:
    return _parametrised(_described(function))


def _plain_schema(function: Mapping[str, Any]) -> Mapping[str, Any]:
    """With parameters that are described strings, whatever they were."""
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    names = properties if isinstance(properties, Mapping) else ()
    plain = {name: {"type": "string", "description": "A text."} for name in names}
    wanted = {"type": "object", "properties": plain, "required": []}
    return function if parameters == wanted else {**_described(function), "parameters": wanted}


def _without_tools(request: Request) -> Request | None:
    if request.tools is None:
        return None
    extra = {name: value for name, value in request.extra.items() if name != "tool_choice"}
    return replace(request, tools=None, extra=extra)


@_of_messages
def _user_for_tool(message: _Message) -> _Message:
    return {"role": "user", "content": message.get("content")} if _is(message, "tool") else message


@_of_all
def _without_calls(messages: Sequence[_Message]) -> list[_Message]:
    """With calls left out, and their results; where that leaves two turns of one role, they are joined."""
    kept: list[_Message] = []
    gap = False  # what stood before the message is left out
    for message in messages:
        if _is(message, "tool") or (_calls(message) and not _text(message.get("content"))):
            gap = True
            continue
        one = {name: value for name, value in message.items() if name != "tool_calls"} if _calls(message) else message
        if gap and kept and one.get("role") == kept[-1].get("role"):
            text = f"{_text(kept[-1].get('content'))}\n{_text(one.get('content'))}"
            kept[-1] = {**kept[-1], "content": text}
        else:
            kept.append(one)
        gap = False
    return kept


def _chat_only(request: Request) -> Request | None:
    return None if (without := _without_calls(request)) is None else _without_tools(without)


def _cause(subject: str, change: Callable[[Request], Request | None], name: str = "", cure: str = "") -> Cause:
    """A subject of `outcomes`, under the name and with the cure that it has there unless another fits better."""
    known = BY_ID[subject]
    return Cause(subject, known.need, name or known.name, cure or known.cure, change)


# Those that leave most of a request as it is come first.
CAUSES: tuple[Cause, ...] = (
    _cause("content-beside-calls", _with_content),
    _cause(
        "call-ids",
        _with_short_ids,
        "ids of tool calls as the client has them",
        "send ids of nine letters and digits, in calls and in results",
    ),
    _cause(
        "tool-results",
        _with_result_names,
        "tool results without the function's name",
        "send the function's name with every tool result",
    ),
    _cause(
        "arguments",
        _with_arguments(_some),
        "tool calls with empty arguments",
        'send arguments "{}" where a call has none',
    ),
    _cause(
        "arguments",
        _with_arguments(_an_object),
        "arguments that are no JSON object",
        "send arguments as a JSON object",
    ),
    _cause("arguments", _with_arguments(_as_mapping), "arguments as a JSON string", "send arguments as a mapping"),
    _cause("arguments", _with_arguments(_as_string), "arguments as a mapping", "send arguments as a JSON string"),
    _cause("developer", _system_for_developer),
    _cause("content-parts", _strings, "messages with a list of parts as content"),
    _cause("tool-results-parts", _string_results),
    Cause("media", "multimodal", "images, sounds and films", WITHOUT_MEDIA, _media),
    _cause("reasoning", _without_reasoning, cure="leave thoughts out of the history"),
    _cause("text-with-calls", _calls_alone),
    _cause("tools-again", _with_tools),
    _cause("tool-schemas", _of_functions(_described), "tools without a description", "describe each tool"),
    _cause(
        "tool-schemas",
        _of_functions(_parametrised),
        "tools without parameters",
        'give each tool "parameters": {"type": "object", "properties": {}}',
    ),
    _cause(
        "tool-schemas",
        _of_functions(_complete),
        "tools without a description and parameters",
        "describe each tool, and give it parameters",
    ),
    _cause(
        "tool-schemas",
        _of_functions(_plain_schema),
        "schemas of tools as the client has them",
        "give each parameter one type and a description",
    ),
    _cause("later-system", _one_system, cure="put their texts into the first message, a system message"),
    _cause("consecutive-users", _joining("user")),
    _cause("consecutive-assistants", _joining("assistant")),
    _cause("user-after-tool", _answered),
    _cause("assistant-first", _user_first),
    _cause("no-user", _some_user),
    _cause("parallel-calls", _one_call_a_turn),
    _cause("system", _without_system),
    _cause("tools", _without_tools, cure="send no tools, or serve it with a template of this model that takes them"),
    _cause("tool-results", _user_for_tool),
    _cause("tool-calls", _without_calls),
    _cause("tools", _chat_only, "tools and calls of them"),
)
# the first ones take little or nothing away
LOSSLESS = next(rank for rank, cause in enumerate(CAUSES) if cause.subject == "parallel-calls")
