"""TL109: text of a user, assistant or tool message is missing from the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._discarded import with_cause
from templatelint.checks._words import listed
from templatelint.model import Case, Fault
from templatelint.reading import has, spoken
from templatelint.view import NoText

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
        yield with_cause(view, _fault(view, lost, "", "chat"), "user", "assistant")
        return
    lost = {case.id: missing for case, prompt in view.rendered(*_TOOLS) if (missing := _missing(case, prompt))}
    if lost:
        fault = _fault(view, lost, " once tools have been used", "tools")
        yield with_cause(view, fault, "user", "assistant")
    for case_id in _BESIDE:
        yield from _beside(view, case_id)


def _beside(view: View, case_id: str) -> Iterator[Fault]:
    what, need = _BESIDE[case_id]
    field = "tool_calls" if need == "tools" else "reasoning_content"
    error = view.error(case_id)
    if error is None and has(view.prompt(case_id), view.case(case_id), "assistant.1"):
        return
    # a tool call that raises has rules of its own
    if error is not None and (need == "tools" or error.out_of_budget or not view.renders("chat-turns")):
        view.missed.append(NoText(case_id, error.message))
        return
    fact = "is dropped from the history" if error is None else f"makes the template raise: {error.message}"
    yield Fault(
        message=f"the text that an assistant writes beside {what} {fact}",
        help=f"print `message['content']` also where `{field}` is there",
        cases=(view.case(case_id).id,),
        cause=f"beside {what}",
        span=view.span_of(error) if error else view.mention(field),
        impact="degrades" if need == "tools" else None,
        need=need,
    )


def _missing(case: Case, prompt: str) -> list[str]:
    # results of tools have a rule of their own
    return [mark for mark in spoken(case) if not mark.startswith("tool.") and not has(prompt, case, mark)]


def _fault(view: View, lost: dict[str, list[str]], when: str, need: str) -> Fault:
    first = next(iter(lost.values()))
    roles = listed(sorted({mark.split(".")[0] for marks in lost.values() for mark in marks}))
    return Fault(
        message=f"{roles} text is missing from the prompt{when} ({', '.join(first)} of {next(iter(lost))})",
        help="print every message; a model that does not see its history repeats or contradicts it",
        cases=tuple(lost),
        cause=f"{roles}{when}",
        span=view.mention("messages"),
        need=need,
    )
