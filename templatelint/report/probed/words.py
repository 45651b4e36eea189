"""Results → the sentences that every format tells: the answer, the counts, why a clause matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import cards
from templatelint.model import SEVERITIES
from templatelint.probe.verdict import WORDS
from templatelint.report.rule_page import section

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from templatelint.probe import Probed
    from templatelint.probe.verdict import Result, Word
    from templatelint.report.probed import Run

TOLD: Mapping[Word, str] = {
    "fail": "broken",
    "inconclusive": "inconclusive",
    "warn": "unusual",
    "pass": "kept",
    "skip": "skipped",
}
"""What people are told of a verdict, where it stands behind a number."""


def answer(run: Run) -> str:
    """What came of it: one sentence."""
    if not run.probed:
        return run.trouble or f"{run.url}: no model was probed"
    if len(run.probed) == 1:
        return of_one(run.probed[0])
    faulty = [one for one in run.probed if one.summary["fail"]]
    models = len(run.probed)
    if faulty:
        verb = "breaks" if len(faulty) == 1 else "break"
        return f"{run.url}: {len(faulty)} of {models} models {verb} clauses of the contract"
    unjudged = [one for one in run.probed if one.broken_off or one.summary["inconclusive"]]
    rest = f", {len(unjudged)} could not be judged in full" if unjudged else ""
    return f"{run.url}: none of {models} models breaks a clause{rest}"


def of_one(probed: Probed) -> str:
    """What came of one model."""
    count = probed.summary
    judged = sum(count[word] for word in WORDS if word != "skip")
    what = f" ({_what(probed)})" if _what(probed) else ""
    if not judged:
        made = {0: "no check was made", 1: "the one check was skipped"}
        skipped = made.get(count["skip"], f"all {count['skip']} checks were skipped")
        said = f": nothing was judged{what}: {skipped}"
    elif count["fail"]:
        verb = "clause is" if judged == 1 else "clauses are" if count["fail"] != 1 else "clauses is"
        said = f": {count['fail']} of {judged} {verb} broken{what}"
    elif count["inconclusive"]:
        were = "was" if count["inconclusive"] == 1 else "were"
        said = f": no clause is broken{what}, but {count['inconclusive']} of {judged} {were} inconclusive"
    else:
        said = f" keeps all {judged} clauses that were checked{what}" if judged > 1 else f" keeps its clause{what}"
    if probed.broken_off:
        said += f"; broken off: {probed.broken_off.removeprefix(f'{probed.url}: ')}"
    return f"{probed.url}{said}"


def _what(probed: Probed) -> str:
    """What server it is, and what model."""
    served = probed.served
    model = f"{'scripted ' if probed.scripted else ''}model {probed.model}" if probed.model else ""
    return ", ".join(filter(None, (f"{served.kind} {served.version}".strip(), model)))


def counts(results: Iterable[Result]) -> list[tuple[Word, int]]:
    """How many checks ended with each verdict, those left out that none ended with."""
    words = [result.verdict.word for result in results]
    return [(word, words.count(word)) for word in WORDS if word in words]


def ranked(results: Sequence[Result], word: Word) -> list[Result]:
    """Those that ended so, the most severe first."""
    found = [result for result in results if result.verdict.word == word]
    return sorted(found, key=lambda result: SEVERITIES.index(result.severity))


def why(result: Result) -> str:
    """Why the clause matters to a client; empty where its card does not say."""
    return section(cards.clause(result.id).prose, "Why it matters").partition("\n\n")[0]
