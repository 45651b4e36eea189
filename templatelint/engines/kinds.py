"""A JSON value → what it is, in words, for engines that refuse a request."""

from __future__ import annotations

from typing import Any


def json_kind(value: Any) -> str:
    """What a JSON value is, in words."""
    kinds: tuple[tuple[type | tuple[type, ...], str], ...] = (
        (type(None), "null"),
        (bool, "a boolean"),
        ((int, float), "a number"),
        (str, "text"),
        ((list, tuple), "a list"),
        (dict, "an object"),
    )
    return next((name for types, name in kinds if isinstance(value, types)), type(value).__name__)
