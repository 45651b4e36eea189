"""A plain answer of the Responses API → what the official SDK's types refuse of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from templatelint.errors import clip

if TYPE_CHECKING:
    from collections.abc import Mapping

_MANY = 64  # items that are looked at
_ROOM = 160  # characters of a refusal


def refused_by_types(response: Mapping[str, Any]) -> tuple[tuple[str, str, bool], ...]:
    """Members that strict validation refuses, `usage` left aside: a clause of its own is about that.

    Returns:
        For each member that is refused its name (`output[0]`), why, and whether only a value is unknown that later
        versions of the types may know; nothing where the SDK is not installed.
    """
    try:
        from openai.types.responses import (
            Response,
            ResponseFunctionToolCall,
            ResponseOutputMessage,
            ResponseReasoningItem,
        )
    except Exception:  # noqa: BLE001 (a package that does not start is none)
        return ()
    # every item against its own type: a union tells what each of its thirty members misses
    kinds: Mapping[Any, Any] = {
        "message": ResponseOutputMessage,
        "function_call": ResponseFunctionToolCall,
        "reasoning": ResponseReasoningItem,
    }
    output = response.get("output")
    items = output if isinstance(output, list) else []
    found = _refused(Response, {**response, "output": [] if isinstance(output, list) else output, "usage": None}, "")
    for place, item in enumerate(items[:_MANY]):
        kind = item.get("type") if isinstance(item, dict) else None
        if isinstance(kind, str) and kind in kinds:
            found += _refused(kinds[kind], item, f"output[{place}]")
    return tuple(found)


def _refused(form: Any, value: Mapping[str, Any], name: str) -> list[tuple[str, str, bool]]:
    try:
        form.model_validate(value, strict=True)
    except ValueError as error:
        errors: list[Any] = getattr(error, "errors", list)()
    except RecursionError:
        return [(name or "response", "nested too deeply", False)]
    else:
        return []
    members: dict[str, tuple[str, bool]] = {}
    for each in errors:
        place = [str(step) for step in each["loc"]]
        member = name or (place[0] if place else "response")
        why, drifts = members.get(member, (f"{'.'.join(place[bool(not name) :])}: {each['msg']}".lstrip(": "), False))
        members[member] = why, drifts or "literal" in each["type"]
    return [(member, ascii(clip(why, _ROOM))[1:-1], drifts) for member, (why, drifts) in members.items()]
