"""TL406: a variable by which clients turn thinking on and off changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.checks._reasoning import (
    SHOWING,
    SHOWING_CALLS,
    concerned,
    evidence,
    family,
    marks,
    named,
    set_anyway,
    switch_cell,
    switch_cells,
    switches_in,
)
from templatelint.model import Fault
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_BASIC = "chat-basic"
_ENABLE, _THINKING = "enable_thinking", "thinking"  # what clients send, most of them the first
_OFF, _ON = "thinking-off", "thinking-on"
_EFFORT = "reasoning_effort"
_EFFORTS = tuple(f'{_BASIC}+{_EFFORT}="{level}"' for level in ("none", "low", "high"))
CASES, CALL_CASES = SHOWING, SHOWING_CALLS
# engines that pass none of a request's template variables on, or one alone
_DEAF = frozenset({"ollama", "tgi", "llama-cpp-python", "lmstudio", "mistral.rs"})


def cases_for(source: str) -> Iterator[str]:
    """Both values of what most clients send, and of every switch that the template may read."""
    if not concerned(source):
        return
    yield from (_OFF, _ON)
    yield from switch_cells(source)
    if _EFFORT in source:
        yield from _EFFORTS


def check(view: View) -> Iterator[Fault]:
    """Compare the prompts of both values of each switch."""
    source = view.template.source
    if not concerned(source):
        return
    if family(view.engine) in _DEAF:
        raise NoText(_OFF, f"{view.engine} does not pass on what a request sets")
    usual = view.prompt(_BASIC)
    live = [
        name
        for name, on, off in switches_in(source)
        if _changes(view, (switch_cell(name, on), switch_cell(name, off)), usual)
    ]
    if _ENABLE in live:
        if _THINKING not in live:
            yield _fault(view, _THINKING, f"thinking is switched by `{_ENABLE}`", _ENABLE)
        return
    if live:
        yield _fault(view, _ENABLE, f"thinking is switched by `{live[0]}`", live[0])
    elif _changes(view, _EFFORTS, usual):
        yield _fault(view, _ENABLE, f"how long the model thinks depends on `{_EFFORT}`", _EFFORT)
    elif marks(view) is not None:
        yield _fault(view, _ENABLE, _why(view), "")


def _why(view: View) -> str:
    if _ENABLE in set_anyway(view.syntax):
        return f"the template sets `{_ENABLE}` itself"
    return f"the template reads `{_ENABLE}` elsewhere" if named(view, (_ENABLE,)) else "the template reads no switch"


def _changes(view: View, case_ids: tuple[str, ...], usual: str) -> bool:
    """Whether one of the cells has another prompt than plain chat, or than its neighbour."""
    return any(view.renders(case_id) and view.prompt(case_id) != usual for case_id in case_ids)


def _fault(view: View, dead: str, says: str, live: str) -> Fault:
    cells = (_OFF, _ON) if dead == _ENABLE else (_BASIC, _OFF)  # what the text has not the name of cannot change it
    return Fault(
        message=f"{says}: `{dead}` changes nothing in plain chat",
        help=f"set `{live}` in `chat_template_kwargs`" if live else "expect the model to think as it was trained to",
        cases=evidence(view, *cells),
        cause=f"{dead} {live}",
        span=view.mention(live or "<think>"),
    )
