"""Templates → text as llama.cpp's own Jinja renders them, and what of the input they looked at.

Modelled on llama.cpp b11549.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from jinja2.exceptions import TemplateSyntaxError

from templatelint.renderers import RenderFailure
from templatelint.renderers.llamacpp.lexing import normalise, tokens
from templatelint.renderers.llamacpp.parser import Parser
from templatelint.renderers.llamacpp.pieces import NEEDED_BY
from templatelint.renderers.llamacpp.scope import Jump, Run, outermost
from templatelint.renderers.llamacpp.statements import body
from templatelint.renderers.llamacpp.usage import Stats, Usage
from templatelint.renderers.llamacpp.values import Trouble, from_json, plain_text
from templatelint.syntax import Source, TemplateSyntax, parse

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from templatelint.model import ErrorKind
    from templatelint.renderers.llamacpp.tree import Nodes
    from templatelint.renderers.llamacpp.values import Value

__all__ = ["Program", "Stats", "Usage", "compile_template"]


class Program:
    """A template ready to render.

    Attributes:
        source: the template as it was given.
    """

    def __init__(self, source: str, tree: Nodes, *, piecewise: bool) -> None:
        self.source = source
        self._body = body(tree)
        self._piecewise = piecewise

    def render(self, variables: Mapping[str, Any], now: datetime) -> str:
        """The template's text with these variables (JSON data, left as they are); `now` is what the clock tells.

        Raises:
            RenderFailure: there is no text.
        """
        with self._failures():
            return self._render(from_json(dict(variables)), now, watching=False)

    def render_tracked(self, variables: Mapping[str, Any], now: datetime) -> tuple[str | RenderFailure, Usage]:
        """The text or why there is none, and what the render did with the variables.

        Raises:
            RenderFailure: the variables nest too deeply for any render.
        """
        with self._failures():
            usage = Usage(variables)
        try:
            with self._failures():
                return self._render(usage.variables, now, watching=True), usage
        except RenderFailure as failure:
            return failure, usage

    def _render(self, variables: Mapping[str, Value], now: datetime, *, watching: bool) -> str:
        run = Run(now, watching=watching, piecewise=self._piecewise)
        return plain_text(self._body(outermost(variables, run)))

    @contextmanager
    def _failures(self) -> Iterator[None]:
        """Turns whatever a render raises into RenderFailure."""
        try:
            yield
        except Trouble as trouble:
            place = (None, None) if trouble.at is None else self._places.line_of(self._places.original(trouble.at))
            raise RenderFailure(trouble.kind, str(trouble), *place) from None
        except Jump:
            raise RenderFailure("raised", "break or continue outside a loop") from None
        except RecursionError:
            raise RenderFailure("too-large", "recursion too deep") from None
        except MemoryError:
            raise RenderFailure("too-large", "out of memory") from None

    @cached_property
    def _places(self) -> Source:
        return Source(self.source)


def compile_template(source: str) -> Program:
    """Make a template ready to render.

    Raises:
        RenderFailure: llama.cpp does not parse it: `unsupported` where jinja2 does, else `syntax`; `too-large`
            where it nests too deeply.
    """
    text = normalise(source)
    try:
        stream = tokens(text)
        piecewise = any(token.kind == "name" and token.value in NEEDED_BY for token in stream)
        return Program(source, Parser(stream, text).parse(), piecewise=piecewise)
    except TemplateSyntaxError as error:
        places = Source(source)
        place = places.line_of(places.offset_of(error.lineno))
        raise RenderFailure(_kind(source), error.message or "", *place) from None
    except RecursionError:
        raise RenderFailure("too-large", "nested too deeply") from None


def _kind(source: str) -> ErrorKind:
    """What to call a template that llama.cpp does not parse."""
    try:
        parse(source)
    except TemplateSyntax:
        return "syntax"
    return "unsupported"
