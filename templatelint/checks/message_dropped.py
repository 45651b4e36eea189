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
# case → (beside what the text stands, who would notice)
_BESIDE = {"tool-call-text": ("a tool call", "tools"), "reasoning-history": ("its reasoning", "reasoning")}
CASES = (*_PLAIN, *_TOOLS, *_BESIDE)


def check(view: View) -> Iterator[Fault]:
    """Follow every text; what is missing only beside tool calls is a smaller fault with its own cause."""
    lost = {case.id: missing for case, prompt in view.rendered(*_PLAIN) if (missing := _missing(case, prompt))}
    if lost:
        yield _fault(view, lost, "", "chat")
        return
    lost = {case.id: missing for case, prompt in view.rendered(*_TOOLS) if (missing := _missing(case, prompt))}
    if lost:
        yield _fault(view, lost, " once tools have been used", "tools")
    for case, prompt in view.rendered(*_BESIDE):
        what, need = _BESIDE[case.id.split("+")[0]]
        if not has(prompt, case, "assistant.1"):
            yield Fault(
                message=f"the text that an assistant writes beside {what} is dropped from the history",
                help="print `message['content']` also where the other field is there",
                cases=(case.id,),
                cause=f"beside {what}",
                span=view.mention("tool_calls" if need == "tools" else "reasoning_content"),
                impact="degrades" if need == "tools" else None,
                need=need,
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
