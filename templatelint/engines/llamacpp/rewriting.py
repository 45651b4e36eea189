"""What llama.cpp's handlers do to messages before they are rendered, and to the prompt after."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from templatelint.engines.llamacpp import jsontext
from templatelint.engines.llamacpp.validation import InvalidRequest

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.engines.llamacpp.facts import Handler

MessageData = dict[str, Any]


def rewritten(handler: Handler, messages: list[MessageData], variables: Mapping[str, Any]) -> list[MessageData]:
    """The messages as the handler passes them on.

    Raises:
        InvalidRequest: it cannot, for a variable of a type that it does not expect.
    """
    return _REWRITES[handler.rewrite](messages, variables) if handler.rewrite else messages


def finished(handler: Handler, prompt: str, *, cue: bool) -> str:
    """The prompt as the handler passes it on.

    Args:
        handler: which.
        prompt: as rendered.
        cue: a generation prompt was asked for.
    """
    if handler.finish == "end_for_return" and not cue:
        before, found, behind = prompt.rpartition("<|return|>")
        return f"{before}<|end|>{behind}" if found else prompt
    if handler.finish == "open_turn" and cue and prompt.endswith(handler.turn_after):
        return prompt + handler.turn
    return prompt


# ------------------------------------------------------------------------------------------ rewrites


def _content_blocks(messages: list[MessageData], _: Mapping[str, Any]) -> list[MessageData]:
    """Reasoning and content of system and assistant messages become blocks of one list."""
    return [_blocks(message) if message["role"] in ("system", "assistant") else message for message in messages]


def _blocks(message: MessageData) -> MessageData:
    blocks: list[Any] = []
    if "reasoning_content" in message:
        blocks.append({"type": "thinking", "thinking": message["reasoning_content"]})
    content = message["content"]
    blocks += content if isinstance(content, list) else [{"type": "text", "text": content}]
    kept = {key: value for key, value in message.items() if key != "reasoning_content"}
    return {**kept, "content": blocks}


def _thinking(messages: list[MessageData], _: Mapping[str, Any]) -> list[MessageData]:
    """Reasoning appears as `thinking` too."""
    return [
        {**message, "thinking": message["reasoning_content"]} if "reasoning_content" in message else message
        for message in messages
    ]


def _thinking_before_calls(messages: list[MessageData], variables: Mapping[str, Any]) -> list[MessageData]:
    """The same, and a message with reasoning and calls loses its content."""
    return [
        {key: value for key, value in message.items() if key != "content"}
        if "thinking" in message and message.get("tool_calls")
        else message
        for message in _thinking(messages, variables)
    ]


def _reasoning_everywhere(messages: list[MessageData], _: Mapping[str, Any]) -> list[MessageData]:
    """Every message of the assistant has reasoning, if need be empty."""
    return [
        {**message, "reasoning_content": ""}
        if message["role"] == "assistant" and "reasoning_content" not in message
        else message
        for message in messages
    ]


def _language_codes(messages: list[MessageData], variables: Mapping[str, Any]) -> list[MessageData]:
    """What a user says becomes one part that carries the languages to translate between."""
    codes = {}
    for name in ("source_lang_code", "target_lang_code"):
        codes[name] = variables.get(name, "en-GB")
        if not isinstance(codes[name], str):
            raise InvalidRequest(f"the variable {name} is not text")
    return [
        {**message, "content": [{"type": "text", "text": _lines(message["content"]), **codes}]}
        if message["role"] == "user"
        else message
        for message in messages
    ]


def _lines(content: str | Sequence[Mapping[str, Any]]) -> str:
    if isinstance(content, str):
        return content
    text = ""
    for part in content:
        text = f"{text}\n{part['text']}" if text else part["text"]
    return text


def _results_in_call_order(messages: list[MessageData], _: Mapping[str, Any]) -> list[MessageData]:
    """Results of one user turn stand in the order of the calls that they answer; unknown ids count as the first."""
    ordered = list(messages)
    order: dict[str, int] = {}
    turn: list[int] = []  # where the results of the current turn stand
    for place, message in enumerate([*messages, {"role": ""}]):
        if message["role"] == "tool":
            turn.append(place)
        elif message["role"] != "user":
            if len(turn) > 1 and order:
                results = sorted(
                    (messages[at] for at in turn), key=lambda one: order.get(one.get("tool_call_id", ""), 0)
                )
                for at, result in zip(turn, results, strict=True):
                    ordered[at] = result
            turn = []
        if message["role"] == "assistant" and message.get("tool_calls"):
            order = {call["id"]: at for at, call in enumerate(message["tool_calls"]) if "id" in call}
    return ordered


def _results_into_calls(messages: list[MessageData], _: Mapping[str, Any]) -> list[MessageData]:
    """An assistant's calls, their results and a final answer become one message."""
    merged = []
    place = 0
    while place < len(messages):
        message = messages[place]
        place += 1
        if message["role"] != "assistant" or not message.get("tool_calls"):
            merged.append(message)
            continue
        calls = message["tool_calls"]
        turn: MessageData = {"role": "assistant", "tool_calls": calls}
        responses: list[dict[str, Any]] = []
        while place < len(messages) and messages[place]["role"] == "tool":
            responses.append(_response(messages[place], calls[len(responses) : len(responses) + 1]))
            place += 1
        if responses:
            turn["tool_responses"] = responses
        if place < len(messages) and _answers(messages[place]):
            turn["content"] = messages[place]["content"]
            place += 1
        if "reasoning_content" in message:
            turn["reasoning_content"] = message["reasoning_content"]
        merged.append(turn)
    return merged


def _response(result: MessageData, call: Sequence[MessageData]) -> dict[str, Any]:
    """A result under the name of the call in the same place, or its id where there is none."""
    response = result["content"]
    if isinstance(response, str):
        with suppress(ValueError):
            response = jsontext.parse(response)
    name = call[0]["function"]["name"] if call else ""
    return {"name": name or result.get("tool_call_id", ""), "response": response}


def _answers(message: MessageData) -> bool:
    return message["role"] == "assistant" and not message.get("tool_calls") and bool(message["content"])


_REWRITES: Mapping[str, Callable[[list[MessageData], Mapping[str, Any]], list[MessageData]]] = {
    "content_blocks": _content_blocks,
    "thinking": _thinking,
    "thinking_before_calls": _thinking_before_calls,
    "reasoning_everywhere": _reasoning_everywhere,
    "language_codes": _language_codes,
    "results_in_call_order": _results_in_call_order,
    "results_into_calls": _results_into_calls,
}
