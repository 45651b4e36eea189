from __future__ import annotations

import json
from itertools import product

import pytest

from templatelint.model import Lines, Origin, Place, Template
from templatelint.sources.json_positions import locate

PLACES = [
    # text, offset, line, column, excerpt
    ("", 0, 1, 1, ""),
    ("ab", 1, 1, 2, "ab"),
    ("a\nb", 2, 2, 1, "b"),
    ("a\rb", 2, 2, 1, "b"),
    ("a\r\nb", 3, 2, 1, "b"),
    ("a\r\nb", 1, 1, 2, "a"),
    ("a\r\nb", 2, 1, 3, "a"),
    ("a\n\rb", 3, 3, 1, "b"),
    ("a\r\rbc\n", 4, 3, 2, "bc"),
    ("a\r", 2, 2, 1, ""),
    ("a\x0b\x85\u2028b", 4, 1, 5, "a\x0b\x85\u2028b"),
]


@pytest.mark.parametrize(("text", "offset", "line", "column", "excerpt"), PLACES)
def test_lines_end_at_any_of_three_newlines(text: str, offset: int, line: int, column: int, excerpt: str) -> None:
    lines = Lines(text)
    assert (*lines.line_of(offset), lines.excerpt(offset)) == (line, column, excerpt)
    assert lines.start(line) == offset - column + 1
    assert lines.count == lines.line_of(len(text))[0]


@pytest.mark.parametrize(("text", "offset", "line", "column", "excerpt"), PLACES)
def test_a_template_file_and_its_template_agree(text: str, offset: int, line: int, column: int, excerpt: str) -> None:
    template = Template("default", text, Origin("f", text))
    assert template.origin.place(offset) == Place("f", line, column)
    assert template.lines.line_of(offset) == (line, column)
    assert template.lines.excerpt(offset) == excerpt


@pytest.mark.parametrize("newline", ["\n", "\r", "\r\n"])
def test_lines_of_a_json_file_end_likewise(newline: str) -> None:
    text = json.dumps({"x": 1, "chat_template": "a\rb"}, indent=1).replace("\n", newline)
    origin = Origin("f", text, locate(text, ("chat_template",)) + 1, escaped=True)
    assert [origin.place(offset) for offset in range(4)] == [Place("f", 3, column) for column in (20, 21, 23, 24)]


def test_lines_are_those_of_jinja() -> None:
    from jinja2 import Environment, TemplateSyntaxError

    for newlines in product(("\n", "\r", "\r\n"), repeat=3):
        source = "a".join(newlines) + "{{ ( }}"
        with pytest.raises(TemplateSyntaxError) as raised:
            Environment(autoescape=True).parse(source)
        assert Lines(source).line_of(source.index("("))[0] == raised.value.lineno
