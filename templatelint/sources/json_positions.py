"""JSON text and a path of keys → the offset at which that value is written."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_BLANK = re.compile(r"[ \t\n\r]*")
# Values are measured by the parser that also reads them: the two cannot disagree on where a string ends.
_value_at = json.JSONDecoder().raw_decode


def locate(text: str, path: Sequence[str | int]) -> int:
    """Offset of the first character of the value that `json.loads(text)` gives at `path`.

    Args:
        text: valid JSON.
        path: keys of objects and indexes of lists, from the outside in; of a key that stands several times the
            last one counts, as for json.

    Raises:
        KeyError: nothing is there.
    """
    at = _skip_blank(text, 0)
    for step in path:
        found = None
        for name, start, _ in _children(text, at):
            if name == step:
                found = start
        if found is None:
            raise KeyError(step)
        at = found
    return at


def head_members(text: str, wanted: frozenset[str], last: str) -> dict[str, Any] | None:
    """Members of an object of which only the beginning may be at hand.

    Args:
        text: JSON, possibly cut off.
        wanted: their names.
        last: the member at which to stop.

    Returns:
        The wanted members that stand before `last`; None where the text ends before it.
    """
    found: dict[str, Any] = {}
    try:
        at = _skip_blank(text, 0)
        if text[at] != "{":
            return None
        at = _skip_blank(text, at + 1)
        while text[at] != "}":
            key, at = _value_at(text, at)
            if key == last:
                return found
            value, at = _value_at(text, _skip_blank(text, _skip_blank(text, at) + 1))
            if key in wanted:
                found[key] = value
                if len(found) == len(wanted):
                    return found
            at = _skip_blank(text, at)
            if text[at] == ",":
                at = _skip_blank(text, at + 1)
    except (ValueError, IndexError, RecursionError):
        return None
    return found


def _children(text: str, at: int) -> Iterator[tuple[str | int, int, int]]:
    """Key or index, start and end of each value inside the object or list that begins at `at`."""
    closing = {"{": "}", "[": "]"}.get(text[at])
    if closing is None:
        return
    at, index = _skip_blank(text, at + 1), 0
    while text[at] != closing:
        name: str | int = index
        if closing == "}":
            name, at = _value_at(text, at)
            at = _skip_blank(text, _skip_blank(text, at) + 1)  # behind the colon
        _, end = _value_at(text, at)
        yield name, at, end
        at, index = _skip_blank(text, end), index + 1
        if text[at] == ",":
            at = _skip_blank(text, at + 1)


def _skip_blank(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at
