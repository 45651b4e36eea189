from __future__ import annotations

import pytest

from templatelint.renderers.constructs import EVERYWHERE, lacking, vocabulary
from templatelint.syntax import parse

# source, what jinja2 as transformers sets it up lacks, what llama.cpp's renderer lacks
ROWS = [
    ("{{ x | trim }}{{ x | upper | length }}{{ x | tojson }}{{ x | d('') }}", [], []),
    ("{{ x | round }}", [], ["filter 'round'"]),
    ("{{ x | fromjson }}", ["filter 'fromjson'"], ["filter 'fromjson'"]),
    ("{% if x is filter %}{% endif %}", [], ["test 'filter'"]),
    ("{% if x is mapping and x is not none and x is eq(1) %}{% endif %}", [], []),
    ("{{ x.find('a') }}{{ x.startswith('a') }}", [], ["method '.find()'"]),
    ("{% set l = [] %}{{ l.append(1) }}", ["method '.append()'"], []),
    ("{{ cycler('a', 'b') }}", [], ["function 'cycler'"]),
    ("{% macro cycler(a) %}{% endmacro %}{{ cycler('a') }}", [], []),
    ("{% filter center %}a{% endfilter %}", [], ["filter 'center'"]),
    ("{{ x.find }}{{ ns.round }}", [], []),
]


@pytest.mark.parametrize(("source", "jinja2", "llamacpp"), ROWS)
def test_what_a_renderer_lacks(source: str, jinja2: list[str], llamacpp: list[str]) -> None:
    syntax = parse(source)
    assert [lack.construct for lack in lacking("jinja2", syntax)] == jinja2
    assert [lack.construct for lack in lacking("llama.cpp", syntax)] == llamacpp


def test_a_lack_points_at_its_name() -> None:
    source = "line one\n{{ x | round }}"
    (lack,) = lacking("llama.cpp", parse(source))
    assert source[slice(*lack.span)] == "round"


@pytest.mark.parametrize(
    ("source", "lacks"),
    [
        (
            "{{ x | trim }}{{ x | upper | length }}{{ x | tojson }}{{ x.split(',') }}{% if x is mapping %}{% endif %}",
            [],
        ),
        ("{{ x | d('') }}{{ x | select }}", ["filter 'd'", "filter 'select'"]),
        ("{% if x is divisibleby %}{% endif %}", ["test 'divisibleby'"]),
        ("{% set l = [] %}{{ l.append(1) }}{{ x.find('a') }}", ["method '.append()'", "method '.find()'"]),
        ("{{ dict(a=1) }}{% macro joiner() %}{% endmacro %}{{ joiner() }}", ["function 'dict'"]),
    ],
)
def test_what_the_package_of_javascript_lacks(source: str, lacks: list[str]) -> None:
    assert [lack.construct for lack in lacking("hf-jinja", parse(source))] == lacks


@pytest.mark.parametrize("renderer", ["jinja2", "llama.cpp", "hf-jinja", "minijinja"])
def test_what_every_renderer_has_each_has(renderer: str) -> None:
    known = vocabulary(renderer)
    for kind in ("filters", "tests", "methods"):
        names = getattr(known, kind)
        assert names is None or getattr(EVERYWHERE, kind) <= names
    assert known.methods or not known.forbidden_methods & (EVERYWHERE.methods or frozenset())
    assert known.lacking_functions <= EVERYWHERE.lacking_functions
