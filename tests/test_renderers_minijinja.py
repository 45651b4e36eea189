from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from templatelint.renderers import MAX_OUTPUT, RenderFailure
from templatelint.renderers.constructs import lacking
from templatelint.syntax import parse

pytest.importorskip("minijinja", reason="needs the extra minijinja")

from templatelint import bounded
from templatelint.renderers.minijinja import compile_template, missing
from templatelint.renderers.minijinja.filters import rust_float
from templatelint.renderers.minijinja.literals import literal
from templatelint.renderers.minijinja.program import Program
from templatelint.renderers.minijinja.program import compile_template as compile_as
from templatelint.renderers.minijinja.rewriting import Edit, Rewritten
from templatelint.renderers.minijinja.setup import Setup

if TYPE_CHECKING:
    from program import InProcess

NOW = datetime.fromisoformat("2026-03-02T09:30:00")
OLDER = json.loads(Path(__file__).with_name("data").joinpath("minijinja", "older_releases.json").read_text("utf-8"))
SETUPS = {
    "2.14": Setup((2, 14), "spaced", loop_controls=False),
    "2.8": Setup((2, 8), "builtin", trims=False, ordered=False),
}


class Frozen(datetime):
    """The records were made with a clock that tells only this."""

    def strftime(self, form: str) -> str:
        del form
        return "NOW"


def outcome(source: str, setup: Setup, variables: dict[str, Any]) -> Any:
    stage = "compile"
    try:
        program = compile_as(source, setup)
        stage = "render"
        return program.render(variables, Frozen(2026, 3, 2))
    except RenderFailure:
        return {"fails": stage}


def failure(source: str, variables: dict[str, Any] | None = None, setup: Setup | None = None) -> RenderFailure:
    with pytest.raises(RenderFailure) as caught:
        program(source, setup).render(variables or {}, NOW)
    return caught.value


def program(source: str, setup: Setup | None = None) -> Program:
    return compile_template(source) if setup is None else compile_as(source, setup)


def text(source: str, **variables: Any) -> str:
    return compile_template(source).render(variables, NOW)


# -------------------------------------------------------------------------------- older releases


@pytest.mark.parametrize("release", SETUPS)
def test_an_older_release(release: str) -> None:
    differ = [
        row["source"]
        for row in OLDER["rows"]
        if outcome(row["source"], SETUPS[release], OLDER["variables"]) != row[release]
    ]
    assert differ == [row["source"] for row in OLDER["rows"] if release in row.get("ours_differs", ())]


@pytest.mark.parametrize(
    ("source", "release", "kind", "message", "place"),
    [
        ("a\n  {{ d.get('k', 5) }}", "2.14", "unsupported", "get takes one argument", (2, 8)),
        ("{{ nope.get('k', 5) }}", "2.14", "raised", "undefined", (1, 9)),
        ("{% for a in [1] %}\n{% break %}{% endfor %}", "2.14", "unsupported", "unknown statement break", (2, 4)),
        ("{{ 1 }}\n{{ l.0 }}", "2.8", "unsupported", "unexpected number", (2, 6)),
        ("{% set a, b = l %}", "2.8", "unsupported", "expected assignment operator", (1, 8)),
        ("{{ l[::-1] }}", "2.8", "unsupported", "slices take no negative step", (1, 8)),
        ("{{ range(3, 0, -1)|list }}", "2.8", "unsupported", "range takes no negative numbers", (1, 4)),
        ("{{ d|tojson(ensure_ascii=false) }}", "2.8", "unsupported", "tojson has no argument 'ensure_ascii'", (1, 6)),
        ("{{ 'a'|default('b', true) }}", "2.8", "unsupported", "default takes one argument", (1, 8)),
        ("{{ 'a\\sb' }}", "2.14", "unsupported", "bad string escape", (1, 6)),
        ("{{ nope|length }}", "2.14", "raised", "cannot calculate length", (1, 9)),
        ("{{ 'a'.zfill(2) }}", "2.14", "unsupported", "string has no method named zfill", (1, 7)),
        ("{{ l.append(1) }}", "2.14", "raised", "sequence has no method named append", (1, 5)),
        ("{{ l|wordcount }}", "2.14", "unsupported", "filter wordcount is unknown", (1, 6)),
    ],
)
def test_where_an_older_release_fails(
    source: str, release: str, kind: str, message: str, place: tuple[int, int]
) -> None:
    record = failure(source, {"l": [1], "d": {}}, SETUPS[release]).record
    assert record.kind == kind
    assert message in record.message
    assert (record.line, record.column) == place
    assert "templatelint" not in record.message


