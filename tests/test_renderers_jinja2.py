from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from jinja2 import nodes
from reference import every, jinja2_environment, real_templates, truth

from templatelint.model import RenderError
from templatelint.renderers import MAX_OUTPUT, RenderFailure, jinja2
from templatelint.renderers.jinja2 import Compiled, compile_template
from templatelint.syntax import parse, walk

if TYPE_CHECKING:
    from collections.abc import Callable


def _python(compiled: Compiled) -> str:
    return compiled._writer.python()  # noqa: SLF001 (there is no other way to see what will run)


def test_the_code_that_runs_is_jinja2s() -> None:
    for name in every(15):
        source = real_templates()[name]
        expected = jinja2_environment().compile(source, raw=True)
        expected = expected.replace("'reference._Generation'", "'templatelint.syntax.GenerationTag'")
        assert _python(compile_template(source)) == expected, name


def test_compiling_leaves_the_tree_as_it_is() -> None:
    syntax = parse("{{ 'a' ~ 'b' }}{{ [1 + 2, x|default('c'|upper)] }}{% if not true %}{% endif %}")
    before = [(type(node), syntax.span(node)) for node in walk(syntax.root)]
    assert compile_template(syntax).render({}) == "ab[3, 'C']"
    assert [(type(node), syntax.span(node)) for node in walk(syntax.root)] == before
    assert nodes.Concat in {kind for kind, _ in before}


def test_snippets_render_as_measured() -> None:
    facts = truth("snippets.json")
    different = []
    for entry in facts["snippets"]:
        try:
            outcome = {"text": compile_template(entry["snippet"]).render(facts["context"])}
        except RenderFailure:
            outcome = {}
        if outcome.get("text") != entry["jinja2"].get("text"):
            different.append((entry["snippet"], outcome, entry["jinja2"]))
    assert not different


# ------------------------------------------------------------------------------------------ what they see

PRINTS = {
    "{{ 'é<&>\"\\''|tojson }}": '"é<&>\\"\'"',
    "{{ 1e16|tojson }} {{ 1.0|tojson }} {{ (1e308 * 10)|tojson }}": "1e+16 1.0 Infinity",
    "{{ {'b': 1, 'a': [none]}|tojson }}": '{"b": 1, "a": [null]}',
    "{{ {'b': 1, 'a': 'é'}|tojson(true, 1, (',', '='), true) }}": '{\n "a"="\\u00e9",\n "b"=1\n}',
    "{{ {'a': 1}|tojson(indent=2) }}": '{\n  "a": 1\n}',
    "{{ dict(a=1, **{'b': 2}) }}": "{'a': 1, 'b': 2}",
    "{{ dict.fromkeys([1, 2], 0) }}": "{1: 0, 2: 0}",
    "{% set n = namespace({'x': 1}, self=2) %}{% set n.y = 3 %}{{ n.x }}{{ n.self }}{{ n.y }}": "123",
    "{% for x in [1, 2, 3] %}{% if x == 2 %}{% continue %}{% endif %}{{ x }}{% endfor %}": "13",
    "{% for x in [1, 2, 3] %}{{ x }}{% break %}{% endfor %}": "1",
    "a{% generation %} b {% endgeneration %}c": "a b c",
    "{{ range(3)|list }}{{ cycler('x').next() }}{{ joiner()() }}": "[0, 1, 2]x",
    "{{ 'a'|safe + '<' }}": "a&lt;",
    "{{ nothing }}{{ messages }}": "",
    "x\r\n\r\n": "x\n",
    "{{ strftime_now('%Y-%m-%d %H:%M:%S') }}": "2026-11-29 13:05:09",
    "{{ strftime_now(format='%d %b') }}": "29 Nov",
}


@pytest.mark.parametrize(("source", "text"), PRINTS.items(), ids=PRINTS)
def test_templates_print(source: str, text: str) -> None:
    now = datetime.fromisoformat("2026-11-29T13:05:09")
    assert compile_template(source).render({}, now) == text


def test_without_a_time_the_clock_tells_the_present() -> None:
    before = datetime.now()  # noqa: DTZ005 (transformers tells local time)
    told = compile_template("{{ strftime_now('%Y-%m-%dT%H:%M:%S.%f') }}").render({})
    assert before <= datetime.fromisoformat(told) <= datetime.now()  # noqa: DTZ005


def test_variables_win_over_globals() -> None:
    assert compile_template("{{ strftime_now }}{{ range }}").render({"strftime_now": 1, "range": 2}) == "12"


def test_older_releases_do_not_guard_names() -> None:
    source = "{% set n = namespace(_a=1) %}{{ n }}"
    assert compile_template(source, restricted=False).render({}) == "<Namespace {'_a': 1}>"
    with pytest.raises(RenderFailure, match="underscore"):
        compile_template(source).render({})


