"""Standings and fleets made by hand, for the tests of what becomes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from templatelint import outcomes
from templatelint.fleet.standing import Standings
from templatelint.outcomes import SUBJECTS, UNKNOWN, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FINE = Outcome("works", "fine", "are taken")
# what is wrong with a model, in short → subject, word, and what is said
WRONG: Mapping[str, tuple[tuple[str, str, str], ...]] = {
    "fine": (),
    "parts only": (("string-content", "raises", "make the template raise"),),
    "strings only": (("content-parts", "raises", "make the template raise"),),
    "no tools": (("tools", "dropped", "never reach the model"), ("tool-calls", "dropped", "never reach the model")),
    "nine": (("call-ids", "nine", "do not do"),),
    "name": (("call-ids", "name", "do not do"),),
    "one call": (("parallel-calls", "refused", "are refused: one at a time!"),),
    "alternates": (("consecutive-users", "refused", "are refused: roles must alternate"),),
    "no system": (("system", "refused", "are refused"), ("developer", "refused", "are refused")),
    "no developer": (("developer", "dropped", "never reach the model"),),
    "no thoughts": (("reasoning", "dropped", "never reach the model"),),
    "unread": (("reply-calls", "unread", "are not read"),),
    "needs a name": (("tool-results", "need a name", "are refused without the function's name"),),
    "no results": (("tool-results", "refused", "are refused"),),
    "not alone": (("assistant-first", "refused", "are refused"),),
}


def outcomes_of(*wrong: str) -> dict[str, Outcome]:
    """All is fine but for this; `broken` and `unknown` stand for a model as a whole."""
    if "broken" in wrong:
        return dict.fromkeys((one.id for one in SUBJECTS), Outcome("broken", "does not load", "does not load: ouch"))
    if "unknown" in wrong:
        return dict.fromkeys((one.id for one in SUBJECTS), UNKNOWN)
    told = {subject.id: FINE for subject in SUBJECTS}
    for name in wrong:
        told |= {subject: Outcome("broken", word, says, f"{subject}+case") for subject, word, says in WRONG[name]}
    return told


def standings(
    models: Sequence[Iterable[str]],
    engines: Sequence[str] = ("vllm",),
    needs: Iterable[str] = outcomes.JUDGED,
) -> Standings:
    """Of each model what is wrong with it on each engine; `name@engine` on that one alone."""
    return Standings(
        len(models),
        tuple(engines),
        outcomes.subjects(frozenset(needs)),
        {
            (at, engine): outcomes_of(
                *(name.partition("@")[0] for name in wrong if name.partition("@")[2] in {"", engine})
            )
            for at, wrong in enumerate(map(tuple, models))
            for engine in engines
        },
    )
