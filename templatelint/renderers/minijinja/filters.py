"""What the engine's values come to in text: JSON by several hands, and the printing of older releases."""

from __future__ import annotations

from json import dumps, loads
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any
from unicodedata import combining

from minijinja import safe

from templatelint.renderers import RenderFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from templatelint.renderers.minijinja.setup import Setup

_HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"})
_LARGEST_INDENT = 256
_SCIENTIFIC = range(-5, 16)  # exponents of ten that Rust's JSON writer does without


def json_filter(setup: Setup) -> Callable[..., str]:
    """The filter that turns the text of the engine's own `tojson` into what that of the set-up writes.

    It works on that text since only the engine tells 1.0 from 1.
    """

    def tojson(text: str, *args: Any, **kwargs: Any) -> str:
        value = loads(text)
        if setup.json == "python":
            return safe(_as_python(value, *args, **kwargs))
        if setup.json == "spaced":
            indent = _spaced_indent(args, kwargs)
            return safe(_as_rust(value, indent, ", ", ": "))
        if not setup.ordered:
            value = _sorted(value)
        return safe(_as_rust(value, _builtin_indent(*args, **kwargs), ",", ":").translate(_HTML))

    return tojson


def _as_python(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    return dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def _spaced_indent(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> int | None:
    if args:
        raise RenderFailure("unsupported", "tojson takes no arguments without a name")
    indent = kwargs.get("indent")
    if not isinstance(indent, int) or indent < 0:
        return None
    if indent > _LARGEST_INDENT:
        raise RenderFailure("raised", f"tojson `indent` of {indent} exceeds the maximum of {_LARGEST_INDENT}")
    return int(indent)


def _builtin_indent(*args: Any, **kwargs: Any) -> int | None:
    for name in kwargs:
        if name != "indent":
            raise RenderFailure("unsupported", f"tojson has no argument '{name}'")
    if len(args) > 1:
        raise RenderFailure("unsupported", "tojson takes one argument")
    indent = args[0] if args and args[0] is not None else kwargs.get("indent")
    if indent is None or indent is False:
        return None
    if indent is True:
        return 2
    if not isinstance(indent, int) or indent < 0:
        raise RenderFailure("raised", "the indent of tojson is no number")
    return indent


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def _as_rust(value: Any, indent: int | None, comma: str, colon: str, depth: int = 1) -> str:
    """JSON as serde_json writes it: like Python's, but for floats."""
    if isinstance(value, float):
        return rust_float(value)
    if not value or not isinstance(value, dict | list):
        return dumps(value, ensure_ascii=False)
    if isinstance(value, dict):
        written = colon if indent is None else ": "
        items = [
            encode_basestring(str(key)) + written + _as_rust(item, indent, comma, colon, depth + 1)
            for key, item in value.items()
        ]
        opening, closing = "{}"
    else:
        items = [_as_rust(item, indent, comma, colon, depth + 1) for item in value]
        opening, closing = "[]"
    if indent is None:
        return opening + comma.join(items) + closing
    inner, outer = "\n" + " " * (indent * depth), "\n" + " " * (indent * (depth - 1))
    return opening + inner + ("," + inner).join(items) + outer + closing


def rust_float(value: float) -> str:
    """The shortest digits of a finite float as serde_json writes them: `1e16`, `0.00001`, `2.0`."""
    from decimal import Decimal

    sign, digits, exponent = Decimal(repr(value)).as_tuple()
    written = "".join(map(str, digits)).rstrip("0") or "0"
    power = len(digits) + int(exponent) - 1 if value else 0
    if power in _SCIENTIFIC:
        if power < 0:
            text = "0." + "0" * (-power - 1) + written
        else:
            whole = written.ljust(power + 1, "0")
            text = f"{whole[: power + 1]}.{whole[power + 1 :] or '0'}"
    else:
        text = f"{written[0]}{'.' if written[1:] else ''}{written[1:]}e{power}"
    return "-" * sign + text


# --------------------------------------------------------------------------------- printing before 2.22

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_RUST_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


def shown(value: Any, *, ordered: bool) -> str:
    """A value of Python's as releases before 2.22 print it."""
    return value if isinstance(value, str) else _represented(value, ordered=ordered)


def _represented(value: Any, *, ordered: bool) -> str:
    if isinstance(value, str):
        return '"' + "".join(map(_rust_character, value)) + '"'
    if value is None or isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        names = list(value) if ordered else sorted(value, key=str)
        pairs = (
            f"{_represented(name, ordered=ordered)}: {_represented(value[name], ordered=ordered)}" for name in names
        )
        return f"{{{', '.join(pairs)}}}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_represented(item, ordered=ordered) for item in value) + "]"
    return rust_float(value) if isinstance(value, float) else str(value)


def _rust_character(character: str) -> str:
    if character in _RUST_ESCAPES:
        return _RUST_ESCAPES[character]
    plain = character.isprintable() and not combining(character)
    return character if plain else f"\\u{{{ord(character):x}}}"


def titled(value: Any) -> str:
    """`title` before 3.0: the first letter after punctuation or blanks is large."""
    text = ""
    inside = False
    for character in str(value):
        parts = character in _PUNCTUATION or character.isspace()
        text += character.lower() if inside else character.upper()
        inside = not parts
    return text