def test_a_name_of_the_template_does_not_break_what_is_kept_between_passes() -> None:
    source = (
        "{% macro m(namespace) %}{% for i in [1, 2] %}[{{ y }}]{% set y = i %}{% endfor %}{% endmacro %}{{ m('x') }}"
    )
    assert outcome(source, SETUPS["2.14"], {}) == "[][1]"


def test_a_map_in_order_of_its_keys_whatever_it_holds() -> None:
    written = "{\n 'b': [1, 2], 'c': {'z': 1, 'y': 2},\n 'a': f(1, 2) if false else 0, }"
    source = f"{{% for k, v in {written}.items() %}}{{{{ k }}}}{{{{ v }}}}{{% endfor %}}"
    assert outcome(source, SETUPS["2.8"], {}) == 'a0b[1, 2]c{"y": 2, "z": 1}'


# ------------------------------------------------------------------------ set up to match transformers


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("  {% if true %}\n  a\n  {% endif %}\nb\n", "  a\nb"),
        ("\n{% if true %}a{% endif %}", "\na"),
        ("   {%- if true %}a{% endif %}", "a"),
        ("{{ d|tojson }}", '{"b": [1.0, 1, null, "<é>"], "a": {}}'),
        ("{{ d|tojson(indent=1, sort_keys=true) }}", '{\n "a": {},\n "b": [\n  1.0,\n  1,\n  null,\n  "<é>"\n ]\n}'),
        ("{{ d.b|tojson(ensure_ascii=true, separators=(',', ':')) }}", '[1.0,1,null,"<\\u00e9>"]'),
        ("{{ [d.a]|map('tojson')|list }}", "['{}']"),
        ("{{ d.b }}{{ none }}{{ true }}", "[1.0, 1, None, '<é>']NoneTrue"),
        ("{{ d.items is defined }}{{ d.items()|list|length }}", "False2"),
        ("{% for a in [1, 2] %}{% if a == 1 %}x{% continue %}{% endif %}y{% endfor %}", "xy"),
        ("{%- generation -%} a {%- endgeneration %}b", "ab"),
        ("x {% generation %}\na{% endgeneration %}", "x a"),
        ("{{ strftime_now('%d %b %Y') }}", "02 Mar 2026"),
        ("{{ 'x'|safe + '<' }}", "x<"),
        ("{% for a in 'ab' %}[{{ y }}]{% set y = a %}{% endfor %}", "[][]"),
        ("{{ nope|tojson }}", "null"),
        ("a\r\nb", "a\r\nb"),
    ],
)
def test_the_reference_set_up(source: str, expected: str) -> None:
    assert text(source, d={"b": [1.0, 1, None, "<é>"], "a": {}}) == expected


def test_what_a_caller_gives_is_left_as_it_is() -> None:
    given = {"messages": [{"role": "user"}]}
    failure("{{ messages.append(1) }}", given)
    failure("{{ messages[0].update({'a': 1}) }}", given)
    assert given == {"messages": [{"role": "user"}]}


