"""TL403: turns of the history get think blocks with nothing inside."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from templatelint.checks._reasoning import HISTORY, concerned, evidence, given, preserving, shown
from templatelint.model import Fault
from templatelint.reading import THOUGHT, stretch
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_BASIC = "chat-basic"
_WITHOUT = ("chat-turns", "tool-call-empty", "tool-call-text", "tool-loop")
CASES = (_BASIC, *_WITHOUT, HISTORY)


@cache
def _empty() -> re.Pattern[str]:
    return re.compile("|".join(rf"{re.escape(start)}\s*{re.escape(end)}" for start, end in THOUGHT))


def check(view: View) -> Iterator[Fault]:
    """Look between the first user text and the last text that is not the assistant's."""
    if not concerned(view.template.source):
        return
    found = {case_id: block for case_id in _WITHOUT if (block := _block(view, case_id))}
    dropped = {} if shown(view, HISTORY) or not _passes(view) else {HISTORY: _block(view, HISTORY)}
    found |= {case_id: block for case_id, block in dropped.items() if block}
    found = {case_id: block for case_id, block in found.items() if not _cued(view, block)}
    if not found:
        return
    whose = "an assistant turn without reasoning gets" if found.keys() - dropped else "an earlier turn gets"
    instead = " in place of its reasoning" if not found.keys() - dropped else ""
    block = next(iter(found.values()))
    kept = preserving(view)
    yield Fault(
        message=f"{whose} an empty think block in the history{instead}: {block!r}",
        help="print the block where there is reasoning: the prompt differs from what the model wrote, and what"
        " a server has cached behind the block is lost"
        + (f"; `chat_template_kwargs: {{{kept}}}` keeps reasoning" if kept and instead else ""),
        cases=evidence(view, *found),
        cause="empty",
        span=view.mention(*(start for start, _ in THOUGHT if block.startswith(start))),
    )


def _passes(view: View) -> bool:
    try:
        return bool(given(view))
    except NoText:
        return True  # the block is there all the same


def _block(view: View, case_id: str) -> str:
    """The first empty block of the history."""
    if not view.renders(case_id):
        return ""
    case, prompt = view.case(case_id), view.prompt(case_id)
    texts = [
        found for mark in case.marks if mark.startswith(("user.", "tool.")) and (found := stretch(prompt, case, mark))
    ]
    if not texts:
        return ""
    block = _empty().search(prompt, min(text.end for text in texts), max(text.start for text in texts))
    return block[0] if block else ""


def _cued(view: View, block: str) -> bool:
    """Whether prompts end with that very block: then the turn was written behind it, and nothing changes."""
    return view.renders(_BASIC) and view.prompt(_BASIC).rstrip().endswith(block)
