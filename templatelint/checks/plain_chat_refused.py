"""TL113: user and assistant text alone, in the usual order, makes the template raise."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.checks._refusals import unwrapped
from templatelint.model import Fault
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_SPECIAL_TOKEN = re.compile(r"'(\w+_token)' is undefined")
_CURE = "let plain text of users and assistants through; guard what only some requests carry with `is defined`"
CASES = ("chat-basic", "chat-basic+nogen", "chat-turns", "chat-long")


def check(view: View) -> Iterator[Fault]:
    """Report the first plain conversation that does not render, with its error."""
    asked = [case_id for case_id in CASES if not (view.always_cued and case_id.endswith("+nogen"))]
    failed = [(case_id, error) for case_id in asked if (error := view.raised(case_id)) is not None]
    if not failed:
        return
    case_id, error = failed[0]
    token = _SPECIAL_TOKEN.search(error.message)
    if token and view.model.tokenizer.assumed:
        view.missed.append(NoText(case_id, f"needs the tokenizer's {token[1]}, which a template file does not carry"))
        return
    what = "a single user message" if case_id.startswith("chat-basic") else "a plain user and assistant history"
    yield Fault(
        message=f"{what} makes the template raise: {error.message}",
        help=unwrapped(view, error) or _CURE,
        cases=view.ids(*(case_id for case_id, _ in failed)),
        cause=what,
        span=view.span_of(error),
    )
