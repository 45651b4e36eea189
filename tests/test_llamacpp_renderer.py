"""llama.cpp's renderer against what llama.cpp b11549 itself gave for the snippets under data/llamacpp."""

from __future__ import annotations

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import every, mutants, real_templates, truth

from templatelint.model import RenderError
from templatelint.renderers import MAX_OUTPUT, RenderFailure
from templatelint.renderers.llamacpp import Program, Stats, compile_template

if TYPE_CHECKING:
    from collections.abc import Mapping

    from program import InProcess

DATA = Path(__file__).parent / "data" / "llamacpp"
NOW = datetime(2026, 11, 29, 14, 5, 9, tzinfo=UTC)
CONTEXT: Mapping[str, Any] = json.loads((DATA / "context.json").read_text(encoding="utf-8"))
# lines end in line feeds alone: U+2028 may stand inside
SNIPPETS = [json.loads(line) for line in (DATA / "snippets.jsonl").read_text(encoding="utf-8").split("\n") if line]


def _outcome(source: str, context: Mapping[str, Any] = CONTEXT) -> dict[str, str]:
    try:
        program = compile_template(source)
    except RenderFailure:
        return {"fails": "to load"}
    try:
        return {"text": program.render(context, NOW)}
    except RenderFailure:
        return {"fails": "to render"}


def _failure(source: str, context: Mapping[str, Any] = CONTEXT) -> RenderError:
    with pytest.raises(RenderFailure) as caught:
        compile_template(source).render(context, NOW)
    return caught.value.record


@pytest.mark.parametrize("topic", Counter(entry["topic"] for entry in SNIPPETS))
def test_snippets_give_what_llamacpp_gave(topic: str) -> None:
    different = []
    for entry in SNIPPETS:
        if entry["topic"] == topic:
            outcome = _outcome(entry["source"])
            if outcome != {key: entry[key] for key in entry if key in {"text", "fails"}}:
                different.append((entry, outcome))
    assert not different


def test_handed_snippets_give_what_llamacpp_gave() -> None:
    facts = truth("snippets.json")
    different = []
    for entry in facts["snippets"]:
        text = _outcome(entry["snippet"], facts["context"]).get("text")
        if text != entry["llamacpp"].get("text"):
            different.append((entry["snippet"], text, entry["llamacpp"]))
    assert not different


# ------------------------------------------------------------------------------------------ failures

