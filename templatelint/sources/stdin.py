"""Standard input → Model, of the kind that its file name says."""

from __future__ import annotations

import sys
from dataclasses import replace

from templatelint.errors import TemplatelintError
from templatelint.model import Model
from templatelint.sources import file, opening

_REFUSAL = "a GGUF cannot be read from standard input"


def resolve(filename: str | None) -> Model:
    """The model on standard input.

    Args:
        filename: what the text is called; a name in `.json` makes it JSON, everything else is a template.

    Raises:
        TemplatelintError: closed, a GGUF, too large, or not what the name says.
    """
    path = filename or "<stdin>"
    is_json = path.lower().endswith(".json")
    raw = _read(
        opening.MAX_JSON if is_json else opening.MAX_TEMPLATE,
        path,
        "a JSON file" if is_json else "a template",
    )
    if not is_json:
        return Model("-", "stdin", (file.from_bytes(raw, path, "default"),), file.ASSUMED)
    from templatelint.sources import config_json, json_object

    text, data = json_object.parse(raw, path)
    return replace(config_json.from_data(text, data, path, kind="stdin", folder=None), ref="-")


def _read(limit: int, path: str, what: str) -> bytes:
    if path.lower().endswith(".gguf"):
        raise TemplatelintError(_REFUSAL, help="give the path of the file")
    # None where the program was started without one; pythonw and daemons are.
    if sys.stdin is None:
        raise TemplatelintError("standard input is closed")
    stream = sys.stdin.buffer
    try:
        head = stream.read(4)
        if head == b"GGUF":
            raise TemplatelintError(_REFUSAL, help="give the path of the file")
        raw = head + stream.read(limit + 1 - len(head))
    except (OSError, ValueError) as error:  # ValueError: closed meanwhile
        raise TemplatelintError(f"standard input cannot be read: {error}") from error
    if len(raw) > limit:
        raise opening.too_large(path, len(raw), limit, what)
    return raw
