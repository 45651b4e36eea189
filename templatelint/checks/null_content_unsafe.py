"""TL301: a tool-call turn without content crashes or prints a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import around, region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_BARE = ("tool-call", "tool-call-absent")
# the same turn elsewhere, where templates take another path: what it is there, in words, by case
_ELSEWHERE = {
    "tool-loop": " of an earlier exchange",
    "reasoning-loop": " that carries reasoning",
}
CASES = ("tool-call-empty", "tool-call-text", *_BARE, "tool-loop", "tool-loop+empty")
CALL_CASES = ("reasoning-loop", "reasoning-loop+empty")


def check(view: View) -> Iterator[Fault]:
    """Compare a turn whose content is null or absent with one whose content is a string."""
    compared = list(_compared(view))
    for case_id, _ in compared:
        error = view.raised(case_id)
        if error is not None:
            yield Fault(
                message=f"a tool-call turn{_ELSEWHERE.get(case_id, '')} {_shape(view, case_id)} "
                f"makes the template raise: {error.message}",
                help="guard it: `{% if message['content'] is defined and message['content'] %}`",
                cases=(case_id,),
                cause="raises",
                span=view.span_of(error),
            )
            return
    for case_id, works in compared:
        for case, prompt in view.rendered(case_id):
            printed = region(prompt, case)
            usual = region(view.prompt(works), view.case(works))
            if "None" in printed and "None" not in usual:
                yield Fault(
                    message=f"the missing content of a tool-call turn is printed as a word: "
                    f"{around(printed, printed.index('None'))!r}",
                    help="print the content only where it is a string",
                    cases=(case.id,),
                    cause="prints",
                    span=view.mention("tool_calls"),
                )
                return


def _compared(view: View) -> Iterator[tuple[str, str]]:
    """Cases with such a turn, each with the one that renders and in which content is all that differs."""
    works = next((case_id for case_id in ("tool-call-empty", "tool-call-text") if view.renders(case_id)), None)
    if works is not None:
        yield from ((case_id, works) for case_id in _BARE)
    yield from ((case_id, f"{case_id}+empty") for case_id in _ELSEWHERE if view.renders(f"{case_id}+empty"))


def _shape(view: View, case_id: str) -> str:
    content = [
        message.get("content", ...) for message in view.case(case_id).request.messages if "tool_calls" in message
    ]
    return "with content null" if content[0] is None and view.client_form == "wire" else "without a content key"
