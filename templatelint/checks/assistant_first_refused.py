"""TL107: a history that starts with the assistant is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._refusals import refusal, said
from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_PLAIN = "chat-turns"
_ASSISTANT_FIRST = "chat-assistant-first"
CASES = (_PLAIN, _ASSISTANT_FIRST)


def check(view: View) -> Iterator[Fault]:
    """Compare a history that starts with the user and the same without its first message."""
    view.prompt(_PLAIN)
    error = refusal(view, _ASSISTANT_FIRST)
    if error is not None:
        yield Fault(
            message=f"a history that starts with the assistant {said(error)}",
            help="put a user message before the assistant's greeting, or leave the greeting out, before sending",
            cases=view.ids(_ASSISTANT_FIRST),
            cause="refused",
            span=view.span_of(error),
        )