FAILS = [
    # source, kind, message, line, column
    ("{% raw %}{% endraw %}", "unsupported", "no statement 'raw'", 1, 4),
    ("a\n{% with x = 1 %}{% endwith %}", "unsupported", "no statement 'with'", 2, 4),
    ("{% nosuch %}", "syntax", "no statement 'nosuch'", 1, 4),
    ("{%+ if yes %}{% endif %}", "unsupported", "expected the name of a statement, found +", 1, 3),
    ("{% if yes %}\na", "syntax", "expected {% endif %}, found the end of the template", 2, 1),
    ("{{ name", "syntax", "expected }}, found the end of the template", 1, 7),
    ("{# open", "syntax", "Missing end of comment tag", 1, 1),
    ("{{ 'a' ~ '\\u00e9' }}", "unsupported", "no escape \\u in strings", 1, 10),
    ("{{ 'a\\\nb' }}", "unsupported", "no escape \\\\n in strings", 1, 4),
    ("{{ 0x1F }}", "unsupported", "expected }}, found '0x1F', which is no number", 1, 5),
    ("{{ 1_000 }}", "unsupported", "expected }}, found '1_000', which is no number", 1, 5),
    ("{{ 9223372036854775808 }}", "unsupported", "integer beyond 64 bits", 1, 4),
    (f"{{{{ {'9' * 400}.0 }}}}", "unsupported", "number too large", 1, 4),
    ("{{ 7 // 2 }}", "unsupported", "expected an expression, found /", 1, 7),
    ("{{ 1 if yes else -1 }}", "unsupported", "expected an expression, found -", 1, 18),
    ("{{ name is defined if yes else 1 }}", "syntax", "expected }}, found name yes", 1, 23),
    ("{{ 'a' 5 }}", "syntax", "expected }}, found number 5", 1, 8),
    ("{% for a in 1, 2 %}{% endfor %}", "unsupported", "expected %}, found ,", 1, 14),
    ("{% set x | upper %}a{% endset %}", "unsupported", "no setting of anything but names and attributes", 1, 4),
    ("{% call 1() %}{% endcall %}", "unsupported", "expected the name of a macro, found number 1", 1, 9),
    ("{{ é }}", "unsupported", "unexpected char 'é'", 1, 4),
    ("{{ raise_exception('no ' ~ accent) }}", "refused", "no naïve façade", 1, 4),
    ("{{ raise_exception(1) }}", "raised", "'raise_exception' needs a string as its value, not an integer", 1, 4),
    ("\n\n  {{ name|nosuch }}", "unsupported", "no filter 'nosuch' of a string", 3, 11),
    ("{{ name|e }}", "unsupported", "no filter 'e' of a string", 1, 9),
    ("{{ point|default('d') }}", "unsupported", "no filter 'default' of a mapping", 1, 10),
    ("{{ missing|tojson }}", "raised", "no filter 'tojson' of an undefined value (missing)", 1, 12),
    ("{{ odds[9]|tojson }}", "raised", "no filter 'tojson' of an undefined value", 1, 12),
    ("{{ nil|length }}", "raised", "no filter 'length' of none", 1, 8),
    ("{{ range|string }}", "raised", "a function has no attributes", 1, 10),
    ("{{ name is nosuch }}", "unsupported", "no test 'nosuch'", 1, 12),
    ("{{ name is not nosuch }}", "unsupported", "no test 'nosuch'", 1, 16),
    ("{{ 'a' is odd }}", "raised", "test 'odd' needs an integer as its value, not a string", 1, 11),
    ("{{ 6 is divisibleby 0 }}", "raised", "test 'divisibleby' by zero ends the whole process", 1, 9),
    ("{{ name.find('a') }}", "unsupported", "no method 'find' of a string", 1, 9),
    ("{{ point.nosuch() }}", "raised", "no method 'nosuch' of a mapping", 1, 10),
    ("{{ point.x() }}", "raised", "an integer is no function", 1, 10),
    ("{{ nosuch() }}", "raised", "no function 'nosuch'", 1, 4),
    ("{{ joiner(',') }}", "unsupported", "no function 'joiner'", 1, 4),
    ("{{ odds[0]() }}", "raised", "an integer is no function", 1, 8),
    ("{{ name.startswith(('A', 'B')) }}", "raised", "'startswith' needs a string as argument 1, not a tuple", 1, 9),
    ("{{ name.startswith() }}", "raised", "'startswith' needs 1 argument, not 0", 1, 9),
    ("{{ name.split(1, 2, 3) }}", "raised", "'split' takes at most 2 arguments, not 3", 1, 9),
    ("{{ name|replace('a', 'b', 1) }}", "unsupported", "filter 'replace' has no count", 1, 9),
    ("{{ '{0}'.format(1) }}", "unsupported", "'format' has no placeholders but {}", 1, 10),
    ("{{ ','.join(words) }}", "unsupported", "'join' does not work on a string", 1, 8),
    ("{{ point|tojson(sort_keys=true) }}", "unsupported", "filter 'tojson' has no sort_keys", 1, 10),
    (
        "{{ rows|selectattr('ok', 'defined') }}",
        "unsupported",
        "filter 'selectattr' takes 'ok' for a test of the items when two arguments are given",
        1,
        9,
    ),
    ("{{ rows|selectattr('id', '>', 1) }}", "unsupported", "filter 'selectattr' has no test '>'", 1, 9),
    ("{{ mixed|join }}", "raised", "filter 'join' joins strings and numbers, not none", 1, 10),
    ("{{ [true, false]|sort }}", "raised", "booleans have no order", 1, 18),
    ("{{ 'a' < 'b' }}", "unsupported", "no operator '<' between a string and a string", 1, 8),
    ("{{ 1 ~ 2 }}", "unsupported", "no operator '~' between an integer and an integer", 1, 6),
    ("{{ 'a' ~ 1 ~ range }}", "raised", "a function is no text", 1, 12),
    ("{{ missing in odds }}", "raised", "no operator 'in' between an undefined value (missing) and a list", 1, 12),
    ("{{ -name }}", "raised", "no operator '-' before a string", 1, 4),
    ("{% if name.upper %}{% endif %}", "raised", "a function is neither true nor false", 1, 4),
    ("{{ 'a' if range else 'b' }}", "raised", "a function is neither true nor false", 1, 8),
    ("{{ range and 1 }}", "raised", "a function is neither true nor false", 1, 10),
    ("{{ point[odds] }}", "raised", "a list cannot be a key", 1, 9),
    ("{{ {rows: 1} }}", "raised", "a list cannot be a key", 1, 4),
    ("{{ point[1:] }}", "unsupported", "no slice of a mapping", 1, 9),
    ("{{ odds[::0] }}", "raised", "slice got a step of zero", 1, 8),
    ("{{ odds.pop(9) }}", "raised", "'pop' got 9 for a list of 3", 1, 9),
    ("{{ odds.1.5 }}", "raised", "an attribute is a name or a place, nothing else", 1, 9),
    ("{{ name|'upper' }}", "raised", "a filter is a name, with or without arguments, nothing else", 1, 9),
    ("{{ range(*odds) }}", "unsupported", "no arguments from a list (*)", 1, 10),
    ("{% for c in name %}{% endfor %}", "unsupported", "no loop over a string", 1, 4),
    ("{% for c in nil %}{% endfor %}", "raised", "no loop over none", 1, 4),
    ("{% for a, b in odds %}{% endfor %}", "raised", "an integer cannot be unpacked", 1, 4),
    ("{% set a, b = odds %}", "raised", "3 items cannot be unpacked into 2 names", 1, 4),
    (
        "{% for a, (b, c) in [(1, (2, 3))] %}{% endfor %}",
        "unsupported",
        "no unpacking into anything but names in a loop",
        1,
        4,
    ),
    ("{% set point['x'] = 1 %}", "unsupported", "no setting of items", 1, 4),
    ("{% set odds.x = 1 %}", "raised", "no attribute of a list can be set", 1, 4),
    ("{% macro m(a, b) %}{% endmacro %}\n{{ m(1) }}", "unsupported", "no argument 'b' for macro 'm'", 2, 4),
    ("{% macro m() %}\n{{ nosuch() }}{% endmacro %}{{ m() }}", "raised", "no function 'nosuch'", 2, 4),
    ("{% call count() %}{% endcall %}", "raised", "an integer is no macro", 1, 9),
    ("{% for i in odds %}{% endfor %}{% break %}", "raised", "break or continue outside a loop", None, None),
    ("{{ strftime_now('') }}", "raised", "'strftime_now' makes 1 to 99 bytes, not 0", 1, 4),
    ("{{ dict(1) }}", "raised", "'dict' takes keyword arguments, a mapping or pairs, not an integer", 1, 4),
]


