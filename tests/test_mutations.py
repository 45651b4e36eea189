from __future__ import annotations

import sys
from pathlib import Path

import pytest

from templatelint import cards

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

from mutations.run import Verdict, judge, mutant_of, source_of
from mutations.table import HARMFUL, HARMLESS, MUTATIONS, RELIED_ON, TEMPLATES, Mutation

_QWEN, _HERMES = "Qwen-Qwen2.5-7B-Instruct", "NousResearch-Hermes-3-Llama-3.1-8B"
_BY_KIND = {mutation.kind: mutation for mutation in MUTATIONS}


def test_the_table_is_as_large_as_it_claims() -> None:
    assert len(HARMFUL) >= 25
    assert len(HARMLESS) >= 8
    assert len(set(TEMPLATES)) == len(TEMPLATES) >= 10
    assert len(_BY_KIND) == len(MUTATIONS)
    assert RELIED_ON.keys() <= {mutation.kind for mutation in HARMFUL}


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.kind)
def test_every_mutation_fits_a_template_and_names_rules_that_there_are(mutation: Mutation) -> None:
    assert any(edit(source_of(name)) not in (None, source_of(name)) for name in TEMPLATES for edit in mutation.edits)
    assert (mutation.claim is None) == (mutation in HARMLESS)
    assert bool(mutation.rules) == (mutation in HARMFUL)
    # TL6 is about tokenizers, which a template file does not come with
    assert set(mutation.rules) <= {*cards.all_cards(), "TL602", "TL604"}


@pytest.mark.parametrize(
    ("template", "kind", "verdict", "rule"),
    [
        (_QWEN, "tools-lost-with-system", "caught", "TL201"),
        (_QWEN, "second-call-dropped", "caught", "TL207"),
        (_QWEN, "call-key-altered", "caught", "TL214"),
        (_QWEN, "results-untagged", "caught", "TL203"),
        (_QWEN, "cue-lost-after-results", "caught", "TL501"),
        (_HERMES, "terminator-lost", "caught", "TL112"),
        ("google-gemma-2-2b-it", "bos-doubled", "caught", "TL112"),
        (_QWEN, "quotes-swapped", "silent", None),
        (_HERMES, "comment-in-loop", "silent", None),
    ],
)
def test_mutants_are_told_by_the_rule_that_is_there_for_them(
    template: str, kind: str, verdict: Verdict, rule: str | None
) -> None:
    pytest.importorskip("transformers", reason="mutants are held against real transformers")
    mutant = mutant_of(template, _BY_KIND[kind])
    assert mutant is not None
    judged = judge(mutant, ("templatelint",))
    assert judged.verdicts == {"templatelint": verdict}
    assert rule is None or rule in judged.rules["templatelint"]


def test_an_edit_that_does_not_do_what_is_claimed_makes_no_mutant() -> None:
    pytest.importorskip("transformers", reason="mutants are held against real transformers")
    assert mutant_of(_HERMES, _BY_KIND["second-call-dropped"]) is None
