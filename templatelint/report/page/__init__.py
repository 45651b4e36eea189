"""Comparisons and inspections → one self-contained HTML page."""

from __future__ import annotations

from templatelint.report.page.diffed import write_diff
from templatelint.report.page.inspected import write_inspected

__all__ = ["write_diff", "write_inspected"]