@pytest.mark.parametrize(("source", "kind", "message", "line", "column"), FAILS)
def test_failures_name_the_construct_and_its_place(
    source: str, kind: str, message: str, line: int | None, column: int | None
) -> None:
    record = _failure(source)
    assert (record.kind, record.message, record.line, record.column) == (kind, message, line, column)


@pytest.mark.parametrize("newline", ["\r\n", "\r", "\n"])
def test_places_count_in_the_source_as_given(newline: str) -> None:
    record = _failure(f"a{newline}{{% if yes %}}{newline}é {{{{ name|nosuch }}}}{{% endif %}}{newline}")
    assert (record.line, record.column) == (3, 11)


@pytest.mark.parametrize(
    "source",
    [
        "{{ 'a' * 9999999 }}",
        "{% set ns = namespace(s='aaaaaaaa') %}{% for i in range(40) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "{{ ('a' * 4000000)|replace('a', 'bbb') }}",
        "{{ 'a'|indent(99999999, true) }}",
        "{{ odds|tojson(indent=99999999) }}",
        "{{ range(99999999999) }}",
        "{{ range(-9223372036854775808, 9223372036854775807) }}",
        "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}",
        "{% set _ = odds.append(odds) %}{{ odds ~ '' }}",
        f"{{{{ {'(' * 3000}1{')' * 3000} }}}}",
        f"{{{{ {'not ' * 3000}1 }}}}",
        f"{{% for i in range(90) %}}{{{{ '{'a' * 100_000}' }}}}{{% endfor %}}",
    ],
)
def test_what_grows_too_large_is_stopped(source: str) -> None:
    assert MAX_OUTPUT < 9_000_000
    assert _failure(source).kind == "too-large"


