"""Operations on constants → constants: Python's own methods of texts, and filters, each bounded in what it makes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from templatelint.security.values import LONGEST_LIST, LONGEST_TEXT, Unknown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_WIDTHS = frozenset({"center", "ljust", "rjust", "zfill"})
# fmt: off (packed as prose is)
TEXT_METHODS = frozenset(
    [
        "capitalize",
        "casefold",
        "center",
        "count",
        "encode",
        "endswith",
        "expandtabs",
        "find",
        "index",
        "isalnum",
        "isalpha",
        "isascii",
        "isdecimal",
        "isdigit",
        "isidentifier",
        "islower",
        "isnumeric",
        "isprintable",
        "isspace",
        "istitle",
        "isupper",
        "join",
        "ljust",
        "lower",
        "lstrip",
        "maketrans",
        "partition",
        "removeprefix",
        "removesuffix",
        "replace",
        "rfind",
        "rindex",
        "rjust",
        "rpartition",
        "rsplit",
        "rstrip",
        "split",
        "splitlines",
        "startswith",
        "strip",
        "swapcase",
        "title",
        "translate",
        "upper",
        "zfill",
    ]
)
# fmt: on
_BYTES_METHODS = frozenset(["decode", "fromhex", "hex", "replace", "split", "strip", "lower", "upper", "join"])
# fmt: off (packed as prose is)
_CODECS = frozenset(
    [
        "ascii",
        "latin1",
        "latin-1",
        "iso-8859-1",
        "utf8",
        "utf-8",
        "utf_8",
        "utf7",
        "utf-7",
        "utf_7",
        "utf16",
        "utf-16",
        "utf-16le",
        "utf-16be",
        "utf-32",
        "cp437",
        "cp1252",
        "unicode_escape",
        "unicode-escape",
        "raw_unicode_escape",
        "raw-unicode-escape",
        "idna",
        "punycode",
        "cp037",
        "cp500",
    ]
)
# fmt: on
_PERCENT = re.compile(
    r"%(?:\((?P<key>[^()]*)\))?(?P<flags>[#0\- +]*)(?P<width>\*|\d*)(?P<rest>(?:\.(?:\*|\d*))?[hlL]?.)"
)
_ENTITY = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;"}


METHODS = TEXT_METHODS | _BYTES_METHODS | {"format", "format_map", "to_bytes", "get"}


def method(base: Any, name: str, args: Sequence[Any], named: dict[str, Any]) -> Any:
    """What a method of a constant gives.

    Raises:
        Unknown: that is not known, or too large.
    """
    try:
        if isinstance(base, str) and name in TEXT_METHODS:
            return _text_method(base, name, args, named)
        if isinstance(base, bytes) and name in _BYTES_METHODS:
            if name == "decode":
                _require(_codec(args, named) in _CODECS)
            return getattr(base, name)(*args, **named)
        if isinstance(base, int) and name == "to_bytes":
            _require(not args or int(args[0]) < LONGEST_TEXT)
            return base.to_bytes(*args, **named)
        if isinstance(base, list) and name in {"index", "count"}:
            return getattr(base, name)(*args)
    except Unknown:
        raise
    except Exception:  # noqa: BLE001 (the operation would fail in the renderer, too)
        raise Unknown from None
    raise Unknown


def _text_method(base: str, name: str, args: Sequence[Any], named: dict[str, Any]) -> Any:
    if name in _WIDTHS:
        _require(int(args[0]) <= LONGEST_TEXT)
    elif name == "expandtabs":
        _require(not args or int(args[0]) <= 64)  # noqa: PLR2004 (wide enough for any tab)
    elif name == "replace":
        _require((base.count(args[0]) + 1) * len(args[1]) <= LONGEST_TEXT)
    elif name == "join":
        args = [[str(item) for item in args[0]]]
        _require((len(base) + 1) * len(args[0]) + sum(map(len, args[0])) <= 2 * LONGEST_TEXT)
    elif name == "encode":
        _require(_codec(args, named) in _CODECS)
    elif name == "translate":
        _require(all(not isinstance(to, str) or len(to) < 8 for to in args[0].values()))  # noqa: PLR2004 (as above)
    return getattr(base, name)(*args, **named)


def _codec(args: Sequence[Any], named: dict[str, Any]) -> str:
    return str((args or (named.get("encoding", "utf-8"),))[0]).lower()


def _require(holds: bool) -> None:
    if not holds:
        raise Unknown


def percent(form: str, args: Any) -> str:
    """`form % args`.

    Raises:
        Unknown: it fails, or gives too much.
    """
    for found in _PERCENT.finditer(form):
        _require(found["width"] != "*" and len(found["width"]) < 4 and "*" not in found["rest"])  # noqa: PLR2004
        _require(re.search(r"\d{4}", found["rest"]) is None)
    try:
        given = tuple(args) if isinstance(args, list) else args
        return form % given
    except Exception:  # noqa: BLE001 (the operation would fail in the renderer, too)
        raise Unknown from None


def formatted(value: Any, conversion: str | None, spec: str) -> str:
    """One field of `str.format`, its value known.

    Raises:
        Unknown: it fails, or gives too much.
    """
    _require(re.search(r"\d{4}", spec) is None)
    try:
        if conversion:
            value = str(value) if conversion == "s" else repr(value)
        return format(value, spec)
    except Exception:  # noqa: BLE001 (the operation would fail in the renderer, too)
        raise Unknown from None


def arithmetic(operator: str, left: Any, right: Any) -> Any:
    """A constant of two.

    Raises:
        Unknown: it fails, or gives too much.
    """
    try:
        if operator == "mul":
            for many, times in ((left, right), (right, left)):
                if isinstance(many, str | list | bytes):
                    _require(len(many) * max(int(times), 0) <= LONGEST_TEXT)
        elif operator == "pow":
            _require(abs(left) < 2**32 and abs(right) < 8)  # noqa: PLR2004 (keeps the numbers small)
        return _OPERATIONS[operator](left, right)
    except Unknown:
        raise
    except Exception:  # noqa: BLE001 (the operation would fail in the renderer, too)
        raise Unknown from None


_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda left, right: left + right,
    "sub": lambda left, right: left - right,
    "mul": lambda left, right: left * right,
    "div": lambda left, right: left / right,
    "floordiv": lambda left, right: left // right,
    "mod": lambda left, right: left % right,
    "pow": lambda left, right: left**right,
    "eq": lambda left, right: left == right,
    "ne": lambda left, right: left != right,
    "lt": lambda left, right: left < right,
    "lteq": lambda left, right: left <= right,
    "gt": lambda left, right: left > right,
    "gteq": lambda left, right: left >= right,
    "in": lambda left, right: left in right,
    "notin": lambda left, right: left not in right,
}


# ------------------------------------------------------------------------------------------------ filters


def known_filter(name: str) -> bool:
    """Whether what the filter makes of constants can be told."""
    return name in _FILTERS


def filtered(name: str, base: Any, args: Sequence[Any], named: dict[str, Any]) -> Any:
    """What a filter makes of a constant.

    Raises:
        Unknown: that is not known, or too large.
    """
    work = _FILTERS.get(name)
    if work is None:
        raise Unknown
    try:
        return work(base, *args, **named)
    except Unknown:
        raise
    except Exception:  # noqa: BLE001 (the filter would fail in the renderer, too)
        raise Unknown from None


def _items(base: Any) -> list[Any]:
    items = list(base)
    _require(len(items) <= LONGEST_LIST)
    return items


def _flat(base: Any) -> str:
    return base if isinstance(base, str) else str(base)


def _default(base: Any, default: Any = "", boolean: bool = False) -> Any:
    return default if boolean and not base else base


def _replace(base: Any, old: Any, new: Any, count: int = -1) -> str:
    text = _flat(base)
    _require((text.count(str(old)) + 1) * len(str(new)) <= LONGEST_TEXT)
    return text.replace(str(old), str(new), count)


def _join(base: Any, d: Any = "", attribute: Any = None) -> str:
    _require(attribute is None and len(str(d)) < LONGEST_TEXT // LONGEST_LIST + 64)
    return str(d).join(map(str, _items(base)))


def _truncate(base: Any, length: int = 255, killwords: bool = False, end: str = "...", leeway: int = 5) -> str:
    text = _flat(base)
    if len(text) <= length + leeway:
        return text
    cut = text[: length - len(end)]
    return (cut if killwords else cut.rsplit(" ", 1)[0]) + end


def _center(base: Any, width: int = 80) -> str:
    _require(width <= LONGEST_TEXT)
    return _flat(base).center(width)


def _batch(base: Any, linecount: int, fill_with: Any = None) -> list[list[Any]]:
    items = _items(base)
    rows = [items[at : at + linecount] for at in range(0, len(items), linecount)]
    if fill_with is not None and rows:
        rows[-1] += [fill_with] * min(linecount - len(rows[-1]), LONGEST_LIST)
    return rows


def _slices(base: Any, slices: int, fill_with: Any = None) -> list[list[Any]]:
    items = _items(base)
    _require(slices <= LONGEST_LIST)
    size, longer = divmod(len(items), slices)
    rows, at = [], 0
    for number in range(slices):
        end = at + size + (number < longer)
        filled = [fill_with] if fill_with is not None and number >= longer else []
        rows.append(items[at:end] + filled)
        at = end
    return rows


def _indent(base: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> str:
    del blank
    pad = width if isinstance(width, str) else " " * min(width, LONGEST_TEXT)
    lines = _flat(base).splitlines() or [""]
    _require(len(pad) * len(lines) <= LONGEST_TEXT)
    text = ("\n" + pad).join(lines)
    return pad + text if first else text


def _stripped_of_tags(base: Any) -> str:
    import html

    return " ".join(html.unescape(re.sub(r"<[^<>]*>", "", _flat(base))).split())


def _escaped(base: Any) -> str:
    return "".join(_ENTITY.get(character, character) for character in _flat(base))


def _url(base: Any) -> str:
    from urllib.parse import quote

    return quote(_flat(base), safe="/")


def _json(base: Any, indent: Any = None, ensure_ascii: bool = False, **more: Any) -> str:
    import json

    _require(not indent or int(indent) < 16)  # noqa: PLR2004 (as wide as anybody indents)
    separators = more.get("separators")
    return json.dumps(base, ensure_ascii=ensure_ascii, indent=indent, separators=separators)


def _unjson(base: Any) -> Any:
    import json

    return json.loads(base)


def _sorted(base: Any, reverse: bool = False, case_sensitive: bool = False, attribute: Any = None) -> list[Any]:
    _require(attribute is None)

    def key(item: Any) -> Any:
        return item.lower() if isinstance(item, str) and not case_sensitive else item

    return sorted(_items(base), key=key, reverse=reverse)


def _dictsort(base: Any, case_sensitive: bool = False, by: str = "key", reverse: bool = False) -> list[Any]:
    column = 0 if by == "key" else 1

    def key(row: Any) -> Any:
        return row[column].lower() if isinstance(row[column], str) and not case_sensitive else row[column]

    return sorted(base.items(), key=key, reverse=reverse)


def _unique(base: Any, case_sensitive: bool = False, attribute: Any = None) -> list[Any]:
    _require(attribute is None)
    seen: dict[Any, Any] = {}
    for item in _items(base):
        seen.setdefault(item.lower() if isinstance(item, str) and not case_sensitive else item, item)
    return list(seen.values())


def _titled(base: Any) -> str:
    return "".join(
        word[0].upper() + word[1:].lower() if word else "" for word in re.split(r"([-\s({\[<]+)", _flat(base))
    )


def _int(value: Any, default: int = 0, base: int = 10) -> int:
    del default
    return int(value, base) if isinstance(value, str) else int(value)


def _reversed(base: Any) -> Any:
    return base[::-1] if isinstance(base, str | bytes) else _items(base)[::-1]


def _wrapped(base: Any, width: int = 79, break_long_words: bool = True, wrapstring: str = "\n", **_: Any) -> str:
    _require(break_long_words and width > 0)
    text = _flat(base)
    return wrapstring[:64].join(text[at : at + width] for at in range(0, len(text), width))


_FILTERS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "batch": _batch,
    "capitalize": lambda base: _flat(base).capitalize(),
    "center": _center,
    "count": len,
    "d": _default,
    "default": _default,
    "dictsort": _dictsort,
    "e": _escaped,
    "escape": _escaped,
    "first": lambda base: _items(base)[0],
    "float": lambda base, default=0.0: float(base),  # noqa: ARG005 (the filter's own)
    "forceescape": _escaped,
    "format": lambda base, *args, **named: percent(_flat(base), named or list(args)),
    "fromjson": _unjson,
    "from_json": _unjson,
    "indent": _indent,
    "int": _int,
    "items": lambda base: list(base.items()),
    "join": _join,
    "last": lambda base: _items(base)[-1],
    "length": len,
    "list": _items,
    "lower": lambda base: _flat(base).lower(),
    "max": lambda base, **_: max(_items(base)),
    "min": lambda base, **_: min(_items(base)),
    "pprint": lambda base, **_: repr(base),
    "replace": _replace,
    "reverse": _reversed,
    "round": lambda base, precision=0, method="common": round(base, precision),  # noqa: ARG005 (the filter's own)
    "safe": lambda base: base,
    "slice": _slices,
    "sort": _sorted,
    "string": _flat,
    "striptags": _stripped_of_tags,
    "sum": lambda base, attribute=None, start=0: sum(_items(base), start),  # noqa: ARG005 (the filter's own)
    "title": _titled,
    "tojson": _json,
    "trim": lambda base, chars=None: _flat(base).strip(chars),
    "truncate": _truncate,
    "unique": _unique,
    "upper": lambda base: _flat(base).upper(),
    "urlencode": _url,
    "wordcount": lambda base: len(re.findall(r"\w+", _flat(base))),
    "wordwrap": _wrapped,
}
