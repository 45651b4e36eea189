"""Values as llama.cpp's renderer keeps them: how they come in, what is true or equal, how they turn into text.

Python's own types stand for them: None, bool, int, float, str, list, tuple and dict, beside the classes below. A str
holds *bytes*, each as the character of that number: llama.cpp counts, cuts and changes bytes, and only the finished
prompt is decoded.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from templatelint.model import ErrorKind
    from templatelint.renderers.llamacpp.scope import Scope

    Handler = Callable[[Sequence["Value"], Scope], "Value"]
    """What a function does with (its own value and) its arguments, in the caller's scope."""

Value = Any

BLANKS = " \t\n\v\f\r"
"""What counts as blank."""

FIRST_INTEGER, LAST_INTEGER = -(2**63), 2**63 - 1
_LARGEST_UNSIGNED = 2**64 - 1


class Trouble(Exception):
    """A render that cannot go on.

    Attributes:
        kind: of the failure.
        at: offset in the normalised text of what failed; None until somebody knows.
    """

    def __init__(self, message: str, kind: ErrorKind = "raised", at: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.at = at

    def placed(self, at: int) -> Trouble:
        """This trouble, at that place unless it has one."""
        if self.at is None:
            self.at = at
        return self


class Undefined:
    """What a name without a value gives; `hint` is what llama.cpp shows of its origin."""

    __slots__ = ("hint",)

    def __init__(self, hint: str = "") -> None:
        self.hint = hint


class Function:
    """Something to call: a global, a macro, or a method bound to its value."""

    __slots__ = ("handler", "name", "own")

    def __init__(self, name: str, handler: Callable[[Sequence[Value], Scope], Value], *own: Value) -> None:
        self.name = name
        self.handler = handler
        self.own = own

    def __call__(self, arguments: Sequence[Value], scope: Scope) -> Value:
        """Call it with evaluated arguments, `Keyword`s among them, in the caller's scope."""
        return self.handler((*self.own, *arguments), scope)


class Keyword:
    """An argument passed by name: a value like others to whoever does not look for it."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Value) -> None:
        self.name = name
        self.value = value


class LoopInfo(dict[str, Any]):
    """The variable `loop`: a mapping without methods."""

    __slots__ = ()


# ------------------------------------------------------------------------------------ in and out


def byte_text(text: str) -> str:
    """The UTF-8 bytes of a text, each as the character of that number."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("latin-1")


def plain_text(text: str) -> str:
    """The text that bytes stand for; what is no UTF-8 becomes U+FFFD, as in the server's answers."""
    return text if text.isascii() else text.encode("latin-1").decode("utf-8", "replace")


def from_json(value: Any) -> Value:
    """A copy of JSON data; integers beyond 64 bits become what llama.cpp's JSON library makes of them.

    Raises:
        TypeError: it is not JSON data.
    """
    if isinstance(value, str):
        return byte_text(value)
    if isinstance(value, dict):
        return {byte_text(key): from_json(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [from_json(item) for item in value]
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return from_integer(value)
    raise TypeError(f"not JSON data: {type(value).__name__}")


def from_integer(value: int) -> int | float:
    """An integer of JSON: kept, wrapped where it fits 64 bits without a sign, else a float."""
    if FIRST_INTEGER <= value <= LAST_INTEGER:
        return value
    return value - _LARGEST_UNSIGNED - 1 if 0 < value <= _LARGEST_UNSIGNED else float(value)


# ------------------------------------------------------------------------------------ kinds

_NAMES: Mapping[type, str] = {
    type(None): "none",
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    str: "a string",
    list: "a list",
    tuple: "a tuple",
    dict: "a mapping",
    Function: "a function",
    Keyword: "a keyword argument",
    LoopInfo: "the loop variable",
}


def called(value: Value) -> str:
    """What messages call a value."""
    if isinstance(value, Undefined):
        named = f" ({value.hint})" if value.hint not in ("", _MEMBER) else ""
        return f"an undefined value{named}"
    return next(_NAMES[kind] for kind in type(value).__mro__ if kind in _NAMES)


_MEMBER = "object_property"  # llama.cpp's hint for what it did not find in a list or in nothing


def no_member() -> Undefined:
    """What looking into a list or an undefined value gives."""
    return Undefined(_MEMBER)


def is_list(value: Value) -> TypeGuard[list[Value] | tuple[Value, ...]]:
    """Whether it is a list or a tuple."""
    return isinstance(value, list | tuple)


def is_integer(value: Value) -> bool:
    """Whether it is an integer; a boolean is none."""
    return type(value) is int


def is_number(value: Value) -> bool:
    """Whether it is an integer or a float."""
    return type(value) is int or type(value) is float


def true(value: Value) -> bool:
    """Whether conditions take it for true.

    Raises:
        Trouble: it is a function or a keyword argument.
    """
    if isinstance(value, Undefined):
        return False
    if isinstance(value, Function | Keyword):
        raise Trouble(f"{called(value)} is neither true nor false")
    return bool(value)


def hashable(value: Value) -> bool:
    """Whether llama.cpp would hash it; lists and mappings count where all they hold is unchangeable."""
    if isinstance(value, Undefined | Function):
        return False
    if isinstance(value, dict):
        return all(unchangeable(member) and hashable(member) for member in value.values())
    if is_list(value):
        return all(unchangeable(item) and hashable(item) for item in value)
    return True


def unchangeable(value: Value) -> bool:
    """Whether it is anything but a list or a mapping."""
    return not isinstance(value, list | dict)


def as_key(value: Value) -> Value:
    """The value as a key of a mapping.

    Raises:
        Trouble: it cannot be one.
    """
    if type(value) is str or (unchangeable(value) and hashable(value)):
        return value
    raise Trouble(f"{called(value)} cannot be a key")


def equal(left: Value, right: Value) -> bool:
    """Whether `==` holds: lists and mappings equal nothing once they hold a list, a mapping or something undefined."""
    if isinstance(left, str):
        return bool(left == right)
    if isinstance(left, Undefined) or isinstance(right, Undefined):
        return isinstance(left, Undefined) and isinstance(right, Undefined)
    if is_list(left):
        return (
            is_list(right)
            and isinstance(left, tuple) == isinstance(right, tuple)
            and hashable(left)
            and hashable(right)
            and len(left) == len(right)
            and all(map(equal, left, right))
        )
    if isinstance(left, dict):
        return (
            isinstance(right, dict)
            and hashable(left)
            and hashable(right)
            and len(left) == len(right)
            and all(map(equal, left, right))
            and all(map(equal, left.values(), right.values()))
        )
    if isinstance(left, Function):
        return isinstance(right, Function)
    return bool(left == right)


# ------------------------------------------------------------------------------------ numbers


def real(value: Value) -> float:
    """The number that arithmetic and comparisons use: infinite for an integer that no double holds.

    Raises:
        Trouble: it is no number.
    """
    if type(value) is float:
        return value
    if type(value) is int:
        number = float(value)
        return number if int(number) == value else math.copysign(math.inf, value)
    raise Trouble(f"{called(value)} is no number")


def truncated(number: float) -> int:
    """A double as an integer; what does not fit becomes the least one, as on x86."""
    if math.isfinite(number) and FIRST_INTEGER <= number < -FIRST_INTEGER:
        return int(number)
    return FIRST_INTEGER


def integer(value: Value) -> int:
    """A number or boolean as an integer.

    Raises:
        Trouble: it is neither.
    """
    if type(value) is int:
        return value
    if type(value) is bool:
        return int(value)
    if type(value) is float:
        return truncated(value) if math.isfinite(value) else 0
    raise Trouble(f"{called(value)} is no integer")


def _float_text(number: float, form: str) -> str:
    if math.isnan(number):
        return "-nan" if math.copysign(1, number) < 0 else "nan"
    return form % number


# ------------------------------------------------------------------------------------ text


def text(value: Value) -> str:
    """The text that concatenation, joining and Python's repr of a list use.

    Raises:
        Trouble: it has none.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        written = _float_text(value, "%f").rstrip("0")
        return written + "0" if written.endswith(".") else written
    if isinstance(value, Undefined | Function | Keyword):
        raise Trouble(f"{called(value)} is no text")
    return _repr(value)


def _repr(value: Value) -> str:
    return next(_REPRS[kind] for kind in type(value).__mro__ if kind in _REPRS)(value)


def _function_repr(value: Function) -> str:
    own = (f"TMPL:  {part}\n" if isinstance(part, str) else _repr(part) for part in value.own)
    return f"Function<{value.name}>({''.join(own)})"


_REPRS: Mapping[type, Callable[[Any], str]] = {
    type(None): str,
    bool: str,
    int: str,
    float: text,
    str: lambda value: to_json(value) if "'" in value else f"'{value}'",
    list: lambda value: f"[{', '.join(map(_repr, value))}]",
    tuple: lambda value: f"({', '.join(map(_repr, value))}{',' * (len(value) == 1)})",
    dict: lambda value: f"{{{', '.join(f'{_repr(key)}: {_repr(member)}' for key, member in value.items())}}}",
    Undefined: lambda value: f"Undefined (hint: '{value.hint}')" if value.hint else "Undefined",
    Function: _function_repr,
    Keyword: lambda _: "KwArg",
}


def fragments(value: Value) -> list[str]:
    """What `{{ }}` prints: a list's items one after another, nothing of a mapping or of none."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, int | float):
        return [text(value)]
    return [part for item in value for part in fragments(item)] if is_list(value) else []


# ------------------------------------------------------------------------------------ JSON


_JSON_ESCAPES = {
    **{code: f"\\u{code:04x}" for code in range(0x20)},
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    ord("\b"): "\\b",
    ord("\f"): "\\f",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
}
_TO_ESCAPE = re.compile(r'[\x00-\x1f"\\]')


@dataclass(frozen=True)
class JsonForm:
    """How JSON is laid out.

    Attributes:
        indent: blanks a level; negative for one line.
        between: text between items, in front of a newline.
        colon: text between a key and its value.
    """

    indent: int = -1
    between: str = ", "
    colon: str = ": "


_ONE_LINE = JsonForm()


def to_json(value: Value, form: JsonForm = _ONE_LINE) -> str:
    """The value as JSON; what JSON does not have is null."""
    parts: list[str] = []
    _write_json(value, form, "", parts)
    return "".join(parts)


def _write_json(value: Value, form: JsonForm, margin: str, parts: list[str]) -> None:
    if isinstance(value, str):
        parts.append(_json_string(value))
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, int):
        parts.append(str(value))
    elif isinstance(value, float):
        parts.append(_float_text(value, "%g"))
    elif is_list(value):
        _write_members("[]", [("", item) for item in value], form, margin, parts)
    elif isinstance(value, dict):
        members = [(_json_string(text(key)) + form.colon, member) for key, member in value.items()]
        _write_members("{}", members, form, margin, parts)
    else:
        parts.append("null")


def _write_members(
    brackets: str, members: Sequence[tuple[str, Value]], form: JsonForm, margin: str, parts: list[str]
) -> None:
    newline = "\n" if form.indent >= 0 else ""
    inner = margin + " " * form.indent
    parts.append(brackets[0])
    if members:
        parts.append(newline)
        for key, value in members:
            parts.append(inner + key)
            _write_json(value, form, inner, parts)
            parts.append(form.between + newline)
        parts[-1] = newline + margin
    parts.append(brackets[1])


def _json_string(value: str) -> str:
    return f'"{value.translate(_JSON_ESCAPES)}"' if _TO_ESCAPE.search(value) else f'"{value}"'
