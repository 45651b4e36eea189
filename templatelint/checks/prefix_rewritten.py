"""TL503: the prompt of one request is no prefix of the next one's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.cases import snapshots
from templatelint.model import Case, Fault
from templatelint.reading import around, common, has, stretch, turns
from templatelint.view import NoText

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

_THINK = re.compile(r"[<\[|/][^<>\[\]]*think", re.IGNORECASE)


def _steps() -> Iterator[tuple[str, str]]:
    """Pairs of requests that a client sends one after the other, or one some time after the other."""
    for history in ("chat-long", "tool-loop", "reasoning-after-loop"):
        first, second, *_, last = snapshots(history)
        yield from ((first, second), (second, last))


_STEPS = tuple(_steps())
CASES = (
    "chat-turns",
    "chat-basic",
    "chat-basic+nogen",
    *(case_id for earlier, later in _STEPS for case_id in (earlier, f"{earlier}+nogen", later)),
)


def check(view: View) -> Iterator[Fault]:
    """Compare each snapshot of a growing history with a later one."""
    if view.always_cued:
        raise NoText("chat-basic+nogen", f"{view.engine} always asks for the generation prompt")
    if _always_cued(view):
        return  # the template writes it whatever the request says, and it need not come back in the history
    found: dict[str, tuple[str, str, float, str]] = {}
    for earlier, later in _STEPS:
        if not view.renders(earlier) or not view.renders(later):
            continue
        before, after = _uncued(view, earlier).rstrip(), view.prompt(later)
        shared = common(before, after)
        lost = 1 - shared / len(before) if before else 0.0
        cause = _cause(view.case(earlier), before, after, shared)
        if shared < len(before) and lost > found.get(cause, ("", "", 0.0, ""))[2]:
            found[cause] = (earlier, later, lost, around(before, shared))
    for cause, (earlier, later, lost, excerpt) in found.items():
        yield Fault(
            message=f"{cause}: {lost:.0%} of the prompt of {earlier} is rewritten in {later}, from {excerpt!r}",
            help="keep what was rendered once; a server recomputes everything behind the first difference",
            cases=view.ids(earlier, later),
            cause=cause,
            span=view.mention("loop.last", "last_query_index", "messages[-1]", "messages"),
        )


def _uncued(view: View, case_id: str) -> str:
    """The prompt as it is sent, up to its cue: what a template writes only where no cue is asked for, nobody sends."""
    case, prompt, bare = view.case(case_id), view.prompt(case_id), f"{case_id}+nogen"
    if not view.renders(bare):
        return prompt
    end, same = _behind(prompt, case), _behind(view.prompt(bare), case)
    return prompt[: end + common(prompt[end:], view.prompt(bare)[same:])]


def _behind(prompt: str, case: Case) -> int:
    """Where the last of the case's texts ends."""
    return max((found.end for mark in case.marks if (found := stretch(prompt, case, mark))), default=0)


def _always_cued(view: View) -> bool:
    """Whether the prompt without the generation prompt has it all the same."""
    bare = view.prompt("chat-basic+nogen")
    anatomy, user = (
        turns(view.prompt("chat-turns"), view.case("chat-turns")),
        stretch(bare, view.case("chat-basic"), "user.1"),
    )
    if view.prompt("chat-basic") != bare or anatomy is None or user is None:
        return False
    return bare[user.end :].strip().startswith(anatomy.user_to_assistant.strip())


def _cause(case: Case, before: str, after: str, shared: int) -> str:
    gone = [mark for mark in case.marks if has(before, case, mark) and not has(after, case, mark)]
    if any(mark.startswith("reasoning.") for mark in gone):
        return "reasoning of earlier turns is removed from the history"
    if any(mark.startswith("tools.") for mark in gone):
        return "tool definitions are removed from the history"
    moved = [mark for mark in case.marks if mark.startswith("tools.") and has(before[shared:], case, mark)]
    if moved and not any(has(before[:shared], case, mark) for mark in moved):
        return "tool definitions move with the last user message"
    if _THINK.search(before[max(0, shared - 40) : shared + 40]):
        return "think blocks of earlier turns change as the history grows"
    return "text of earlier turns changes as the history grows"
