"""Requests that differ in one thing: what the template has against the one that does not render."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.view import NoText

if TYPE_CHECKING:
    from templatelint.model import RenderError
    from templatelint.view import View


def refusal(view: View, case_id: str) -> RenderError | None:
    """The error with which the template itself ends the cell; what else keeps it from a prompt is noted as missed."""
    error = view.error(case_id)
    if error is None or error.kind in {"refused", "raised"}:
        return error
    view.missed.append(NoText(case_id, error.message))
    return None


def said(error: RenderError) -> str:
    """What became of a message, in the template's own words where it has any."""
    return f"{'is refused' if error.kind == 'refused' else 'makes the template raise'}: {error.message}"
