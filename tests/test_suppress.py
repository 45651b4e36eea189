from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from reports_by_hand import finding, report, whole

from templatelint import cards
from templatelint import ignores as ignores_module
from templatelint.checks import suppression_misplaced
from templatelint.engines import running
from templatelint.ignores import ignores
from templatelint.lint import Options, lint
from templatelint.matrix import Matrix
from templatelint.model import Model, NotRun, Origin, Place, Report, Template, TemplateUse
from templatelint.sources import resolve
from templatelint.suppress import accepting
from templatelint.suppress.per_file import PerFileIgnore
from templatelint.suppress.scope import Scope
from templatelint.view import View

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from templatelint.model import Finding

IGNORE = "{# templatelint: ignore[TL201] no tools here #}"
TIGHT = "{#- templatelint: ignore[TL201] no tools here -#}"
EVERY = frozenset(cards.all_cards())
LOOP = "{%- for m in messages %}{{ m.content }}{% endfor %}\n"


# --------------------------------------------------------------------------------------- what a comment says


@pytest.mark.parametrize(
    ("source", "rules", "reason"),
    [
        (IGNORE + "\nx", ("TL201",), "no tools here"),
        (TIGHT + "\nx", ("TL201",), "no tools here"),
        ("{# templatelint: ignore[TL201,] a #}\nx", ("TL201",), "a"),
        ("{#templatelint:ignore[tools-ignored,TL101]a#}\nx", ("TL201", "TL101"), "a"),
        ("{# templatelint: ignore[ TL201 , TL201 ] two\n   lines #}\nx", ("TL201",), "two lines"),
        ("  \t" + IGNORE + "\r\nx", ("TL201",), "no tools here"),
        ("\ufeff" + IGNORE + "\nx", ("TL201",), "no tools here"),
        ("{% if x %}\n" + IGNORE + "\n{% endif %}", ("TL201",), "no tools here"),
        ("{#- templatelint: ignore[TL201] [JIRA-12] no tools -#} \t\n{{ x }}", ("TL201",), "[JIRA-12] no tools"),
    ],
)
def test_a_comment_names_rules_and_a_reason(source: str, rules: tuple[str, ...], reason: str) -> None:
    (comment,) = ignores(source)
    assert (comment.rules, comment.reason) == (rules, reason)
    assert [problem for problem in comment.problems if not problem.untrimmed] == []


@pytest.mark.parametrize(
    "source",
    [
        "{{ '" + IGNORE + "' }}",
        "{% raw %}\n" + IGNORE + "\n{% endraw %}",
        "{# templatelint is a linter #}\nx",
        "{# see templatelint: it ignores[TL201] #}\nx",
        "{# Templatelint: a linter #}\nx",
        "{# templatelint ignores what it does not know #}\nx",
        "templatelint: ignore[TL201] text",
        "{% broken '" + IGNORE,
        "{# templatelint: ignore[TL201] open",
        "",
    ],
)
def test_what_is_no_comment_for_us(source: str) -> None:
    assert ignores(source) == ()


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        ("a " + IGNORE + "\nb", ["beside"]),
        (IGNORE + " b\n", ["beside"]),
        ("{{ a }}" + IGNORE + "{{ b }}", ["beside"]),
        ("{# templatelint: ignore TL201 x #}\nb", ["rules"]),
        ("{# templatelint: ignore[] x #}\nb", ["rules"]),
        ("{# templatelint: ignore[TL201] #}\nb", ["reason"]),
        ("{# templatelint: ignor[TL201] x #}\nb", ["word"]),
        ("{# templatelint: ignore[TL201] -- … #}\nb", ["reason"]),
        ("{# templatelint: ignore[TL201][TL101, TL102] x #}\nb", ["bracket"]),
        ("{# TemplateLint: ignore[TL201] x #}\nb", ["name"]),
        ("{# templatelint ignore[TL201] x #}\nb", ["colon"]),
        ("{#- TEMPLATELINT-ignore [TL201] x #}\nb", ["colon"]),
        ("{#- templatelint: ignore[TL101 tools-ignored] x -#}\n{{ b }}", ["unknown TL101 tools-ignored"]),
        # blanks behind it, where nothing takes them
        ("a\n" + IGNORE + "  \nb", ["blanks"]),
        (IGNORE + " \t\n" + LOOP, []),
        ("{%- set a = 1 -%}\n" + TIGHT + "  \r\nb", []),
        ("{#- templatelint: ignore[TL2O1] x -#}\n{{ b }}", ["unknown TL2O1"]),
        ("{#- templatelint: ignore[TL2] x -#}\n{{ b }}", ["unknown TL2"]),
        # the newline in front of it would be the last one, which engines drop
        ("a\n" + IGNORE, ["prompt"]),
        ("a\n" + IGNORE + "\n", ["prompt"]),
        # white space of the text goes
        ("a\n" + TIGHT + "\nb", ["prompt"]),
        # a line of its own leaves nothing with trim_blocks, and its end without
        ("a\n" + IGNORE + "\nb", ["line end"]),
        (IGNORE + "\n" + LOOP, []),
        (TIGHT + "\n" + LOOP, []),
        ("{%- set a = 1 -%}\n" + IGNORE + "\nb", ["line end"]),
        # one that leaves the line end
        ("a\n{#+ templatelint: ignore[TL201] x +#}\nb", ["prompt"]),
        ("{%- set a = 1 -%}\n" + TIGHT + "\nb", []),
        # what the tag would take
        ("a\n" + IGNORE + "\n{%- if b %}c{% endif %}", ["prompt"]),
        ("a\n" + TIGHT + "\n{%- if b %}c{% endif %}", []),
    ],
)
def test_what_is_wrong_with_a_comment(source: str, kinds: list[str]) -> None:
    (comment,) = ignores(source)
    assert [problem.kind for problem in comment.problems] == kinds
    assert all(problem.help for problem in comment.problems)


