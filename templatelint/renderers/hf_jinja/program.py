"""Templates and variables → requests to node, and what it answers → text or a failure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from templatelint.renderers import MAX_OUTPUT, RenderFailure
from templatelint.renderers.hf_jinja.node import PATIENCE, Died, Node, OutOfTime, shared
from templatelint.renderers.hf_jinja.vocabulary import FILTERS, TESTS
from templatelint.syntax import TemplateSyntax, parse

if TYPE_CHECKING:
    from templatelint.model import ErrorKind

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 (templates are told a time without a zone)


class Program:
    """A template that the package has compiled.

    Attributes:
        source: the template as it was given.
    """

    def __init__(self, source: str, node: Node) -> None:
        self.source = source
        self._node = node

    def render(self, variables: Mapping[str, Any], now: datetime) -> str:
        """The template's text with these variables (JSON data, left as they are); `now` is what the clock tells.

        The package sees the data as JavaScript reads them: 1.0 is an integer, large integers are rounded, keys that
        are numbers come first.

        Raises:
            RenderFailure: there is no text; the package tells no places.
        """
        milliseconds = (now.replace(tzinfo=None) - _EPOCH) // timedelta(milliseconds=1)
        request = {"source": self.source, "now": milliseconds, "variables": variables}
        text: str = _asked(self._node, request, self.source)["text"]
        if len(text) > MAX_OUTPUT:
            raise _too_large()
        return text


def compile_template(source: str) -> Program:
    """Make a template ready to render.

    Raises:
        RenderFailure: the package does not parse it: `unsupported` where jinja2 does, else `syntax`.
        TemplatelintError: node or the package is not to be found, or does not work.
    """
    node = shared()
    _asked(node, {"source": source}, source)
    return Program(source, node)


def _asked(node: Node, request: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    try:
        answer = node.ask(_line(request))
    except OutOfTime:
        raise RenderFailure("timeout", f"more than {PATIENCE:g} s") from None
    except Died:
        raise RenderFailure("too-large", "out of memory") from None
    if "failure" in answer:
        kind, message = answer["failure"]
        raise _failure(kind, message, source)
    return answer


# ------------------------------------------------------------------------------------------------ requests


def _line(request: Mapping[str, Any]) -> str:
    """JSON that JavaScript reads as the data it was made of, as far as JavaScript has such data."""
    try:
        try:
            return json.dumps(request, allow_nan=False)
        except ValueError:  # a number that JSON has not
            return json.dumps({**_spelled(request), "spelled": True}, allow_nan=False)
    except RecursionError:
        raise RenderFailure("too-large", "the variables nest too deeply") from None


def _spelled(value: Any) -> Any:
    """A copy in which numbers that JSON has not are spelled out for the runner."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"\0number": "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"}
    if isinstance(value, Mapping):
        return {key: _spelled(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_spelled(item) for item in value]
    return value


# ------------------------------------------------------------------------------------------------ failures

# The package says so of a name that it lacks, and of one that it has for values of other types.
_UNKNOWN = re.compile(r"Unknown (?:\w+ )?(filter|test): (\w+)")
_NO_SUCH_MAP = "`map` expressions without `attribute`"


def _failure(kind: ErrorKind, message: str, source: str) -> RenderFailure:
    if kind == "too-large" and not message:
        return _too_large()
    lacking = _parses(source) if kind == "syntax" else kind == "raised" and _lacks(message)
    return RenderFailure("unsupported" if lacking else kind, message)


def _too_large() -> RenderFailure:
    return RenderFailure("too-large", f"more than {MAX_OUTPUT:,} characters of output")


def _lacks(message: str) -> bool:
    """Whether the message is about a construct that the package has for no value."""
    if (named := _UNKNOWN.fullmatch(message)) is not None:
        what, name = named.groups()
        return name not in (FILTERS if what == "filter" else TESTS)
    return message.startswith(_NO_SUCH_MAP)


def _parses(source: str) -> bool:
    try:
        parse(source)
    except TemplateSyntax:
        return False
    return True
