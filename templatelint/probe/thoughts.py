"""What a model says → whether thoughts stand in it; an answer without thoughts → whether it might have had some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.probe.chat.leak_causes import syntax_of
from templatelint.probe.verdict import inconclusive, skipped
from templatelint.reading import THOUGHT

if TYPE_CHECKING:
    from templatelint.probe.endpoint import Endpoint
    from templatelint.probe.verdict import Verdict

_CLOSING = ("</", "[/", "◁/")  # of marks that close nothing but thoughts


def mark_in(content: str, thoughts: str) -> str:
    """The first mark of thoughts that stands in what is said; empty where none does.

    Args:
        content: what is said.
        thoughts: what came apart from it.
    """
    said = content.lstrip()
    for start, end in THOUGHT:
        if said.startswith((start, end)):
            return start if said.startswith(start) else end
        opened, closed = content.find(start), content.find(end)
        if 0 <= opened < closed:
            return start
        # the prompt has opened them, so that the end stands alone
        if closed >= 0 and not thoughts and end.startswith(_CLOSING):
            return end
    return ""


def thoughtless(endpoint: Endpoint) -> Verdict:
    """What to say where no thoughts came: the model did not think, or is none that does."""
    syntax = syntax_of(endpoint.served.model)
    if syntax is not None and syntax.reasoning is not None:
        return inconclusive(f"the template knows {syntax.reasoning.start.strip()}, and the model does not think")
    return skipped("no thoughts are seen, neither in a member of their own nor in content")
