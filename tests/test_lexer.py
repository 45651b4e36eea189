from __future__ import annotations

from typing import Any

import pytest
from jinja2.exceptions import TemplateSyntaxError
from reference import bare_message, every, jinja2_environment, mutants, quietly, real_templates, truth

from templatelint.lexer import JINJA2, Lexer, LexicalRules, Spot, jinja2_lexer

Outcome = tuple[list[tuple[int, str, type, Any]], tuple[str, int] | ValueError | SyntaxError | None]


def _taken(tokens: Any) -> Outcome:
    taken: list[tuple[int, str, type, Any]] = []
    try:
        taken.extend((line, kind, type(value), value) for line, kind, value in tokens)
    except TemplateSyntaxError as error:
        return taken, (bare_message(error.message), int(error.lineno))
    except (ValueError, SyntaxError) as error:  # a number that Python refuses
        return taken, error
    return taken, None


def _jinja2(source: str) -> Outcome:
    lexer = jinja2_environment().lexer
    return quietly(lambda: _taken(lexer.wrap(lexer.tokeniter(source, None))))  # type: ignore[no-any-return]


def _ours(source: str) -> Outcome:
    return _taken(jinja2_lexer().tokens(jinja2_lexer().normalise(source)))


def _assert_same(source: str) -> None:
    expected, expected_end = _jinja2(source)
    tokens, end = _ours(source)
    assert tokens == expected, source
    if isinstance(expected_end, Exception):
        assert isinstance(end, tuple), source
    elif isinstance(end, tuple) and end[0] == "Missing end of raw directive":
        assert isinstance(expected_end, tuple), source
        assert end[0] == expected_end[0]  # we name the line of the tag, jinja2 the one where its content starts
    else:
        assert end == expected_end, source


def test_real_templates_give_jinja2s_tokens() -> None:
    for source in real_templates().values():
        _assert_same(source)


def test_real_templates_with_other_newlines_give_jinja2s_tokens() -> None:
    for name in every(20):
        _assert_same(real_templates()[name].replace("\n", "\r\n"))
        _assert_same(real_templates()[name].replace("\n", "\r"))


def test_snippets_give_jinja2s_tokens() -> None:
    for entry in truth("snippets.json")["snippets"]:
        _assert_same(entry["snippet"])


def test_mutants_give_jinja2s_tokens_or_its_error() -> None:
    failed = 0
    for source in mutants(seed=20261129, count=6000):
        _assert_same(source)
        failed += _ours(source)[1] is not None
    assert 500 < failed < 5500  # both outcomes are well represented


EDGES = {
    "nothing": "",
    "newline only": "\n",
    "two newlines": "\n\n",
    "text only": "a\r\nb\rc\n",
    "comment never closed": "a{# b",
    "comment opened at the end": "a{#",
    "comment with a stripping end": "{#--#}  x{#- a -#}\n\n y",
    "comment left alone": "  {#+ a +#}\n x",
    "raw": "{% raw %}{{ x }}{% if %}{% endraw %}y",
    "raw strips": " a {%- raw -%} \n {{ \n {%- endraw -%} \n b",
    "raw keeps": "{%+ raw %}\n  {%+ endraw +%}\n",
    "raw never closed": "\n{% raw %}\n{{",
    "raw opened at the end": "{% raw %}",
    "raw in lines": "  {% raw %}\n  x\n  {% endraw %}\n  y",
    "rawish name": "{% rawx %}",
    "raw opened with plus": "{% raw +%}{% endraw %}",
    "lstrip at the start": "  {% if x %}  {% endif %}\n  {{ x }}\n  {# c #}\n",
    "lstrip after a tag": "{% if x %}  {% endif %}",
    "lstrip after a trimmed newline": "{% if x %}\n  {% endif %}",
    "lstrip with other blanks": "\n\t\u00a0\u2028{% if x %}\x0b{% endif %}",
    "plus keeps": "\n  {%+ if x +%}\n {% endif %}",
    "minus everywhere": "a \n {%- if x -%} \n b \n {{- y -}} \n c",
    "minus in an expression": "{{-1}}{{ 1 -}}{{ - 1 }}{{+1}}",
    "strip counts lines": "a\n\n\n{%- if x %}\n{{ y",
    "brackets hold the end": "{{ {'a': {'b': 1}} }}{% if {1: 2}%}{% endif %}{{ [}} }}",
    "bracket too many": "{{ ) }}",
    "bracket of another kind": "{{ [1) }}",
    "end of the other tag": "{{ a %}{% b }}",
    "numbers": "{{ 1 1.5 1e3 1E-3 1_0.0_1 0x_ff 0B1 0o17 00 007 1.real 1..2 .5 1._5 }}",
    "huge number": "{{ " + "9" * 5000 + " }}",
    "huge hexadecimal": "{{ 0x" + "f" * 5000 + " }}",
    "digits of other scripts": "{{ ٣ 1٣ 1٣.٥ ² }}",
    "names": "{{ é_1 __x ·a a·b e\u0301 ℘ ª }}",
    "strings": "{{ 'a\\'b' \"c\\\"d\" 'é\\n' '\\x41\\u00e9\\U0001f600\\N{BULLET}\\0\\101' }}",
    "strings over lines": "{{ 'a\nb\\\nc' }}{{ x }}",
    "odd escapes": "{{ '\\d\\/\\é\\777\\8' }}",
    "truncated escape": "{{ '\\x4' }}",
    "unknown character name": "{{ '\\N{NOPE}' }}",
    "lone surrogates": "{{ '\\ud83d\\ude00 \ud800' }}",
    "string never closed": "{{ 'abc }}",
    "odd characters": "{{ a ? b }}",
    "operators": "{{ a//b**c==d!=e<=f>=g<h>i~j|k%l*m/n;o=p }}",
    "tag cut": "{% if",
    "tag cut after blanks": "{% if \n ",
    "brace alone": "{ { % } {",
}


