"""TL404: reasoning inside of the content leads to two think blocks, or to one inside the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._reasoning import SHOWING, SHOWING_CALLS, concerned, evidence, marks, switch_cells, tail
from templatelint.model import Fault
from templatelint.reading import common, shortened, stretch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_INLINE, _TWICE = "reasoning-inline", "reasoning-twice"
_START, _END = "<think>", "</think>"  # what the content of those has
_BARE = "chat-basic+nogen"
CASES, CALL_CASES = (*SHOWING, _BARE), SHOWING_CALLS


def cases_for(source: str) -> tuple[str, ...]:
    """What a template of that text is tried with."""
    return (_INLINE, _TWICE, *switch_cells(source)) if concerned(source) and _START in source else ()


def check(view: View) -> Iterator[Fault]:
    """Count the marks in the earlier answer."""
    if not cases_for(view.template.source) or (found := marks(view)) is None or found.start != _START:
        return
    blocks = {case_id: text for case_id in (_INLINE, _TWICE) if (text := _doubled(view, case_id))}
    if not blocks:
        return
    whose = (
        f"an answer with {_START} in its content gets a second think block"
        if _INLINE in blocks
        else f"an answer with its reasoning in the field and, behind {_START}, in the content gets two think blocks"
    )
    yield Fault(
        message=f"{whose}: {shortened(next(iter(blocks.values())))!r}",
        help=f"cut the content behind {_END} before printing it, as in `content.split('{_END}')[-1]`,"
        " or send reasoning in the field alone",
        cases=evidence(view, *blocks),
        cause="doubled",
        span=view.mention(_START),
    )


def _doubled(view: View, case_id: str) -> str:
    """The stretch of the answer from its first mark to its last, where one stands there more than once."""
    if not view.renders(case_id):
        return ""
    case, prompt = view.case(case_id), view.prompt(case_id)
    before, behind = stretch(prompt, case, "user.1"), stretch(prompt, case, "assistant.1")
    if before is None or behind is None:
        return ""
    answer = prompt[before.end : behind.end]
    if not view.always_cued and view.renders(_BARE):  # some remind the model in the user's turn of how it is to think
        answer = answer[common(answer, tail(view, _BARE)) :]
    if max(answer.count(_START), answer.count(_END)) < 2:  # noqa: PLR2004 (one block has one of each)
        return ""
    return answer[min(at for mark in (_START, _END) if (at := answer.find(mark)) >= 0) : answer.rfind(_END) + len(_END)]
