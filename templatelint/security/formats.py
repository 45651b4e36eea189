"""Format strings of `str.format` → their parts: literal text, and what each field asks of which argument."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Field(NamedTuple):
    """A replacement field.

    Attributes:
        first: the argument's number or name; empty for the next one.
        path: what is asked of it in turn: whether by a dot, and the name.
    """

    first: str
    path: tuple[tuple[bool, str], ...]
    conversion: str | None
    spec: str


def fields(form: str) -> Iterator[tuple[str, Field | None]]:
    """(literal text, the field behind it) in order; what is no format ends it."""
    from string import Formatter

    try:
        for literal, name, spec, conversion in Formatter().parse(form):
            yield literal, None if name is None else _field(name, conversion, spec or "")
            # a field inside of a specification asks attributes, too
            if spec and "{" in spec:
                yield from (("", nested) for _, nested in fields(spec) if nested is not None)
    except (ValueError, RecursionError):
        return


def _field(name: str, conversion: str | None, spec: str) -> Field:
    end = next((at for at, character in enumerate(name) if character in ".["), len(name))
    path: list[tuple[bool, str]] = []
    at = end
    while at < len(name):
        if name[at] == "[":
            close = name.find("]", at)
            close = len(name) if close < 0 else close
            path.append((False, name[at + 1 : close]))
            at = close + 1
        else:
            start = at + 1 if name[at] == "." else at
            stop = next((i for i in range(start, len(name)) if name[i] in ".["), len(name))
            path.append((True, name[start:stop]))
            at = max(stop, at + 1)
    return Field(name[:end], tuple(path), conversion, spec)
