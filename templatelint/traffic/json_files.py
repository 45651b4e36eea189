"""Users' files → JSON data, and the errors that say what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeGuard

from templatelint import texts
from templatelint.errors import TemplatelintError
from templatelint.model import Lines

_DEPTH = 200  # levels; the deepest schemas of tools have ten
BODY = 'give an OpenAI chat-completions body: {"messages": [{"role": "user", "content": "..."}]}'


def read_json(path: str | Path, wanted: str) -> Any:
    """The value in a JSON file; `-` reads standard input.

    Args:
        path: the file; a pipe will do.
        wanted: what to give instead, for the help line.

    Raises:
        TemplatelintError: it cannot be read, is not UTF-8, or not JSON that can become a prompt.
    """
    value = parsed_file(path, wanted)
    check_characters(value, shown_name(path))
    return value


def check_characters(value: object, where: str) -> None:
    """Raise for half of a surrogate pair: it has no bytes, so no server could be sent it."""
    import json

    try:
        text = json.dumps(value, ensure_ascii=False)
    except RecursionError as error:
        raise TemplatelintError(f"{where} is nested too deeply", help=BODY) from error
    if half := texts.half_character(text):
        raise TemplatelintError(f"{where} holds {half}, half of a surrogate pair", help="write the whole character")


def is_too_deep(value: object) -> bool:
    """Whether JSON data are nested further than anybody means: code that recurses may not reach their ground."""
    level: list[object] = [value]
    for _ in range(_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, (Mapping, list))
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
        ]
        if not level:
            return False
    return True


def parsed_file(path: str | Path, wanted: str) -> Any:
    """The same, whatever characters its strings hold."""
    text = read_text(path, "JSON", wanted).removeprefix("\ufeff")
    if not text.strip():
        raise TemplatelintError(f"{shown_name(path)} is empty", help=wanted)
    return parsed(text, shown_name(path), wanted)


def read_text(path: str | Path, what: str, wanted: str) -> str:
    """The text of a file; `-` reads standard input.

    Args:
        path: the file; a pipe will do.
        what: what is meant to be in it (`JSON`).
        wanted: what to give instead, for the help line.

    Raises:
        TemplatelintError: it cannot be read or is not UTF-8.
    """
    shown = shown_name(path)
    if str(path) == "-" and sys.stdin is None:
        raise TemplatelintError("standard input is closed", help=wanted)
    try:
        raw = sys.stdin.buffer.read() if str(path) == "-" else Path(path).read_bytes()
    except OSError as error:
        raise unreadable(shown, error, wanted) from error
    return texts.decode(raw, shown, what)


def parsed(text: str, shown: str, wanted: str, line: int | None = None) -> Any:
    """JSON text → its value.

    Args:
        text: the text.
        shown: what error messages call it.
        wanted: what to give instead, for the help line.
        line: which line of that it is, where it is one of many.

    Raises:
        TemplatelintError: it is not JSON.
    """
    import json

    where = shown if line is None else f"{shown}:{line}"
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = error.msg.removesuffix(" at").removesuffix(" starting")
        at, column = Lines(text).line_of(error.pos)
        raise TemplatelintError(
            f"{where if line is not None else f'{shown}:{at}'}:{column} is not JSON: {reason[:1].lower()}{reason[1:]}",
            help=wanted,
        ) from error
    except RecursionError as error:
        raise TemplatelintError(f"{where} is nested too deeply", help=wanted) from error
    except ValueError as error:  # Python reads no integer of more than 4,300 digits
        raise TemplatelintError(
            f"{where} holds a number of more than 4,300 digits", help="write it as a string"
        ) from error


def shown_name(path: str | Path) -> str:
    """What messages call the file."""
    return "standard input" if str(path) == "-" else str(path)


def unreadable(shown: str, error: OSError, wanted: str) -> TemplatelintError:
    """The error for a file or folder that cannot be read."""
    reason = error.strerror or type(error).__name__
    return TemplatelintError(f"cannot read {shown}: {reason[:1].lower()}{reason[1:]}", help=wanted)


def objects(body: Mapping[str, Any], name: str, where: str) -> list[Mapping[str, Any]] | None:
    """The member as a list of objects, None where it is absent or null."""
    value = body.get(name)
    if value is None:
        return None
    if not _is_list(value):
        raise wrong(f"{where}: {name}", value, "an array")
    for index, item in enumerate(value):
        if not isinstance(item, Mapping):
            raise wrong(f"{where}: {name}[{index}]", item, "an object")
    return list(value)


def _is_list(value: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    return isinstance(value, (list, tuple))


def boolean(body: Mapping[str, Any], name: str, where: str, *, default: bool) -> bool:
    """The member as a boolean, the default where it is absent or null."""
    value = body.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise wrong(f"{where}: {name}", value, "a boolean")
    return value


def wrong(where: str, value: object, wanted: str, cure: str = BODY) -> TemplatelintError:
    """The error for a value of another type than the one that is wanted there."""
    return TemplatelintError(f"{where} is {_kind(value)}, not {wanted}", help=cure)


def _kind(value: object) -> str:
    if value is None:
        return "null"
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (bool, "a boolean"),
        ((int, float), "a number"),
        (str, "a string"),
        ((list, tuple), "an array"),
        (Mapping, "an object"),
    )
    return next((name for kind, name in kinds if isinstance(value, kind)), f"a {type(value).__name__}")
