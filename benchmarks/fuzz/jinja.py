"""A template → one with its tokens shuffled, doubled, replaced, and whether Jinja still parses it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fuzz.texts import odd, templates

if TYPE_CHECKING:
    from random import Random

    from jinja2.parser import Parser

_TOKEN = re.compile(r"\{%-?|-?%\}|\{\{-?|-?\}\}|\{#|#\}|'[^'\n]*'|\"[^\"\n]*\"|\w+|\s+|.", re.DOTALL)
_PLAIN = """
{% %} {{ }} {%- -%} {# #} if endif for endfor in not set macro endmacro messages message content tools loop namespace
raise_exception | tojson join ( ) [ ] ' " 0 -1 range(99999999) [::-1] .__class__ else elif break continue generation
endgeneration call filter import extends ~ ** // * is defined none 1e999 recursive self caller() loop(messages)
"""
_WORDS = (
    *_PLAIN.split(),
    *("{% raw %}", "{% endraw %}", "include 'x'", "\\", "\0", "\r", "strftime_now('%Y')", "'%s' % 1", "'a' * 99999999"),
    *("{% for a in messages %}" * 30, "((((" * 60, "[" * 400, "not " * 300, "x|trim" * 50),
)


class _Generation(jinja2.ext.Extension):
    """The block of transformers that marks what the assistant writes."""

    tags = {"generation"}  # noqa: RUF012 (as its base class has it)

    def parse(self, parser: Parser) -> nodes.Node:
        line = next(parser.stream).lineno
        return nodes.Scope(parser.parse_statements(("name:endgeneration",), drop_needle=True)).set_lineno(line)


_ENVIRONMENT = ImmutableSandboxedEnvironment(extensions=[_Generation, "jinja2.ext.loopcontrols"])


def mutated(random: Random) -> str:
    """A template with one to five edits."""
    tokens = _TOKEN.findall(random.choice(templates()))
    for _ in range(random.choice((1, 1, 1, 2, 3, 5))):
        if not tokens:
            break
        at = random.randrange(len(tokens))
        kind = random.randrange(8)
        if kind == 0:
            del tokens[at : at + random.choice((1, 1, 5, 50))]
        elif kind == 1:
            tokens[at:at] = tokens[at : at + random.choice((1, 4, 30))]
        elif kind == 2:
            other = random.randrange(len(tokens))
            tokens[at], tokens[other] = tokens[other], tokens[at]
        elif kind == 3:
            tokens[at] = odd(random)
        elif kind == 4:
            del tokens[at:]
        elif kind == 5:
            donor = _TOKEN.findall(random.choice(templates()))
            start = random.randrange(len(donor) or 1)
            tokens[at:at] = donor[start : start + random.choice((2, 20, 200))]
        else:
            tokens.insert(at, random.choice(_WORDS))
    return "".join(tokens)


def parses(source: str) -> bool:
    """Whether Jinja itself reads it as transformers has it set up; where it gives up, nobody claims otherwise."""
    try:
        _ENVIRONMENT.parse(source)
    except jinja2.TemplateSyntaxError:
        return False
    except (RecursionError, ValueError, MemoryError):
        return True
    return True
