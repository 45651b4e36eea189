"""Template source → tokens that know their exact place, by lexical rules given as data."""

from __future__ import annotations

import re
from ast import literal_eval
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2._identifier import pattern as _jinja2_name
from jinja2.exceptions import TemplateSyntaxError
from jinja2.lexer import Token
from jinja2.lexer import operators as _jinja2_operators

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping


class Spot(int):
    """A line number (from 1) that also carries the offsets of its token.

    jinja2's parser copies `token.lineno` into each node it makes, so the offsets travel along. They count in
    the text that was lexed: newlines normalised, see `Lexer.normalise`.
    """

    start: int
    end: int


class BadLiteral(ValueError):
    """A literal that has no value; the message says why."""


# ------------------------------------------------------------------------------------ jinja2's rules


_BLOCK_END, _PRINT_END, _COMMENT_END = r"%\}", r"\}\}", r"#\}"

_DIGITS = r"\d++(?:_\d++)*+"
_JINJA2_FLOAT = rf"(?<!\.){_DIGITS}(?i:(?:\.{_DIGITS})?e[-+]?{_DIGITS}|\.{_DIGITS})"
_JINJA2_INTEGER = r"(?i:0b(?:_?[01])++|0o(?:_?[0-7])++|0x(?:_?[\da-f])++|[1-9](?:_?\d)*+|0(?:_?0)*+)"
_JINJA2_STRING = r"(?s:'[^'\\]*+(?:\\.[^'\\]*+)*+'|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+\")"

_ESCAPE = re.compile(rb"\\([0-7]{1,3}|.)", re.DOTALL)
_KNOWN_ESCAPES = frozenset(b"\n\\'\"abfnrtvxuUN01234567")
_LAST_BYTE = 0o377


def _jinja2_integer(digits: str) -> int:
    return int(digits.replace("_", ""), 0)


def _jinja2_float(digits: str) -> float:
    digits = digits.replace("_", "")
    # Python's literals take ASCII digits only, float() takes any
    return float(digits) if digits.isascii() else literal_eval(digits)


def _jinja2_unescape(body: str) -> str:
    """What stands between the quotes, with Python's escapes resolved.

    jinja2 escapes everything outside ASCII first, so a backslash before such a character stays in the text.
    """
    if "\\" not in body:
        return body
    escaped = body.encode("ascii", "backslashreplace")
    return _ESCAPE.sub(_without_warning, escaped).decode("unicode-escape")


def _without_warning(escape: re.Match[bytes]) -> bytes:
    """The same escape in a form that Python's decoder does not call deprecated."""
    body = escape[1]
    if body[0] not in _KNOWN_ESCAPES:
        return b"\\\\" + body
    if body.isdigit() and int(body, 8) > _LAST_BYTE:
        return b"\\u%04x" % int(body, 8)
    return escape[0]


@dataclass(frozen=True)
class LexicalRules:
    """What Jinja implementations do differently when they cut a template into tokens; the defaults are jinja2's.

    Attributes:
        trim_blocks: the newline after a block tag or a comment goes.
        lstrip_blocks: blanks between the start of a line and a block tag or a comment go.
        keep_final_newline: the template's last newline stays.
        modifiers: which of `-` (strip) and `+` (leave) may stand inside a tag's delimiters.
        raw: `{% raw %}` is known.
        blank: regular expression of one character that separates tokens and that `lstrip_blocks` takes.
        strip: the characters that `-` strips; None: what `blank` matches.
        eager_lstrip: where only blanks part the first tag from the template's first character (an ASCII one), or
            nothing does, `lstrip_blocks` takes that character too.
        open_end: a comment that is opened by the template's last characters needs no end.
        float_pattern, integer_pattern, name_pattern, string_pattern: regular expressions of one token, without
            capturing groups; tried in this order, operators last.
        operators: text → token type, in jinja2's names.
        read_integer, read_float: digits → value; ValueError or SyntaxError where there is none.
        unescape: what stands between quotes → value; BadLiteral or another ValueError for a bad escape.
    """

    trim_blocks: bool = True
    lstrip_blocks: bool = True
    keep_final_newline: bool = False
    modifiers: str = "-+"
    raw: bool = True
    blank: str = r"\s"
    strip: str | None = None
    eager_lstrip: bool = False
    open_end: bool = True
    float_pattern: str = _JINJA2_FLOAT
    integer_pattern: str = _JINJA2_INTEGER
    name_pattern: str = _jinja2_name.pattern
    string_pattern: str = _JINJA2_STRING
    operators: Mapping[str, str] = field(default_factory=lambda: _jinja2_operators)
    read_integer: Callable[[str], int] = _jinja2_integer
    read_float: Callable[[str], float] = _jinja2_float
    unescape: Callable[[str], str] = _jinja2_unescape


