"""Which values of its input a render looked at, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from templatelint.renderers.llamacpp.values import Value, byte_text, from_json, is_list

if TYPE_CHECKING:
    from collections.abc import Mapping

ARRAY_ACCESS = "array_access"
OBJECT_ACCESS = "object_access"


@dataclass(frozen=True, slots=True)
class Stats:
    """What a render did with one value of its input.

    Attributes:
        used: it was looked up, tested, filtered or turned into text as part of a larger value.
        ops: filters by name (aliases resolved: `strip` for `trim`, `length` for `count`), tests as `is NAME`,
            the name of every attribute asked of it, `slice`, `array_access` (looped over, or indexed by an integer),
            `object_access` (looked into by key).
    """

    used: bool
    ops: frozenset[str]


class _Record:
    """What has happened to one value so far."""

    __slots__ = ("ops", "used")

    def __init__(self) -> None:
        self.used = False
        self.ops: set[str] = set()


class WatchedText(str):
    """A string of the input."""

    __slots__ = ("record",)
    record: _Record


class WatchedList(list[Any]):
    """A list of the input."""

    __slots__ = ("record",)
    record: _Record


class WatchedMapping(dict[Any, Any]):
    """A mapping of the input."""

    __slots__ = ("record",)
    record: _Record


_Watched = WatchedText | WatchedList | WatchedMapping


def watched(value: Value) -> Value:
    """A copy of a value whose strings, lists and mappings remember what happens to them."""
    copy: _Watched
    if isinstance(value, str):
        copy = WatchedText(value)
    elif isinstance(value, list):
        copy = WatchedList(map(watched, value))
    elif isinstance(value, dict):
        copy = WatchedMapping((key, watched(member)) for key, member in value.items())
    else:
        return value
    copy.record = _Record()
    return copy


def note(value: Value, *ops: str) -> None:
    """Remember that a value was used, in these ways."""
    if isinstance(value, _Watched):
        value.record.used = True
        value.record.ops.update(ops)


def note_whole(value: Value) -> None:
    """Remember that a value was used with all that it holds."""
    note(value)
    if is_list(value):
        for item in value:
            note_whole(item)
    elif isinstance(value, dict):
        for member in value.values():
            note_whole(member)


class Usage:
    """What a render did with its input; strings, lists and mappings are watched, other values are not."""

    def __init__(self, variables: Mapping[str, Any]) -> None:
        self.variables: dict[str, Value] = {name: watched(value) for name, value in from_json(dict(variables)).items()}

    def of(self, *path: str | int) -> Stats:
        """The statistics of the value at that path of the variables, such as `of("messages", 0, "content")`.

        Values are found where the render left them, should it have changed the list or mapping that held them.

        Raises:
            LookupError: no watched value is there.
        """
        value: Any = self.variables
        for step in path:
            try:
                value = value[byte_text(step) if isinstance(step, str) else step]
            except TypeError:
                raise LookupError(path) from None
        record: _Record | None = getattr(value, "record", None)
        if record is None:
            raise LookupError(path)
        return Stats(record.used, frozenset(record.ops))
