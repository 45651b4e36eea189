"""What an edit is said to do, as predicates over one case rendered before and after it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from templatelint.model import Case

Claim: TypeAlias = "Callable[[Effect], bool]"


@dataclass(frozen=True)
class Effect:
    """One case on one engine.

    Attributes:
        before: what the original renders.
        after: what the mutant renders; None where it renders nothing.
    """

    case: Case
    before: str
    after: str | None


def changes(effect: Effect) -> bool:
    """The prompt is another one."""
    return effect.after is not None and effect.after != effect.before


def refuses(effect: Effect) -> bool:
    """There is no prompt any more."""
    return effect.after is None


def adds(*texts: str) -> Claim:
    """One of the texts, which the original did not print, stands in the prompt."""
    return lambda effect: any(text in (effect.after or "") and text not in effect.before for text in texts)


def more(*texts: str) -> Claim:
    """One of the texts stands there more often than it did."""
    return lambda effect: any((effect.after or "").count(text) > effect.before.count(text) for text in texts)


def fewer(*texts: str) -> Claim:
    """One of the texts, or of the texts of marks, stands there less often than it did."""

    def claim(effect: Effect) -> bool:
        wanted = [effect.case.marks.get(text, text) for text in texts]
        return effect.after is not None and any(effect.before.count(text) > effect.after.count(text) for text in wanted)

    return claim


def loses(mark: str, keeps: str = "") -> Claim:
    """The text of a mark is gone from a prompt that is still there, and that of another is not."""

    def claim(effect: Effect) -> bool:
        marks = effect.case.marks
        if effect.after is None or mark not in marks or (keeps and keeps not in marks):
            return False
        return (
            marks[mark] in effect.before
            and marks[mark] not in effect.after
            and (not keeps or marks[keeps] in effect.after)
        )

    return claim


def loses_tail(*marks: str) -> Claim:
    """The end of a message's text is gone, or the text is another one."""

    def claim(effect: Effect) -> bool:
        for mark in marks:
            marked = effect.case.marks.get(mark)
            text = next((text for text in effect.case.texts if marked and marked in text), "").strip()
            if text and effect.after is not None and text in effect.before and text not in effect.after:
                return True
        return False

    return claim


def reorders(first: str, second: str) -> Claim:
    """What came first comes second."""

    def claim(effect: Effect) -> bool:
        marks, after = effect.case.marks, effect.after or ""
        if first not in marks or second not in marks:
            return False
        places = [effect.before.find(marks[first]), effect.before.find(marks[second])]
        now = [after.find(marks[first]), after.find(marks[second])]
        return -1 not in places + now and places[0] < places[1] and now[0] > now[1]

    return claim


def doubles(mark: str) -> Claim:
    """The text of a mark stands there more often than it did."""
    return lambda effect: (
        mark in effect.case.marks
        and (effect.after or "").count(effect.case.marks[mark]) > effect.before.count(effect.case.marks[mark])
    )


def both(*claims: Claim) -> Claim:
    """All of them, in one case."""
    return lambda effect: all(claim(effect) for claim in claims)


def either(*claims: Claim) -> Claim:
    """One of them."""
    return lambda effect: any(claim(effect) for claim in claims)


def within(case_ids: tuple[str, ...], claim: Claim) -> Claim:
    """The claim, in one of these cases (by their base ids)."""
    return lambda effect: effect.case.id.partition("+")[0] in case_ids and claim(effect)
