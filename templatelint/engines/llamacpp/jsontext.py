"""JSON text ↔ values as the JSON library of llama.cpp reads and writes them."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

_LARGEST = 2**64 - 1
_SMALLEST = -(2**63)


def parse(text: str) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is no JSON: not even the extensions of Python's reader are taken.
    """
    try:
        return json.loads(text.removeprefix("\ufeff"), parse_constant=_reject, parse_float=_float, parse_int=_integer)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def dump(value: Any) -> str:
    """The value as compact JSON text, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _reject(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _float(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is out of range")
    return number


def _integer(text: str) -> int | float:
    """Numbers that no 64-bit integer holds become floats."""
    if len(text) > len(str(_LARGEST)) + 1:
        return _float(text)
    number = int(text)
    return number if _SMALLEST <= number <= _LARGEST else float(number)
