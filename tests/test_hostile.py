"""Templates that mean harm, through the bounded child and the engine as a run goes."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest

from templatelint.bounded import Limits, run
from templatelint.engines import get
from templatelint.model import Origin, RenderError, Request, Template, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Iterator

NOW = datetime.fromisoformat("2026-11-29T13:05:09")
LIMITS = Limits(seconds=0.4, wall=30, memory=128 * 1024 * 1024)

# Harmless for the first request, so that every case also shows that earlier cells are kept.
GUARD = "{% if messages|length == 1 %}fine{% else %}", "{% endif %}"

WHILE_RENDERING = {
    "nested loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "nested loops with output": "{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}",
    "nested lists": "{{ range(99999)|map('string')|list|map('list')|list|length }}" * 40,
    "a product": "{% for a in range(99999) %}{{ range(99999)|list|length }}{% endfor %}",
    "long text": "{{ messages[0].role * 10**10 }}",
    "long text as a constant": "{{ 'a' * 10**9 }}",
    "text that doubles": "{% set n = namespace(t='xx') %}{% for a in range(60) %}{% set n.t = n.t ~ n.t %}{% endfor %}",
    "list that doubles": "{% set n = namespace(t=[1]) %}{% for a in range(60) %}{% set n.t = n.t + n.t %}{% endfor %}",
    "much output": "{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}",
    "much output in a block": "{% set t %}{% for a in range(99999) %}{{ 'x' * 10000 }}{% endfor %}{% endset %}{{ t }}",
    "a macro that calls itself": "{% macro m(t) %}{{ m(t ~ t) }}{% endmacro %}{{ m('xx') }}",
    "a macro that forks": "{% macro m(n) %}{% if n %}{{ m(n - 1) }}{{ m(n - 1) }}{% endif %}{% endmacro %}{{ m(60) }}",
    "powers": "{{ messages|length ** (9**9 * 9) }}",
    "powers as a constant": "{{ 9 ** (9 ** 9) }}",
    "factorial growth": "{% set n = namespace(i=3) %}{% for a in range(60) %}{% set n.i = n.i * n.i %}{% endfor %}",
    "wide number": "{{ '%1000000000d' % messages|length }}",
    "centred": "{{ 'x'.center(10**10) }}",
    "centred by a filter": "{{ 'x'|center(10**9) }}",
    "indented": "{{ ('a\n' * 1000)|indent(10**8) }}",
    "formatted width": "{{ '{:1000000000d}'.format(1) }}",
    "formatted width by argument": "{{ '{:{w}}'.format('x', w=10**9) }}",
    "formatted by a filter": "{{ '%*d'|format(10**9, 1) }}",
    "many paragraphs": "{{ lipsum(n=100000) }}",
    "long list": "{% for x in [1] * 10**8 %}{% endfor %}",
    "long list of lists as a constant": "{{ ([[0]] * 9999999)|tojson|length }}",
    "joined": "{{ range(99999)|join('x' * 99999)|length }}",
    "replaced": "{{ ('a' * 99999).replace('a', 'b' * 99999)|length }}",
    "batched": "{{ range(99999)|batch(10**9, 'x')|list|length }}",
    "sorted again and again": "{% for a in range(99999) %}{{ range(99999)|sort(reverse=true)|first }}{% endfor %}",
}


def _cells(source: str) -> Iterator[Any]:
    """In the child: the outcome of loading, then of two requests."""
    loaded = get("transformers").load(Template("default", source, Origin("x.jinja", source)), Tokenizer())
    if isinstance(loaded, RenderError):
        yield [loaded.kind, loaded.message]
        return
    yield None
    for count in (1, 2):
        observation = loaded.render(Request([{"role": "user", "content": "x"}] * count), NOW)
        yield observation.prompt if observation.error is None else [observation.error.kind, observation.error.message]


@pytest.mark.parametrize("source", WHILE_RENDERING.values(), ids=WHILE_RENDERING)
def test_rendering_ends_and_earlier_cells_are_kept(source: str) -> None:
    items, stop = run(_cells, source.join(GUARD), limits=LIMITS)
    if len(items) == 3:  # the renderer itself saw the end of it
        assert stop is None
        assert items[2][0] in {"too-large", "raised"}
        assert items[:2] == [None, "fine"]
    else:
        assert stop is not None
        assert stop.kind in {"timeout", "memory"}
        # constants are folded while the template is compiled: then there is no cell before
        assert items == ([] if "constant" in _name(source) else [None, "fine"])


def _name(source: str) -> str:
    return next(name for name, text in WHILE_RENDERING.items() if text == source)


WHILE_LOADING = {
    "parentheses": "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}",
    "lists": "{{ " + "[" * 10_000 + "]" * 10_000 + " }}",
    "mappings": "{{ " + "{1:" * 10_000 + "1" + "}" * 10_000 + " }}",
    "ifs": "{% if x %}" * 10_000 + "{% endif %}" * 10_000,
    "loops": "{% for x in y %}" * 10_000 + "{% endfor %}" * 10_000,
    "loops that Python cannot nest": "{% for x in y %}" * 30 + "{% endfor %}" * 30,
    "additions": "{{ " + " + ".join(["x"] * 50_000) + " }}",
    "additions of constants": "{{ " + " + ".join(["1"] * 50_000) + " }}",
    "subscripts": "{{ x" + "[0]" * 50_000 + " }}",
    "filters": "{{ x" + "|upper" * 50_000 + " }}",
    "nots": "{{ " + "not " * 50_000 + "x }}",
    "conditions": "{{ " + "1 if x else " * 50_000 + "2 }}",
    "open tags": "{{ (" * 50_000,
    "a huge number": "{{ 0x" + "f" * 500_000 + " }}",
}


@pytest.mark.parametrize("source", WHILE_LOADING.values(), ids=WHILE_LOADING)
def test_loading_ends(source: str) -> None:
    items, stop = run(_cells, source, limits=LIMITS)
    if stop is None:
        assert items[0][0] in {"syntax", "too-large"}
    else:
        assert (items, stop.kind) == ([], "timeout")


def test_long_templates_load() -> None:
    for source in ("{% if x %}{% elif y %}a{% endif %}" * 200, "{% if x %}" + "{% elif y %}a" * 400 + "{% endif %}"):
        items, stop = run(_cells, source, limits=Limits(seconds=20, wall=60))
        assert (items, stop) == ([None, "", ""], None)


ESCAPES = (
    "{{ ''.__class__ }}{{ ''.__class__.__mro__ }}",
    "{{ raise_exception.__globals__ }}{{ raise_exception.__globals__['os'] }}",
    "{{ self.__init__.__globals__['__builtins__'] }}",
    "{{ cycler.__init__.__globals__.os.system('true') }}",
    "{{ lipsum.__globals__['os'].popen('id').read() }}",
    "{{ strftime_now.__closure__[0] }}",
    "{{ dict.fromkeys.__func__.__globals__['x'] }}",
    "{{ namespace.__init__.__globals__['x'] }}",
    "{{ messages|map(attribute='__class__')|map(attribute='__mro__')|list|first|first }}",
    "{{ '{0.__class__.__mro__}'.format(messages) }}",
    "{{ messages.append(1) }}",
    "{{ messages[0].update(role='x') }}",
)


@pytest.mark.parametrize("source", ESCAPES)
def test_the_sandbox_holds(source: str) -> None:
    items, stop = run(_cells, source, limits=LIMITS)
    assert stop is None
    kind, message = items[1]
    assert kind == "raised"
    assert "unsafe" in message or "undefined" in message or "has no attribute" in message
