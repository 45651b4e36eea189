"""What becomes of a client when one model takes another's place: the nouns that comparisons hand on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

Verdict: TypeAlias = Literal["breaks", "degrades", "changes", "improves"]
VERDICTS: tuple[Verdict, ...] = ("breaks", "degrades", "changes", "improves")


@dataclass(frozen=True, slots=True)
class Span:
    """What one model's prompt shows of a subject, or why there is no prompt.

    Attributes:
        ref: the model's reference as typed.
        case: the case's id, or the name of the user's request: what `render` takes to show the whole.
        text: the stretch of the prompt; what the engine or the template says where it failed.
        failed: there is no prompt.
    """

    ref: str
    engine: str
    case: str
    text: str
    failed: bool = False


@dataclass(frozen=True)
class Prediction:
    """One thing that is otherwise with B than with A.

    Attributes:
        a: the reference of the model that the client was made for.
        b: the reference of the one that takes its place.
        need: what of the client's needs it belongs to.
        subject: stable name of the thing (`system`, `tool-calls`), for programs.
        verdict: `breaks` what works with A, `degrades` it, `changes` it without loss, or `improves` on it.
        before: what A makes of it, in a word.
        after: what B makes of it.
        engines: those on which B does so.
        message: the change in one clause.
        help: what the user can do about it; empty where there is nothing to do.
        launch: engine → the flags that this takes there, or what to leave out.
        evidence: A's stretch and B's, of each engine.
        follows: the subject of a larger loss that brings this one with it; empty where it stands for itself.
        request: the user's own request that shows it; empty for the canonical cases.
    """

    a: str
    b: str
    need: str
    subject: str
    verdict: Verdict
    before: str
    after: str
    engines: tuple[str, ...]
    message: str
    help: str = ""
    launch: tuple[tuple[str, str], ...] = ()
    evidence: tuple[Span, ...] = ()
    follows: str = ""
    request: str = ""

    @property
    def remedy(self) -> str:
        """What to do, with the flags of each engine behind it."""
        groups: dict[str, list[str]] = {}
        for engine, flags in self.launch:
            groups.setdefault(flags, []).append(engine)
        told = "; ".join(f"{', '.join(engines)}: {flags}" for flags, engines in groups.items())
        return f"{self.help} ({told})" if told else self.help


def merged(predictions: Iterable[Prediction]) -> tuple[Prediction, ...]:
    """The predictions, those that say the same of several engines as one, gravest first."""
    groups: dict[Prediction, list[Prediction]] = {}
    for prediction in predictions:
        groups.setdefault(replace(prediction, engines=(), evidence=(), launch=()), []).append(prediction)
    told = [
        replace(
            same,
            engines=tuple(dict.fromkeys(engine for one in group for engine in one.engines)),
            evidence=tuple(dict.fromkeys(span for one in group for span in one.evidence)),
            launch=tuple(dict.fromkeys(flags for one in group for flags in one.launch)),
        )
        for same, group in groups.items()
    ]
    return tuple(sorted(told, key=lambda prediction: VERDICTS.index(prediction.verdict)))