def test_a_long_chain_of_sums_is_not_deep() -> None:
    assert compile_template("{{ " + "~".join(["'a'"] * 5000) + " }}").render({}, NOW) == "a" * 5000


def test_digits_beyond_what_python_reads() -> None:
    digits = "9" * 5000
    source = "{{ d|int(5) }}{{ d|float }}{{ ('0' * 5000 ~ '7')|int }}{{ [[1]]|map(attribute=d)|string }}"
    assert compile_template(source).render({"d": digits}, NOW) == "50.07[Undefined]"
    assert _failure(f"{{{{ {digits} }}}}").line == 1


def test_variables_that_nest_too_deeply() -> None:
    nested: list[Any] = []
    for _ in range(3000):
        nested = [nested]
    program = compile_template("x")
    for render in (program.render, program.render_tracked):
        with pytest.raises(RenderFailure) as caught:
            render({"nested": nested}, NOW)
        assert caught.value.record.kind == "too-large"


# ------------------------------------------------------------------------------------------ input and clock


def test_the_clock() -> None:
    program = compile_template("{{ strftime_now('%d %b %Y, %H:%M:%S é%%') }}")
    assert program.render({}, NOW) == "29 Nov 2026, 14:05:09 é%"
    assert program.render({}, datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)) == "02 Jan 2025, 03:04:05 é%"


def test_variables_stay_as_they_are() -> None:
    variables = {"xs": [1, [2]], "d": {"k": {"l": []}}}
    source = "{% set _ = xs.append(3) %}{% set d.k.m = 1 %}{% set xs = 5 %}{{ d|tojson }}"
    program = compile_template(source)
    for _ in range(2):
        assert program.render(variables, NOW) == '{"k": {"l": [], "m": 1}}'
        assert program.render_tracked(variables, NOW)[0] == '{"k": {"l": [], "m": 1}}'
    assert variables == {"xs": [1, [2]], "d": {"k": {"l": []}}}


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (2**63 - 1, "9223372036854775807"),
        (2**63, "-9223372036854775808"),
        (2**64 - 1, "-1"),
        (2**64, "18446744073709551616.0"),
        (-(2**63), "-9223372036854775808"),
        (-(2**63) - 1, "-9223372036854775808.0"),
    ],
)
def test_integers_beyond_64_bits(number: int, text: str) -> None:
    assert compile_template("{{ n }}").render({"n": number}, NOW) == text


def test_bytes_that_are_no_text() -> None:
    assert compile_template("{{ 'é'[0] }}|{{ 'é'[0] ~ 'é'[1] }}").render({}, NOW) == "�|é"
    assert compile_template("{{ s|length }}").render({"s": "\ud800"}, NOW) == "3"


def test_what_is_no_json() -> None:
    with pytest.raises(TypeError, match="not JSON data: set"):
        compile_template("x").render({"s": {1}}, NOW)


def test_the_source_is_kept() -> None:
    assert compile_template("a\r\n").source == "a\r\n"


# ------------------------------------------------------------------------------------------ usage

CHAT = {
    "messages": [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": "v"}}}]},
    ],
    "tools": [{"function": {"name": "f", "tags": ["t"]}}],
    "effort": "low",
    "empty": [],
}

