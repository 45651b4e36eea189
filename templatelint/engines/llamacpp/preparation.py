"""A request that passed → the messages and variables that llama.cpp gives to the template: N8–N19."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from templatelint.engines.llamacpp import capabilities as probed
from templatelint.engines.llamacpp import jsontext
from templatelint.engines.llamacpp.validation import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from templatelint.engines.llamacpp.capabilities import Capabilities
    from templatelint.engines.llamacpp.facts import Facts
    from templatelint.engines.llamacpp.validation import ChatRequest, Message, Part

MessageData = dict[str, Any]

SERVER_DEFAULTS: Mapping[str, Any] = {"preserve_reasoning": True}
"""N4: template variables that llama-server sets unless told otherwise (common/arg.cpp)."""

_BLANKS = " \t\n\v\f\r"
_SHOWN = 80  # characters of arguments in a message
# strftime's %b would follow the locale
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


@dataclass(frozen=True)
class Traits:
    """What decides how messages are prepared.

    Attributes:
        source: of the template, as parsed.
        capabilities: of the template.
        facts: of the build.
    """

    source: str
    capabilities: Capabilities
    facts: Facts


@dataclass(frozen=True)
class Prepared:
    """What is rendered, but for the variables that differ from render to render.

    Attributes:
        messages: as the template sees them, unless a handler rewrites them.
        context: every other variable; also one that hides `messages`, where the request sets it.
        thinking: the server's idea of whether the model is to think.
    """

    messages: list[MessageData]
    context: Mapping[str, Any]
    thinking: bool


def prepare(chat: ChatRequest, traits: Traits, *, thinks: bool, now: datetime) -> Prepared:
    """The data for a template with those traits.

    Args:
        chat: the request.
        traits: of the template.
        thinks: whether the server found support for thinking when it loaded the template.
        now: what its clock shows.

    Raises:
        InvalidRequest: the request cannot be prepared for this template.
    """
    thinking = thinks if chat.thinking is None else chat.thinking
    context: dict[str, Any] = {"enable_thinking": thinking, **dates(now), **SERVER_DEFAULTS, **chat.variables}
    if chat.tools:
        context = {"tools": list(chat.tools)} | context
    return Prepared(prepared_messages(chat, traits), implied(context), thinking)


def prepared_messages(chat: ChatRequest, traits: Traits) -> list[MessageData]:
    """N8–N16: the messages, without the one that is to be continued.

    Raises:
        InvalidRequest: they cannot be prepared for this template.
    """
    kept = chat.messages[:-1] if chat.continued else chat.messages
    if traits.facts.trims_texts in traits.source:
        kept = tuple(_trimmed(message) for message in kept)
    messages = fit_content([message_data(message) for message in kept], traits.capabilities)
    if traits.facts.keeps_developer not in traits.source:
        for message in messages:
            if message["role"] == "developer":
                message["role"] = "system"
    if not traits.capabilities.system_role:
        messages = _without_system(messages)
    if traits.capabilities.object_arguments:
        for message in messages:
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = _parsed(**call["function"])
    return messages


# -------------------------------------------------------------------------------------------- messages


def message_data(message: Message) -> MessageData:
    """N8 and N10: a message as templates see it; content is always there, the rest where it is not empty."""
    data: MessageData = {"role": message.role, "content": _content(message)}
    if message.reasoning:
        data["reasoning_content"] = message.reasoning
    if message.name:
        data["name"] = message.name
    if message.call_id:
        data["tool_call_id"] = message.call_id
    if message.calls:
        data["tool_calls"] = [
            {
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
                **({"id": call.id} if call.id else {}),
            }
            for call in message.calls
        ]
    return data


def _content(message: Message) -> Any:
    parts = [{"type": part.type, "text": part.text} for part in message.parts]
    if message.content or not parts:
        return message.content
    if any(part["type"] == "media_marker" for part in parts):
        return joined_parts(parts)
    return parts


def joined_parts(parts: Sequence[Mapping[str, Any]]) -> str:
    """Parts as one string: a line of its own for each text, none around media markers."""
    text = ""
    after_media = False
    for part in parts:
        media = part["type"] == "media_marker"
        if not media and not after_media and text:
            text += "\n"
        text += part["text"]
        after_media = media
    return text


def fit_content(messages: Sequence[MessageData], capabilities: Capabilities) -> list[MessageData]:
    """N11: content as the one form that the template supports; as it is where it supports both, or neither."""
    if capabilities.string_content == capabilities.typed_content:
        return [dict(message) for message in messages]
    return [_fitted(message, typed=capabilities.typed_content) for message in messages]


def _fitted(message: MessageData, *, typed: bool) -> MessageData:
    content = message.get("content")
    if typed and isinstance(content, str):
        return {**message, "content": [{"type": "text", "text": content}]}
    if not typed and isinstance(content, list):
        return {**message, "content": joined_parts(content)}
    return dict(message)


def _trimmed(message: Message) -> Message:
    """N12: without white space around its texts."""
    return replace(
        message,
        content=message.content.strip(_BLANKS),
        reasoning=message.reasoning.strip(_BLANKS),
        parts=tuple(_trimmed_part(part) for part in message.parts),
    )


def _trimmed_part(part: Part) -> Part:
    return replace(part, text=part.text.strip(_BLANKS)) if part.type == "text" else part


def _without_system(messages: list[MessageData]) -> list[MessageData]:
    """N14: a leading system message becomes the start of the next message, or nothing where there is none."""
    if not messages or messages[0]["role"] != "system":
        return messages
    if len(messages) == 1:
        return []
    first, second = messages[0]["content"], messages[1]["content"]
    for number, content in enumerate((first, second), 1):
        if not isinstance(content, str):
            raise InvalidRequest(
                f"content of message {number} is a list of parts, and llama-server can merge text only into the next "
                "message of a template that takes no system message"
            )
    return [{**messages[1], "content": f"{first}\n{second}"}, *messages[2:]]


def _parsed(name: str, arguments: str) -> Any:
    """N16: the value of a call's arguments, for a template that reads them as an object."""
    try:
        return jsontext.parse(arguments)
    except ValueError:
        shown = arguments if len(arguments) <= _SHOWN else f"{arguments[:_SHOWN]} …"
        raise InvalidRequest(f"the arguments of a call of {name} are not JSON: {shown}") from None


# ------------------------------------------------------------------------------------------- variables


def dates(now: datetime) -> dict[str, str]:
    """N17: the dates that every request carries."""
    month = _MONTHS[now.month - 1]
    return {"datetime": f"{month} {now.day:02} {now.year}", "date_string": f"{now.day:02} {month} {now.year}"}


def implied(context: Mapping[str, Any]) -> dict[str, Any]:
    """N18: the variables, and those that follow from them; what is given counts more than what follows."""
    derived: dict[str, Any] = {}
    if isinstance(context.get("preserve_reasoning"), bool):
        derived |= probed.preservation(enabled=context["preserve_reasoning"])
    if isinstance(context.get("reasoning_effort"), str):
        derived |= probed.effort(context["reasoning_effort"])
    return derived | dict(context)