@pytest.mark.parametrize(
    ("rules", "cure"),
    [
        ("tools-ignord", "did you mean tools-ignored?"),
        ("TL2", "name each rule in full, with commas: TL201, TL202"),
        ("tl20", "name each rule in full, with commas: TL201, TL202"),
        ("TL101 TL201", "separate them with commas"),
        ("T", "templatelint rule lists them"),
    ],
)
def test_the_rule_that_is_meant_is_named(rules: str, cure: str) -> None:
    (comment,) = ignores("{#- templatelint: ignore[" + rules + "] x -#}\n{{ b }}")
    assert [problem.help for problem in comment.problems] == [cure]


@pytest.mark.parametrize(
    ("below", "last"),
    [
        ("{{ b }}\n{{ c }}", 3),
        ("{%- if b\n   and c %}\n{{ d }}", 4),
        ("\n  \n{# more\n #}\n{{ b\n}}", 8),
        # tags that share a line hang together: no comment can stand between them
        ("{{ b\n}}{{ c\n}}\n{{ d }}", 5),
        ("text\n{{ b }}", 3),
        ("{{ b\r\n}}\r\n{{ c }}", 4),
        ("{{ b", 3),
        ("", 3),
    ],
)
def test_the_line_below_is_all_of_the_tag_that_begins_there(below: str, last: int) -> None:
    (comment,) = ignores(f"{{{{ a }}}}\n{IGNORE}\n{below}")
    assert (comment.line, comment.first, comment.last) == (2, 3, last)


@pytest.mark.parametrize(("line", "place"), [(1, 1), (2, 2), (3, 2), (4, 2), (5, 2), (6, 6), (7, 7), (8, 7), (99, 99)])
def test_a_comment_is_never_to_be_put_into_a_tag(line: int, place: int) -> None:
    assert ignores_module.above("a\n{{ b\n}}{{ c\n\n}}\nd\n{# e\n#}\n", line) == place


def test_rules_about_security_are_not_excused_by_the_template() -> None:
    (comment,) = ignores("{#- templatelint: ignore[TL801, TL201, hidden-text] known -#}\n{{ x }}")
    assert comment.rules == ("TL201",)
    assert [problem.kind for problem in comment.problems] == ["security TL801", "security TL803"]


def test_comments_that_stand_above_each_other_mean_the_line_below_them() -> None:
    found = ignores(f"{{{{ a }}}}\n{IGNORE}\n{IGNORE}\n\n{IGNORE}\n{{{{ b }}}}\n")
    assert [(one.line, one.first, one.last, one.head) for one in found] == [
        (2, 3, 6, False),
        (3, 4, 6, False),
        (5, 6, 6, False),
    ]