JINJA2 = LexicalRules()


# ------------------------------------------------------------------------------------------ the lexer


_CLOSING = {"(": ")", "[": "]", "{": "}"}
_BRACKETS = frozenset("()[]{}")
_NEWLINE = re.compile("\n")
_TAG = {"%": "block", "{": "variable"}


class Lexer:
    """Cuts templates into the tokens that jinja2's parser expects, by one set of rules, in linear time."""

    def __init__(self, rules: LexicalRules = JINJA2) -> None:
        self.rules = rules
        sign, blank = f"([{re.escape(rules.modifiers)}]?)", f"{rules.blank}*+"
        stripped = blank if rules.strip is None else f"[{re.escape(rules.strip)}]*+"

        def closing(delimiter: str, trimmed: str) -> str:
            leaving = rf"\+{delimiter}|" if "+" in rules.modifiers and delimiter != _PRINT_END else ""
            return rf"(?:{leaving}-{delimiter}{stripped}|{delimiter}{trimmed})"

        newline = r"\n?" if rules.trim_blocks else ""
        self._opening = re.compile(rf"\{{([{{%#]){sign}")
        self._blank = re.compile(blank)
        self._comment_end = re.compile(closing(_COMMENT_END, newline))
        self._tag_end = {
            "block": re.compile(closing(_BLOCK_END, newline)),
            "variable": re.compile(closing(_PRINT_END, "")),
        }
        self._raw_begin = re.compile(rf"{blank}raw{blank}(?:-%\}}{blank}|%\}})")
        self._raw_end = re.compile(rf"\{{%{sign}{blank}endraw{blank}{closing(_BLOCK_END, newline)}")
        longest_first = sorted(rules.operators, key=len, reverse=True)
        self._token = re.compile(
            f"{blank}(?:(?P<float>{rules.float_pattern})|(?P<integer>{rules.integer_pattern})"
            f"|(?P<name>{rules.name_pattern})|(?P<string>{rules.string_pattern})"
            f"|(?P<operator>{'|'.join(map(re.escape, longest_first))}))"
        )

    def normalise(self, source: str) -> str:
        """The text that is lexed: every line ends in a line feed, the last one dropped where the rules say so."""
        if "\r" in source:
            source = source.replace("\r\n", "\n").replace("\r", "\n")
        return source if self.rules.keep_final_newline else source.removesuffix("\n")

    def tokens(self, text: str, comments: list[tuple[int, int]] | None = None) -> Iterator[Token]:
        """The tokens of normalised text; each `lineno` is a `Spot`.

        Args:
            text: what `normalise` gives.
            comments: where the comments that are passed over stand, from `{#` to behind `#}`, is appended here.

        Raises:
            TemplateSyntaxError: where the text ends in no token; its `lineno` is a `Spot` too.
        """
        newlines = [newline.start() for newline in _NEWLINE.finditer(text)]
        at = 0
        while at < len(text):
            opening = self._opening.search(text, at)
            if opening is None:
                yield _token(newlines, "data", text[at:], at, len(text))
                return
            delimiter, sign = opening.groups()
            data = self._stripped(text, at, opening.start(), sign, lstrip=delimiter != "{")
            if data:
                yield _token(newlines, "data", data, at, at + len(data))
            at = opening.end()
            if delimiter == "#":
                at = self._skip_comment(text, newlines, opening)
                if comments is not None:
                    closing = text.find("#}", opening.end())
                    comments.append((opening.start(), len(text) if closing < 0 else closing + 2))
            elif delimiter == "%" and self.rules.raw and (raw := self._raw_begin.match(text, at)):
                at = yield from self._raw(text, newlines, opening.start(), raw.end())
            else:
                tag = _TAG[delimiter]
                yield _token(newlines, f"{tag}_begin", opening[0], opening.start(), at)
                at = yield from self._inside(text, newlines, at, tag)

    def _stripped(self, text: str, start: int, end: int, sign: str, *, lstrip: bool) -> str:
        """The data before a tag, without what the tag's modifier or `lstrip_blocks` takes from its end."""
        data = text[start:end]
        if lstrip and self.rules.lstrip_blocks and sign != "+":
            line = data.rfind("\n") + 1
            on_new_line = line > 0 or start == 0 or text[start - 1] == "\n"
            if self.rules.eager_lstrip and start == 0 and line <= 1 and data[:1].isascii():
                data = "" if self._blank.fullmatch(data, 1) else data
            elif on_new_line and self._blank.fullmatch(data, line):
                data = data[:line]
        return data.rstrip(self.rules.strip) if sign == "-" else data

    def _skip_comment(self, text: str, newlines: list[int], opening: re.Match[str]) -> int:
        closing = self._comment_end.search(text, opening.end())
        if closing is not None:
            return closing.end()
        if opening.end() < len(text) or not self.rules.open_end:
            raise _error(newlines, "Missing end of comment tag", opening.start(), opening.end())
        return len(text)

    def _raw(self, text: str, newlines: list[int], opening: int, at: int) -> Generator[Token, None, int]:
        closing = self._raw_end.search(text, at)
        if closing is None:
            if at < len(text):
                raise _error(newlines, "Missing end of raw directive", opening, at)
            return len(text)
        data = self._stripped(text, at, closing.start(), closing[1], lstrip=True)
        if data:
            yield _token(newlines, "data", data, at, at + len(data))
        return closing.end()

    def _inside(self, text: str, newlines: list[int], at: int, tag: str) -> Generator[Token, None, int]:
        """The tokens between a tag's delimiters and the closing one; gives the offset behind it."""
        match, rules = self._token.match, self.rules
        open_brackets: list[str] = []
        while found := match(text, at):
            kind = found.lastgroup or ""
            written = found[kind]
            at = found.end()
            start = at - len(written)
            value: Any = written
            if kind == "operator":
                if not open_brackets and (closing := self._tag_end[tag].match(text, start)):
                    yield _token(newlines, f"{tag}_end", closing[0], start, closing.end())
                    return closing.end()
                kind = rules.operators[written]
                if written in _BRACKETS and (problem := _follow(open_brackets, written)):
                    raise _error(newlines, problem, start, at)
            elif kind == "name":
                if not written.isidentifier():
                    raise _error(newlines, "Invalid character in identifier", start, at)
            else:
                value = self._value(newlines, kind, written, start)
            yield _token(newlines, kind, value, start, at)
        rest = self._blank.match(text, at)
        at = rest.end() if rest else at
        if at < len(text):
            raise _error(newlines, f"unexpected char {text[at]!r}", at, at + 1)
        return at

    def _value(self, newlines: list[int], kind: str, written: str, start: int) -> Any:
        try:
            if kind == "string":
                return self.rules.unescape(written[1:-1])
            return self.rules.read_integer(written) if kind == "integer" else self.rules.read_float(written)
        except UnicodeDecodeError as error:
            problem = error.reason
        except BadLiteral as error:
            problem = str(error)
        except (ValueError, SyntaxError):
            problem = f"{kind} of {len(written)} characters has no value"
        raise _error(newlines, problem, start, start + len(written))


def _follow(open_brackets: list[str], bracket: str) -> str | None:
    """Note an opening bracket, take a closing one off; what is wrong with it, if anything."""
    if bracket in _CLOSING:
        open_brackets.append(_CLOSING[bracket])
        return None
    expected = open_brackets.pop() if open_brackets else None
    if bracket == expected:
        return None
    return f"unexpected '{bracket}', expected '{expected}'" if expected else f"unexpected '{bracket}'"


def _token(newlines: list[int], kind: str, value: Any, start: int, end: int) -> Token:
    spot = Spot(bisect_left(newlines, start) + 1)
    spot.start = start
    spot.end = end
    return tuple.__new__(Token, (spot, kind, value))  # Token(...) costs twice as much


def _error(newlines: list[int], message: str, start: int, end: int) -> TemplateSyntaxError:
    return TemplateSyntaxError(message, _token(newlines, "", "", start, end).lineno)


@cache
def jinja2_lexer() -> Lexer:
    """The lexer of jinja2 as transformers sets it up, made at first use."""
    return Lexer(JINJA2)
