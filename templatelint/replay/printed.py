"""A request and its prompt → what of its data is printed as a programming language writes data."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from templatelint.replay.presence import forms
from templatelint.traffic.json_files import is_too_deep

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Request

# what stands before the text of a part where the part is printed rather than its text
_MEMBER = re.compile(r"""['"](?:text|input_text|output_text)\\?['"]\s{0,4}:\s{0,4}\\?['"]""")
_FOREIGN = "[object "
_WORD = re.compile(r"\b(?:None|True|False)\b")
_KEYS = 50  # members of arguments that are looked for


def as_lists(request: Request, prompt: str, template: str) -> frozenset[str]:
    """Of whom lists of parts are printed as data: `tool-results-parts`, `content-parts`.

    Where engines make lists of texts, of these too: `system`, `string-content`.
    """
    return frozenset(_as_lists(request, prompt, template))


def _as_lists(request: Request, prompt: str, template: str) -> Iterator[str]:
    ends = [found.end() for found in _MEMBER.finditer(prompt)]
    if not ends and _FOREIGN not in prompt:
        return
    for message in request.messages:
        content = message.get("content")
        if isinstance(content, str):
            subject = "system" if message.get("role") == "system" else "string-content"
            texts: list[Any] = [content]
        elif isinstance(content, list):
            texts = [part.get("text") for part in content if isinstance(part, Mapping)]
            subject = "content-parts"
            if _FOREIGN in prompt and _FOREIGN not in template:
                yield subject
        else:
            continue
        if message.get("role") == "tool":
            subject = "tool-results-parts"
        written = {form for text in texts if isinstance(text, str) and text.strip() for form in forms(text)}
        if any(prompt.startswith(form, end) for form in written for end in ends):
            yield subject


# ------------------------------------------------------------------------------------------- arguments


def without_words(request: Request) -> Request | None:
    """The request with a number for each true, false and null in arguments of calls; None where there are none."""
    changed = False
    messages = []
    for message in request.messages:
        calls = message.get("tool_calls")
        if not isinstance(calls, list):
            messages.append(message)
            continue
        new = [_call_without_words(call) for call in calls]
        changed = changed or any(one is not call for one, call in zip(new, calls, strict=True))
        messages.append({**message, "tool_calls": new})
    return replace(request, messages=messages) if changed else None


def _call_without_words(call: Any) -> Any:
    arguments = _arguments(call)
    if arguments is None:
        return call
    new = _numbered(arguments)
    if new == arguments and repr(new) == repr(arguments):  # true equals 1
        return call
    function = call["function"]
    written = json.dumps(new, ensure_ascii=False) if isinstance(function["arguments"], str) else new
    return {**call, "function": {**function, "arguments": written}}


def _arguments(call: Any) -> dict[str, Any] | None:
    function = call.get("function") if isinstance(call, Mapping) else None
    arguments = function.get("arguments") if isinstance(function, Mapping) else None
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            return None
    return arguments if isinstance(arguments, dict) and not is_too_deep(arguments) else None


def _numbered(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return 0
    if isinstance(value, dict):
        return {key: _numbered(one) for key, one in value.items()}
    return [_numbered(one) for one in value] if isinstance(value, list) else value


def python_word(prompt: str, without: str, request: Request) -> str:
    """The first word with which Python writes such a value, given the prompt without them; empty where none is.

    Where calls are written as Python's, it is the dialect's own.
    """
    if is_pythonic(prompt, request):
        return ""
    has, had = (Counter(_WORD.findall(text)) for text in (prompt, without))
    return next((word for word, count in has.items() if count > had[word]), "")


def python_mapping(prompt: str, request: Request, template: str) -> str:
    """How arguments are printed as Python writes a mapping; empty where they are not."""
    if is_pythonic(prompt, request):
        return ""
    keys = {str(key) for call in _calls(request) for key in (_arguments(call) or ())}
    for key in sorted(keys)[:_KEYS]:
        start = f"{{'{key}': "
        if start in prompt and start not in template:
            return start
    return ""


def is_pythonic(prompt: str, request: Request) -> bool:
    """Whether a call of the request is written as `name(key=…)`."""
    names = {call["function"].get("name") for call in _calls(request) if _arguments(call) is not None}
    return any(isinstance(name, str) and re.search(rf"\b{re.escape(name)}\(\w+\s*=", prompt) for name in names)


def _calls(request: Request) -> Iterator[Any]:
    for message in request.messages:
        calls = message.get("tool_calls")
        yield from calls if isinstance(calls, list) else ()