def test_the_head_is_what_only_comments_are_in_front_of() -> None:
    found = ignores(f"\ufeff{{# about #}}\n{IGNORE}\n\n{IGNORE}\n{{{{ a }}}}\n{IGNORE}\n{{{{ b }}}}")
    assert [one.head for one in found] == [True, True, False]


@pytest.mark.parametrize(
    "comment", ["ignore[TL9%d] x", "ignore[%d] x", "ignor%d[TL201] x", "ignore[TL201%s] x" % (",x%d" * 9)]
)
def test_of_many_faulty_comments_the_first_are_told(comment: str) -> None:
    lines = ["{#- templatelint: " + comment.replace("%d", str(number)) + " -#}\n" for number in range(3_000)]
    *faults, more = suppression_misplaced.check(_view("transformers", "".join(lines) + "{{ x }}"))
    assert len(faults) == 20
    assert faults[0].help
    every = 3_000 * (9 if "x%d" in comment else 1)
    assert more.message == f"{every - 20:,} more faults of ignore comments are not told one by one"


def test_many_comments_take_no_longer_than_some() -> None:
    found = ignores((IGNORE + "\n") * 3_000 + "x")
    assert (len(found), found[0].last) == (3_000, 3_001)


# ---------------------------------------------------------------------------------- TL011, engine by engine


def _view(engine: str, source: str, **changes: Any) -> View:
    (used,) = running((engine,))
    template = Template("default", source, changes.pop("origin", Origin("a.jinja", source)))
    return View.of(used, Model("a.jinja", "file", (template,), **changes), template, Matrix({}, {}, {}), {})


@pytest.mark.parametrize(("engine", "found"), [("transformers", 0), ("llama.cpp", 0), ("tgi", 1)])
def test_a_line_end_stays_on_engines_that_do_not_trim(engine: str, found: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("templatelint.renderers.minijinja.missing", lambda: None)
    faults = list(suppression_misplaced.check(_view(engine, "a\n" + IGNORE + "\nb")))
    assert len(faults) == found


@pytest.mark.parametrize(
    "changes",
    [
        {"local": False},
        {"origin": Origin("tokenizer_config.json", "{}", 0, escaped=True)},
        {"origin": Origin("m.gguf", "", 0, locatable=False)},
    ],
)
def test_comments_of_others_are_told_not_to_count(changes: dict[str, Any]) -> None:
    view = _view("transformers", IGNORE + "\n" + LOOP, **changes)
    (fault,) = suppression_misplaced.check(view)
    assert (fault.cause, fault.impact) == ("foreign", "informs")


def test_equal_comments_are_two_findings() -> None:
    faults = list(suppression_misplaced.check(_view("transformers", f"a {IGNORE}\nb {IGNORE}\n")))
    assert len({fault.cause for fault in faults}) == 2


# ------------------------------------------------------------------------------------------- what is accepted


def _model(source: str, path: str = "m.jinja", **changes: Any) -> Model:
    return Model(path, "file", (Template("default", source, Origin(path, source)),), **changes)


def _applied(
    judged: Report, models: Sequence[Model] = (), per_file: Sequence[PerFileIgnore] = (), **changes: Any
) -> Report:
    scope: dict[str, Any] = {"report": judged, "rules": EVERY}
    return accepting.applied(
        judged, models, per_file, Scope(**{**scope, "whole": True, "weight": "warning", **changes})
    )


def _at(line: int, **changes: Any) -> Finding:
    return finding(**{"excerpt_line": line, "place": Place("m.jinja", line, 1), **changes})


BELOW = "{{ a }}\n{#- templatelint: ignore[TL201] known -#}\n{{ b }}\n{{ c }}\n"
HEAD = "{#- templatelint: ignore[TL201] known -#}\n{{ b }}\n{{ c }}\n"


@pytest.mark.parametrize(
    ("source", "found", "accepted"),
    [
        (BELOW, _at(3), True),
        (BELOW, _at(4), False),
        (BELOW, _at(1), False),
        (BELOW, whole(), True),
        (BELOW, _at(3, rule="TL101"), False),
        (BELOW, _at(3, ref="m.jinja#other"), False),
        (HEAD, _at(3), True),
        (HEAD, whole(), True),
        ("{{ a }} " + IGNORE + "\n{{ b }}", _at(2), False),
    ],
)
def test_what_a_comment_accepts(source: str, found: Finding, accepted: bool) -> None:
    after = _applied(report(found), [_model(source)])
    assert [row.finding for row in after.suppressed] == ([found] if accepted else [])
    assert (found in after.findings) is not accepted


def test_a_suppressed_finding_says_by_what_and_where() -> None:
    (row,) = _applied(report(_at(3)), [_model(BELOW)]).suppressed
    assert (row.kind, row.reason, row.place) == ("comment", "known", Place("m.jinja", 2, 1))


def test_comments_of_others_accept_nothing() -> None:
    after = _applied(report(whole()), [_model(HEAD, local=False)])
    assert (after.suppressed, len(after.findings)) == ((), 1)


UNUSED = ["TL010"]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, UNUSED),
        ({"rules": EVERY - {"TL010"}}, []),
        ({"rules": EVERY - {"TL201"}}, []),
        # what would hide it is judged and not told
        ({"rules": EVERY - {"TL001"}, "silenced": frozenset({"TL001"})}, []),
        ({"rules": EVERY - {"TL001"}}, UNUSED),
        ({"whole": False}, []),
        ({"report": report(not_run=(NotRun("TL201", "m.jinja", "transformers: over budget (chat-basic)"),))}, []),
        ({"report": report(not_run=(NotRun("*", "m.jinja", "transformers: does not load the template"),))}, []),
        (
            {"report": report(not_run=(NotRun("TL201", "other.jinja", "transformers: over budget (chat-basic)"),))},
            UNUSED,
        ),
    ],
)
def test_a_comment_that_accepts_nothing_is_told_where_it_was_judged(changes: dict[str, Any], told: list[str]) -> None:
    after = _applied(report(), [_model(HEAD)], **changes)
    assert [found.rule for found in after.findings] == told