USED = [
    # source, path, used, ops
    ("x", ("messages",), False, set()),
    ("{{ effort }}", ("effort",), True, set()),
    ("{% if effort %}{% endif %}", ("effort",), True, set()),
    ("{% if no and effort %}{% endif %}", ("effort",), False, set()),
    ("{{ effort|upper }}", ("effort",), True, {"upper"}),
    ("{{ effort|trim|d('x') }}", ("effort",), True, {"strip"}),
    ("{{ messages|count }}", ("messages",), True, {"length"}),
    ("{{ effort|nosuch }}", ("effort",), True, {"nosuch"}),
    ("{{ effort is string }}", ("effort",), True, {"is string"}),
    ("{{ effort is nosuch }}", ("effort",), True, set()),
    ("{{ effort.split('x') }}", ("effort",), True, {"split"}),
    ("{{ effort.split('x')[0]|upper }}", ("effort",), True, {"split"}),
    ("{{ effort[0] }}", ("effort",), True, {"array_access"}),
    ("{{ effort[1:] }}", ("effort",), True, {"slice"}),
    ("{{ effort['upper']() }}", ("effort",), True, {"upper", "object_access"}),
    ("{{ effort|safe|upper }}", ("effort",), True, {"safe", "upper"}),
    ("{% set e = effort %}{{ e|lower }}", ("effort",), True, {"lower"}),
    ("{{ (effort ~ '')|lower }}", ("effort",), True, set()),
    ("{{ messages[0].content }}", ("messages",), True, {"array_access"}),
    ("{{ messages[0].content }}", ("messages", 0), True, {"content", "object_access"}),
    ("{{ messages[0].content }}", ("messages", 0, "content"), True, set()),
    ("{{ messages[0].content }}", ("messages", 0, "role"), False, set()),
    ("{{ messages[0].content }}", ("messages", 1), False, set()),
    ("{{ messages[0]['content'] }}", ("messages", 0), True, {"object_access"}),
    ("{{ messages[0]['nosuch'] }}", ("messages", 0), True, {"nosuch", "object_access"}),
    ("{{ messages[0].get('content') }}", ("messages", 0), True, {"get"}),
    ("{{ messages[0].get('content') }}", ("messages", 0, "content"), False, set()),
    ("{% for m in messages %}{% endfor %}", ("messages",), True, {"array_access"}),
    ("{% for m in messages %}{% endfor %}", ("messages", 0), False, set()),
    ("{% for m in messages %}{{ m.role }}{% endfor %}", ("messages", 1, "role"), True, set()),
    ("{% for c in messages[0].content %}{% endfor %}", ("messages", 0, "content"), True, {"array_access"}),
    ("{% for k in tools[0].function %}{% endfor %}", ("tools", 0, "function"), True, {"array_access", "object_access"}),
    ("{{ messages|selectattr('role') }}", ("messages",), True, {"selectattr"}),
    ("{{ messages|selectattr('role') }}", ("messages", 0, "role"), False, set()),
    ("{{ effort|selectattr('x') }}", ("effort",), True, {"selectattr"}),
    ("{{ tools|tojson }}", ("tools", 0, "function", "tags", 0), True, set()),
    ("{{ tools|string }}", ("tools", 0, "function", "name"), True, set()),
    ("{{ '' ~ tools }}", ("tools", 0, "function", "name"), False, set()),
    ("{{ tojson(tools[0]) }}", ("tools", 0, "function", "name"), True, set()),
    ("{{ tojson(tools[0]) }}", ("messages",), False, set()),
    ("{{ empty|length }}", ("empty",), True, {"length"}),
    ("{% macro m(x) %}{{ x|upper }}{% endmacro %}{{ m(effort) }}", ("effort",), True, {"upper"}),
    (
        "{{ messages[1].tool_calls[0].function.arguments.a }}",
        ("messages", 1, "tool_calls", 0, "function", "arguments"),
        True,
        {"a", "object_access"},
    ),
]


