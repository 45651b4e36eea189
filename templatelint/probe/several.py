"""An endpoint of several models → what came of each, and which clauses some of them keep and others break."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from templatelint.errors import TemplatelintError, clip
from templatelint.probe import Probed, probe, unmet
from templatelint.probe.endpoint import Served
from templatelint.probe.server.contact import NoChat, listed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from templatelint.probe import Options
    from templatelint.probe.catalogue import Check
    from templatelint.sources.reach import Reach

_MANY = 64  # models
_ROOM, _LEAST_ROOM = 192 << 20, 8 << 20  # bytes that are kept of all exchanges, and of those with a model


@dataclass(frozen=True)
class Apart:
    """A check that models behind one server end differently: a fault of the model's template, not of the server.

    Attributes:
        failing: ids of the models that break the clause.
        passing: ids of those that keep it.
    """

    id: str
    name: str
    failing: tuple[str, ...]
    passing: tuple[str, ...]


def probe_all(
    url: str,
    checks: Sequence[Check],
    options: Options,
    reach: Reach,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Probed, ...]:
    """Check each model that an endpoint lists, in its order; one that does not answer, or takes no chat, stops none.

    Raises:
        TemplatelintError: the endpoint lists none, or more than anybody waits for.
    """
    with unmet(url, options, reach) as stranger:
        ids = listed(stranger)
        name = stranger.url
    if not ids:
        raise TemplatelintError(f"{name} lists no model", help="name one: --model ID")
    if len(ids) > _MANY:
        raise TemplatelintError(
            f"{name} lists {len(ids)} models, more than the {_MANY} of one run", help="name one: --model ID"
        )
    found = []
    room = max(_LEAST_ROOM, _ROOM // len(ids))
    for at, model in enumerate(ids):
        told = None if progress is None else _part(progress, at, len(ids))
        try:
            found.append(probe(url, checks, replace(options, model=model, room=room), reach, told))
        except NoChat as absence:
            found.append(Probed(name, clip(model, 200), Served(models=ids), (), left_out=absence.said))
        except TemplatelintError as trouble:
            found.append(Probed(name, clip(model, 200), Served(models=ids), (), broken_off=trouble.message))
    return tuple(found)


def _part(progress: Callable[[int, int], None], at: int, count: int) -> Callable[[int, int], None]:
    """The progress of one model among all."""
    return lambda done, total: progress(at * total + done, count * total)


def apart(probed: Sequence[Probed]) -> Iterator[Apart]:
    """The clauses that some of the models break and others keep, in the order of their numbers."""
    found: dict[str, tuple[str, list[str], list[str]]] = {}
    for one in probed:
        for result in one.results:
            _, failing, passing = found.setdefault(result.id, (result.name, [], []))
            if result.verdict.word == "fail":
                failing.append(one.model)
            elif result.verdict.word in {"pass", "warn"}:
                passing.append(one.model)
    for check, (name, failing, passing) in sorted(found.items()):
        if failing and passing:
            yield Apart(check, name, tuple(failing), tuple(passing))
