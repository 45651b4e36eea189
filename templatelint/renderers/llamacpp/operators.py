"""Two operands → a value, by every operator but the logical ones and equality."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from templatelint.renderers.llamacpp.functions import contains
from templatelint.renderers.llamacpp.general import bearable
from templatelint.renderers.llamacpp.values import (
    Trouble,
    Undefined,
    Value,
    called,
    is_integer,
    is_list,
    is_number,
    real,
    text,
    truncated,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def operate(operator: str, left: Value, right: Value) -> Value:  # noqa: C901, PLR0911 (one table of cases)
    """The value of any operator but the logical ones and equality.

    Raises:
        Trouble: the operator does not work on these values.
    """
    looks_for = operator in ("in", "not in")
    if left is None or right is None or isinstance(left, Undefined) or isinstance(right, Undefined):
        return _operate_on_nothing(operator, left, right)
    if is_number(left) and is_number(right) and operator in _ARITHMETIC:
        return _ARITHMETIC[operator](left, right)
    if is_list(left) and is_list(right):
        if operator == "+":
            return [*left, *right]
    elif is_list(right) and looks_for:
        return contains(left, right) == (operator == "in")
    if isinstance(left, str) or isinstance(right, str):
        if operator in ("~", "+"):
            return text(left) + text(right)
        if operator == "*" and (is_integer(left) or is_integer(right)):
            return _repeated(left, right) if isinstance(left, str) else _repeated(right, left)
        if looks_for and isinstance(left, str) and isinstance(right, str):
            return contains(left, right) == (operator == "in")
    if isinstance(right, dict) and looks_for:
        return contains(left, right) == (operator == "in")
    raise Trouble(f"no operator '{operator}' between {called(left)} and {called(right)}", "unsupported")


def _operate_on_nothing(operator: str, left: Value, right: Value) -> Value:
    """The operators where an operand is undefined or none, which count as empty beside a string."""
    undefined = isinstance(left, Undefined) or isinstance(right, Undefined)
    if operator in ("in", "not in"):
        if isinstance(right, Undefined):
            return operator == "not in"
        if not undefined and right is not None:
            return contains(left, right) == (operator == "in")
    if operator in ("+", "~"):
        for value in (left, right):
            if isinstance(value, str):
                return value
    raise Trouble(f"no operator '{operator}' between {called(left)} and {called(right)}")


def _repeated(value: str, times: int) -> str:
    bearable(len(value) * times)
    return value * times


def _quotient(left: float, right: float) -> float:
    if right:
        return left / right
    if math.isnan(left) or not left:
        return -math.nan
    return math.copysign(math.inf, left) * math.copysign(1, right)


def _remainder(left: float, right: float) -> float:
    if not right or math.isinf(left):
        return -math.nan
    return math.fmod(left, right)


def _arithmetic(compute: Callable[[float, float], float]) -> Callable[[Value, Value], Value]:
    """Computes with doubles; integers become one again."""

    def run(left: Value, right: Value) -> Value:
        result = compute(real(left), real(right))
        return result if type(left) is float or type(right) is float else truncated(result)

    return run


def _comparison(holds: Callable[[float, float], bool]) -> Callable[[Value, Value], Value]:
    return lambda left, right: holds(real(left), real(right))


_ARITHMETIC: Mapping[str, Callable[[Value, Value], Value]] = {
    "+": _arithmetic(lambda left, right: left + right),
    "-": _arithmetic(lambda left, right: left - right),
    "*": _arithmetic(lambda left, right: left * right),
    "%": _arithmetic(_remainder),
    "/": lambda left, right: _quotient(real(left), real(right)),
    "<": _comparison(lambda left, right: left < right),
    ">": _comparison(lambda left, right: left > right),
    "<=": _comparison(lambda left, right: left <= right),
    ">=": _comparison(lambda left, right: left >= right),
}
