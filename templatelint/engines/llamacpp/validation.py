"""OpenAI request → what llama-server reads out of it, or why it answers with an error before it renders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from templatelint.engines.kinds import json_kind
from templatelint.engines.llamacpp import jsontext

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from templatelint.model import Request

Continuation: TypeAlias = Literal["content", "reasoning"]

MEDIA_MARKER = "<__media__>"
"""Stands where an image, a sound or a film was; the server draws its own text for it at start-up."""

_MEDIA = ("image_url", "input_audio", "input_video", "video_url")


class InvalidRequest(Exception):
    """llama-server refuses the request, whatever the template."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of typed content: of type `text`, or `media_marker`."""

    type: str
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of the history; `arguments` is JSON text as the client wrote it."""

    name: str
    arguments: str
    id: str


@dataclass(frozen=True, slots=True)
class Message:
    """What survives of a message: everything else is dropped.

    Attributes:
        content: text; empty where there are parts, and where content is null or absent.
        name: of the tool whose result it is.
    """

    role: str
    content: str = ""
    parts: tuple[Part, ...] = ()
    calls: tuple[Call, ...] = ()
    reasoning: str = ""
    name: str = ""
    call_id: str = ""

    @property
    def empty(self) -> bool:
        """Nothing in it but its role."""
        return not (self.content or self.parts or self.calls or self.reasoning or self.name or self.call_id)

    @property
    def text(self) -> str:
        """Its text as a prefill: parts stand apart by an empty line."""
        if self.content:
            return self.content
        text = ""
        for part in self.parts:
            if part.type == "text":
                text = f"{text}\n\n{part.text}" if text else part.text
        return text


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """A request that passed.

    Attributes:
        tools: definitions as templates see them: type, function{name, description, parameters}.
        constrained: the calls are to be parsed, and their schemas must convert.
        continued: which part of the last message goes on; None where the conversation does.
        variables: template variables of the request, in no order that matters.
        thinking: what the request says about thinking; None leaves it to the server.
        response_schema: the JSON schema that the answer must meet.
    """

    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    constrained: bool = False
    add_generation_prompt: bool = True
    continued: Continuation | None = None
    variables: Mapping[str, Any] = field(default_factory=dict)
    thinking: bool | None = None
    response_schema: Any = None


def read(request: Request) -> ChatRequest:
    """The request as llama-server understands it.

    Raises:
        InvalidRequest: it answers with an error instead.
    """
    body = request.extra
    schema = _response_schema(body)
    for number, message in enumerate(request.messages, 1):
        _require_content(message, number, media=request.media)
    messages = tuple(_message(message, number) for number, message in enumerate(request.messages, 1))
    tools = tuple(_tool(tool, number) for number, tool in enumerate(request.tools or (), 1))
    choice = _tool_choice(body)
    continued, cue = _continuation(request, messages)
    constrained = bool(tools) and choice != "none"
    if constrained and "grammar" in body:
        raise InvalidRequest("grammar and tools exclude each other")
    _require_log_probabilities(body, tools=bool(tools))
    variables = dict(request.variables)
    thinking = _thinking(variables)
    effort = body.get("reasoning_effort")
    if effort == "none":
        thinking = False
        variables.pop("reasoning_effort", None)
    elif isinstance(effort, str) and effort:
        variables["reasoning_effort"] = effort
    return ChatRequest(
        messages=messages,
        tools=tools,
        constrained=constrained,
        add_generation_prompt=cue,
        continued=continued,
        variables=variables,
        thinking=thinking,
        response_schema=schema,
    )


# -------------------------------------------------------------------------------------------- messages


def _require_content(message: Mapping[str, Any], number: int, *, media: bool) -> None:
    """N1 and N2: there is content of a type that the server takes."""
    role = message.get("role", "")
    if "content" not in message:
        if role != "assistant":
            raise InvalidRequest(f"message {number} ({role}) has no content")
        if "tool_calls" not in message:
            raise InvalidRequest(f"message {number} (assistant) has neither content nor tool_calls")
        return
    content = message["content"]
    if content is None or isinstance(content, str):
        return
    if not isinstance(content, list):
        raise InvalidRequest(f"content of message {number} is {json_kind(content)}, neither text nor parts")
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in _MEDIA and not media:
            raise InvalidRequest(f"message {number} has a part of type {kind}, and the server has no projector for it")
        if kind not in _MEDIA and kind != "text":
            raise InvalidRequest(f"message {number} has a part of type {_shown(kind)}, which the server does not take")


def _message(message: Mapping[str, Any], number: int) -> Message:
    """N7: what is kept of a message."""
    where = f"message {number}"
    content = message.get("content")
    return Message(
        role=_text(message, "role", where),
        content=content if isinstance(content, str) else "",
        parts=tuple(_part(part, where) for part in content) if isinstance(content, list) else (),
        calls=tuple(_call(call, where) for call in _items(message.get("tool_calls"))),
        reasoning=_text(message, "reasoning_content", where),
        name=_text(message, "name", where),
        call_id=_text(message, "tool_call_id", where),
    )


def _part(part: Mapping[str, Any], where: str) -> Part:
    if part["type"] in _MEDIA:
        return Part("media_marker", MEDIA_MARKER)
    if "text" not in part:
        raise InvalidRequest(f"{where} has a text part without text")
    return Part("text", _text(part, "text", f"a text part of {where}"))


def _call(call: Any, where: str) -> Call:
    if not isinstance(call, dict) or call.get("type") != "function":
        kind = call.get("type") if isinstance(call, dict) else None
        raise InvalidRequest(f"{where} has a tool call of type {_shown(kind)}, not function")
    function = call.get("function")
    if not isinstance(function, dict) or "name" not in function:
        raise InvalidRequest(f"{where} has a tool call without the name of a function")
    if "arguments" not in function:
        raise InvalidRequest(f"{where} has a tool call without arguments")
    arguments = function["arguments"]
    return Call(
        name=_text(function, "name", f"a tool call of {where}"),
        arguments=arguments if isinstance(arguments, str) else jsontext.dump(arguments),
        id=_text(call, "id", f"a tool call of {where}"),
    )


def _items(value: Any) -> Iterable[Any]:
    """What iterating a JSON value gives in the library that llama.cpp uses."""
    if value is None:
        return ()
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list | tuple) else (value,)


def _text(holder: Mapping[str, Any], name: str, where: str) -> str:
    """The text of a member; empty where it is absent. Null is no text."""
    value = holder.get(name, "")
    if not isinstance(value, str):
        raise InvalidRequest(f"{name} of {where} is {json_kind(value)}, not text")
    return value


# ----------------------------------------------------------------------------------------------- tools


def _tool(tool: Mapping[str, Any], number: int) -> dict[str, Any]:
    """N9: a definition is built anew from name, description and parameters."""
    if tool.get("type") != "function":
        raise InvalidRequest(f"tool {number} is of type {_shown(tool.get('type'))}, not function")
    function = tool.get("function")
    if not isinstance(function, dict) or "name" not in function:
        raise InvalidRequest(f"tool {number} has no function with a name")
    where = f"tool {number}"
    return {
        "type": "function",
        "function": {
            "name": _text(function, "name", where),
            "description": _text(function, "description", where),
            "parameters": function.get("parameters", {}),
        },
    }


def _tool_choice(body: Mapping[str, Any]) -> str:
    choice = body.get("tool_choice")
    if not isinstance(choice, str):
        return "auto"  # the object that names one function is not understood, and taken for the default
    if choice not in ("auto", "none", "required"):
        raise InvalidRequest(f"tool_choice is {choice}, neither auto nor none nor required")
    return choice


# -------------------------------------------------------------------------------------- everything else


def _continuation(request: Request, messages: tuple[Message, ...]) -> tuple[Continuation | None, bool]:
    """N3: which part of the last message goes on, and whether the assistant's cue is asked for."""
    wanted, cue = request.continue_final_message, request.add_generation_prompt
    if isinstance(wanted, str) and wanted not in ("content", "reasoning_content"):
        raise InvalidRequest(f"continue_final_message is {wanted}, neither a boolean nor content nor reasoning_content")
    last = messages[-1] if messages else Message("")
    if not wanted and last.role == "assistant":
        if len(messages) > 1 and messages[-2].role == "assistant":
            raise InvalidRequest("the last two messages are the assistant's, and one alone can be continued")
        wanted, cue = True, False
    if not wanted:
        return None, cue
    if cue:
        raise InvalidRequest("continue_final_message and add_generation_prompt exclude each other")
    if not messages:
        return None, False
    if last.role == "assistant" and last.calls:
        raise InvalidRequest(f"message {len(messages)} has tool calls and cannot be continued")
    if wanted is True:
        return ("reasoning" if last.reasoning and not last.content and not last.parts else "content"), False
    return ("content" if wanted == "content" else "reasoning"), False


