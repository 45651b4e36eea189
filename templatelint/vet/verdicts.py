"""Findings and cells of a model → what becomes of each need on each engine: works, degraded, broken or unknown."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

from templatelint import cards, checks
from templatelint.model import NEEDS, Effect, Impact, RenderError, Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from templatelint.model import Card, Finding, NotRun
    from templatelint.view import View

Word = Literal["works", "degraded", "broken", "unknown"]
WORDS: tuple[Word, ...] = ("works", "degraded", "broken", "unknown")

_Hits: TypeAlias = "Mapping[tuple[str, str], Mapping[Impact, Sequence[str]]]"

_CHAT, _TOOLS = "chat", "tools"
_TRAINS = "transformers"
# need → what has to work before it can
_RESTS_ON: Mapping[str, tuple[str, ...]] = {"parallel-tools": (_TOOLS, _CHAT), "agent": (_TOOLS, _CHAT)}
# needs that are told of where nobody named them: what a client of a chat model is likely to meet
_TOLD_ANYWAY = (_TOOLS, "parallel-tools", "reasoning", "agent", "prefix-cache")
# of findings that come without: what they mean by what they weigh
_WEIGHS: Mapping[Severity, Impact] = {"error": "breaks", "warning": "degrades", "note": "informs"}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a need on an engine.

    Attributes:
        because: ids of the rules whose findings say so.
        asked: the need is on; the others are told for information.
        why: of one that is unknown, why.
    """

    engine: str
    need: str
    verdict: Word
    because: tuple[str, ...] = ()
    asked: bool = True
    why: str = ""

    @property
    def serves(self) -> bool:
        """Whether a client may rely on it."""
        return self.verdict in {"works", "degraded"}


@dataclass(frozen=True)
class Ground:
    """What verdicts rest on.

    Attributes:
        engines: those asked, in their order.
        findings: what was found and is not accepted.
        accepted: what the user accepts: it breaks nothing, and degrades what it would have broken.
        views: of each template: engine → its cells.
        rules: those that were selected.
        crashed: checks that ended with an error of ours.
        bypassing: engines that serve the model without its template, and why.
        needs: those that are on.
        thinks: the model has a syntax of thoughts.
        unsettled: engines on which what carries all chat is not known, and why.
    """

    engines: Sequence[str]
    findings: Sequence[Finding]
    views: Sequence[Mapping[str, View]]
    rules: Sequence[Card]
    crashed: Sequence[NotRun]
    bypassing: Mapping[str, RenderError]
    needs: AbstractSet[str]
    thinks: bool
    accepted: Sequence[Finding] = ()
    unsettled: Mapping[str, str] = field(default_factory=dict)


def verdicts(ground: Ground) -> tuple[Verdict, ...]:
    """A verdict for every need that is on, or worth telling, on every engine."""
    hits, excused = _hits(ground.findings, ground.engines), _hits(ground.accepted, ground.engines)
    return tuple(_verdict(ground, hits, excused, engine, need) for need in _told(ground) for engine in ground.engines)


def _told(ground: Ground) -> Iterator[str]:
    """The needs that are on, then the others, each in the order of the catalogue."""
    yield from (need for need in NEEDS if need in ground.needs)
    for need in _TOLD_ANYWAY:
        beside_tools = _TOOLS not in _RESTS_ON.get(need, ()) or _TOOLS in ground.needs
        if need not in ground.needs and beside_tools and (need != "reasoning" or ground.thinks):
            yield need


def _hits(findings: Iterable[Finding], engines: Sequence[str]) -> _Hits:
    """(engine, need) → what findings do to it, by impact: the rules."""
    hits: dict[tuple[str, str], dict[Impact, list[str]]] = {}
    for finding in findings:
        for engine, need, impact, partial in finding.effects or _effects(finding, engines):
            weight: Impact = "degrades" if partial and impact == "breaks" else impact
            rules = hits.setdefault((engine, need), {}).setdefault(weight, [])
            if finding.rule not in rules:
                rules.append(finding.rule)
    return hits


def _effects(finding: Finding, engines: Iterable[str]) -> Iterator[Effect]:
    for engine in finding.engines or engines:
        yield from (Effect(engine, need, _WEIGHS[finding.severity]) for need in finding.needs)


def _verdict(ground: Ground, hits: _Hits, excused: _Hits, engine: str, need: str) -> Verdict:
    asked = need in ground.needs
    if broken := _breaking(hits, engine, need):
        return Verdict(engine, need, "broken", broken, asked)
    if accepted := _breaking(excused, engine, need):
        return Verdict(engine, need, "degraded", accepted, asked)
    if why := _unknown(ground, engine, need):
        return Verdict(engine, need, "unknown", (), asked, why)
    if degraded := hits.get((engine, need), {}).get("degrades"):
        return Verdict(engine, need, "degraded", tuple(sorted(degraded)), asked)
    return Verdict(engine, need, "works", (), asked)


def _breaking(hits: _Hits, engine: str, need: str) -> tuple[str, ...]:
    """The rules that break the need, or what it rests on."""
    rests = (need, *_RESTS_ON.get(need, (_CHAT,)))
    return tuple(sorted({rule for one in rests for rule in hits.get((engine, one), {}).get("breaks", ())}))


def _unknown(ground: Ground, engine: str, need: str) -> str:
    """Why silence means nothing there; empty where rules looked and found nothing."""
    if engine in ground.bypassing:
        return ground.bypassing[engine].message
    if not any(engine in views for views in ground.views):
        return "the model carries no template to judge"
    if need == "reasoning" and not ground.thinks:
        return "nothing in the template tells thoughts from answers: it may be no reasoning model's"
    if need == "training" and engine.partition("@")[0] != _TRAINS:
        return f"masks are made with {_TRAINS}: nobody trains here"
    return ground.unsettled.get(engine) or _crashed(ground, engine, need) or _unjudged(ground, engine, need)


def _crashed(ground: Ground, engine: str, need: str) -> str:
    """The first rule about the need, or about chat, that gave no verdict for a fault of ours; empty where all did."""
    known = cards.all_cards()
    for row in ground.crashed:
        where, colon, why = row.why.partition(": ")
        elsewhere = bool(colon) and where in ground.engines and where != engine
        if row.rule in known and known[row.rule].need in {need, _CHAT} and not elsewhere:
            return f"{row.rule} was not judged: {why if where == engine else row.why}"
    return ""


def _unjudged(ground: Ground, engine: str, need: str) -> str:
    """Why no rule about the need had anything to look at; empty where one had."""
    rules = [card for card in ground.rules if card.need == need and card.impact != "informs"]
    if not rules:
        return f"no rule about {need} was selected"
    own = [views[engine] for views in ground.views if engine in views]
    if not any(view.renders(case_id) for card in rules for case_id in _cases(card) for view in own):
        return f"no case about {need} gave a prompt"
    return ""


def _cases(card: Card) -> Iterator[str]:
    check = checks.load(card.name)
    yield from check.CASES
    yield from getattr(check, "CALL_CASES", ())
