"""Template source → tokens as llama.cpp cuts it."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple, cast

from templatelint.lexer import BadLiteral, Lexer, LexicalRules, Spot

_SIMPLE_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "\\": "\\", "'": "'", '"': '"'}
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)


def _unescape(body: str) -> str:
    return _ESCAPE.sub(_escaped, body) if "\\" in body else body


def _escaped(escape: re.Match[str]) -> str:
    if escape[1] not in _SIMPLE_ESCAPES:
        shown = escape[1] if escape[1].isprintable() else repr(escape[1])[1:-1]
        raise BadLiteral(f"no escape \\{shown} in strings")
    return _SIMPLE_ESCAPES[escape[1]]


LLAMACPP = LexicalRules(
    modifiers="-",
    raw=False,
    blank=r"[ \t\n\v\f\r]",
    strip=" \t\r\n",
    eager_lstrip=True,
    open_end=False,
    float_pattern=r"[0-9]++\.[0-9]++",
    integer_pattern=r"[0-9]++",
    name_pattern=r"[A-Za-z_][A-Za-z0-9_]*+",
    operators={
        "(": "lparen",
        ")": "rparen",
        "[": "lbracket",
        "]": "rbracket",
        "{": "lbrace",
        "}": "rbrace",
        # opens an expression wherever it stands, so never two dictionaries
        "{{": "variable_begin",
        ",": "comma",
        ".": "dot",
        ":": "colon",
        "|": "pipe",
        "<": "<",
        ">": ">",
        "<=": "<=",
        ">=": ">=",
        "==": "==",
        "!=": "!=",
        "=": "assign",
        "+": "+",
        "-": "-",
        "~": "~",
        "*": "*",
        "/": "/",
        "%": "%",
    },
    read_integer=int,
    read_float=float,
    unescape=_unescape,
)


class Token(NamedTuple):
    """A token; kinds are jinja2's, `number`, `sign` for a unary plus or minus, or the operator itself."""

    kind: str
    value: Any
    spot: Spot


_START = Token("", "", Spot())
_SIGNS = ("+", "-")
_NUMBERS = {"integer": "number", "float": "number"}
_OPENINGS = ("variable_begin", "block_begin")
# behind these a plus or minus has a left operand, whatever the name is: `else -1` is a subtraction
_OPERANDS = frozenset({"name", "number", "string", "rparen", "rbracket"})


@cache
def _lexer() -> Lexer:
    return Lexer(LLAMACPP)


def normalise(source: str) -> str:
    """The text that llama.cpp lexes: line feeds only, without the last one.

    It looks for that last one before it turns carriage returns into line feeds.
    """
    text = _lexer().normalise(source)
    return text + "\n" if source.endswith("\r") else text


def tokens(text: str) -> list[Token]:
    """The tokens of normalised text.

    Raises:
        TemplateSyntaxError: where the text ends in no token; its `lineno` is a `Spot`.
    """
    found: list[Token] = []
    before, sign = _START, False
    for token in _lexer().tokens(text):
        spot, kind, value = cast("tuple[Spot, str, Any]", token)
        if sign and kind in _NUMBERS and before.spot.end == spot.start:
            before = Token("number", -value if before.value == "-" else value, _joined(before.spot, spot))
            found[-1] = before
            sign = False
            continue
        sign = kind in _SIGNS and before.kind not in _OPERANDS
        if sign and _repeats_dash(before, spot, value):
            sign = False
            continue
        before = Token("sign" if sign else _NUMBERS.get(kind, kind), value, spot)
        found.append(before)
    return found


def _joined(first: Spot, second: Spot) -> Spot:
    spot = Spot(first)
    spot.start = first.start
    spot.end = second.end
    return spot


def _repeats_dash(opening: Token, spot: Spot, sign: str) -> bool:
    """Whether the sign is a dash right behind `{{-` or `{%-`, which llama.cpp skips."""
    return sign == "-" and opening.kind in _OPENINGS and opening.value[-1] == "-" and opening.spot.end == spot.start
