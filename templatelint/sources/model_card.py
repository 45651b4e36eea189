"""The front matter of a README.md → what it says that the model was made of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from templatelint.errors import TemplatelintError
from templatelint.sources import opening

README = "README.md"
BASE_MODEL, RELATION = "hub.base_model", "hub.base_model_relation"

# of the file; cards with evaluation results in front run to some 100 KB
_MAX_BYTES = 1 << 20
_MAX_NAMES = 100
_FENCE = "---"
# A value of YAML as cards write them: plain or quoted on one line, a list in brackets, or lines that begin with a dash.
_ENTRY = re.compile(r"(?P<key>base_model|base_model_relation)[ \t]*:(?:[ \t]+(?P<value>\S.*))?")
_ITEM = re.compile(r"[ \t]*-[ \t]+(?P<value>\S.*)")


def read(folder: str) -> dict[str, Any]:
    """`hub.base_model` (a tuple of names) and `hub.base_model_relation`, as far as the folder's card has them."""
    try:
        with opening.open_regular(str(Path(folder, README))) as (handle, _):
            raw = handle.read(_MAX_BYTES)
    except (OSError, ValueError, TemplatelintError):  # no card, no access, no file
        return {}
    return front_matter((raw or b"").decode("utf-8-sig", "replace"))


def front_matter(text: str) -> dict[str, Any]:
    """What `read` gives, of the text of a card; what is no simple value is left out."""
    lines = iter(text.splitlines())
    if next(lines, "").rstrip() != _FENCE:
        return {}
    found: dict[str, list[str]] = {}
    names: list[str] | None = None
    for line in lines:
        if line.rstrip() == _FENCE:
            return _metadata(found)
        entry = _ENTRY.fullmatch(line.rstrip())
        if entry is not None:
            names = found[entry["key"]] = _values(entry["value"] or "")
        elif names is not None and (item := _ITEM.fullmatch(line.rstrip())):
            names += _values(item["value"])
        elif line.strip() and not line.lstrip().startswith("#"):
            names = None
    return {}  # without an end it is no front matter


def _values(text: str) -> list[str]:
    text = _uncommented(text).strip()
    words = text[1:-1].split(",") if text.startswith("[") and text.endswith("]") else [text]
    return [word for word in (word.strip().strip("'\"") for word in words[:_MAX_NAMES]) if word and word.isprintable()]


def _uncommented(text: str) -> str:
    """The text up to a `#` that begins a word."""
    at = text.find("#")
    while at > 0 and text[at - 1] not in " \t":
        at = text.find("#", at + 1)
    return text if at < 0 else text[:at]


def _metadata(found: dict[str, list[str]]) -> dict[str, Any]:
    names, relation = found.get("base_model", [])[:_MAX_NAMES], found.get("base_model_relation", [])
    metadata: dict[str, Any] = {BASE_MODEL: tuple(names)} if names else {}
    return metadata | ({RELATION: relation[0]} if relation else {})