def _thinking(variables: Mapping[str, Any]) -> bool | None:
    """N5: what `enable_thinking` among the template's variables says; numbers and null say nothing."""
    value = variables.get("enable_thinking")
    if isinstance(value, str):
        raise InvalidRequest(f"enable_thinking is the text {value!r}, not a boolean")
    return value if isinstance(value, bool) else None


def _response_schema(body: Mapping[str, Any]) -> Any:
    """The schema of `json_schema` or `response_format`; any object where that has none."""
    schema = body.get("json_schema")
    if schema is not None and isinstance(body.get("grammar"), str) and body["grammar"]:
        raise InvalidRequest("json_schema and grammar exclude each other")
    wanted = body.get("response_format")
    kind = wanted.get("type") if isinstance(wanted, dict) else None
    if isinstance(wanted, dict) and kind == "json_object":
        if "schema" in wanted or not schema:
            schema = _or_empty(wanted.get("schema"))
    elif isinstance(wanted, dict) and kind == "json_schema":
        wrapper = wanted.get("json_schema")
        schema = _or_empty(wrapper.get("schema") if isinstance(wrapper, dict) else None)
    elif isinstance(kind, str) and kind not in ("", "text"):
        raise InvalidRequest(f"response_format is of type {kind}, neither text nor json_object nor json_schema")
    return {"type": "object"} if schema == {} else schema


def _or_empty(value: Any) -> Any:
    return {} if value is None else value


def _require_log_probabilities(body: Mapping[str, Any], *, tools: bool) -> None:
    if body.get("logprobs") is True:
        if tools and body.get("stream") is True:
            raise InvalidRequest("logprobs is not given for a streamed answer with tools")
    elif body.get("top_logprobs") is not None:
        raise InvalidRequest("top_logprobs needs logprobs")


def _shown(form: Any) -> str:
    return form if isinstance(form, str) else "none" if form is None else json_kind(form)
