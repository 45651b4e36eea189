from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from jinja2 import nodes
from jinja2.exceptions import TemplateSyntaxError
from reference import bare_message, every, jinja2_environment, mutants, quietly, real_templates

from templatelint.syntax import Syntax, TemplateSyntax, is_generation, parse, walk

if TYPE_CHECKING:
    from collections.abc import Callable


def _shape(root: nodes.Node) -> list[tuple[object, ...]]:
    """The tree as a flat list, lines included, the name of the generation extension left out."""
    return [
        (
            type(node).__name__,
            node.lineno,
            *(
                value
                if isinstance(value, str | bool | int | float | None)
                else len(value)
                if isinstance(value, list)
                else "…"
                for name in node.fields
                if name != "identifier" and (value := getattr(node, name, None)) is not ...
            ),
        )
        for node in walk(root)
    ]


def _jinja2(source: str) -> list[tuple[object, ...]] | tuple[str, int] | None:
    """Its tree, or its error, or None where it fails on a number."""
    try:
        return _shape(quietly(jinja2_environment().parse, source))
    except TemplateSyntaxError as error:
        return bare_message(error.message), error.lineno
    except (ValueError, SyntaxError):
        return None


def _assert_same_tree(source: str) -> bool:
    """Whether both parse it; if not, they say the same about the same line."""
    expected = _jinja2(source)
    if isinstance(expected, list):
        assert _shape(parse(source).root) == expected, source
        return True
    with pytest.raises(TemplateSyntax) as raised:
        parse(source)
    message = re.sub(r" \(line \d+\)\.$", ".", raised.value.message)
    if message == "Missing end of raw directive":  # placed at its tag, where jinja2 names a later line
        assert expected is not None
        assert message == expected[0], source
    elif expected is not None:
        assert (message, raised.value.line) == expected, source
    return False


def test_real_templates_give_jinja2s_tree() -> None:
    assert all(_assert_same_tree(real_templates()[name]) for name in every(6))


def test_mutants_give_jinja2s_tree_or_its_error() -> None:
    parsed = sum(_assert_same_tree(source) for source in mutants(seed=786, count=4000))
    assert 500 < parsed < 3500  # both outcomes are well represented


# ------------------------------------------------------------------------------------------------ places

# source → what the span of the node that the class or function picks is; `‹` and `›` stand around it
SPANS: dict[str, type[nodes.Node]] = {
    "a ‹b› c{{ x }}": nodes.TemplateData,
    "{{ ‹x› }}": nodes.Name,
    "{{ x .\n ‹attr› }}": nodes.Getattr,
    "{{ x‹[›0] }}": nodes.Getitem,
    "{{ x | ‹upper› }}": nodes.Filter,
    "{{ x is ‹defined› }}": nodes.Test,
    "{{ x is  not ‹none› }}": nodes.Test,
    "{{ ‹raise_exception›('no') }}": nodes.Call,
    "{{ x.‹strip›() }}": nodes.Call,
    "{{ ‹'a' › }}": nodes.Const,
    "{{ f(a, ‹key› = (1 + 2)) }}": nodes.Keyword,
    "{{ f(key=‹value›) }}": nodes.Name,
    "{{ ‹{›'a': 1} }}": nodes.Dict,
    "{{ ‹[›1] }}": nodes.List,
    "{% ‹if› x %}{% endif %}": nodes.If,
    "{%- ‹for› x in y -%}{% endfor %}": nodes.For,
    "{% ‹set› x = 1 %}": nodes.Assign,
    "{% ‹macro› m() %}{% endmacro %}": nodes.Macro,
    "{% ‹generation› %}{% endgeneration %}": nodes.CallBlock,
    "{% for x in y %}{% ‹break› %}{% endfor %}": nodes.Break,
    "{{ ‹a› if b else c }}": nodes.CondExpr,
    "{{ ‹a› == b }}": nodes.Compare,
    "{{ f((‹a›, b)) }}": nodes.Tuple,
    "{{ f(‹key›=(',', (':'))) }}": nodes.Keyword,
}


def _last(root: nodes.Node, kind: type[nodes.Node]) -> nodes.Node:
    return [node for node in walk(root) if isinstance(node, kind)][-1]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
@pytest.mark.parametrize(("marked", "kind"), SPANS.items(), ids=SPANS)
def test_spans_are_what_a_reader_would_point_at(marked: str, kind: type[nodes.Node], newline: str) -> None:
    if kind is nodes.TemplateData:
        marked = "‹a b c›{{ x }}"
    if kind is nodes.Const:
        marked = "{{ ‹'a'› }}"
    marked = (
        f"é{newline}{newline}  {marked}{newline}".replace("\n", newline) if kind is not nodes.TemplateData else marked
    )
    start = marked.index("‹")
    end = marked.index("›") - 1
    source = marked.replace("‹", "").replace("›", "")
    syntax = parse(source)
    assert syntax.span(_last(syntax.root, kind)) == (start, end)


def test_every_node_of_real_templates_has_a_span_inside_the_source() -> None:
    for name in every(40):
        source = real_templates()[name]
        syntax = parse(source)
        for node in walk(syntax.root):
            start, end = syntax.span(node)
            assert 0 <= start < end <= len(source)
            if isinstance(node, nodes.Name | nodes.Filter | nodes.Test):
                assert source[start:end] == node.name
            elif isinstance(node, nodes.Getattr):
                assert source[start:end] == node.attr
            elif isinstance(node, nodes.Keyword):
                assert source[start:end] == node.key