def test_a_comment_in_the_wrong_place_is_told_the_right_one() -> None:
    told = _applied(report(_at(4)), [_model(BELOW)]).findings[-1]
    assert (
        told.message
        == "the comment ignores TL201 (tools-ignored), which finds something in line 4, not in the line below"
    )
    assert told.help == "move it above line 4 or to the head of the file"


def test_a_finding_within_a_tag_is_accepted_above_it() -> None:
    source = "{{ a }}\n{#- templatelint: ignore[TL201] known -#}\n{{ b\n | c }}\n{{ d\n | e }}"
    assert _applied(report(_at(4)), [_model(source)]).findings == ()
    found, told = _applied(report(_at(6)), [_model(source)]).findings
    assert {found.rule, told.rule} == {"TL201", "TL010"}
    (idle,) = [one for one in (found, told) if one.rule == "TL010"]
    assert "finds something in line 6" in idle.message
    assert idle.help == "move it above line 5 or to the head of the file"


def test_what_a_larger_lack_hides_is_not_unused() -> None:
    larger = whole(rule="TL001", name="template-does-not-load")
    source = HEAD.replace("TL201", "TL202")
    assert _applied(report(larger), [_model(source)]).findings == (larger,)


def test_an_unused_comment_is_pointed_at_among_the_findings_of_its_template() -> None:
    error, note = _at(1, rule="TL101"), _at(1, rule="TL202", severity="note")
    other = whole(ref="z.jinja", rule="TL101")
    after = _applied(report(error, note, other), [_model(BELOW)])
    assert [found.rule for found in after.findings] == ["TL101", "TL010", "TL202", "TL101"]
    told = after.findings[1]
    assert (told.severity, told.place, told.excerpt) == ("warning", Place("m.jinja", 2, 1), BELOW.splitlines()[1])


@pytest.mark.parametrize(("above", "rules"), [("TL010", []), ("TL101", ["TL010", "TL010"])])
def test_that_a_comment_is_unused_can_be_accepted(above: str, rules: list[str]) -> None:
    source = (
        "{{ a }}\n{#- templatelint: ignore[" + above + "] known -#}\n{#- templatelint: ignore[TL201] known -#}\n{{ b }}"
    )
    after = _applied(report(), [_model(source)])
    assert [found.rule for found in after.findings] == rules


