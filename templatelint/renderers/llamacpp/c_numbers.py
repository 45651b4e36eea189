"""Strings → the numbers they start with, as C reads them."""

from __future__ import annotations

import re

from templatelint.renderers.llamacpp.values import BLANKS

_INTEGER_START = re.compile(f"[{BLANKS}]*+([+-]?)([0-9a-zA-Z]*)")
_SIXTEEN = 16
_LONGEST = 64  # digits that 64 bits can have
_HEXADECIMAL = re.compile("0[xX][0-9a-fA-F]")


def leading_integer(value: str, base: int) -> int | None:
    """The integer that a string starts with, as C reads it; None where there is none, or one far beyond 64 bits."""
    found = _INTEGER_START.match(value)
    sign, digits = found.groups() if found else ("", "")
    prefixed = _HEXADECIMAL.match(digits)
    if base == 0:
        base = 16 if prefixed else 8 if digits.startswith("0") else 10
    if prefixed and base == _SIXTEEN:
        digits = digits[2:]
    length = next((place for place, digit in enumerate(digits) if int(digit, 36) >= base), len(digits))
    significant = digits[:length].lstrip("0")
    if not length or len(significant) > _LONGEST:
        return None
    return int(sign + (significant or "0"), base)


_FLOAT_START = re.compile(
    f"[{BLANKS}]*+([+-]?)(?:0x([0-9a-f]*\\.?[0-9a-f]*)(p[+-]?[0-9]+)?|([0-9]+\\.?[0-9]*|\\.[0-9]+)(?:e[+-]?[0-9]+)?"
    "|inf(?:inity)?|nan)",
    re.IGNORECASE,
)


def leading_float(value: str) -> float | None:
    """The number that a string starts with, as C reads it; None where there is none, or none that a double holds."""
    found = _FLOAT_START.match(value)
    if found is None:
        return None
    written = found[0].strip(BLANKS)
    mantissa = found[2]
    if mantissa is not None:
        if not mantissa.strip("."):
            return 0.0 if found[1] != "-" else -0.0
        try:
            number = float.fromhex(written)
        except OverflowError:
            return None
        digits = mantissa
    else:
        number = float(written)
        digits = found[4] or ""
    infinite = number in (float("inf"), float("-inf"))
    if digits and (infinite or (abs(number) < _SMALLEST_NORMAL and digits.strip("0."))):
        return None
    return number


_SMALLEST_NORMAL = 2.2250738585072014e-308
