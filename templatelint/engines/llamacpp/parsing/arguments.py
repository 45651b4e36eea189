"""Texts of arguments as models write them → JSON text."""

from __future__ import annotations

import json
import re

from templatelint.engines.llamacpp.markers import BLANKS

_QUOTED_OR_WORD = re.compile(
    rb"""(?P<double>"(?:[^"\\]++|\\.|\\\Z)*+"?)"""
    rb"""|'(?P<single>(?:[^'\\]++|\\.|\\\Z)*+)(?P<closed>'?)"""
    rb"""|(?P<word>[A-Za-z0-9_]++)""",
    re.DOTALL,
)
_IN_SINGLE = re.compile(rb"""\\(?P<escaped>.)|\"""", re.DOTALL)
_WORDS = ((b"True", b"true"), (b"False", b"false"), (b"None", b"null"))
_NO_BRACE = re.compile(rb"""[^"{}]++|"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)""", re.DOTALL)


def as_json(text: bytes) -> bytes:
    """A value in Python's notation as JSON: quotes and the three words; the start of a word counts as one."""
    return _QUOTED_OR_WORD.sub(_json_token, text)


def _json_token(found: re.Match[bytes]) -> bytes:
    if found["word"]:
        word = found["word"]
        return next((json_[: len(word)] for python, json_ in _WORDS if python.startswith(word)), word)
    if found["single"] is None:
        return found[0]
    return b'"' + _IN_SINGLE.sub(_escape, found["single"]) + (b'"' if found["closed"] else b"")


def _escape(found: re.Match[bytes]) -> bytes:
    if found["escaped"] is None:
        return b'\\"'
    return b"'" if found["escaped"] == b"'" else found[0]


def escaped(text: bytes) -> bytes:
    """A text as the inside of a JSON string.

    Raises:
        UnicodeDecodeError: it is not UTF-8.
    """
    return json.dumps(text.decode(), ensure_ascii=False)[1:-1].encode()


def key(text: bytes) -> bytes:
    """The name of an argument as a JSON string."""
    if text[:1] and text[:1] in BLANKS:
        text = text[1:]
    return b'"' + escaped(text.rstrip(BLANKS)) + b'"'


def open_braces(text: bytes) -> int:
    """How many braces of a JSON text are not closed."""
    braces = _NO_BRACE.sub(b"", text)
    return max(0, braces.count(b"{") - braces.count(b"}"))