# ---------------------------------------------------------------------------------------------- failures

# `‹` stands where line and column point
FAILURES = {
    "{{ x }}\n  {{ ‹raise_exception('no: ' ~ x) }}": ("refused", "no: 5"),
    "{{ ‹raise_exception(7) }}": ("refused", "7"),
    "a\n{% for k, v in x|‹items %}{{k}}{% endfor %}": ("raised", "TypeError: Can only get item pairs from a mapping."),
    "{% for k in x|‹items if k %}{{loop.index}}{% endfor %}": (
        "raised",
        "TypeError: Can only get item pairs from a mapping.",
    ),
    "{% for k, v in x.‹items() %}{% endfor %}": ("raised", "'str object' has no attribute 'items'"),
    "{% for ‹k, v in [1] %}{% endfor %}": ("raised", "TypeError: cannot unpack non-iterable int object"),
    "{% ‹set n.a = 1 %}": ("raised", "cannot assign attribute on non-namespace object"),
    "日本{{ '日本' ~ (‹'é' + none) }}": ("raised", 'TypeError: can only concatenate str (not "NoneType") to str'),
    "{% if ‹y.z.a %}{% endif %}": ("raised", "'y' is undefined"),
    "{{ {}.‹b.c }}": ("raised", "'dict object' has no attribute 'b'"),
    "{{ {}‹['b'].c }}": ("raised", "'dict object' has no attribute 'b'"),
    "{{ 'a' + ‹bos_token }}": ("raised", "'bos_token' is undefined"),
    "{% macro m() %}\n {{ ‹bar.x }}{% endmacro %}\n{{ m() }}": ("raised", "'bar' is undefined"),
    "{% call ‹foo() %}{% endcall %}": ("raised", "'foo' is undefined"),
    "{{ [].‹append(1) }}": ("raised", "access to attribute 'append' of 'list' object is unsafe."),
    "{{ ''.‹__class__.mro }}": ("raised", "access to attribute '__class__' of 'str' object is unsafe."),
    "{{ ‹namespace(_a=1) }}": ("raised", "a namespace attribute may not start with an underscore: '_a'"),
    "{{ {}|tojson }}{{ [q]|‹tojson }}": ("raised", "TypeError: Object of type Undefined is not JSON serializable"),
    "{% set x = {\n'a': 1,\n'b': ‹nope + 1} %}": ("raised", "'nope' is undefined"),
    "{{ ‹'x' ~ {[]: 1} }}": ("syntax", "TypeError: unhashable type: 'list'"),
    "{{ x ~ ‹{[x]: 1} }}": ("raised", "TypeError: unhashable type: 'list'"),
    "{% if 1 %}{{ 1|‹nofilter }}{% endif %}": ("raised", "No filter named 'nofilter' found."),
    "{{ 1|‹nofilter }}": ("syntax", "No filter named 'nofilter'."),
    "{{ 1 is ‹notest }}": ("syntax", "No test named 'notest'."),
    "{% if x %}\n{% ‹break %}{% endif %}": ("syntax", "'break' outside loop"),
    "{% ‹include 'x' %}": ("raised", "TypeError: no loader for this environment specified"),
    "{{ a ‹? b }}": ("syntax", "unexpected char '?'"),
    "{% for a in ‹range(10**9) %}{% endfor %}": (
        "raised",
        "OverflowError: Range too big. The sandbox blocks ranges larger than MAX_RANGE (100000).",
    ),
    "{% generation %}{{ ‹1/0 }}{% endgeneration %}": ("raised", "ZeroDivisionError: division by zero"),
    "{% macro m() %}{{ ‹m() }}{% endmacro %}{{ m() }}": ("too-large", "recursion too deep"),
}


@pytest.mark.parametrize(("marked", "expected"), FAILURES.items(), ids=FAILURES)
def test_failures_are_placed(marked: str, expected: tuple[str, str]) -> None:
    at = marked.index("‹")
    source = marked.replace("‹", "")
    with pytest.raises(RenderFailure) as raised:
        compile_template(source).render({"x": "5"})
    record = raised.value.record
    assert (record.kind, record.message) == expected
    assert (record.line, record.column) == (source.count("\n", 0, at) + 1, at - source.rfind("\n", 0, at))


def test_a_long_message_is_cut() -> None:
    with pytest.raises(RenderFailure) as raised:
        compile_template("{{ raise_exception('x' * 100000) }}").render({})
    assert raised.value.record.message == "x" * 4000 + " …"


