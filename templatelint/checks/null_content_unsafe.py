"""TL301: a tool-call turn without content crashes or prints a word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import around, region

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_BARE = ("tool-call", "tool-call-absent")
CASES = ("tool-call-empty", "tool-call-text", *_BARE)


def check(view: View) -> Iterator[Fault]:
    """Compare a turn whose content is null or absent with one whose content is a string."""
    works = [case_id for case_id in ("tool-call-empty", "tool-call-text") if view.renders(case_id)]
    if not works:
        return
    for case_id in _BARE:
        error = view.raised(case_id)
        if error is not None:
            yield Fault(
                message=f"a tool-call turn {_shape(view, case_id)} makes the template raise: {error.message}",
                help="guard it: `{% if message['content'] is defined and message['content'] %}`",
                cases=(case_id,),
                cause="raises",
                span=view.span_of(error),
            )
            return
    for case, prompt in view.rendered(*_BARE):
        printed = region(prompt, case)
        usual = region(view.prompt(works[0]), view.case(works[0]))
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


def _shape(view: View, case_id: str) -> str:
    content = [
        message.get("content", ...) for message in view.case(case_id).request.messages if "tool_calls" in message
    ]
    return "with content null" if content[0] is None and view.client_form == "wire" else "without a content key"