@pytest.mark.parametrize(("source", "path", "used", "ops"), USED)
def test_usage_of_the_input(source: str, path: tuple[str | int, ...], used: bool, ops: set[str]) -> None:
    _, usage = compile_template(source).render_tracked(CHAT, NOW)
    stats = usage.of(*path)
    assert stats == Stats(used, frozenset(ops))


def test_usage_up_to_a_failure() -> None:
    result, usage = compile_template("{{ effort|upper }}{{ raise_exception('stop') }}{{ tools }}").render_tracked(
        CHAT, NOW
    )
    assert isinstance(result, RenderFailure)
    assert result.record == RenderError("refused", "stop", 1, 22)
    assert usage.of("effort").ops == {"upper"}
    assert not usage.of("tools").used


@pytest.mark.parametrize("path", [("nosuch",), ("messages", 9), ("messages", "x"), ("effort", "x"), ("count",), ()])
def test_usage_of_what_is_not_watched(path: tuple[str | int, ...]) -> None:
    _, usage = compile_template("x").render_tracked({**CHAT, "count": 5}, NOW)
    with pytest.raises(LookupError):
        usage.of(*path)


def test_usage_follows_what_a_template_moves() -> None:
    _, usage = compile_template("{% set m = messages.pop(0) %}{{ m.content }}").render_tracked(CHAT, NOW)
    assert usage.of("messages", 0, "role").used is False
    with pytest.raises(LookupError):
        usage.of("messages", 1)


# ------------------------------------------------------------------------------------------ real templates

CONVERSATION = {
    "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hé\n"},
        {"role": "assistant", "content": "<think>t</think>A", "reasoning_content": "t"},
        {"role": "user", "content": "Bye"},
    ],
    "bos_token": "<s>",
    "eos_token": "</s>",
    "add_generation_prompt": True,
}


def test_real_templates_compile_but_for_what_llamacpp_lacks() -> None:
    refused = {}
    for name, source in real_templates().items():
        try:
            compile_template(source)
        except RenderFailure as failure:
            refused[name] = failure.record
    assert {record.kind for record in refused.values()} == {"unsupported"}
    assert {record.message for record in refused.values()} == {"no statement 'raw'"}
    assert len(refused) < 5


def test_watching_changes_no_prompt() -> None:
    for name in every(5):
        program = _program(real_templates()[name])
        if program is None:
            continue
        try:
            plain: str | RenderError = program.render(CONVERSATION, NOW)
        except RenderFailure as failure:
            plain = failure.record
        watched, _ = program.render_tracked(CONVERSATION, NOW)
        assert (watched.record if isinstance(watched, RenderFailure) else watched) == plain, name


def test_mutants_fail_in_no_other_way() -> None:
    for source in mutants(20, 400):
        _outcome(source, CONVERSATION)


def _program(source: str) -> Program | None:
    try:
        return compile_template(source)
    except RenderFailure:
        return None


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(SNIPPETS).map(lambda entry: entry["source"]), min_size=2, max_size=3), st.data())
def test_spliced_snippets_fail_in_no_other_way(sources: list[str], data: st.DataObject) -> None:
    parts = [source[: data.draw(st.integers(0, len(source)))] for source in sources]
    _outcome("".join(parts) + sources[-1])


# ------------------------------------------------------------------------------------------ command line


def test_a_context_through_the_command_line(cli: InProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.json").write_text('{"xs": [1, "a"], "f": 48.8566141}', encoding="utf-8")
    Path("t.jinja").write_text("z{% if xs %}{{ xs }} {{ f|tojson }}{% endif %}\n", encoding="utf-8")
    ran = cli("render", "t.jinja", "--renderer", "llama.cpp", "--context", "c.json")
    assert (ran.code, ran.out, ran.err) == (0, "1a 48.8566", "")
    Path("t.jinja").write_text("{{ xs|sum }}", encoding="utf-8")
    ran = cli("render", "t.jinja", "--renderer", "llama.cpp", "--context", "c.json", "--output-format", "jsonl")
    error = json.loads(ran.out)["error"]
    assert error == {"kind": "unsupported", "message": "no filter 'sum' of a list", "line": 1, "column": 7}
