"""What a model says behind a tool's result → whether that shows that the result has come to it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.probe.telling import quoted
from templatelint.probe.verdict import failed, inconclusive

if TYPE_CHECKING:
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict

_FACT = re.compile(r"(?<![0-9])21(?![0-9])|twenty[ -]one", re.IGNORECASE)  # what our results say


def unseen(endpoint: Endpoint, said: str, what: str, before: int | None, after: int | None) -> Verdict | None:
    """Why nobody knows that the model has seen a result; None where its words or the counts show it.

    Args:
        endpoint: that is asked.
        said: the answer to the result, which is a text.
        what: was sent, for messages (`the result of a call`).
        before: tokens of the prompt that was answered with the call; None where they are not told.
        after: those of the prompt with the result.
    """
    if _FACT.search(said):
        return None
    if endpoint.scripted:
        # it says that wherever it sees the result
        return failed(f"the answer to {what} is {quoted(said)}, and not what is said behind a result")
    if before is not None and after is not None and after > before:
        return None
    counts = f"the prompt has {quoted(after)} tokens, and {quoted(before)} before it"
    return inconclusive(f"the answer to {what} says nothing that stands in it, and {counts}: {quoted(said)}")