@pytest.mark.parametrize(
    ("source", "kind", "message", "place"),
    [
        ("a\n {{ raise_exception('no ' ~ 'way') }}", "refused", "no way", (2, 5)),
        ("{{ raise_exception(1, 2) }}", "refused", "1", (1, 4)),
        ("{% set f = raise_exception %}{{ f('x') }}", "refused", "x", (None, None)),
        ("{{ raise_exception() }}", "raised", "missing argument", (None, None)),
        ("ä\n{{ 'é' }}{{ 1 + x.y }}", "raised", "`x` is undefined", (2, 17)),
        ("{% generation %}{{ 'a' + 1 }}{% endgeneration %}", "raised", "unsupported types string and number", (1, 20)),
        ("{{ 'a'.zfill(2) }}", "unsupported", "string has no method named zfill", (1, 7)),
        ("{{ 'a'|center }}", "unsupported", "filter center is unknown", (1, 8)),
        ("{% if %}", "syntax", "unexpected end of block", (1, 7)),
        ("{% if x %}", "syntax", "unexpected end of input", (1, 9)),
        ("{{ ''|tojson(nope=1) }}", "raised", "unexpected keyword argument", (None, None)),
        ("{{ '" + "x" * 100 + "' * 100000 }}", "too-large", f"{MAX_OUTPUT:,}", (None, None)),
    ],
)
def test_failures(source: str, kind: str, message: str, place: tuple[int | None, int | None]) -> None:
    record = failure(source).record
    assert record.kind == kind
    assert message in record.message
    assert (record.line, record.column) == place


def test_data_that_the_engine_cannot_hold() -> None:
    nested: Any = 1
    for _ in range(300):
        nested = [nested]
    assert failure("{{ x }}", {"x": nested}).record.kind == "too-large"
    assert failure("{{ x }}", {"x": "\ud800"}).record.kind == "raised"
    assert failure("\ud800").record.kind == "syntax"


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "timeout"),
        ("{{ " + "-" * 200_000 + "1 }}", "died"),  # the parser's stack
    ],
)
def test_a_template_that_does_not_end_ends_with_its_child(source: str, kind: str) -> None:
    def work() -> Any:
        yield compile_template(source).render({}, NOW)

    items, stop = bounded.run(work, limits=bounded.Limits(seconds=0.2), method="fork")
    assert items == []
    assert stop is not None
    assert stop.kind == kind


def test_it_is_here() -> None:
    assert missing() is None


def test_from_the_command_line(tmp_path: Path, cli: InProcess) -> None:
    (tmp_path / "c.json").write_text('{"d": {"a": 1.0}}')
    (tmp_path / "t.jinja").write_text("{{ d|tojson }}{{ d }}")
    ran = cli("render", str(tmp_path / "t.jinja"), "--renderer", "minijinja", "--context", str(tmp_path / "c.json"))
    assert (ran.code, ran.out) == (0, "{\"a\": 1.0}{'a': 1.0}")


def test_what_it_lacks_where_no_case_gets() -> None:
    source = (
        "{{ x|center }}{{ x|trim }}{{ x.zfill(1) }}{{ x.strip() }}{{ lipsum() }}{{ x is callable }}{{ x is mapping }}"
    )
    assert [lack.construct for lack in lacking("minijinja", parse(source))] == [
        "filter 'center'",
        "method '.zfill()'",
        "function 'lipsum'",
        "test 'callable'",
    ]


# ------------------------------------------------------------------------------------------ parts


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0.0"),
        (-1.5, "-1.5"),
        (1e15, "1000000000000000.0"),
        (1e16, "1e16"),
        (1.2345e20, "1.2345e20"),
        (0.00001, "0.00001"),
        (1.5e-6, "1.5e-6"),
    ],
)
def test_floats_as_serde_json_writes_them(value: float, written: str) -> None:
    assert rust_float(value) == written


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ({"a": [1, 1.5, True, None]}, '{"a": [1, 1.5, true, none]}'),
        ('é"\\\n{% x %}', '"é\\"\\\\\\n{% x %}"'),
        (2**64, "1.8446744073709552e+19"),
        (float("inf"), "none"),
    ],
)
def test_data_as_literals(value: Any, written: str) -> None:
    assert literal(value) == written
    assert text(f"{{{{ ({written}) == x }}}}", x=value) == "True"


def test_edits_know_where_a_character_came_from() -> None:
    edited = Rewritten("ab{%x%}cd").replaced("{%x%}", "").edited([Edit(0, 0, "<<"), Edit(3, 4, "DD")])
    assert edited.text == "<<abcDD"
    assert [edited.original(at) for at in range(8)] == [0, 0, 0, 1, 7, 8, 8, 9]
