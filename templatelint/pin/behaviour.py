"""The pinned text of a template and the one that is there → what that changes for those who rely on it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from templatelint import diff, engines, outcomes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.diff import Comparison
    from templatelint.model import Model, Template

_TOLD = 3  # changes that a message tells one by one
_NAMED = 6  # cases that it names


@dataclass(frozen=True)
class Change:
    """What another text makes of the prompts.

    Attributes:
        facts: what breaks, or else what is worse, then where prompts differ, in clauses; empty where none do.
        need: the need of the first thing that breaks; empty where nothing does.
        cells: case and engine of the prompts that differ.
        why_not: why it cannot be told; empty where it can.
    """

    facts: tuple[str, ...] = ()
    need: str = ""
    cells: tuple[tuple[str, str], ...] = ()
    why_not: str = ""


def change(model: Model, pinned: Template, there: Template, names: Sequence[str]) -> Change:
    """What differs on these engines where the template that is there serves in place of the pinned one.

    Args:
        model: what gives both their tokens.
        pinned: the template as it was.
        there: as it is.
        names: ids of the engines.
    """
    known = [name for name in names if name in engines.ENGINES]
    missing = [f"{name}: {why_not}" for name in known if (why_not := engines.ENGINES[name].why_not)]
    if missing or not known:
        return Change(why_not="; ".join(missing) or "no engine that serves it is known")
    running = engines.running(known)
    judged = frozenset(outcomes.JUDGED)
    before, after = (
        diff.Known(ref, outcomes.observed(replace(model, templates=(template,), picked=True), running, judged))
        for ref, template in ((f"{model.ref} as pinned", pinned), (model.ref, there))
    )
    comparison = diff.compare(before, after, [(name, name) for name in known], judged, diff.Launches({}))
    if comparison.blind:
        return Change(why_not="; ".join(dict.fromkeys(row.why for row in comparison.blind)))
    cells = tuple(dict.fromkeys(comparison.differing_cells))
    return Change((*_told(comparison), *_where(cells)), _need(comparison), cells)


def _need(comparison: Comparison) -> str:
    return next((one.need for one in comparison.predictions if one.verdict == "breaks" and not one.follows), "")


def _told(comparison: Comparison) -> Iterator[str]:
    own = [one for one in comparison.predictions if not one.follows]
    for verdict in ("breaks", "degrades"):
        found = list(dict.fromkeys(one.message for one in own if one.verdict == verdict))
        if found:
            yield from found[:_TOLD]
            if len(found) > _TOLD:
                yield f"{len(found) - _TOLD} more things break" if verdict == "breaks" else f"{len(found) - _TOLD} more"
            return


def _where(cells: Sequence[tuple[str, str]]) -> Iterator[str]:
    case_ids = list(dict.fromkeys(case_id for case_id, _ in cells))
    if case_ids:
        more = f" and {len(case_ids) - _NAMED} more" if len(case_ids) > _NAMED else ""
        yield f"prompts differ: {', '.join(case_ids[:_NAMED])}{more}"
