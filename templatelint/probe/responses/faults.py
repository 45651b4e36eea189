"""An answer of the Responses API → which of its members, or of an item's, a client cannot rely on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.probe.telling import quoted
from templatelint.sources.endpoint.routes import text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_STATUSES = ("completed", "in_progress", "incomplete")  # of an item
_UNTOLD = ("reasoning", "function_call")  # types of items whose status is optional
_MANY = 64  # items that are looked at
_ENDED = ("completed", "incomplete")  # of a response that is at its end


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


# the members that OpenAI's API description requires, and whether a value has its form
REQUIRED: Mapping[str, Callable[[Any], bool]] = {
    "id": lambda value: bool(text(value)),
    "object": lambda value: value == "response",
    "created_at": _number,
    "error": lambda value: value is None or isinstance(value, dict),
    "incomplete_details": lambda value: value is None or isinstance(value, dict),
    "instructions": lambda value: value is None or isinstance(value, str | list),
    "metadata": lambda value: value is None or isinstance(value, dict),
    "model": lambda value: bool(text(value)),
    "output": lambda value: isinstance(value, list),
    "parallel_tool_calls": lambda value: isinstance(value, bool),
    "temperature": lambda value: value is None or _number(value),
    "tool_choice": lambda value: isinstance(value, str | dict),
    "tools": lambda value: isinstance(value, list),
    "top_p": lambda value: value is None or _number(value),
}


def faults_of(response: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The required members that are missing; and, in clauses, what is wrong with those that are there."""
    missing = [name for name in REQUIRED if name not in response]
    wrong = [
        f"{name} is {quoted(response[name])}"
        for name, fits in REQUIRED.items()
        if name in response and not fits(response[name])
    ]
    if response.get("status") not in _ENDED:
        wrong.append(f"status is {shown(response, 'status')}")
    output = response.get("output")
    for place, item in enumerate(output[:_MANY] if isinstance(output, list) else ()):
        fault = fault_of(item) if isinstance(item, dict) else f"it is {quoted(item)}"
        if fault:
            wrong.append(f"output[{place}]: {fault}")
    return missing, wrong


def shown(value: Mapping[str, Any], member: str) -> str:
    """A member, for messages."""
    return quoted(value[member]) if member in value else "missing"


def fault_of(item: Mapping[str, Any]) -> str:
    """The first member of an item that a client cannot rely on, as a clause; empty where there is none."""
    kind = item.get("type")
    if kind == "message":
        return _fault_of_message(item)
    if kind == "function_call":
        return _fault_of_call(item)
    if kind == "reasoning":
        return _not_text(item, "id") or (
            "" if isinstance(item.get("summary"), list) else f"summary is {quoted(item.get('summary'))}"
        )
    return _not_text(item, "type")


def _fault_of_message(item: Mapping[str, Any]) -> str:
    fault = _not_text(item, "id") or _bad_status(item)
    if fault:
        return fault
    if item.get("role") != "assistant":
        return f"role is {quoted(item.get('role'))}"
    content = item.get("content")
    if not isinstance(content, list):
        return f"content is {quoted(content)}"
    for part in content:
        if not isinstance(part, dict) or not text(part.get("type")):
            return f"a part of content is {quoted(part)}"
        if part["type"] == "output_text":
            for member, form in (("text", str), ("annotations", list)):
                if not isinstance(part.get(member), form):
                    return f"{member} of output_text is {shown(part, member)}"
    return ""


def _fault_of_call(item: Mapping[str, Any]) -> str:
    fault = _not_text(item, "id") or _not_text(item, "call_id") or _not_text(item, "name") or _bad_status(item)
    if fault:
        return fault
    arguments = item.get("arguments")
    return "" if isinstance(arguments, str) else f"arguments is {shown(item, 'arguments')}"


def _not_text(item: Mapping[str, Any], member: str) -> str:
    return "" if text(item.get(member)) else f"{member} is {shown(item, member)}"


def _bad_status(item: Mapping[str, Any]) -> str:
    return "" if item.get("status") in _STATUSES or untold(item) else f"status is {shown(item, 'status')}"


def untold(item: Mapping[str, Any]) -> bool:
    """Whether an item has no status, or null, where the API's types let it have none."""
    return item.get("status") is None and item.get("type") in _UNTOLD
