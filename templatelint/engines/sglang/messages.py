"""Messages that SGLang 0.5.23 has taken → as it hands them to a template (entrypoints/openai/serving_chat.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from templatelint.engines.sglang.protocol import MEDIA, InvalidRequest, Json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.engines.sglang.detection import ContentFormat

_INTEGERS = range(-(2**63), 2**64)  # what orjson keeps whole


def prepared(messages: Sequence[Json], form: ContentFormat, *, reads_call_ids: Callable[[], bool]) -> list[Json]:
    """The messages with arguments as objects, content in the template's form, and results with media in call order.

    Raises:
        InvalidRequest: arguments of a call are no JSON object.
    """
    parsed = [_with_parsed_arguments(message) for message in messages]
    if _has_media_results(parsed) and reads_call_ids():
        parsed = list(_in_call_order(parsed))
    return [_in_form(message, form) for message in parsed]


def last_turn(messages: list[Json], *, continued: bool) -> tuple[list[Json], str]:
    """The messages up to a last assistant message, and its text to go on with; or the user's message made of it.

    Only text is moved: an assistant message that is last and holds a list stays one.
    (::_handle_last_assistant_message)
    """
    last = messages[-1]
    if last["role"] != "assistant" or not isinstance(last["content"], str):
        return messages, ""
    if continued:
        return messages[:-1], last["content"]
    return [*messages[:-1], {"role": "user", "content": last["content"]}], ""


# ------------------------------------------------------------------------------------------ arguments


def _with_parsed_arguments(message: Json) -> Json:
    """::normalize_assistant_tool_call_arguments."""
    if message["role"] != "assistant" or "tool_calls" not in message:
        return message
    return {**message, "tool_calls": [*map(_parsed_call, message["tool_calls"])]}


def _parsed_call(call: Json) -> Json:
    function = call["function"]
    if not isinstance(function["arguments"], str):
        return call
    return {**call, "function": {**function, "arguments": _arguments(function["arguments"])}}


def _arguments(text: str) -> Json:
    """The object that orjson reads."""
    import json

    from templatelint.texts import half_character

    try:
        arguments = json.loads(text, parse_constant=_no_number, parse_int=_integer, parse_float=_float)
    except (ValueError, RecursionError):
        raise InvalidRequest("arguments of a tool call are not valid JSON") from None
    if not isinstance(arguments, dict):
        raise InvalidRequest("arguments of a tool call are no JSON object")
    if "\\u" in text and half_character(json.dumps(arguments, ensure_ascii=False)):
        raise InvalidRequest("arguments of a tool call are not valid JSON")
    return arguments


def _no_number(text: str) -> NoReturn:
    raise ValueError(text)


def _integer(text: str) -> int | float:
    return int(text) if len(text) < len(str(_INTEGERS.start)) or int(text) in _INTEGERS else _float(text)


def _float(text: str) -> float:
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise ValueError(text)
    return number


# -------------------------------------------------------------------------------------------- content


def _in_form(message: Json, form: ContentFormat) -> Json:
    """parser/jinja_template_utils.py::process_content_for_template_format."""
    parts = message["content"]
    if isinstance(parts, str):
        return message
    if form == "string":
        # media are left out: a template that wants text has no place for them
        return {**message, "content": _joined(parts)}
    rest = {name: value for name, value in message.items() if name != "content"}
    return {**rest, "content": _result(message["role"], [*_shown(parts)])}


def _shown(parts: Sequence[Json]) -> Iterator[Json]:
    for part in parts:
        if part["type"] in MEDIA:
            yield {"type": MEDIA[part["type"]]}
        elif part["type"] in ("text", "tool_reference"):
            yield part


def _result(role: str, parts: list[Json]) -> str | list[Json]:
    """A tool's result as text where it holds nothing else: ::normalize_tool_content."""
    return _joined(parts) if role == "tool" and all(part["type"] == "text" for part in parts) else parts


def _joined(parts: Sequence[Json]) -> str:
    return " ".join(part["text"] for part in parts if part["type"] == "text")


# ---------------------------------------------------------------------------------------- tool results


def _has_media_results(messages: Sequence[Json]) -> bool:
    return any(_is_result(message) and _has_media(message) for message in messages)


def _is_result(message: Json) -> bool:
    return message["role"] in ("tool", "function")


def _has_media(message: Json) -> bool:
    content = message["content"]
    return not isinstance(content, str) and any(part["type"] in MEDIA for part in content)


def _in_call_order(messages: Sequence[Json]) -> Iterator[Json]:
    """Runs of results with media behind the calls that they answer, sorted by these.

    (::_canonicalize_tool_message_order, ::_sort_tool_message_run)
    """
    at = 0
    while at < len(messages):
        message = messages[at]
        yield message
        at += 1
        calls = message.get("tool_calls")
        if message["role"] != "assistant" or not calls:
            continue
        end = at
        while end < len(messages) and _is_result(messages[end]):
            end += 1
        yield from _sorted_run(messages[at:end], [call["id"] for call in calls])
        at = end


def _sorted_run(run: Sequence[Json], calls: list[Any]) -> Sequence[Json]:
    """The run as it is where the ids do not pair calls and results, each once."""
    results = [message.get("tool_call_id") for message in run]
    paired = None not in calls and set(results) <= set(calls)
    once = len(set(calls)) == len(calls) and len(set(results)) == len(results)
    if not (paired and once and any(map(_has_media, run))):
        return run
    return sorted(run, key=lambda message: calls.index(message["tool_call_id"]))