@pytest.mark.parametrize("source", EDGES.values(), ids=EDGES)
def test_edges_give_jinja2s_tokens_or_its_error(source: str) -> None:
    _assert_same(source)
    _assert_same(source + "\n")
    _assert_same(source.replace("\n", "\r\n"))


def test_an_odd_character_is_where_jinja2_says_it_is() -> None:
    source = "a\r\n{{ b\r\n  ? }}"
    with pytest.raises(TemplateSyntaxError, match=r"unexpected char '\?' at 9") as theirs:
        list(jinja2_environment().lexer.tokeniter(source, None))
    with pytest.raises(TemplateSyntaxError, match=r"unexpected char '\?'\n") as ours:
        list(jinja2_lexer().tokens(jinja2_lexer().normalise(source)))
    assert isinstance(ours.value.lineno, Spot)
    assert (ours.value.lineno, ours.value.lineno.start) == (theirs.value.lineno, 9)


def test_spots_delimit_what_was_written() -> None:
    lexer = jinja2_lexer()
    for name in every(25):
        text = lexer.normalise(real_templates()[name])
        end = 0
        for token in lexer.tokens(text):
            spot = token.lineno
            assert isinstance(spot, Spot)
            assert end <= spot.start < spot.end
            assert spot == text.count("\n", 0, spot.start) + 1
            if token.type in {"data", "name", "block_begin", "variable_end"}:
                assert text[spot.start : spot.end] == token.value
            end = spot.end


N = 100_000  # characters, about

HOSTILE = {
    "openings": "{{" * (N // 2),
    "block openings": "{%" * (N // 2),
    "comment openings": "{#" * (N // 2),
    "raw openings": "{% raw " * (N // 7),
    "raw ends": "{% raw %}" + "{% endraw " * (N // 10),
    "blanks before a tag": " " * N + "{% if x %}",
    "blanks between tags": ("{%" + " " * 500) * (N // 502),
    "blanks in a tag": "{% if" + " " * N,
    "newlines": "\n" * N,
    "carriage returns": "\r\n" * (N // 2) + "{{ x }}",
    "digits": "{{ " + "1" * N,
    "digits and underscores": "{{ " + "1_" * (N // 2),
    "digits and points": "{{ " + "1." * (N // 2),
    "exponents": "{{ " + "1e" * (N // 2),
    "string never closed": "{{ '" + "a" * N,
    "escapes never closed": "{{ '" + "\\a" * (N // 2),
    "quotes": "{{ " + "'\"" * (N // 2),
    "name": "{{ " + "a" * N,
    "brackets": "{{ " + "(" * N,
    "minus signs": "{{ " + "-" * N,
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_much_malice_ends(source: str) -> None:
    tokens, end = _ours(source)  # anything quadratic would take many minutes here
    assert tokens or end


def test_rules_are_data() -> None:
    rules = LexicalRules(
        trim_blocks=False,
        lstrip_blocks=False,
        keep_final_newline=True,
        modifiers="-",
        raw=False,
        blank=r"[ \t\n]",
        strip=" \t\n",
        operators={name: kind for name, kind in JINJA2.operators.items() if name not in {"//", "**"}},
        unescape=lambda body: body.replace("\\n", "\n"),
    )
    lexer = Lexer(rules)

    def values(source: str) -> list[Any]:
        return [token.value for token in lexer.tokens(lexer.normalise(source))]

    assert values("a\n  {% if x %}\nb\n") == ["a\n  ", "{%", "if", "x", "%}", "\nb\n"]
    assert values("a\u00a0 {%- x %}") == ["a\u00a0", "{%-", "x", "%}"]
    assert values("{% raw %}") == ["{%", "raw", "%}"]
    assert values("{%+ x %}") == ["{%", "+", "x", "%}"]
    assert values("{{ 1 // 2 }}") == ["{{", 1, "/", "/", 2, "}}"]
    assert values("{{ '\\n\\d' }}") == ["{{", "\n\\d", "}}"]
