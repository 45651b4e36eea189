"""A request → the texts whose fate in a prompt says what reached the model, and copies of it that carry marks there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from templatelint.traffic.json_files import is_too_deep

if TYPE_CHECKING:
    from collections.abc import Sequence

    from templatelint.model import Request

Path: TypeAlias = "tuple[str | int, ...]"

# A shorter text may stand in a prompt for other reasons than that the request holds it.
_TELLING = 16
_VALUES = 100  # texts of one call's arguments that are followed
REASONING = ("reasoning_content", "reasoning", "thinking")
WITHOUT_MEDIA = "send text alone, or serve a model that takes images, sounds and films"
_TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
_LIKE_MARKS = re.compile(r"zqmark(x*)", re.IGNORECASE)
# what a choice of tools names would not be found under another name
_CHOICE = "tool_choice"


@dataclass(frozen=True, slots=True)
class Part:
    """One text of a request.

    Attributes:
        subject: what it is part of.
        path: where it stands in the request: `("messages", 2, "content")`; arguments of calls are taken apart.
        text: the text, not empty.
        telling: that it stands in a prompt says that this part reached it.
        number: which of its turn's calls it belongs to, counted from 0.
    """

    subject: str
    path: Path
    text: str
    telling: bool = True
    number: int = 0


def parts(request: Request) -> tuple[Part, ...]:
    """The parts in the order of the request, tools last.

    Thoughts of earlier turns are none: it is normal that a template drops them.
    """
    found = [*_of_messages(request.messages), *_of_tools(request.tools or ())]
    texts: dict[str, int] = {}
    for part in found:
        texts[part.text] = texts.get(part.text, 0) + 1
    return tuple(part if part.telling and texts[part.text] == 1 else replace(part, telling=False) for part in found)


def has_media(message: Mapping[str, Any]) -> bool:
    """Whether a message has a part that is no text."""
    return any(_is_media(part) for part in _list(message.get("content")))


def without_media(request: Request) -> Request:
    """The request without the parts of messages that are no text."""
    return replace(
        request,
        messages=[
            {**message, "content": [part for part in content if not _is_media(part)]}
            if isinstance(content := message.get("content"), list)
            else message
            for message in request.messages
        ],
    )


def _is_media(part: Any) -> bool:
    return isinstance(part, Mapping) and isinstance(part.get("type"), str) and part["type"] not in _TEXT_PARTS


# -------------------------------------------------------------------------------------------- messages


def _of_messages(messages: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    users = [index for index, message in enumerate(messages) if message.get("role") == "user"]
    loop = users[-1] if users else -1  # behind it, a tool loop may be under way
    for index, message in enumerate(messages):
        path: Path = ("messages", index)
        yield from _of_content(message, index, path)
        if message.get("role") != "assistant":
            continue
        if index > loop:
            thought = next((name for name in REASONING if isinstance(message.get(name), str)), None)
            if thought is not None:
                yield from _part("reasoning", (*path, thought), message[thought])
        for number, call in enumerate(_list(message.get("tool_calls"))):
            yield from _of_call(call, (*path, "tool_calls", number), number)


def _of_content(message: Mapping[str, Any], index: int, path: Path) -> Iterator[Part]:
    role, content = message.get("role"), message.get("content")
    subject = _SUBJECTS.get(str(role), "")
    if role == "system" and index:
        subject = "later-system"
    if role == "assistant" and message.get("tool_calls"):
        subject = "text-with-calls"
    if not subject:
        return
    if isinstance(content, str):
        yield from _part(subject, (*path, "content"), content)
        return
    first = True
    for number, part in enumerate(_list(content)):
        text = part.get("text") if isinstance(part, Mapping) and not _is_media(part) else None
        if isinstance(text, str) and text.strip():
            further = _FURTHER.get(subject, subject)
            yield from _part(subject if first else further, (*path, "content", number, "text"), text)
            first = False


_SUBJECTS = {
    "system": "system",
    "developer": "developer",
    "user": "user-messages",
    "assistant": "assistant-messages",
    "tool": "tool-results",
}
# what the parts after the first are called
_FURTHER = {
    "system": "content-parts",
    "user-messages": "content-parts",
    "assistant-messages": "content-parts",
    "tool-results": "tool-results-parts",
}


def _of_call(call: Any, path: Path, number: int) -> Iterator[Part]:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        return
    own = (*path, "function")
    values = [*_of_arguments(function.get("arguments"), (*own, "arguments"))]
    for at, value in values:
        # values recur: in results, in later calls, in what is said of them
        yield from _part("tool-calls", at, value, number, telling=False)
    if isinstance(function.get("name"), str):
        # the tools' definitions show it too: it tells of the call only where nothing else does
        subject = "tool-call-names" if values else "tool-calls"
        yield from _part(subject, (*own, "name"), function["name"], number, telling=bool(values), short=True)


def _of_arguments(arguments: Any, path: Path) -> Iterator[tuple[Path, str]]:
    """The texts among the arguments; other values are too common to follow."""
    if isinstance(arguments, str):
        read = _json(arguments)
        if not isinstance(read, (dict, list)):
            if arguments.strip():
                yield path, arguments
            return
        arguments = read
    left, waiting = _VALUES, [(path, arguments)]
    while waiting and left:
        at, value = waiting.pop()
        if isinstance(value, str) and value.strip():
            left -= 1
            yield at, value
        elif isinstance(value, dict):
            waiting += [((*at, key), one) for key, one in reversed(value.items())]
        elif isinstance(value, list):
            waiting += [((*at, index), one) for index, one in reversed([*enumerate(value)])]


def _json(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return None if is_too_deep(value) else value


def _of_tools(tools: Sequence[Mapping[str, Any]]) -> Iterator[Part]:
    for index, tool in enumerate(tools):
        function = tool.get("function")
        if not isinstance(function, Mapping):
            continue
        path: Path = ("tools", index, "function")
        if isinstance(function.get("name"), str):  # calls show it too
            yield from _part("tools", (*path, "name"), function["name"], telling=False)
        if isinstance(function.get("description"), str):
            yield from _part("tool-descriptions", (*path, "description"), function["description"])


def _part(  # noqa: PLR0913 (a row of the table that it adds to)
    subject: str, path: Path, text: str, number: int = 0, *, telling: bool = True, short: bool = False
) -> Iterator[Part]:
    if text.strip():
        yield Part(subject, path, text, telling and (short or len(text.strip()) >= _TELLING), number)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# ----------------------------------------------------------------------------------------------- marks


def marked(request: Request, wanted: Sequence[Part]) -> tuple[Request, tuple[str, ...]]:
    """The request with a word of its own at the end of each of these parts, and those words.

    They are letters and digits, no part of each other nor of a text of the request, letter case apart.
    """
    taken = [run for part in wanted for run in _LIKE_MARKS.findall(part.text)]
    stem = f"zqmark{'x' * max((len(run) + 1 for run in taken), default=0)}"
    marks = tuple(f"{stem}{number}z" for number in range(len(wanted)))
    texts = {part.path: _with_mark(part, mark) for part, mark in zip(wanted, marks, strict=True)}
    return _with_texts(request, texts), marks


def _with_mark(part: Part, mark: str) -> str:
    if part.path[-1] == "name":
        return f"{part.text}_{mark}"
    end = len(part.text.rstrip())
    return f"{part.text[:end]} {mark}{part.text[end:]}"


def _with_texts(request: Request, texts: Mapping[Path, str]) -> Request:
    """The request with other texts at those places; what is not on the way to them is shared with it."""
    root: dict[str, Any] = {"messages": [*request.messages], "tools": [*(request.tools or ())]}
    own: dict[Path, Any] = {}
    written: list[Path] = []
    for path, text in texts.items():
        node: Any = root
        for depth, step in enumerate(path[:-1], 1):
            prefix = path[:depth]
            if prefix not in own:
                child = node[step]
                if isinstance(child, str):  # arguments, as JSON
                    child = _json(child)
                    written.append(prefix)
                elif depth > 1:
                    child = dict(child) if isinstance(child, Mapping) else list(child)
                own[prefix] = node[step] = child
            node = own[prefix]
        node[path[-1]] = text
    for path in written:
        own[path[:-1]][path[-1]] = json.dumps(own[path], ensure_ascii=False)
    extra = request.extra
    if isinstance(extra.get(_CHOICE), Mapping):
        extra = {name: value for name, value in extra.items() if name != _CHOICE}
    return replace(
        request, messages=root["messages"], tools=root["tools"] if request.tools is not None else None, extra=extra
    )
