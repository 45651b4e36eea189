"""Report → JSON lines: one finding a line, then what was suppressed or not run, the summary last."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from templatelint.report.json import finding_object, head, not_run_object, suppressed_object, tail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.model import Report
    from templatelint.report import Setting


def write(report: Report, setting: Setting) -> Iterator[str]:
    """One object a line; the member `type` says which kind."""
    for finding in report.findings:
        yield _line("finding", finding_object(finding))
    for accepted in report.suppressed:
        yield _line("suppressed", suppressed_object(accepted))
    for row in report.not_run:
        yield _line("not_run", not_run_object(row))
    yield _line("summary", {**head(report), **tail(report, setting)})


def _line(kind: str, body: dict[str, Any]) -> str:
    return json.dumps({"type": kind, **body}) + "\n"