def test_a_comment_that_accepts_that_others_are_unused_may_be_unused() -> None:
    after = _applied(report(), [_model(HEAD.replace("TL201", "TL010"))])
    assert [found.rule for found in after.findings] == ["TL010"]


# ------------------------------------------------------------------------------------------- per-file ignores


def _entry(folder: Path, pattern: str, *words: str) -> PerFileIgnore:
    text = f'[per-file-ignores]\n"{pattern}" = {{}}\n'
    rules = tuple((word, cards.select(word)) for word in words)
    return PerFileIgnore(pattern, rules, "old files", "templatelint.toml", folder, text)


@pytest.mark.parametrize(
    ("pattern", "words", "accepted"),
    [
        ("legacy/*.jinja", ["TL201"], True),
        ("legacy", ["TL2"], True),
        ("m.jinja", ["tools-ignored"], True),
        ("legacy/n.jinja", ["TL201"], False),
        ("legacy/*.jinja", ["TL101"], False),
    ],
)
def test_what_an_entry_accepts(folder: Path, pattern: str, words: list[str], accepted: bool) -> None:
    found = finding(place=Place("legacy/m.jinja", 3, 8), ref="legacy/m.jinja")
    after = _applied(report(found), per_file=[_entry(folder, pattern, *words)], rules=frozenset())
    assert [(row.kind, row.reason) for row in after.suppressed] == ([("per-file", "old files")] if accepted else [])


@pytest.mark.parametrize(
    ("on_disk", "judged", "told"),
    [
        ("m.jinja", "m.jinja", UNUSED),
        ("m.jinja readme.md", "m.jinja", UNUSED),
        ("m.jinja n.jinja", "m.jinja", []),
        ("m.jinja n.jinja", "m.jinja n.jinja", UNUSED),
        ("m.jinja", "", []),
    ],
)
def test_an_entry_is_unused_when_all_it_means_took_part(
    folder: Path, on_disk: str, judged: str, told: list[str]
) -> None:
    (folder / "legacy").mkdir()
    for name in on_disk.split():
        (folder / "legacy" / name).touch()
    uses = tuple(TemplateUse(f"legacy/{name}", "default", f"legacy/{name}", "") for name in judged.split())
    after = _applied(report(templates=uses), per_file=[_entry(folder, "legacy/*", "TL201")])
    assert [found.rule for found in after.findings] == told
    assert all(found.place == Place("templatelint.toml", 2, 1) for found in after.findings)


@pytest.mark.parametrize(
    ("pattern", "told"),
    [
        ("legacy/*", False),
        ("./legacy/**/*.jinja", False),
        ("old/*", True),
        ("*.j2", True),
        ("{legacy,old}/*", True),
        ("legacy/m.jinja/x", True),
    ],
)
def test_a_pattern_that_means_no_file_is_told(folder: Path, pattern: str, told: bool) -> None:
    (folder / "legacy").mkdir()
    (folder / "legacy" / "m.jinja").touch()
    after = _applied(report(), per_file=[_entry(folder, pattern, "TL201", "TL101")])
    assert [found.message for found in after.findings] == (
        [f'per-file-ignores of "{pattern}" mean no file that is there'] if told else []
    )
    assert all("braces" in found.help for found in after.findings if "{" in pattern)


# --------------------------------------------------------------------------------- fingerprints, which they rest on


def test_a_fingerprint_outlives_edits_elsewhere_and_tells_findings_apart(folder: Path) -> None:
    source = (folder / "deaf.jinja").read_text(encoding="utf-8")
    (folder / "later.jinja").write_text("{#- some\nlines -#}\n" + source, encoding="utf-8")
    options = Options(engines=("transformers",))
    before, after = (lint([resolve(name)], options).findings for name in ("deaf.jinja", "later.jinja"))
    assert [found.fingerprint for found in before] == [found.fingerprint for found in after]
    assert len({found.fingerprint for found in before}) == len(before) > 2
    assert {found.place.line for found in before} != {found.place.line for found in after}
