"""A file or bytes of JSON → the text and the object it parses to, or one sentence that says why not."""

from __future__ import annotations

import json
from typing import Any

from templatelint import texts
from templatelint.errors import TemplatelintError
from templatelint.model import Lines
from templatelint.sources import opening

_TYPES = {dict: "an object", list: "a list", str: "a string", bool: "a boolean", type(None): "null"}


def read(path: str) -> tuple[str, dict[str, Any]]:
    """The text of a JSON file and the object it parses to.

    Raises:
        TemplatelintError: it cannot be read, is no UTF-8, no JSON, or JSON of something else than an object.
    """
    return parse(opening.read_bytes(path, opening.MAX_JSON, "a JSON file"), path)


def parse(raw: bytes, path: str) -> tuple[str, dict[str, Any]]:
    """The text of JSON bytes and the object they parse to.

    Args:
        raw: the bytes.
        path: what the user calls the file.
    """
    if opening.looks_like_html(raw):
        raise opening.html_page(path)
    text = texts.decode(raw, path, "JSON")
    if text.startswith("\ufeff"):
        raise TemplatelintError(
            f"{path} starts with a byte-order mark, which JSON readers refuse",
            help="save it as UTF-8 without BOM",
        )
    if not text.strip():
        raise TemplatelintError(f"{path} is empty")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        line, column = Lines(text).line_of(error.pos)
        raise TemplatelintError(f"{path}:{line}:{column}: not JSON: {reason}") from error
    except RecursionError as error:
        raise TemplatelintError(f"{path} nests JSON values too deeply to be read") from error
    except ValueError as error:  # Python's limit on the digits of an integer
        raise TemplatelintError(f"{path} holds a number of more than 4,300 digits") from error
    if not isinstance(data, dict):
        raise TemplatelintError(f"{path} holds {type_name(data)}, not a JSON object")
    return text, data


def type_name(value: Any) -> str:
    """What a JSON value is, with its article (`a list`)."""
    return _TYPES.get(type(value), "a number")
