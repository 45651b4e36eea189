"""TL011: an ignore comment that has no effect, or changes the prompt."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from templatelint.model import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from templatelint.view import View

CASES = ()

_WORD = "templatelint"  # without it there is nothing to read
_UNTRIMMED = frozenset({"tgi"})  # engines that leave the newline behind a comment


def check(view: View) -> Iterator[Fault]:
    """Tell what is wrong with each comment that is addressed to us; in files of others, that they do not count."""
    if _WORD not in view.template.source.lower():
        return
    from templatelint.ignores import TOLD, honoured, ignores

    comments = ignores(view.template.source)
    if comments and not honoured(view.model, view.template):
        yield Fault(
            message="ignore comments have no effect here: only those of local template files count",
            help="per-file-ignores of the settings, or a baseline, accept findings in such files",
            cause="foreign",
            span=comments[0].span,
            impact="informs",
        )
        return
    seen: Counter[str] = Counter()
    told = 0
    for comment in comments:
        for problem in comment.problems:
            if problem.untrimmed and view.engine not in _UNTRIMMED:
                continue
            told += 1
            if told > TOLD:
                continue
            seen[f"{problem.kind} {comment.text}"] += 1
            yield Fault(
                message=problem.message,
                help=problem.help,
                cause=f"{problem.kind} {seen[f'{problem.kind} {comment.text}']} {comment.text}",
                span=comment.span,
            )
    if told > TOLD:
        yield Fault(
            message=f"{told - TOLD:,} more faults of ignore comments are not told one by one",
            help="mend those that are told first",
            cause="more",
        )
