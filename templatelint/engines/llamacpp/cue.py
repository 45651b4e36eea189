"""Whether a template may fail with its generation prompt and not without, or the other way round."""

from __future__ import annotations

import re
from functools import lru_cache

NAME = "add_generation_prompt"

_REMEMBERED = 64
_LONGEST = 500  # characters of a tag; nothing longer is plain to see, and patterns stay fast

_STRING = r"(?:'(?:[^'\\]|\\[ntr'\"\\])*+'|\"(?:[^\"\\]|\\[ntr'\"\\])*+\")"
_PATH = rf"[A-Za-z_]\w*+(?:\.[A-Za-z_]\w*+|\[(?:{_STRING}|-?\d+)\])*+"
_OPERAND = (
    rf"(?:not\s+)*+{_PATH}(?:\s+is\s+(?:not\s+)?(?:defined|undefined|none|true|false)"
    rf"|\s*[=!]=\s*(?:{_STRING}|true|false|none|True|False|None))?"
)
_TEST = rf"\s*{_OPERAND}(?:\s+(?:and|or)\s+{_OPERAND})*+\s*"
_CONCATENATED = rf"(?:{_STRING}|[be]os_token)(?:\s*[+~]\s*{_STRING})*+"
_TAG = re.compile(r"\{%[-+]?\s*(\w+)(.*?)[-+]?%\}|\{\{-?(.*?)-?\}\}|\{#.*?#\}", re.DOTALL)
_GROUP = re.compile(r"(?<![\w\])'\"])\((.*?)\)|\s\((.*?)\)", re.DOTALL)
_HARMLESS_TEST = re.compile(_TEST, re.DOTALL)
_HARMLESS_OUTPUT = re.compile(rf"{_PATH}|{_CONCATENATED}(?:\s+if{_TEST}else\s+{_CONCATENATED})?", re.DOTALL)
_HARMLESS_SET = re.compile(rf"\s*{NAME}\s*=\s*(?:true|false|True|False)\s*", re.DOTALL)


@lru_cache(_REMEMBERED)
def harmless(source: str) -> bool:
    """Whether all that a template does with the wish for a generation prompt is to print fixed text or not.

    Said only where it is plain to see: the name stands in `if` tags alone, with simple tests, and what these guard is
    text, strings, names and further such tags. One render then tells whether the other would fail.
    """
    inside = seen = 0
    for tag in _TAG.finditer(source):
        word, rest, output = tag[1], tag[2] or "", tag[3]
        if not inside and not (word == "if" and NAME in rest):
            continue
        if len(tag[0]) > _LONGEST or not _harmless(word, rest, output):
            return False
        seen += tag[0].count(NAME)
        inside += (word == "if") - (word == "endif")
    return seen == source.count(NAME)


def _harmless(word: str | None, rest: str, output: str | None) -> bool:
    """Whether a tag cannot fail, whatever the variables are."""
    if output is not None:
        return _HARMLESS_OUTPUT.fullmatch(_ungrouped(output).strip()) is not None
    if word in ("if", "elif"):
        return _HARMLESS_TEST.fullmatch(_ungrouped(rest)) is not None
    if word == "set":
        return _HARMLESS_SET.fullmatch(rest) is not None
    return word in (None, "else", "endif")


def _ungrouped(text: str) -> str:
    """Without parentheses that only group; those of calls stay."""
    return _GROUP.sub(lambda group: f" {group[1] or group[2] or ''} ", text)
