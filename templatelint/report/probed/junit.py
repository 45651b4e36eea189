"""What probing gave → JUnit XML: a suite a model, a case a check; a broken clause is a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.report.junit_xml import TOOL, Case, Suite, document
from templatelint.report.probed import exchanges, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.probe.verdict import Result, Word
    from templatelint.report.junit_xml import Outcome
    from templatelint.report.probed import Look, Run

_OUTCOMES: Mapping[Word, Outcome] = {
    "fail": "failure",
    "inconclusive": "error",
    "warn": "passed",
    "pass": "passed",
    "skip": "skipped",
}
_RAW = 20_000  # characters of a request or an answer


def write(run: Run, look: Look) -> Iterator[str]:
    """The document; what ended the run before its time is an error of its own."""
    del look
    suites = []
    for probed in run.probed:
        suite = Suite(f"{probed.url} {probed.model}".strip(), cases=[_case(result) for result in probed.results])
        if probed.broken_off:
            suite.cases.append(Case("run", "error", "broken-off", probed.broken_off, probed.broken_off))
        suites.append(suite)
    if run.trouble:
        suites.append(Suite(run.url, cases=[Case("contact", "error", "no-answer", run.trouble, run.trouble)]))
    if run.remarks:
        suites.append(Suite(TOOL, said="\n".join(run.remarks)))
    return document(suites)


def _case(result: Result) -> Case:
    verdict = result.verdict
    outcome = _OUTCOMES[verdict.word]
    kind = result.severity if outcome == "failure" else verdict.word
    told = verdict.word in {"fail", "inconclusive", "warn"}
    return Case(f"{result.id} {result.name}", outcome, kind, verdict.message, _text(result) if told else "")


def _text(result: Result) -> str:
    verdict = result.verdict
    lines = [f"{verdict.word}: {verdict.message}", f"clause: {result.clause}", *verdict.evidence]
    if result.exchanges:
        last = result.exchanges[-1]
        lines += [f"sent: {exchanges.request(last.asked, _RAW)}", f"came: {exchanges.response(last, _RAW)}"]
    if verdict.word == "fail" and (why := words.why(result)):
        lines.append(f"why: {why}")
    if verdict.help:
        lines.append(f"help: {verdict.help}")
    return "\n".join(lines)
