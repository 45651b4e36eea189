"""A template and a set-up of minijinja → what renders it, and its failures as the template's."""

from __future__ import annotations

import re
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from minijinja import Environment, TemplateError

from templatelint.renderers import MAX_OUTPUT, RenderFailure
from templatelint.renderers.minijinja.environment import Clock, Raised, Reached, environment
from templatelint.renderers.minijinja.gates import GATE, NO_GATES, gates
from templatelint.renderers.minijinja.literals import assignments
from templatelint.renderers.minijinja.loops import PREPARED
from templatelint.renderers.minijinja.maps import sorted_literals, variables_in_order
from templatelint.renderers.minijinja.rewriting import Rewritten
from templatelint.renderers.minijinja.setup import REFERENCE, Setup
from templatelint.syntax import Source, TemplateSyntax, parse

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from templatelint.model import ErrorKind
    from templatelint.renderers.minijinja.gates import Gate
    from templatelint.syntax import Syntax

_NAME = "chat"
_GENERATION = re.compile(r"(\{%[-+]?\s*)(end)?generation(\s*[-+]?%\})")
_WHERE = re.compile(rf" \(in {_NAME}:\d+\)$")
_GATED = re.compile(rf"{GATE}(\d+)")
_UNKNOWN_METHOD = re.compile(r"(string|map|sequence) has no method named (\w+)")
_PYTHON = {"string": str, "map": dict, "sequence": list}
_CHANGING = frozenset({"append", "clear", "extend", "insert", "pop", "popitem", "remove", "reverse", "setdefault"}) | {
    "sort",
    "update",
}
_LACKING = frozenset({"UnknownFilter", "UnknownTest", "UnknownFunction", "TooManyArguments"})


class Program:
    """A template that minijinja has compiled.

    Attributes:
        source: the template as it was given, before a program's own edits.
    """

    def __init__(self, source: str, edited: Rewritten, setup: Setup) -> None:
        self.source = source
        self._setup = setup
        if not setup.ordered:
            with suppress(TemplateSyntax):
                edited = sorted_literals(edited)
        self._given = edited
        syntax = _syntax(edited.text)
        self._gates = NO_GATES if syntax is None else gates(syntax, setup)
        self._text = edited.edited(self._gates.edits)
        self._clock = Clock()
        self._environment = environment(setup, self._gates.reached, self._clock)
        self._compile(parses=syntax is not None)

    def _compile(self, *, parses: bool) -> None:
        kind: ErrorKind = "unsupported" if parses else "syntax"
        try:
            self._environment.add_template(_NAME, self._text.text)
        except TemplateError as error:
            raise RenderFailure(kind, _message(error), *self._place(error, 0)) from None
        except UnicodeEncodeError:
            raise RenderFailure("syntax", "the template holds half of a character") from None
        if self._gates.rejected:
            first = min(self._gates.rejected, key=lambda gate: gate.start)
            raise RenderFailure(kind, first.message, *self._at(first.start))

    def render(self, variables: Mapping[str, Any], now: datetime) -> str:
        """The template's text with these variables (JSON data, left as they are); `now` is what the clock tells.

        Raises:
            RenderFailure: there is no text.
        """
        # with `trim_blocks` the newline goes, and the template's first line is one for `lstrip_blocks` too
        seen = variables if self._setup.ordered else variables_in_order(variables)
        head = PREPARED + assignments(seen) + ("\n" if self._setup.trims else "")
        self._clock.now = now
        try:
            text = self._environment.render_str(head + self._text.text, _NAME)
        except Raised as raised:
            raise RenderFailure("refused", raised.message, *self._call(raised.call)) from None
        except Reached as reached:
            raise self._failed(self._gates.reached[reached.args[0]]) from None
        except TemplateError as error:
            raise self._failure(error, head) from None
        except UnicodeEncodeError:
            raise RenderFailure("raised", "the variables hold half of a character") from None
        except MemoryError:
            raise RenderFailure("too-large", "out of memory") from None
        except RenderFailure:
            raise
        except Exception as error:  # noqa: BLE001 (what our filters meet in the values of a template)
            raise RenderFailure("raised", f"{type(error).__name__}: {error}") from None
        if len(text) > MAX_OUTPUT:
            raise RenderFailure("too-large", f"more than {MAX_OUTPUT:,} characters of output")
        return text

    # ------------------------------------------------------------------------------------------ failures

    def _failure(self, error: TemplateError, head: str) -> RenderFailure:
        if error.kind == "SyntaxError":  # not the template's: it has compiled
            return RenderFailure("too-large", "the variables nest too deeply")
        message = _message(error)
        gated = _GATED.search(message)
        if gated is not None:
            gate = self._gates.reached[int(gated[1])]
            if _UNKNOWN_METHOD.search(message) or error.kind == "UnknownFunction":
                return self._failed(gate)
            return RenderFailure("raised", _GATED.sub(gate.name, message), *self._at(gate.start))
        return RenderFailure(_kind(error, message), message, *self._place(error, len(head.encode())))

    def _failed(self, gate: Gate) -> RenderFailure:
        return RenderFailure("unsupported", gate.message, *self._at(gate.start))

    def _call(self, number: int | None) -> tuple[int, int] | tuple[None, None]:
        if number is None or number >= len(self._gates.raises):
            return None, None
        return self._at(self._gates.raises[number])

    def _at(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset in the source that was parsed."""
        return Source(self.source).line_of(self._given.original(offset))

    def _place(self, error: TemplateError, head: int) -> tuple[int, int] | tuple[None, None]:
        """Where the engine says it failed, behind that many bytes of ours."""
        if error.range is None or error.range[0] < head:
            return None, None
        before = self._text.text.encode()[: error.range[0] - head].decode("utf-8", "ignore")
        return Source(self.source).line_of(self._text.original(len(before)))


def _message(error: TemplateError) -> str:
    return _WHERE.sub("", error.message)


def _kind(error: TemplateError, message: str) -> ErrorKind:
    """Whether it lacks what jinja2 has, as far as the message tells."""
    method = _UNKNOWN_METHOD.search(message)
    if method is not None:
        known = hasattr(_PYTHON[method[1]], method[2]) and method[2] not in _CHANGING
        return "unsupported" if known else "raised"
    return "unsupported" if error.kind in _LACKING else "raised"


def _syntax(source: str) -> Syntax | None:
    try:
        return parse(source)
    except TemplateSyntax:
        return None


def compile_template(source: str, setup: Setup = REFERENCE, edited: Rewritten | None = None) -> Program:
    """Make a template ready to render.

    Args:
        source: the template.
        setup: how the program sets minijinja up.
        edited: the template after what the program does to it first.

    Raises:
        RenderFailure: minijinja does not parse it: `unsupported` where jinja2 does, else `syntax`.
    """
    text = edited or Rewritten(source)
    if setup.generation:
        text = text.substituted(_GENERATION, _without_effect)
    return Program(source, text, setup)


def _without_effect(tag: re.Match[str]) -> str:
    return f"{tag[1]}{'endif' if tag[2] else 'if true'}{tag[3]}"


def undeclared(source: str) -> frozenset[str]:
    """The variables that a template reads without setting them, with the members that it reads (`tool.name`).

    Raises:
        TemplateError: the source does not parse.
    """
    return frozenset(Environment().undeclared_variables_in_str(source, nested=True))
