"""TL203: a tool message is dropped or refused, or cannot be told from one of the user's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._calls import WITHOUT_RESULT
from templatelint.checks._discarded import with_cause
from templatelint.model import Fault
from templatelint.reading import MARKER, common_header, has, shortened, stretch, turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.reading import Turns
    from templatelint.view import View

_RESULTS = ("tool-call", "tool-call-empty", "tool-loop", "tool-result-json", "tool-parallel")
_LAST = ("tool-call", "tool-call-empty", "tool-call-text")  # a result ends them
CASES = (*WITHOUT_RESULT, *_RESULTS, "tool-result-named", *_LAST, "chat-turns")


def check(view: View) -> Iterator[Fault]:
    """Compare a pending call with an answered one, then follow the results."""
    if any(view.renders(case_id) for case_id in WITHOUT_RESULT) and not any(
        view.renders(case_id) for case_id in _RESULTS
    ):
        error = view.raised("tool-call")
        if error is not None:
            named = view.renders("tool-result-named")
            yield Fault(
                message=f"a tool message {'without `name` ' if named else ''}makes the template raise: {error.message}",
                help="send `name` with every tool message" if named else "render messages of the role `tool`",
                cases=view.ids("tool-call"),
                cause="refused",
                span=view.span_of(error),
            )
            return
    seen = list(view.rendered(*_RESULTS))
    lost = {
        case.id: missing
        for case, prompt in seen
        if (missing := [mark for mark in case.marks if mark.startswith("tool.") and not has(prompt, case, mark)])
    }
    if lost:
        everywhere = len(lost) == len(seen)
        where = "" if everywhere else f" in {', '.join(lost)}"
        fault = Fault(
            message=f"the result of a tool does not reach the prompt{where}",
            help="render the content of messages of the role `tool`",
            cases=tuple(lost),
            cause="dropped" + where,
            span=view.mention("'tool'", '"tool"', "messages"),
        )
        yield with_cause(view, fault, "tool")
        return
    yield from _as_the_user(view)


def _as_the_user(view: View) -> Iterator[Fault]:
    """A last result about which the same stands as about a last text of the user."""
    turns_case, turns_prompt = view.case("chat-turns"), view.prompt("chat-turns")
    anatomy, user = turns(turns_prompt, turns_case), stretch(turns_prompt, turns_case, "user.1")
    if anatomy is None or user is None or not anatomy.user_header.strip():
        return
    for case, prompt in view.rendered(*_LAST):
        result = stretch(prompt, case, "tool.1")
        if result is None:
            continue
        before, behind = prompt[: result.start], prompt[result.end :]
        if before.endswith('"') and behind.startswith('"'):  # as JSON
            before, behind = before[:-1], behind[1:]
        header = common_header(turns_prompt[: user.start].rstrip(), before.rstrip())
        if behind.lstrip() == anatomy.tail.lstrip() and _opens_alike(anatomy, header):
            yield Fault(
                message="the result of a tool stands in the prompt like words of the user, "
                f"between {shortened(anatomy.user_header)!r} and {shortened(anatomy.tail)!r}",
                help="mark results as the model was trained to see them, `<tool_response>` or a role of their own",
                cases=(case.id,),
                cause="as the user",
                span=view.mention("'tool'", '"tool"', "messages"),
                impact="degrades",
                total=False,
            )
        return


def _opens_alike(anatomy: Turns, header: str) -> bool:
    """Whether a header is the user's, apart from what closes the turn before it."""
    whole = anatomy.user_header.rstrip()
    left = whole[: max(0, len(whole) - len(header))]
    closing = all(marker in anatomy.user_to_assistant for marker in MARKER.findall(left))
    return bool(header.strip()) and closing and not MARKER.sub("", left).strip()
