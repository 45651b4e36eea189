"""TL110: texts of messages appear twice or out of order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import positions, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ("chat-basic", "chat-turns", "chat-turns-system", "chat-long", "tool-loop")


def check(view: View) -> Iterator[Fault]:
    """Count each text, then compare the order of those that appear once."""
    twice: dict[str, str] = {}
    swapped: dict[str, str] = {}
    for case, prompt in view.rendered(*CASES):
        places = {mark: positions(prompt, case.marks[mark]) for mark in spoken(case)}
        repeated = [mark for mark, found in places.items() if len(found) > 1]
        if repeated:
            twice[case.id] = ", ".join(repeated)
        single = [(found[0], mark) for mark, found in places.items() if len(found) == 1]
        moved = [mark for (at, mark), (before, _) in zip(single[1:], single, strict=False) if at < before]
        if moved:
            swapped[case.id] = ", ".join(moved)
    for lost, fact, cure in (
        (twice, "appears more than once in the prompt", "print each message once"),
        (swapped, "stands before what was said earlier", "print the messages in their order"),
    ):
        if lost:
            case_id = next(iter(lost))
            yield Fault(
                message=f"text of the conversation {fact} ({lost[case_id]} in {case_id})",
                help=cure,
                cases=tuple(lost),
                cause=fact,
                span=view.mention("messages"),
            )
