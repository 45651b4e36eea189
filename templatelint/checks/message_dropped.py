"""TL109: text of a user, assistant or tool message is missing from the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Case, Fault
from templatelint.reading import has, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_PLAIN = ("chat-turns", "chat-turns-system", "chat-long")
_TOOLS = ("tool-loop", "tool-interrupted")
_BESIDE = "tool-call-text"
CASES = (*_PLAIN, *_TOOLS, _BESIDE)


def check(view: View) -> Iterator[Fault]:
    """Follow every text; what is missing only beside tool calls is a smaller fault with its own cause."""
    lost = {case.id: missing for case, prompt in view.rendered(*_PLAIN) if (missing := _missing(case, prompt))}
    if lost:
        yield _fault(view, lost, "", "chat")
        return
    lost = {case.id: missing for case, prompt in view.rendered(*_TOOLS) if (missing := _missing(case, prompt))}
    if lost:
        yield _fault(view, lost, " once tools have been used", "tools")
    for case, prompt in view.rendered(_BESIDE):
        if not has(prompt, case, "assistant.1"):
            yield Fault(
                message="the text that an assistant writes beside a tool call is dropped from the history",
                help="print `message['content']` also when `message['tool_calls']` is there",
                cases=(case.id,),
                cause="beside a call",
                span=view.mention("tool_calls"),
                impact="degrades",
                need="tools",
            )


def _missing(case: Case, prompt: str) -> list[str]:
    # results of tools have a rule of their own
    return [mark for mark in spoken(case) if not mark.startswith("tool.") and not has(prompt, case, mark)]


def _fault(view: View, lost: dict[str, list[str]], when: str, need: str) -> Fault:
    first = next(iter(lost.values()))
    roles = " and ".join(sorted({mark.split(".")[0] for marks in lost.values() for mark in marks}))
    return Fault(
        message=f"{roles} text is missing from the prompt{when} ({', '.join(first)} of {next(iter(lost))})",
        help="print every message; a model that does not see its history repeats or contradicts it",
        cases=tuple(lost),
        cause=f"{roles}{when}",
        span=view.mention("messages"),
        need=need,
    )