def test_lines_columns_and_excerpts_count_in_the_file() -> None:
    source = "ab\r\ncd\re{{ f }}\n"
    syntax = parse(source)
    assert syntax.line_of(0) == (1, 1)
    assert syntax.line_of(source.index("d")) == (2, 2)
    assert syntax.line_of(source.index("f")) == (3, 5)
    assert syntax.excerpt(1) == "ab"
    assert syntax.excerpt(source.index("c")) == "cd"
    assert syntax.excerpt(source.index("}")) == "e{{ f }}"
    assert syntax.excerpt(len(source)) == ""


ERRORS = {
    "{{ a ? b }}": ("unexpected char '?'", 5),
    "é\n\n{{ messages[0]. }}": ("expected name or number", 19),
    "a\r\n\r\n{% if x %}\r\nb{{ ) }}": ("unexpected ')'", 21),
    "{% frobnicate x %}": ("Encountered unknown tag 'frobnicate'.", 3),
    "{% for m in messages %}": (
        (
            "Unexpected end of template. Jinja was looking for the following tags: 'endfor' or 'else'."
            " The innermost block that needs to be closed is 'for' (line 1)."
        ),
        21,
    ),
    "\n{% if x %}\n{% for y in z %}{% endif %}": (
        (
            "Encountered unknown tag 'endif'. You probably made a nesting mistake. Jinja is expecting this tag, but"
            " currently looking for 'endfor' or 'else'. The innermost block that needs to be closed is 'for' (line 3)."
        ),
        31,
    ),
    "{% if x %}{% for y in z %}{% endfor %}{% elze %}": (
        (
            "Encountered unknown tag 'elze'. Jinja was looking for the following tags: 'elif' or 'else' or 'endif'."
            " The innermost block that needs to be closed is 'if' (line 1)."
        ),
        41,
    ),
    "text\n{# never closed": ("Missing end of comment tag", 5),
    "{% raw %}\n{{": ("Missing end of raw directive", 0),
    "{% set 1 = 2 %}": ("can't assign to 'const'", 7),
    "{{ 'a\\x4' }}": ("truncated \\xXX escape", 3),
    "{{ " + "9" * 5000 + " }}": ("integer of 5000 characters has no value", 3),
    "{{": ("unexpected 'end of template'", 0),
}


@pytest.mark.parametrize(("source", "expected"), ERRORS.items(), ids=[message for message, _ in ERRORS.values()])
def test_errors_name_the_token(source: str, expected: tuple[str, int]) -> None:
    with pytest.raises(TemplateSyntax) as raised:
        parse(source)
    error = raised.value
    assert (error.message, error.offset) == expected
    before = re.split(r"\r\n|\r|\n", source[: error.offset])
    assert (error.line, error.column) == (len(before), len(before[-1]) + 1)


NESTED: dict[str, Callable[[int], str]] = {
    "parentheses": lambda depth: "{{ " + "(" * depth + "1" + ")" * depth + " }}",
    "lists": lambda depth: "{{ " + "[" * depth + "]" * depth + " }}",
    "ifs": lambda depth: "{% if x %}" * depth + "{% endif %}" * depth,
    "nots": lambda depth: "{{ " + "not " * depth + "x }}",
    "conditions": lambda depth: "{{ " + "a if b else " * depth + "c }}",
}


@pytest.mark.parametrize("nested", NESTED.values(), ids=NESTED)
def test_too_deep_nesting_is_a_syntax_error(nested: Callable[[int], str]) -> None:
    assert parse(nested(5)).root.body
    with pytest.raises(TemplateSyntax, match=r"^nested too deeply$") as raised:
        parse(nested(10_000))
    assert raised.value.offset > 0


# ------------------------------------------------------------------------------------------------ walking


def test_walk_goes_in_the_order_of_the_source() -> None:
    source = """{% for a, b in c if d %}{{ e.f[g] | h(i, k=j) }}{% else %}{{ l if m else n }}{% endfor %}
        {%- call(o, p=q) r(s) %}{% if t %}{{ u }}{% elif v %}{{ w }}{% else %}{{ x }}{% endif %}{% endcall %}"""
    names = [node.name for node in walk(parse(source).root) if isinstance(node, nodes.Name)]
    assert "".join(names) == "abcdegijlmnopqrstuvwx"


def test_walk_does_not_recurse() -> None:
    syntax = parse("{{ " + " + ".join(["x"] * 5000) + " }}")
    found = list(walk(syntax.root))
    assert sum(isinstance(node, nodes.Add) for node in found) == 4999
    assert syntax.span(found[2]) < syntax.span(found[-1])


def test_generation_blocks_are_recognised() -> None:
    syntax = parse("{% generation %}{{ x }}{% endgeneration %}{% call f() %}{% endcall %}")
    assert [is_generation(node) for node in syntax.root.body] == [True, False]


def test_a_template_is_parsed_once() -> None:
    source = "{{ once }}"
    first: Syntax = parse(source)
    assert parse("{{ o" + "nce }}") is first
