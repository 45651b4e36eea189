"""What a template could do to whoever renders it, told from its syntax tree alone: nothing is rendered to find out."""

from __future__ import annotations

from functools import lru_cache

from templatelint.security.findings import Findings, Reach, Trigger
from templatelint.syntax import parse

__all__ = ["Findings", "Reach", "Trigger", "read"]


@lru_cache(maxsize=8)  # every engine asks for the same template's
def read(source: str) -> Findings:
    """What there is to be told of a template.

    Raises:
        TemplateSyntax: it is none.
    """
    from templatelint.security.conditions import conditions
    from templatelint.security.interpreter import Interpreter

    syntax = parse(source)
    found = Interpreter(syntax).read()
    told, whole = conditions(syntax)
    found.conditions(told)
    found.undecided = not whole
    return found