def test_output_beyond_the_cap() -> None:
    template = compile_template("{{ x }}{{ x }}")
    assert len(template.render({"x": "y" * (MAX_OUTPUT // 2)})) == MAX_OUTPUT
    with pytest.raises(RenderFailure) as raised:
        template.render({"x": "y" * (MAX_OUTPUT // 2 + 1)})
    assert raised.value.record == RenderError("too-large", "more than 8,388,608 characters of output")


# loops are limited by Python's compiler, expressions by its recursion
TOO_DEEP: dict[str, Callable[[int], str]] = {
    "additions": lambda count: "{{ " + " + ".join(["x"] * count) + " }}",
    "loops": lambda count: "{% for x in y %}" * count + "{% endfor %}" * count,
    "calls": lambda count: "{{ x" + ".upper()" * count + " }}",
    "filters": lambda count: "{{ x" + "|upper" * count + " }}",
}


@pytest.mark.parametrize("deep", TOO_DEEP.values(), ids=TOO_DEEP)
def test_code_too_deep_for_python_does_not_compile(deep: Callable[[int], str]) -> None:
    assert compile_template(deep(3)).render({"x": "", "y": ""}) == ""
    with pytest.raises(RenderFailure) as raised:
        compile_template(deep(40 if deep is TOO_DEEP["loops"] else 5000))
    assert raised.value.record.kind in {"syntax", "too-large"}


# ------------------------------------------------------------------------------------- generation marks

CHAT: list[dict[str, Any]] = [
    {"role": "user", "content": "Is 91 prime?"},
    {"role": "assistant", "content": "No: 7 × 13.", "reasoning_content": "Try seven."},
    {"role": "user", "content": "And 97?"},
    {"role": "assistant", "content": "Yes."},
]

MARKED = {
    "top level": "ab{% generation %}x{% endgeneration %}cd{% generation %}yz{% endgeneration %}",
    "loop": "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' %}{% generation %}{{ m.content }}"
    "{% endgeneration %}{% endif %}{% endfor %}",
    "set block": "ab{% set x %}q{% generation %}XY{% endgeneration %}{% endset %}cd{{ x }}",
    "macro": "{% macro f(t) %}z{% generation %}{{ t }}{% endgeneration %}{% endmacro %}ab{{ f('X') }}{{ f('YY') }}",
    "nested": "ab{% generation %}X{% generation %}Y{% endgeneration %}Z{% endgeneration %}",
    "filter block": "ab{% filter upper %}c{% generation %}d{% endgeneration %}{% endfilter %}",
    "whitespace": "a  \n {%- generation -%} x \n{%- endgeneration -%}\n b",
    "empty": "a{% generation %}{% endgeneration %}b",
}


@pytest.fixture(scope="module")
def marks_of_transformers() -> Callable[[str], tuple[str, list[tuple[int, int]]]]:
    from transformers.utils.chat_template_utils import render_jinja_template

    def marks(source: str) -> tuple[str, list[tuple[int, int]]]:
        rendered: Any = render_jinja_template([CHAT], chat_template=source, return_assistant_tokens_mask=True)
        (text,), (spans,) = rendered
        return text, spans

    return marks


def _marks(source: str) -> tuple[str, list[tuple[int, int]]]:
    variables = {"messages": CHAT, "tools": None, "documents": None, "add_generation_prompt": False}
    # what transformers' preparation adds to the second message
    chat = [{**m, **({"thinking": m["reasoning_content"]} if "reasoning_content" in m else {})} for m in CHAT]
    return compile_template(source).render_with_spans({**variables, "messages": chat})


@pytest.mark.parametrize("source", MARKED.values(), ids=MARKED)
def test_generation_marks_are_transformers(
    source: str, marks_of_transformers: Callable[[str], tuple[str, list[tuple[int, int]]]]
) -> None:
    text, spans = _marks(source)
    assert (text, spans) == marks_of_transformers(source)
    assert spans


def test_generation_marks_of_real_templates(
    marks_of_transformers: Callable[[str], tuple[str, list[tuple[int, int]]]],
) -> None:
    marked = 0
    for source in real_templates().values():
        if "generation %}" not in source and "generation -%}" not in source:
            continue
        try:
            ours = _marks(source)
        except RenderFailure:
            with pytest.raises(Exception):  # noqa: B017, PT011 (whatever it is)
                marks_of_transformers(source)
            continue
        assert ours == marks_of_transformers(source)
        marked += bool(ours[1])
    assert marked > 5


def test_marks_of_one_render_do_not_reach_the_next() -> None:
    template = compile_template("{% generation %}{{ x }}{% endgeneration %}")
    assert template.render_with_spans({"x": "ab"}) == ("ab", [(0, 2)])
    with pytest.raises(RenderFailure):
        template.render_with_spans({"x": "x" * (MAX_OUTPUT + 1)})
    assert template.render_with_spans({"x": "c"}) == ("c", [(0, 1)])
    assert jinja2.compile_template("{{ x }}").render_with_spans({"x": "c"}) == ("c", [])
