"""How a running server was started, against what its template needs → findings of the flag audit."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from templatelint import cards
from templatelint.audit.fault import LAUNCH, TOOLS, Started
from templatelint.lint import fingerprint
from templatelint.model import Effect, Finding, NotRun, Place
from templatelint.severity import ALWAYS_ON, Stance, severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from templatelint.audit.fault import LaunchFault
    from templatelint.inspection import Inspection
    from templatelint.model import Model

# engine → the module here that knows its flags
_AUDITS = {"llama.cpp": "llama_server", "vllm": "parsers", "sglang": "parsers"}
_SHOWN = frozenset({"shown", "some", "with system only"})
_NEED = "tools"


def findings(
    model: Model, known: Inspection, needs: Collection[str] | None = None
) -> tuple[tuple[Finding, ...], tuple[NotRun, ...]]:
    """What the launch of a server takes from its template (TL705) and opens to others (TL806).

    Args:
        model: of a `server:` reference; any other gives nothing.
        known: what is known of the model on the server's engine (`outcomes.observed`, or `inspection.inspect`).
        needs: what its clients rely on; None lets the template decide.

    Returns:
        The findings, and what of the launch cannot be read.
    """
    launch = model.launch
    if launch is None or launch.engine not in _AUDITS:
        return (), ()
    started = Started.of(model, launch, known)
    audit = import_module(f"{__name__}.{_AUDITS[launch.engine]}")
    stance = _stance(started, needs)
    found = tuple(_finding(started, fault, stance) for fault in audit.faults(started))
    return found, tuple(_gaps(started, audit.gaps(started)))


def _stance(started: Started, needs: Collection[str] | None) -> Stance:
    """As for the rules of templates: tools count where the template shows any."""
    if needs is not None:
        on = frozenset(needs)
    else:
        on = ALWAYS_ON | {_NEED} if started.tools in _SHOWN or started.dialect else ALWAYS_ON
    return Stance(on, {started.launch.engine}, named=True, asked=needs is not None)


def _gaps(started: Started, whys: Collection[tuple[str, str]]) -> Iterator[NotRun]:
    yield from (NotRun(rule, started.model.ref, why) for rule, why in whys)


def _finding(started: Started, fault: LaunchFault, stance: Stance) -> Finding:
    card = cards.get(fault.rule)
    engine = started.launch.engine
    need, impact = fault.need or card.need, fault.impact or card.impact
    at = Place(started.path, 1, 1)
    return Finding(
        rule=card.id,
        name=card.name,
        severity=severity(impact, need, frozenset({engine}), stance),
        message=fault.message,
        help=fault.help,
        ref=started.model.ref,
        template="",
        place=at,
        end=at,
        engines=(engine,),
        needs=(need,),
        evidence=(),
        fingerprint=fingerprint(card.id, "", fault.cause),
        locatable=False,
        effects=(Effect(engine, need, impact),),
    )


__all__ = ("LAUNCH", "TOOLS", "findings")
