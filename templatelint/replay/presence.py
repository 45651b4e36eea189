"""A prompt and a text → whether the text stands in it, as templates write texts: as it is, trimmed, or escaped."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# what `tojson` of Jinja escapes, so that HTML can hold it
_HTML = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "'": "\\u0027"}


def find(prompt: str, text: str) -> tuple[int, int] | None:
    """Where the text stands, first and past the last character; None where it does not, in any of the forms."""
    for form in forms(text.strip()):
        at = prompt.find(form)
        if at >= 0:
            return at, at + len(form)
    return None


def shows(prompt: str, text: str) -> bool:
    """Whether the text stands in the prompt, whitespace apart."""
    return find(prompt, text) is not None or " ".join(text.split()) in _squeezed(prompt)


def forms(text: str) -> Iterator[str]:
    """The text as templates write it: as it is, and escaped as JSON, for HTML, or as Python does."""
    import json

    yield text
    for ascii_only in (False, True):
        escaped = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield "".join(_HTML.get(character, character) for character in escaped)
    yield repr(text)[1:-1]


@lru_cache(maxsize=2)
def _squeezed(prompt: str) -> str:
    return " ".join(prompt.split())
