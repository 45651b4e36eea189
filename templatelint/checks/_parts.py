"""What a template makes of content that is a list of text parts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from templatelint.model import Fault
from templatelint.reading import around, has

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.view import View

DUMPED = re.compile(r"""[\[{]\s*['"]type['"]\s*:\s*['"]text['"]|\[object |['"]text['"]\s*:\s*['"]""")


def faults(view: View, whose: Mapping[str, tuple[str, str]]) -> Iterator[Fault]:
    """One fault for all cells in which parts raise, are printed as data, or vanish.

    Args:
        view: the template on one engine.
        whose: case id → the role whose content is a list there, and a case in which that is a string.
    """
    bad: dict[str, tuple[str, tuple[int, int] | None]] = {}
    for case_id, (role, twin) in whose.items():
        if not view.renders(twin) or not _kept(view, twin, role):
            continue  # lost as a string too: the form of the content is not to blame
        error = view.error(case_id)
        if error is not None:
            if not error.out_of_budget and error.kind != "invalid-request":
                bad[case_id] = (f"makes the template raise: {error.message}", view.span_of(error))
            continue
        prompt = view.prompt(case_id)
        dumped = DUMPED.search(prompt)
        if dumped is not None and dumped[0] not in view.template.source:
            bad[case_id] = (f"is printed as data: {around(prompt, dumped.start())!r}", None)
        elif not _kept(view, case_id, role):
            bad[case_id] = ("does not reach the prompt", None)
    if bad:
        roles = " and ".join(whose[case_id][0] for case_id in bad)
        fact, span = next(iter(bad.values()))
        yield Fault(
            message=f"{roles} content given as a list of parts {fact}",
            help='print the `text` of each part of type "text" where content is no string, or send strings',
            cases=tuple(bad),
            cause=f"{roles}: {fact.split(':')[0]}",
            span=span or view.mention("content"),
        )


def _kept(view: View, case_id: str, role: str) -> bool:
    """Whether all that the role says in the case reaches the prompt."""
    case, prompt = view.case(case_id), view.prompt(case_id)
    return all(has(prompt, case, mark) for mark in case.marks if mark.split(".")[0] == role)
