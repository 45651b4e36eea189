"""A template's text → the text that an engine's Jinja parses: newlines, and what the engine itself rewrites."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_NEWLINE = re.compile(r"\r\n?")
_DEFAULT = "default"


def digest(text: str) -> str:
    """Hex sha256 of the UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _jinja2(text: str) -> str:
    """`jinja2.lexer.Lexer.tokeniter`: every newline is LF, and one at the end goes."""
    return _NEWLINE.sub("\n", text).removesuffix("\n")


def _llama_cpp(text: str) -> str:
    """common/jinja/lexer.cpp, lexer::tokenize: likewise, but a CR that ends the text stays, as LF."""
    lines = _NEWLINE.sub("\n", text)
    return lines[:-1] if text.endswith("\n") else lines


def _minijinja(text: str) -> str:
    """The tokenizer of minijinja without `keep_trailing_newline`: CRLF stays within the text, and goes at its end."""
    return text.removesuffix("\n").removesuffix("\r")


def _hf_jinja(text: str) -> str:
    """@huggingface/jinja's preprocess (lexer.ts): LF at the end goes, CRLF stays."""
    return text.removesuffix("\n")


_READ: Mapping[str, Callable[[str], str]] = {
    "jinja2": _jinja2,
    "llama.cpp": _llama_cpp,
    "minijinja": _minijinja,
    "hf-jinja": _hf_jinja,
}
RENDERERS = tuple(_READ)


def as_read(renderer: str, text: str) -> str:
    """The text as that renderer (an id of `EngineEntry.renderer`) has it once newlines are dealt with."""
    return _READ[renderer](text)


def as_parsed(renderer: str, text: str, name: str) -> str:
    """The same with what llama.cpp rewrites before it parses: in a default template alone."""
    if renderer == "llama.cpp" and name == _DEFAULT:
        from templatelint.engines.llamacpp.facts import load

        text = load().patched(text)
    return as_read(renderer, text)


def digests(text: str, name: str) -> dict[str, str]:
    """Renderer → digest of the text that it parses, of those for which that is not the text itself."""
    found = {renderer: as_parsed(renderer, text, name) for renderer in RENDERERS}
    return {renderer: digest(parsed) for renderer, parsed in found.items() if parsed != text}
