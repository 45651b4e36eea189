"""Comparisons → one JSON object."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from templatelint.report.inspected_json import model_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from templatelint.diff import Comparison
    from templatelint.model import EngineUse, NotRun
    from templatelint.predictions import Prediction, Span
    from templatelint.report import Remark, Unreadable


def write(  # noqa: PLR0913 (what a run consists of)
    comparisons: Sequence[Comparison],
    engines: Iterable[EngineUse],
    not_run: Iterable[NotRun],
    remarks: Iterable[Remark],
    unreadable: Iterable[Unreadable],
    *,
    exit_code: int,
) -> Iterator[str]:
    """One object; each prediction stands on a line of its own."""
    yield '{"version": 1, "predictions": ['
    rows = [prediction for comparison in comparisons for prediction in comparison.predictions]
    for number, prediction in enumerate(rows):
        yield ("," if number else "") + "\n" + json.dumps(_prediction(prediction))
    known = {side.ref: side.inspection for one in comparisons for side in (one.a, one.b)}
    run = {
        "differences": [*_differences(comparisons)],
        "requests": [
            {"a": one.a.ref, "b": one.b.ref, "judged": one.judged, "failing_with_a": one.failing}
            for one in comparisons
            if one.judged is not None
        ],
        "models": [model_of(ref, inspection) for ref, inspection in known.items()],
        "engines": [
            {"name": use.name, "renderer": use.renderer, "version": use.version, "emulated": use.emulated}
            for use in engines
        ],
        "not_run": [{"ref": row.ref, "why": row.why} for row in not_run],
        "remarks": [{"ref": remark.ref, "text": remark.text} for remark in remarks],
        "unreadable": [{"ref": row.ref, "message": row.message, "help": row.help} for row in unreadable],
        "exit_code": exit_code,
    }
    yield f"\n],\n{json.dumps(run)[1:]}\n"


def _prediction(prediction: Prediction) -> dict[str, Any]:
    return {
        "a": prediction.a,
        "b": prediction.b,
        "need": prediction.need,
        "subject": prediction.subject,
        "verdict": prediction.verdict,
        "before": prediction.before,
        "after": prediction.after,
        "engines": list(prediction.engines),
        "message": prediction.message,
        "help": prediction.remedy,
        "launch": dict(prediction.launch),
        "follows": prediction.follows or None,
        "request": prediction.request or None,
        "evidence": [_span(span) for span in prediction.evidence],
    }


def _span(span: Span) -> dict[str, Any]:
    return {"ref": span.ref, "case": span.case, "engine": span.engine, "text": span.text, "failed": span.failed}


def _differences(comparisons: Iterable[Comparison]) -> Iterator[dict[str, Any]]:
    for comparison in comparisons:
        for one, engines in comparison.differing.items():
            yield {
                "a": comparison.a.ref,
                "b": comparison.b.ref,
                "subject": one.subject,
                "before": one.before,
                "after": one.after,
                "engines": engines,
                "message": one.message,
            }
