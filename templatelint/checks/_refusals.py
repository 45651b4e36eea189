"""Requests that differ in one thing: what the template has against the one that does not render."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.view import NoText

if TYPE_CHECKING:
    from templatelint.model import RenderError
    from templatelint.view import View

# what Python says of a list of parts where a text is used
_LIST = re.compile(r"can only concatenate (?:str \(not \"list\"\)|list \(not \"str\"\))|'list object' has no attribute")


def refusal(view: View, case_id: str) -> RenderError | None:
    """The error with which the template itself ends the cell; what else keeps it from a prompt is noted as missed."""
    error = view.error(case_id)
    if error is None or error.kind in {"refused", "raised"}:
        return error
    view.missed.append(NoText(case_id, error.message))
    return None


def unwrapped(view: View, error: RenderError) -> str:
    """The cure where vLLM made a list of a text, since the template looks as if it took lists; empty elsewhere."""
    if view.engine != "vllm" or not _LIST.search(error.message):
        return ""
    return (
        "take lists of parts wherever content is used, or nowhere: half is what misleads vLLM; "
        "or launch it with --chat-template-content-format string"
    )


def said(error: RenderError) -> str:
    """What became of a message, in the template's own words where it has any."""
    return f"{'is refused' if error.kind == 'refused' else 'makes the template raise'}: {error.message}"
