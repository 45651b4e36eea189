from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from templatelint import checks
from templatelint.data import folder
from templatelint.lint import Options, lint
from templatelint.model import Model, Origin, Report, Template, Tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence


CHATML = """{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
TOOLS = """{% if tools %}<|im_start|>system
{{ tools | tojson }}<|im_end|>
{% endif %}"""
CALL = "{% for c in m.tool_calls or [] %}<tool_call>\n{{ c.function | tojson }}\n</tool_call>\n{% endfor %}"
CALLS = CHATML.replace("{{ m.content }}", "{{ m.content }}" + CALL)
GOOD = TOOLS + CALLS


def _model(*sources: tuple[str, str]) -> Model:
    templates = tuple(Template(name, source, Origin(f"{name}.jinja", source)) for name, source in sources)
    return Model("model", "file", templates, Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True))


def _lint(source: str, **options: object) -> Report:
    return lint([_model(("default", source))], Options(engines=("transformers",), **options))  # type: ignore[arg-type] # by name


def _found(report: Report, *, least: Sequence[str] = ("error", "warning")) -> list[str]:
    return [f"{finding.severity} {finding.rule}" for finding in report.findings if finding.severity in least]


def test_a_template_that_loses_nothing_gets_no_finding_but_that_its_markers_can_be_forged() -> None:
    path = folder("corpus") / "templates" / "chatml-tools" / "chat_template.jinja"
    assert _found(_lint(path.read_text("utf-8")), least=("error", "warning", "note")) == ["note TL804"]


def test_no_sign_of_tools_is_one_warning_not_four_findings() -> None:
    assert _found(_lint(CHATML)) == ["warning TL201"]


def test_calls_without_definitions_are_an_error() -> None:
    assert _found(_lint(CALLS)) == ["error TL201"]


def test_needs_replace_what_the_template_suggests() -> None:
    assert _found(_lint(CHATML, needs=("chat", "tools"))) == ["error TL201"]
    assert _found(_lint(CHATML, needs=("chat",))) == []


def test_a_finding_is_hidden_only_behind_one_that_was_asked_for() -> None:
    least = ("error", "warning", "note")
    assert _found(_lint(CHATML, select=("TL201", "TL202")), least=least) == ["warning TL201"]
    assert _found(_lint(CHATML, select=("TL202",)), least=least) == ["note TL202"]
    assert _found(_lint(CHATML, select=("TL201", "TL202"), ignore=("TL201",)), least=least) == []


# template, what is told of it
CAUSES = [
    ("{{ 'Hello.' if messages }}", ["TL007"]),  # what is lost besides need not be said
    ("{{ strftime_now('%d') }}", ["TL007", "TL504"]),  # nor does it hide what has another cause
    ("{{ raise_exception('never') }}", ["TL113"]),  # nor need the same error be told twice
    (
        CHATML.replace("{% for m", "{% if not tools %}{{ raise_exception('tools!') }}{% endif %}{% for m", 1),
        ["TL113", "TL201"],
    ),
]


@pytest.mark.parametrize(("source", "told"), CAUSES, ids=lambda value: str(value)[:24])
def test_one_cause_is_one_finding(source: str, told: Sequence[str]) -> None:
    chosen = ("TL0", "TL1", "TL2", "TL3", "TL5")
    report = _lint(source, select=chosen, ignore=("TL005", "TL216", "TL301", "TL302", "TL208"))
    assert sorted({finding.rule for finding in report.findings}) == told


def test_ignore_wins_over_select() -> None:
    assert _found(_lint(CALLS, select=("TL2",), ignore=("tools-ignored",))) == []


def test_a_template_that_does_not_load_gets_its_one_finding_at_its_place() -> None:
    report = _lint("line one\n{% if %}\n")
    assert _found(report) == ["error TL001"]
    assert (report.findings[0].place.line, report.findings[0].place.column) == (2, 7)
    assert [gap.rule for gap in report.not_run] == ["TL801", "TL802", "TL803", "*"]


def test_a_model_without_a_template_is_told_so() -> None:
    report = lint([_model()], Options(engines=("transformers",)))
    assert _found(report) == ["error TL601"]


def test_the_tool_use_template_is_judged_by_the_requests_that_reach_it() -> None:
    report = lint([_model(("default", CHATML), ("tool_use", GOOD))], Options(engines=("transformers",)))
    assert _found(report) == []
    broken = lint([_model(("default", CHATML), ("tool_use", CALLS))], Options(engines=("transformers",)))
    assert [(finding.rule, finding.ref) for finding in broken.findings if finding.severity == "error"] == [
        ("TL201", "model#tool_use")
    ]


def test_a_template_that_no_engine_chooses_is_only_loaded() -> None:
    report = lint([_model(("default", GOOD), ("rag", "{{ 1 }}"))], Options(engines=("transformers",)))
    assert _found(report) == []
    broken = lint([_model(("default", GOOD), ("rag", "{{"))], Options(engines=("transformers",)))
    assert _found(broken) == ["error TL001"]


def test_engines_that_are_not_modelled_are_named_not_guessed() -> None:
    report = lint([_model(("default", GOOD))], Options())
    named = {gap.why.split(":")[0] for gap in report.not_run}
    assert named.isdisjoint(engine.name for engine in report.engines)


def test_typed_content_is_a_demand_and_everything_else_is_still_judged() -> None:
    source = GOOD.replace("{{ m.content }}", "{% if m.role == 'tool' %}{{ m.content }}{% endif %}PARTS")
    parts = "{% if m.content is not string %}{% for part in m.content or [] %}{{ part.text }}{% endfor %}{% endif %}"
    assert _found(_lint(source.replace("PARTS", parts))) == ["error TL305"]
    lost = _lint(source.replace("PARTS", parts.replace("m.content or", "(m.content if m.role != 'system') or")))
    assert _found(lost) == ["error TL101", "error TL305"]
    assert {case for case, _ in lost.findings[0].evidence} >= {"chat-system+typed"}


def test_short_ids_are_a_contract_and_everything_else_is_still_judged() -> None:
    guard = (
        "{% for c in m.tool_calls or [] %}"
        "{% if c.id | length != 9 %}{{ raise_exception('nine') }}{% endif %}"
        "{% endfor %}"
    )
    kept = _lint(GOOD.replace("{{ m.content }}", guard + "{{ m.content }}"))
    assert _found(kept) == []
    assert "note TL209" in _found(kept, least=("note",))
    lost = _lint((TOOLS + CHATML).replace("{{ m.content }}", guard + "{{ m.content }}"))
    assert _found(lost) == ["error TL202"]
    assert {case for case, _ in lost.findings[0].evidence} == {
        "tool-call-empty+shortids",
        "tool-call-text+shortids",
        "tool-call+shortids",
    }


def test_a_crashed_rule_is_a_gap_not_a_clean_file(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        CASES = ("chat-basic",)

        @staticmethod
        def check(_: object) -> list[object]:
            raise ZeroDivisionError("by nobody")

    load = checks.load
    monkeypatch.setattr(checks, "load", lambda name: Broken if name == "system-dropped" else load(name))
    report = _lint(GOOD, select=("TL101",))
    why = "transformers: the rule crashed: ZeroDivisionError: by nobody"
    assert [(gap.why, gap.no_answer) for gap in report.not_run] == [(why, True)]


# an assistant's turn raises where `reasoning_content` is not there, and llama.cpp alone reads on
NO_TURNS = CHATML.replace(
    "{{ m.content }}", "{{ m.content.split('</think>')[1] if m.role == 'assistant' else m.content }}"
)
# parts of a result are printed as data: a caller's choice with transformers, with llama.cpp what it hands over
PARTS = "{{ m.content if m.content is string else m.content | tojson if m.role == 'tool' else m.content[0].text }}"
LISTED = GOOD.replace("{{ m.content }}", PARTS)


@pytest.mark.parametrize(
    ("source", "rule", "names", "severity"),
    [
        (LISTED, "TL303", ("llama.cpp",), "error"),
        (LISTED, "TL303", ("llama.cpp", "transformers"), "error"),
        (LISTED, "TL303", ("transformers", "llama.cpp"), "error"),
        (LISTED, "TL303", ("transformers",), "note"),
        (LISTED, "TL303", (), "warning"),
        (NO_TURNS, "TL109", (), "error"),
    ],
)
def test_a_finding_weighs_as_much_as_where_it_weighs_most(
    source: str, rule: str, names: tuple[str, ...], severity: str
) -> None:
    found = lint([_model(("default", source))], Options(engines=names, jobs=1)).findings
    assert {finding.severity for finding in found if finding.rule == rule} == {severity}


def test_workers_find_what_one_process_finds() -> None:
    models = [_model(("default", source)) for source in (GOOD, CHATML, CALLS, "{{")]
    alone = lint(models, Options(engines=("transformers",), jobs=1))
    told: list[tuple[int, int]] = []
    shared = lint(models, Options(engines=("transformers",), jobs=2), lambda done, total: told.append((done, total)))
    assert shared == alone
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_fingerprints_hold_no_line_number() -> None:
    moved = _lint("{# a comment -#}\n\n" + CALLS)
    assert [f.fingerprint for f in moved.findings] == [f.fingerprint for f in _lint(CALLS).findings]


def test_named_templates_without_a_default_leave_plain_chat_without_a_template() -> None:
    report = lint([_model(("rag", GOOD), ("tool_use", GOOD))], Options(engines=("transformers",)))
    assert _found(report) == ["error TL601"]
    assert "rag, tool_use" in report.findings[0].message


def test_unknown_functions_that_no_case_reaches_are_one_finding_in_the_order_of_the_text() -> None:
    report = _lint("{{ b() }}{{ a() }}{{ d() }}{{ c() }}{{ e() }}")
    assert [f.message for f in report.findings if "'a', 'd', 'c' and others are called" in f.message]


def test_output_below_the_cap_of_a_cell_still_has_an_end() -> None:
    report = _lint(GOOD + "{{ 'ab ' * 1000000 }}")
    assert "error TL805" in _found(report)


@pytest.mark.parametrize(
    "source", ["", "  \n", "{{ raise_exception('never') }}", "{{ " + "(" * 5000 + "1" + ")" * 5000 + " }}"]
)
def test_what_is_dead_on_every_engine_is_an_error_whatever_the_rule(source: str) -> None:
    report = lint([_model(("default", source))], Options())
    assert [found for found in _found(report) if found.startswith("error")]


def test_a_loss_on_every_engine_is_an_error_also_where_its_cases_differ() -> None:
    cut = GOOD.replace("{{ m.content }}", "{{ m.content[:30] if m.role == 'tool' else m.content }}")
    report = lint([_model(("default", cut))], Options())
    assert "error TL203" in _found(report)


def test_the_template_for_tools_is_not_tried_without_tools() -> None:
    strict = "{{ tools | tojson }}" + CALLS
    options = Options(engines=("llama.cpp",), ignore=("TL215",))  # nothing reads a dump of the calls back
    report = lint([_model(("default", CHATML), ("tool_use", strict))], options)
    assert _found(report) == []


def test_many_lacking_constructs_are_one_finding() -> None:
    source = GOOD + "{% if nothing %}" + "".join(f"{{{{ 'x' | lacking{n} }}}}" for n in range(300)) + "{% endif %}"
    report = _lint(source)
    assert [finding.rule for finding in report.findings if finding.severity == "warning"] == ["TL002"]
    assert "and 297 more" in report.findings[0].message


@pytest.mark.parametrize("engine", ["mlx-lm", "llama-cpp-python", "mistral.rs", "tgi"])
def test_an_engine_that_always_asks_for_the_cue_is_not_blamed_on_the_template(engine: str) -> None:
    open_thought = TOOLS + CALLS.replace(
        "<|im_start|>assistant\n{% endif %}", "<|im_start|>assistant\n<think>\n{% endif %}"
    )
    assert "<think>" in open_thought
    report = lint([_model(("default", open_thought))], Options(engines=(engine,), select=("TL501", "TL503")))
    assert not report.findings
    assert {gap.rule for gap in report.not_run} == {"TL501", "TL503"}


@pytest.mark.parametrize("engine", ["mlx-lm", "llama-cpp-python", "mistral.rs", "tgi"])
def test_what_refuses_all_chat_is_told_where_the_cue_cannot_be_left_out(engine: str) -> None:
    report = lint([_model(("default", "{{ raise_exception('never') }}"))], Options(engines=(engine,)))
    assert "error TL113" in _found(report)


def test_a_fault_of_one_among_all_engines_is_a_warning() -> None:
    lost_on_llama_cpp = (
        "{% for m in messages %}{% if m.role == 'system' %}{{ m.content }}{% continue %}{% endif %}"
        "<{{ m.role }}>{{ m.content }}</s>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"
    )
    for engines, expected in ((("all",), "warning"), (("llama.cpp",), "error")):
        report = lint([_model(("default", lost_on_llama_cpp))], Options(engines=engines, select=("TL101",)))
        assert {finding.severity for finding in report.findings} == {expected}


@pytest.mark.parametrize(
    ("source", "needs"),
    [
        ("{% if tools %}{{ nothing() }}{% endif %}" + CHATML, {"tools"}),
        ("{% if messages[0].role == 'system' %}{{ nothing() }}{% endif %}" + CHATML, {"system"}),
        ("{{ nothing() }}" + CHATML, {"chat"}),
    ],
)
def test_a_finding_tells_the_need_that_it_befalls(source: str, needs: set[str]) -> None:
    """A name that no engine defines is a matter of chat; where it is called beside tools alone, plain chat goes on."""
    (found,) = _lint(source, select=("TL003",)).findings
    assert {effect.need for effect in found.effects} == needs
    assert {effect.impact for effect in found.effects} == {"breaks"}
