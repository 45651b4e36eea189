"""TL216: calls and results of a history are lost, or raise, when `tools` is not sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._calls import id_for_name, lost_parts
from templatelint.checks._refusals import refusal
from templatelint.checks._words import listed
from templatelint.model import Fault
from templatelint.reading import has
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

# the same history with and without tools
_PAIRS = (("tool-call-empty", "tool-call-empty+notools"), ("tool-call", "tool-history-no-tools"))
CASES = tuple(case_id for pair in _PAIRS for case_id in pair)

_PARTS = ("calls", "results")


def check(view: View) -> Iterator[Fault]:
    """Take `tools` away from the first history that the template shows, and look for what is gone with them."""
    for with_tools, without in _PAIRS:
        shown = _shown_with_tools(view, with_tools)
        if shown:
            yield from _judge(view, without, shown)
            return


def _judge(view: View, case_id: str, shown: list[str]) -> Iterator[Fault]:
    error = refusal(view, case_id)
    if error is not None:
        yield Fault(
            message=f"a history with tool calls makes the template raise when `tools` is not sent: {error.message}",
            help="guard what uses `tools` with `{% if tools %}`, or send them with every request of a conversation",
            cases=view.ids(case_id),
            cause="raises",
            span=view.span_of(error),
        )
        return
    kept = _shown(view, case_id)
    lost = [part for part in shown if part not in kept]
    if lost:
        whose = listed(lost)
        yield Fault(
            message=f"{whose} of the history do not reach the prompt when `tools` is not sent",
            help=f"render {whose} whatever `tools` is, or send them with every request of a conversation",
            cases=view.ids(case_id),
            cause=whose,
            span=view.mention("if tools", "tools"),
        )


def _shown_with_tools(view: View, case_id: str) -> list[str]:
    """What the prompt shows when tools are sent; all of it where another template of the model serves those."""
    try:
        error = view.error(case_id)
    except NoText as missing:
        if not missing.served:
            return list(_PARTS)
        raise
    return [] if error is not None else _shown(view, case_id)


def _shown(view: View, case_id: str) -> list[str]:
    for case, prompt in view.rendered(case_id):
        lost = lost_parts(prompt, case, 1)
        shown = {"calls": not lost or id_for_name(prompt, case, lost), "results": has(prompt, case, "tool.1")}
        return [part for part in _PARTS if shown[part]]
    return []
